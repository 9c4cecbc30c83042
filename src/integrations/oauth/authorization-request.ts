/** Parameters of a consent request and the redirect back. RFC 6749 4.1, RFC 7636, RFC 9207. */
import type { Static } from 'typebox'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'

/** Returned to the integration unchanged, so its length is limited. */
const Echoed = Type.Optional(Type.String({ maxLength: 2000 }))

export const ConsentQuery = Type.Object({
  state: Echoed,
  next: Echoed,
  redirect_uri: Type.Optional(Type.String({ maxLength: 2000 })),
  code_challenge: Type.Optional(Type.String({ maxLength: 200 })),
  code_challenge_method: Type.Optional(Type.String({ maxLength: 20 })),
  /** The account chosen in the first step. */
  account: Type.Optional(Type.String({ maxLength: 64 })),
})
export type ConsentQuery = Static<typeof ConsentQuery>

type Registered = Pick<Row<'integration'>, 'redirect_url' | 'slug'>

/** Returns the error of the PKCE parameters, if any. Only S256 is accepted: a plain challenge verifies nothing. */
export function pkceError(query: Pick<ConsentQuery, 'code_challenge' | 'code_challenge_method'>): string | undefined {
  const { code_challenge: challenge, code_challenge_method: method } = query
  if (challenge === undefined) return method === undefined ? undefined : 'code_challenge_method needs a code_challenge.'
  if (method !== 'S256') return 'code_challenge_method must be S256.'
  if (!/^[\w-]{43}$/.test(challenge)) return 'code_challenge must be 43 characters of base64url.'
  return undefined
}

/** Refuses: bad_request 400 (redirect_uri is not the registered one). Berth redirects to no other URL. */
export function mustBeRegisteredRedirect(integration: Registered, query: Pick<ConsentQuery, 'redirect_uri'>): void {
  if (query.redirect_uri !== undefined && query.redirect_uri !== integration.redirect_url) {
    refuse('bad_request', 'The redirect_uri is not the registered one. Contact the developer of the integration.')
  }
}

/** Refuses: bad_request 400 (redirect_uri is not the registered one, or invalid PKCE parameters). */
export function mustBeValidRequest(integration: Registered, query: ConsentQuery): void {
  mustBeRegisteredRedirect(integration, query)
  const fault = pkceError(query)
  if (fault !== undefined) refuse('bad_request', `${fault} Contact the developer of the integration.`)
}

/** Returns the registered redirect URL with its query and these parameters. */
export function redirectTo({ redirect_url }: Registered, parameters: Record<string, string | undefined>): string {
  const fragment = redirect_url.indexOf('#')
  const url = fragment < 0 ? redirect_url : redirect_url.slice(0, fragment)
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  const separator = !url.includes('?') ? '?' : /[?&]$/.test(url) ? '' : '&'
  return `${url}${separator}${pairs.join('&')}`
}

/** Returns the path of the consent page: the choice of an account or, with `account`, the next step. */
export function consentPath({ slug }: Registered, query: ConsentQuery, account?: string): string {
  const { state, next, redirect_uri, code_challenge, code_challenge_method } = query
  const fields = { state, next, redirect_uri, code_challenge, code_challenge_method, account }
  return redirectTo({ slug, redirect_url: `/integrations/${encodeURIComponent(slug)}/new` }, fields).replace(/\?$/, '')
}
