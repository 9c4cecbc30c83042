/** What an integration may be registered with. docs/integrations.md: Registering. */
import { guard } from '../access/guards.ts'
import type { Ctx } from '../context.ts'
import { refuse } from '../refusal.ts'

/** An integration belongs to a team. */
export const teamOnly = guard(['missing_permission'], (ctx: Ctx, _subject: unknown) => {
  if (ctx.account.kind !== 'team') {
    refuse('missing_permission', 'An integration belongs to a team: name the team by the query parameter teamId.')
  }
})

/** What of an integration is checked; what is not said is not. */
type Said = {
  name?: string | undefined
  redirectUrl?: string | undefined
  webhookUrl?: string | null | undefined
  logoUrl?: string | null | undefined
  scopes?: string[] | undefined
}

/** Refuses, naming the field, what an integration may not be. Refuses: bad_request 400. */
export function mustBeIntegration({ name, redirectUrl, webhookUrl, logoUrl, scopes }: Said): void {
  // People decide by it: it is seen, and turns no text around.
  if (name !== undefined && (name.trim() === '' || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))) {
    fault('name', 'should be visible characters')
  }
  if (redirectUrl !== undefined) mustBeRedirectUrl(redirectUrl)
  if (webhookUrl) urlOf('webhookUrl', webhookUrl, ['https:', 'http:'])
  if (logoUrl) urlOf('logoUrl', logoUrl, ['https:'])
  if (scopes !== undefined) mustBeScopes(scopes)
}

/** Codes travel there, so it is https, or http to the developer's own machine. RFC 9700, 4.1; RFC 8252, 7.3. */
function mustBeRedirectUrl(said: string): void {
  const url = urlOf('redirectUrl', said, ['https:', 'http:'])
  if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname)) {
    fault('redirectUrl', 'should begin with https://, or be http on localhost, 127.0.0.1 or [::1]')
  }
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

function urlOf(field: string, said: string, protocols: string[]): URL {
  const url = URL.parse(said)
  // The parser forgives blanks, line ends and backslashes; what is compared byte for byte and put into headers must not hold them.
  if (url === null || !/^[\x21-\x5b\x5d-\x7e]+$/.test(said)) fault(field, 'should be an absolute URL in ASCII')
  if (!protocols.some((protocol) => said.toLowerCase().startsWith(`${protocol}//`))) {
    fault(field, `should begin with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`)
  }
  if (said.includes('#')) fault(field, 'should have no fragment')
  if (url.username !== '' || url.password !== '') fault(field, 'should hold no user name or password')
  return url
}

function mustBeScopes(scopes: string[]): void {
  const named = scopes.map((grant) => grant.slice(grant.indexOf(':') + 1))
  const twice = named.find((scope, at) => named.indexOf(scope) !== at)
  if (twice !== undefined) fault('scopes', `should name "${twice}" once, at one level`)
}

function fault(field: string, what: string): never {
  refuse('bad_request', `Invalid request: \`${field}\` ${what}.`)
}
