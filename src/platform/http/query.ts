/** Parses query strings strictly, after the caller is authenticated. */
import { isUtf8 } from 'node:buffer'
import type { TSchema } from 'typebox'
import { READERS } from '../../readers.ts'
import { refuse } from '../refusals/refusal.ts'
import type { Route } from './route.ts'
import { type Shape, truncateText, validate } from './validate.ts'

/** `values` has the first value of each key, `again` the later ones. */
export type RawQuery = {
  values: Record<string, string>
  again: ReadonlyMap<string, readonly string[]>
  fault: string | undefined
}

/** Splits the query of a URL. Errors are returned, not thrown, so that an unauthenticated client gets 401 first. */
export function splitQuery(url: string): RawQuery {
  const at = url.indexOf('?')
  return splitPairs(at < 0 ? '' : url.slice(at + 1), READERS.query.parts, 'the query')
}

/** Splits `a=1&b=2` of at most `max` pairs. `place`: its name in an error. */
export function splitPairs(text: string, max: number, place: string): RawQuery {
  const values: Record<string, string> = Object.create(null)
  const again = new Map<string, string[]>()
  let count = 0
  for (const pair of pairsOf(text)) {
    if (++count > max) return { values, again, fault: `${place} has more than ${max} parameters` }
    if (pair === '') continue
    const cut = pair.indexOf('=')
    const key = decodeText(cut < 0 ? pair : pair.slice(0, cut))
    const value = decodeText(cut < 0 ? '' : pair.slice(cut + 1))
    if (key === undefined || value === undefined)
      return { values, again, fault: `${place} holds a bad escape, invalid UTF-8 or a NUL character` }
    if (!(key in values)) values[key] = value
    else append(again, key, value)
  }
  return { values, again, fault: undefined }
}

/** Yields the pairs of `a=1&b=2`, including empty ones. Lazy, so that a reader can stop at its limit. */
export function* pairsOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('&', from)
    const to = end < 0 ? text.length : end
    yield text.slice(from, to)
    from = to + 1
  }
}

/** Decodes a part; undefined for a bad escape, invalid UTF-8 or a NUL. */
export function decodeText(text: string): string | undefined {
  if (!/[%+]/.test(text)) return text.includes('\0') ? undefined : text
  const bytes = unescapeForm(Buffer.from(text))
  return bytes === undefined || !isUtf8(bytes) || bytes.includes(0) ? undefined : bytes.toString()
}

const [PLUS, SPACE, PERCENT] = [0x2b, 0x20, 0x25]

/**
 * Decodes the bytes of a form in place. Undefined for a bad escape; with `shown` it is kept, and NULs are dropped. Takes a tenth of the time of
 * decodeURIComponent. URL Standard: application/x-www-form-urlencoded.
 */
export function unescapeForm(bytes: Buffer, shown = false): Buffer | undefined {
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    const escaped = byte === PERCENT ? (digitOf(bytes[at + 1]) << 4) | digitOf(bytes[at + 2]) : -1
    if (escaped >= 0) at += 2
    else if (byte === PERCENT && !shown) return undefined
    const plain = escaped >= 0 ? escaped : byte === PLUS ? SPACE : byte
    if (plain !== 0 || !shown) bytes[length++] = plain
  }
  return bytes.subarray(0, length)
}

/** The value of a hexadecimal digit; negative for other characters. */
function digitOf(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/**
 * Parameters that clients send to every list and that filter nothing. `test/platform/http/passed-over.test.ts` checks each list whose rows have a
 * field of such a name.
 */
export const HARMLESS = {
  teamId: 'selects the account',
  slug: 'selects the account',
  source: 'names the client',
  limit: 'a list without pages is returned in full',
} as const

/**
 * Rejects unknown filters of lists: ignored, they would return too many rows. The operator API rejects more (`rejectUnknownParameters`); other
 * undeclared parameters are dropped. Refuses: bad_request 400, naming it and what the list knows. docs/clients.md.
 */
export function rejectUnknownFilters({ query, ignores }: Pick<Route, 'query' | 'ignores'>, raw: RawQuery): void {
  const { properties = {}, patternProperties = {} } = (query ?? {}) as Shape
  const passed = { ...HARMLESS, ...ignores?.query }
  for (const key of Object.keys(raw.values)) {
    if (Object.hasOwn(properties, key) || Object.hasOwn(passed, key)) continue
    if (isOfFamily(key, patternProperties)) continue
    const names = [...Object.keys(properties), ...Object.keys(patternProperties).map(familyName)].join(', ')
    const says = names === '' ? 'it has none' : `it has ${names}`
    refuse('bad_request', `Invalid request: \`${truncateText(key)}\` is not a filter of this list; ${says}.`)
  }
}

/** Returns the display name of a pattern of names: `meta-<field>`. */
export function familyName(pattern: string): string {
  return `${/[\w-]+/.exec(pattern)?.[0]}<field>`
}

function isOfFamily(key: string, families: object): boolean {
  return Object.keys(families).some((pattern) => new RegExp(pattern, 'u').test(key))
}

/**
 * Returns the declared query values by their schema: coerces numbers and booleans, splits lists. Refuses: bad_request 400 (a repeated key that is not
 * a list, a schema mismatch).
 */
export function readQuery(schema: TSchema | undefined, raw: RawQuery): unknown {
  if (raw.fault) refuse('bad_request', `Invalid request: ${raw.fault}.`)
  const { properties = {}, patternProperties = {} } = (schema ?? {}) as Shape
  for (const key of raw.again.keys()) if (properties[key]?.type !== 'array') refuseRepeated(key)
  const query: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(raw.values)) {
    const property = Object.hasOwn(properties, key) ? properties[key]! : undefined
    if (property?.type === 'array')
      query[key] = [value, ...(raw.again.get(key) ?? [])].flatMap((item) => item.split(','))
    else if (property !== undefined) query[key] = coerce(value, property.type)
    else if (isOfFamily(key, patternProperties)) query[key] = value
  }
  return schema === undefined ? query : validate(schema, query)
}

/** Rejects undeclared parameters, since an ignored filter widens the result. Refuses: bad_request 400. */
export function rejectUnknownParameters(schema: TSchema | undefined, { values }: RawQuery): void {
  const { properties = {} } = (schema ?? {}) as Shape
  const unknown = Object.keys(values).find((key) => !Object.hasOwn(properties, key))
  if (unknown === undefined) return
  const names = Object.keys(properties).join(', ') || 'none'
  refuse(
    'bad_request',
    `Invalid request: \`${truncateText(unknown)}\` is not a query parameter of this operation. Allowed: ${names}.`,
  )
}

/** Refuses a parameter or a field that is sent more than once: bad_request 400. */
export function refuseRepeated(key: string): never {
  refuse('bad_request', `Invalid request: \`${truncateText(key)}\` is given more than once.`)
}

function coerce(text: string, type: string | undefined): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d{1,16}$/.test(text)) return Number(text)
  if (type === 'boolean' && /^(true|1)$/.test(text)) return true
  if (type === 'boolean' && /^(false|0)$/.test(text)) return false
  return text
}

function append(again: Map<string, string[]>, key: string, value: string): void {
  const previous = again.get(key)
  if (previous === undefined) again.set(key, [value])
  else previous.push(value)
}
