/** The query of a request, read strictly and only once the caller is known. */
import type { TSchema } from 'typebox'
import { refuse } from '../refusal.ts'
import type { Route } from './route.ts'
import { type Shape, shortened, validate } from './validate.ts'

/** `values` has the first of each key, `again` those that came after it. */
export type RawQuery = {
  values: Record<string, string>
  again: ReadonlyMap<string, readonly string[]>
  fault: string | undefined
}

/** Splits `a=1&b=2`. A bad escape is a fault, told only once the caller is known: a stranger gets 401. */
export function splitQuery(url: string): RawQuery {
  const values: Record<string, string> = Object.create(null)
  const again = new Map<string, string[]>()
  const at = url.indexOf('?')
  if (at < 0) return { values, again, fault: undefined }
  for (const pair of url.slice(at + 1).split('&')) {
    if (pair === '') continue
    const cut = pair.indexOf('=')
    const key = decodeText(cut < 0 ? pair : pair.slice(0, cut))
    const value = decodeText(cut < 0 ? '' : pair.slice(cut + 1))
    if (key === undefined || value === undefined)
      return { values, again, fault: 'the query holds a bad escape, invalid UTF-8 or a NUL character' }
    if (!(key in values)) values[key] = value
    else append(again, key, value)
  }
  return { values, again, fault: undefined }
}

/** Undefined for a bad escape, invalid UTF-8 or a NUL. */
export function decodeText(text: string): string | undefined {
  try {
    const plain = decodeURIComponent(text.replaceAll('+', ' '))
    return plain.includes('\0') ? undefined : plain
  } catch {
    return undefined
  }
}

/** What clients send to every list beside its filters. No row is more for passing it over. */
const HARMLESS = {
  teamId: 'says for whom',
  slug: 'says for whom',
  source: 'says who asks',
  limit: 'a list that does not page is answered whole',
} as const

/**
 * The one place where an unknown filter ends: passed over, it would give more rows than were asked for. The operator API refuses more
 * (`mustBeKnown`); elsewhere what a route does not declare is dropped. Refuses: bad_request 400, naming it and what the list knows. docs/clients.md.
 */
export function mustKnowFilters({ query, ignores }: Pick<Route, 'query' | 'ignores'>, raw: RawQuery): void {
  const { properties = {}, patternProperties = {} } = (query ?? {}) as Shape
  const passed = { ...HARMLESS, ...ignores?.query }
  for (const key of Object.keys(raw.values)) {
    if (Object.hasOwn(properties, key) || Object.hasOwn(passed, key)) continue
    if (isOfFamily(key, patternProperties)) continue
    const names = [...Object.keys(properties), ...Object.keys(patternProperties).map(familyName)].join(', ')
    const says = names === '' ? 'it has none' : `it has ${names}`
    refuse('bad_request', `Invalid request: \`${shortened(key)}\` is not a filter of this list; ${says}.`)
  }
}

/** A family of names is told as what its pattern begins with: `meta-<field>`. */
export function familyName(pattern: string): string {
  return `${/[\w-]+/.exec(pattern)?.[0]}<field>`
}

function isOfFamily(key: string, families: object): boolean {
  return Object.keys(families).some((pattern) => new RegExp(pattern, 'u').test(key))
}

/**
 * The declared query values as their schema types them: numbers and booleans are coerced, lists are cut. Refuses: bad_request
 * 400 (a key given again that is no list, what is not of the schema).
 */
export function readQuery(schema: TSchema | undefined, raw: RawQuery): unknown {
  if (raw.fault) refuse('bad_request', `Invalid request: ${raw.fault}.`)
  const { properties = {}, patternProperties = {} } = (schema ?? {}) as Shape
  for (const key of raw.again.keys()) if (properties[key]?.type !== 'array') refuseRepeated(key)
  const query: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(raw.values)) {
    const property = Object.hasOwn(properties, key) ? properties[key]! : undefined
    if (property?.type === 'array') query[key] = [value, ...(raw.again.get(key) ?? [])].flatMap((one) => one.split(','))
    else if (property !== undefined) query[key] = coerce(value, property.type)
    else if (isOfFamily(key, patternProperties)) query[key] = value
  }
  return schema === undefined ? query : validate(schema, query)
}

/** Refuses what the schema does not declare: a filter that is passed over widens the answer. Refuses: bad_request 400. */
export function mustBeKnown(schema: TSchema | undefined, { values }: RawQuery): void {
  const { properties = {} } = (schema ?? {}) as Shape
  const unknown = Object.keys(values).find((key) => !Object.hasOwn(properties, key))
  if (unknown === undefined) return
  const names = Object.keys(properties).join(', ') || 'none'
  refuse(
    'bad_request',
    `Invalid request: \`${shortened(unknown)}\` is not a query parameter that is taken here. Taken: ${names}.`,
  )
}

/** Refuses a parameter or a field that is given more than once: bad_request 400. */
export function refuseRepeated(key: string): never {
  refuse('bad_request', `Invalid request: \`${shortened(key)}\` is given more than once.`)
}

function coerce(text: string, type: string | undefined): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d{1,16}$/.test(text)) return Number(text)
  if (type === 'boolean' && /^(true|1)$/.test(text)) return true
  if (type === 'boolean' && /^(false|0)$/.test(text)) return false
  return text
}

function append(again: Map<string, string[]>, key: string, value: string): void {
  const former = again.get(key)
  if (former === undefined) again.set(key, [value])
  else former.push(value)
}
