/** Valid fields of an integration. docs/integrations.md: Registering. */

import type { Ctx } from '../../context.ts'
import { guard } from '../../platform/access/guards.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { mustBeEndpointUrl } from '../webhooks/rules.ts'

/** Requires a team, because an integration belongs to one. */
export const teamOnly = guard(['missing_permission'], (ctx: Ctx, _subject: unknown) => {
  if (ctx.account.kind !== 'team') {
    refuse('missing_permission', 'An integration belongs to a team: name the team by the query parameter teamId.')
  }
})

type Checked = {
  name?: string | undefined
  redirectUrl?: string | undefined
  webhookUrl?: string | null | undefined
  logoUrl?: string | null | undefined
  scopes?: string[] | undefined
}

/** Checks the fields that are present. Refuses: bad_request 400 (names the invalid field). */
export function mustBeIntegration(
  ctx: Pick<Ctx, 'deps'>,
  { name, redirectUrl, webhookUrl, logoUrl, scopes }: Checked,
): void {
  // Users decide by the name, so it must be visible and must not reverse the text around it.
  if (name !== undefined && (name.trim() === '' || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))) {
    fault('name', 'should be visible characters')
  }
  if (redirectUrl !== undefined) mustBeRedirectUrl(redirectUrl)
  if (webhookUrl) {
    urlOf('webhookUrl', webhookUrl, ['https:', 'http:'])
    mustBeEndpointUrl(ctx, webhookUrl, 'webhookUrl')
  }
  if (logoUrl) urlOf('logoUrl', logoUrl, ['https:'])
  if (scopes !== undefined) mustBeScopes(scopes)
}

/** Receives codes, so it must be https, or http to the developer's own machine. RFC 9700, 4.1; RFC 8252, 7.3. */
function mustBeRedirectUrl(text: string): void {
  const url = urlOf('redirectUrl', text, ['https:', 'http:'])
  if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname)) {
    fault('redirectUrl', 'should begin with https://, or be http on localhost, 127.0.0.1 or [::1]')
  }
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

function urlOf(field: string, text: string, protocols: string[]): URL {
  const url = URL.parse(text)
  // The URL parser accepts spaces, line ends and backslashes, which are unsafe in a URL that is compared byte for byte and sent in headers.
  if (url === null || !/^[\x21-\x5b\x5d-\x7e]+$/.test(text)) fault(field, 'should be an absolute URL in ASCII')
  if (!protocols.some((protocol) => text.toLowerCase().startsWith(`${protocol}//`))) {
    fault(field, `should begin with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`)
  }
  if (text.includes('#')) fault(field, 'should have no fragment')
  if (url.username !== '' || url.password !== '') fault(field, 'should have no user name or password')
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
