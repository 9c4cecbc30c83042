/** What the control plane and a sites server say to each other about members who sign in to a protected site. docs/edge.md: Members sign in. */
import { createHash } from 'node:crypto'
import { isThisMachine } from '../base/network.ts'
import { readHost } from './host-name.ts'

/** Where a browser comes back to with its code, on the host of the site. Only of a host that members sign in to. */
export const RETURN_PATH = '/_berth/sign-in'

/** Where a sites server redeems codes, at the listener for proxies: POST without a body. */
export const REDEEM_PATH = '/sites/v1/sign-ins'

/** TABLE headers between a sites server and the control plane: no log of either holds what is in a header. */
export const SIGN_IN_HEADERS = {
  /** Of a `check`: the secret in the cookie of the visitor. */
  session: 'x-sites-session',
  /** Of a `check`: there where the visitor asks for a source map. */
  sourceMap: 'x-sites-source-map',
  /** Of the answer to it: the page where whoever is not let in may sign in. */
  page: 'x-edge-sign-in',
  code: 'x-sites-code',
  state: 'x-sites-state',
  host: 'x-sites-host',
} as const

/** What the control plane answers to a code: the secret of the cookie, and for how many seconds it counts. */
export type Redeemed = { secret: string; seconds: number }

/** Codes, states and secrets of cookies: 43 characters of base62. */
export const SECRET_LENGTH = 43
const SECRET = new RegExp(`^[0-9A-Za-z]{${SECRET_LENGTH}}$`)

/** Whether a text has the form of a code, a state or a secret of a cookie. */
export function isSecret(text: unknown): text is string {
  return typeof text === 'string' && SECRET.test(text)
}

/** What the sign-in page is told of the state that a browser holds: only whoever has the state can redeem the code (as PKCE, RFC 7636). */
export function challengeOf(state: string): string {
  return createHash('sha256').update(state).digest('base64url')
}

/**
 * Whether a browser keeps a cookie of this site apart from everybody else's: over https, or on this machine, where nobody listens on the way.
 * Others get no sign-in.
 */
export function mayHoldSession(scheme: string, host: string): boolean {
  return scheme === 'https' || (scheme === 'http' && isThisMachine(host))
}

/** The host of an origin to which a browser may be sent back; undefined for any other text. The port may be any: cookies are of a host (RFC 6265 8.5). */
export function hostOfSite(site: string): string | undefined {
  const url = URL.parse(site)
  if (url === null || url.origin !== site) return undefined
  const host = readHost(url.host)?.host
  return host !== undefined && mayHoldSession(url.protocol.slice(0, -1), host) ? host : undefined
}
