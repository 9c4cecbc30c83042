/** Pagination: `{count, next, prev}`, walked by stamp, so that to the end every row comes exactly once. docs/spec/decisions.md: Pagination. */
import type { Static } from 'typebox'
import { STAMPS_PER_MS } from '../base/clock.ts'
import type { Pagination } from '../schema/fields.ts'

export const DEFAULT_LIMIT = 20
/** Stamps are far above every timestamp in milliseconds (up to the year 5138), so a number says which of the two it is. */
const HIGHEST_MOMENT = 1e14

/** Whether a number that a client sends back is a cursor of ours rather than a timestamp. */
export function isCursor(value: number): boolean {
  return value > HIGHEST_MOMENT
}

/** The stamp that `until` stands for: rows before it are wanted. Takes a cursor or a timestamp in milliseconds. */
export function stampBefore(until: number): number {
  return isCursor(until) ? until : until * STAMPS_PER_MS
}

/** The stamp that `since` stands for: rows after it are wanted. */
export function stampAfter(since: number): number {
  return isCursor(since) ? since : (since + 1) * STAMPS_PER_MS - 1
}

/**
 * Cuts rows, fetched newest first with one more than `limit`, to a page. `next` goes into `until` for the page after;
 * `prev` is the first row's place when this is not the first page.
 */
export function paginate<T>(rows: T[], limit: number, until: number | undefined, stampOf: (row: T) => number): Page<T> {
  const items = rows.length > limit ? rows.slice(0, limit) : rows
  const last = items.at(-1)
  return {
    rows: items,
    pagination: {
      count: items.length,
      next: rows.length > limit && last !== undefined ? stampOf(last) : null,
      prev: until !== undefined && items[0] !== undefined ? stampOf(items[0]) : null,
    },
  }
}

type Page<T> = { rows: T[]; pagination: Static<typeof Pagination> }

/** Rows that a list looks through for a page of what no index finds. */
export const SCAN_LIMIT = 20_000

/**
 * As `page`, of rows that were found among the next SCAN_LIMIT: `next` leads on behind those, also from a page that is not
 * full. `last` asks for the stamp of the last of them, which is not there when they are fewer.
 */
export async function paginateScan<T>(
  rows: T[],
  limit: number,
  until: number | undefined,
  stampOf: (row: T) => number,
  last: { executeTakeFirst(): Promise<{ stamp: number } | undefined> },
): Promise<Page<T>> {
  const result = paginate(rows, limit, until, stampOf)
  if (result.pagination.next === null) result.pagination.next = (await last.executeTakeFirst())?.stamp ?? null
  return result
}

/** The RFC 8288 `Link` header of an answer that carries a page with one behind it. */
export function linkHeader(answer: unknown, url: string): string | undefined {
  const next = (answer as { pagination?: Static<typeof Pagination> } | undefined)?.pagination?.next
  if (next === null || next === undefined) return undefined
  const [path, query] = url.split('?', 2)
  const parameters = new URLSearchParams(query)
  const rising = parameters.get('order') === 'ASC'
  for (const name of ['from', 'since']) if (!rising && isCursor(Number(parameters.get(name)))) parameters.delete(name)
  // A list in rising order goes on from where it stopped, and keeps the `until` that ends it.
  parameters.set(rising ? 'since' : 'until', String(next))
  return `<${path}?${parameters}>; rel="next"`
}
