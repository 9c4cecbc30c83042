/** Headers that a deployment may set, shared by the upload and the sites server. */
import type { Match } from './routing-manifest.ts'

/** TABLE headers that only the sites server sets, because a deployment could split a message (RFC 9110 7.6.1, RFC 9112 6). */
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

/** Returns whether a deployment may change a header of this lower-case name. */
export function canChange(name: string): boolean {
  return HEADER_NAME.test(name) && !MESSAGE_HEADERS.has(name)
}

/** Returns comparisons with header names in lower case, since names are case-insensitive. */
export function inLowerCase(match: Match): Match {
  const lower = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value)
  return Object.fromEntries(
    Object.entries(match).map(([key, value]) => [key, Array.isArray(value) ? value.map(lower) : lower(value)]),
  ) as Match
}
