/** Parses bodies with one very long list in pieces, with pauses for other requests. docs/limits.md: Sizes and timeouts. */
import { isUtf8 } from 'node:buffer'
import type { TSchema } from 'typebox'
import { READERS } from '../../readers.ts'
import { pauseWhenBusy } from '../base/event-loop.ts'
import { refuse } from '../refusals/refusal.ts'
import { cutList, type Group } from '../schema/json-list.ts'
import { mustBeStorable, readBodyOf, refuseExcess } from './parse-request.ts'
import type { Route } from './route.ts'
import { pickDeclared, type Shape, validate } from './validate.ts'

const LIST = READERS['JSON body with a list']
/** Largest body without the list; it is parsed at once. */
const REST_BYTES = READERS['JSON body of many'].bytes

/**
 * Parses a body as `readBodyOf` does, for a route with one long list (`listBody`). Refuses as `readBodyOf`, and: bad_request 400 (too many parts or
 * items, the list twice), payload_too_large 413 (too much outside the list).
 */
export async function readListBody(
  route: Pick<Route, 'auth' | 'body' | 'listBody'>,
  contentType: string | undefined,
  bytes: Buffer | undefined,
): Promise<unknown> {
  const name = route.listBody!
  if (bytes === undefined || !isUtf8(bytes)) return readBodyOf(route, contentType, bytes)
  const list = await cutList(bytes, name, LIST.parts)
  if (list === 'parts' || list === 'depth') return refuseExcess(list, LIST.parts)
  if (list.rest.length > REST_BYTES) refuse('payload_too_large', `The body without \`${name}\` is too large.`)
  const body = readBodyOf(route, contentType, list.rest) as Record<string, unknown>
  if (list.groups === undefined) return body
  // The parser uses the last of two equal fields, and the first one was cut out.
  if ((body[name] as unknown[]).length > 0) refuse('bad_request', `Invalid request: \`${name}\` is there twice.`)
  const schema = (route.body as Shape).properties![name] as TSchema & Shape & { maxItems: number }
  return { ...body, [name]: await readItems(bytes, name, schema, list.groups) }
}

async function readItems(
  text: Buffer,
  name: string,
  { items: item, maxItems: most }: Shape & { maxItems: number },
  groups: readonly Group[],
): Promise<unknown[]> {
  const items: unknown[] = []
  for (const group of groups) {
    const values = await parseGroup(text, group, name, groups.length === 1)
    if (items.length + values.length > most)
      refuse('bad_request', `Invalid request: \`${name}\` should NOT have more than ${most} items.`)
    for (const value of values) {
      const place = `${name}.${items.length}`
      mustBeStorable(value, place)
      items.push(pickDeclared(item!, validate(item!, value, place)))
    }
    await pauseWhenBusy()
  }
  return items
}

async function parseGroup(text: Buffer, group: Group, name: string, isAll: boolean): Promise<unknown[]> {
  try {
    const values = JSON.parse(`[${withoutLong(text, group)}]`) as unknown[]
    if (group.long.length > 0) putBack(values, await longStrings(text, group))
    // An empty rest after the last comma is invalid JSON.
    if (values.length > 0 || isAll) return values
  } catch {
    // The parser's own message quotes the body, which may contain a secret.
  }
  return refuse('bad_request', `Invalid request: the body is not valid JSON (in \`${name}\`).`)
}

/** Placeholder of a long string. A client that sends it gets its own string back. */
const PLACE = 'long string '

function withoutLong(text: Buffer, { from, to, long }: Group): string {
  const parts: string[] = []
  let at = from
  for (const [number, string] of long.entries()) {
    parts.push(text.toString('utf8', at, string.from), `"${PLACE}${number}"`)
    at = string.to
  }
  return [...parts, text.toString('utf8', at, to)].join('')
}

/** Parses piece by piece. Throws on invalid JSON. */
async function longStrings(text: Buffer, { long }: Group): Promise<Map<string, string>> {
  const strings = new Map<string, string>()
  for (const [number, { from, to, cuts }] of long.entries()) {
    let whole = ''
    let at = from + 1
    for (const end of [...cuts, to - 1]) {
      whole += JSON.parse(`"${text.toString('utf8', at, end)}"`)
      at = end
      await pauseWhenBusy()
    }
    strings.set(`${PLACE}${number}`, whole)
  }
  return strings
}

/** Restores strings in the fields of items. No route has longer strings deeper. */
function putBack(values: readonly unknown[], strings: ReadonlyMap<string, string>): void {
  for (const value of values) {
    if (typeof value !== 'object' || value === null) continue
    for (const [field, inner] of Object.entries(value)) {
      const string = typeof inner === 'string' ? strings.get(inner) : undefined
      if (string !== undefined) (value as Record<string, unknown>)[field] = string
    }
  }
}
