/** What an integration sends along with a person who is to consent, and where the answer goes. RFC 6749 4.1, RFC 7636, RFC 9207. */
import type { Static } from 'typebox'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'

/** Goes back to the integration unchanged, so its length is limited here. */
const Echoed = Type.Optional(Type.String({ maxLength: 2000 }))

export const ConsentQuery = Type.Object({
  state: Echoed,
  next: Echoed,
  redirect_uri: Type.Optional(Type.String({ maxLength: 2000 })),
  code_challenge: Type.Optional(Type.String({ maxLength: 200 })),
  code_challenge_method: Type.Optional(Type.String({ maxLength: 20 })),
  /** The account that the person chose on the page before. */
  account: Type.Optional(Type.String({ maxLength: 64 })),
})
export type ConsentQuery = Static<typeof ConsentQuery>

type Registered = Pick<Row<'integration'>, 'redirect_url' | 'slug'>

/** What is wrong with the PKCE parameters, as a sentence; undefined when nothing is. Only S256 is taken: a plain challenge proves nothing. */
export function pkceError(query: Pick<ConsentQuery, 'code_challenge' | 'code_challenge_method'>): string | undefined {
  const { code_challenge: challenge, code_challenge_method: method } = query
  if (challenge === undefined) return method === undefined ? undefined : 'code_challenge_method needs a code_challenge.'
  if (method !== 'S256') return 'code_challenge_method must be S256.'
  if (!/^[\w-]{43}$/.test(challenge)) return 'code_challenge must be 43 characters of base64url.'
  return undefined
}

/** Refuses: bad_request 400 (the redirect_uri is not the registered one). Nobody is redirected to another URL. */
export function mustBeRegisteredRedirect(integration: Registered, query: Pick<ConsentQuery, 'redirect_uri'>): void {
  if (query.redirect_uri !== undefined && query.redirect_uri !== integration.redirect_url) {
    refuse('bad_request', 'The redirect_uri is not the one that the integration has registered. Tell whoever runs it.')
  }
}

/** Refuses: bad_request 400 (another redirect_uri than the registered one, or wrong PKCE parameters). */
export function mustBeValidRequest(integration: Registered, query: ConsentQuery): void {
  mustBeRegisteredRedirect(integration, query)
  const fault = pkceError(query)
  if (fault !== undefined) refuse('bad_request', `${fault} Tell whoever runs the integration.`)
}

/** The registered redirect URL with these parameters added. Keeps the query that the URL has. */
export function redirectTo({ redirect_url }: Registered, parameters: Record<string, string | undefined>): string {
  const fragment = redirect_url.indexOf('#')
  const url = fragment < 0 ? redirect_url : redirect_url.slice(0, fragment)
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  const separator = !url.includes('?') ? '?' : /[?&]$/.test(url) ? '' : '&'
  return `${url}${separator}${pairs.join('&')}`
}

/** The path of the consent page for a request: where the account is chosen, or, with `account`, the step after it. */
export function consentPath({ slug }: Registered, query: ConsentQuery, account?: string): string {
  const { state, next, redirect_uri, code_challenge, code_challenge_method } = query
  const fields = { state, next, redirect_uri, code_challenge, code_challenge_method, account }
  return redirectTo({ slug, redirect_url: `/integrations/${encodeURIComponent(slug)}/new` }, fields).replace(/\?$/, '')
}
