/** Which headers a deployment may set, and how its rules name them. One place for the upload and for the sites server. */
import type { Match } from './routing-manifest.ts'

/**
 * TABLE headers that say where a message ends and how its connection is used (RFC 9110 7.6.1, RFC 9112 6). The sites server writes
 * them itself: a deployment that set one could split a message in two. `host` names the deployment, so it is one of them.
 */
export const MESSAGE_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** RFC 9110 5.6.2. */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Whether a deployment may change a header of this lower-case name. */
export function mayChange(name: string): boolean {
  return HEADER_NAME.test(name) && !MESSAGE_HEADERS.has(name)
}

/** Comparisons with the name of a header, which has no case: their texts in lower case. */
export function inLowerCase(match: Match): Match {
  const lower = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value)
  return Object.fromEntries(
    Object.entries(match).map(([key, value]) => [key, Array.isArray(value) ? value.map(lower) : lower(value)]),
  ) as Match
}
