/** The protocol between control plane and sites server for member sign-in. docs/edge.md: Sign-in of members. */
import { createHash } from 'node:crypto'
import { isThisMachine } from '../base/network.ts'
import { readHost } from './host-name.ts'

/** The callback path with a code, on the host of a protected site. */
export const RETURN_PATH = '/_berth/sign-in'

/** The endpoint where a sites server redeems codes, at the listener for proxies: POST without a body. */
export const REDEEM_PATH = '/sites/v1/sign-ins'

/** TABLE Headers between a sites server and the control plane. Logs of both omit headers. */
export const SIGN_IN_HEADERS = {
  /** Of a `check`: the cookie secret of the visitor. */
  session: 'x-sites-session',
  /** Of a `check`: present where the visitor requests a source map. */
  sourceMap: 'x-sites-source-map',
  /** Of its response: the sign-in page for a denied visitor. */
  page: 'x-edge-sign-in',
  code: 'x-sites-code',
  state: 'x-sites-state',
  host: 'x-sites-host',
} as const

/** The response to a code: the cookie secret, and its lifetime in seconds. */
export type Redeemed = { secret: string; seconds: number }

/** Codes, states and cookie secrets: 43 characters of base62. */
export const SECRET_LENGTH = 43
const SECRET = new RegExp(`^[0-9A-Za-z]{${SECRET_LENGTH}}$`)

/** Returns whether a text has the form of a code, a state or a cookie secret. */
export function isSecret(text: unknown): text is string {
  return typeof text === 'string' && SECRET.test(text)
}

/** Returns the challenge of a browser's state: only a browser with the state can redeem the code (as PKCE, RFC 7636). */
export function challengeOf(state: string): string {
  return createHash('sha256').update(state).digest('base64url')
}

/** Returns whether a cookie of this site is private to the browser: over https, or on this machine. Others get no sign-in. */
export function canHoldSession(scheme: string, host: string): boolean {
  return scheme === 'https' || (scheme === 'http' && isThisMachine(host))
}

/** Returns the host of an origin that a sign-in may return to, or undefined. Any port, because cookies ignore it (RFC 6265 8.5). */
export function hostOfSite(site: string): string | undefined {
  const url = URL.parse(site)
  if (url === null || url.origin !== site) return undefined
  const host = readHost(url.host)?.host
  return host !== undefined && canHoldSession(url.protocol.slice(0, -1), host) ? host : undefined
}
