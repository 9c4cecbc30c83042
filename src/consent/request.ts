/** What an integration sends a person to consent with, and where the answer goes. RFC 6749 4.1, RFC 7636, RFC 9207. */
import type { Static } from 'typebox'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusal.ts'
import { Type } from '../schema/builder.ts'

/** What comes back to the integration is echoed as it is, so it is bounded here. */
const Echoed = Type.Optional(Type.String({ maxLength: 2000 }))

export const ConsentQuery = Type.Object({
  state: Echoed,
  next: Echoed,
  redirect_uri: Type.Optional(Type.String({ maxLength: 2000 })),
  code_challenge: Type.Optional(Type.String({ maxLength: 200 })),
  code_challenge_method: Type.Optional(Type.String({ maxLength: 20 })),
  /** The account that was chosen on the page before. */
  account: Type.Optional(Type.String({ maxLength: 64 })),
})
export type ConsentQuery = Static<typeof ConsentQuery>

type Registered = Pick<Row<'integration'>, 'redirect_url' | 'slug'>

/** What is wrong with the PKCE parameters, as a sentence; undefined when nothing is. Only S256: a plain challenge proves nothing. */
export function challengeFault(
  query: Pick<ConsentQuery, 'code_challenge' | 'code_challenge_method'>,
): string | undefined {
  const { code_challenge: challenge, code_challenge_method: method } = query
  if (challenge === undefined) return method === undefined ? undefined : 'code_challenge_method needs a code_challenge.'
  if (method !== 'S256') return 'code_challenge_method must be S256.'
  if (!/^[\w-]{43}$/.test(challenge)) return 'code_challenge must be 43 characters of base64url.'
  return undefined
}

/** Refuses: bad_request 400 when the redirect_uri is another than the registered one, or PKCE is asked for wrongly. */
export function mustBeAnswerable(integration: Registered, query: ConsentQuery): void {
  if (query.redirect_uri !== undefined && query.redirect_uri !== integration.redirect_url) {
    refuse('bad_request', 'The redirect_uri is not the one that the integration has registered. Tell whoever runs it.')
  }
  const fault = challengeFault(query)
  if (fault !== undefined) refuse('bad_request', `${fault} Tell whoever runs the integration.`)
}

/** The registered redirect URL, its own query kept, with what the integration is told. */
export function redirectTo({ redirect_url }: Registered, told: Record<string, string | undefined>): string {
  const cut = redirect_url.indexOf('#')
  const url = cut < 0 ? redirect_url : redirect_url.slice(0, cut)
  const pairs = Object.entries(told).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  const joint = !url.includes('?') ? '?' : /[?&]$/.test(url) ? '' : '&'
  return `${url}${joint}${pairs.join('&')}`
}

/** The consent page for a request, at the step where `account` is chosen, or before it. */
export function consentPath({ slug }: Registered, query: ConsentQuery, account?: string): string {
  const { state, next, redirect_uri, code_challenge, code_challenge_method } = query
  const kept = { state, next, redirect_uri, code_challenge, code_challenge_method, account }
  return redirectTo({ slug, redirect_url: `/integrations/${encodeURIComponent(slug)}/new` }, kept).replace(/\?$/, '')
}
