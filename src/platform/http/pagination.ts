/** Pagination: `{count, next, prev}`, by stamp, so that a full walk returns every row exactly once. docs/spec/decisions.md: Pagination. */
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Static } from 'typebox'
import { STAMPS_PER_MS } from '../base/clock.ts'
import type { Pagination } from '../schema/fields.ts'

export const DEFAULT_LIMIT = 20
/** Stamps are larger than every timestamp in milliseconds up to the year 5138, so a number is one or the other. */
const HIGHEST_MOMENT = 1e14

/** Whether a number from a client is a cursor rather than a timestamp. */
export function isCursor(value: number): boolean {
  return value > HIGHEST_MOMENT
}

/** Returns the stamp of `until`, a cursor or a timestamp in ms. Rows before it match. */
export function stampBefore(until: number): number {
  return isCursor(until) ? until : until * STAMPS_PER_MS
}

/** Returns the stamp of `since`. Rows after it match. */
export function stampAfter(since: number): number {
  return isCursor(since) ? since : (since + 1) * STAMPS_PER_MS - 1
}

/**
 * Cuts rows, fetched newest first with one more than `limit`, to a page. `next` is the `until` of the next page; `prev` is the first row's stamp
 * unless this is the first page.
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

/** Reads the rows of a page by a column of stamps, newest first, and one more. */
export async function newestRows<DB, Table extends keyof DB, Found>(
  query: SelectQueryBuilder<DB, Table, Found>,
  { limit = DEFAULT_LIMIT, until, since }: Place,
  column: string,
): Promise<Found[]> {
  const stamp = sql.ref(column)
  let page = query.orderBy(stamp, 'desc').limit(limit + 1)
  if (until !== undefined) page = page.where(sql<SqlBool>`${stamp} < ${stampBefore(until)}`)
  if (since !== undefined) page = page.where(sql<SqlBool>`${stamp} > ${stampAfter(since)}`)
  return (await page.execute()) as unknown as Found[]
}

/** Returns a page of a query by `created_stamp`, newest first. `table`: whose, in a query of several tables. */
export async function newestPage<DB, Table extends keyof DB, Found extends { created_stamp: number }>(
  query: SelectQueryBuilder<DB, Table, Found>,
  place: Place,
  table?: string,
): Promise<Page<Found>> {
  const rows = await newestRows(query, place, table === undefined ? 'created_stamp' : `${table}.created_stamp`)
  return paginate(rows, place.limit ?? DEFAULT_LIMIT, place.until, (row) => row.created_stamp)
}

type Place = { limit?: number | undefined; until?: number | undefined; since?: number | undefined }
type Page<T> = { rows: T[]; pagination: Static<typeof Pagination> }

/** Rows that a filter without an index scans per page. */
export const SCAN_LIMIT = 20_000

/**
 * Returns a page of `found`: the matching rows among the next SCAN_LIMIT of `placed`, newest first. `next` continues behind those, even if the page
 * is not full. `column`: of the stamps, in `table`.
 */
export async function scannedPage<
  DB,
  Table extends keyof DB,
  Found extends Record<Column, number>,
  From,
  Scanned extends keyof From,
  Placed,
  Column extends 'stamp' | 'created_stamp',
>(
  found: SelectQueryBuilder<DB, Table, Found>,
  placed: SelectQueryBuilder<From, Scanned, Placed>,
  { limit = DEFAULT_LIMIT, until }: Place,
  table: string,
  column: Column,
): Promise<Page<Found>> {
  const rows = await newestRows(found, { limit }, `${table}.${column}`)
  const result = paginate(rows, limit, until, (row) => row[column])
  if (result.pagination.next !== null) return result
  const atLimit = placed.select(sql.ref<number>(column).as('stamp')).offset(sql.lit(SCAN_LIMIT - 1))
  const last = await atLimit.limit(sql.lit(1)).executeTakeFirst()
  result.pagination.next = (last as unknown as { stamp: number } | undefined)?.stamp ?? null
  return result
}

/** Returns the RFC 8288 `Link` header of a response with a next page. */
export function linkHeader(answer: unknown, url: string): string | undefined {
  const next = (answer as { pagination?: Static<typeof Pagination> } | undefined)?.pagination?.next
  if (next === null || next === undefined) return undefined
  const [path, query] = url.split('?', 2)
  const parameters = new URLSearchParams(query)
  const rising = parameters.get('order') === 'ASC'
  for (const name of ['from', 'since']) if (!rising && isCursor(Number(parameters.get(name)))) parameters.delete(name)
  // An ascending list continues from its last row and keeps the `until` that ends it.
  parameters.set(rising ? 'since' : 'until', String(next))
  return `<${path}?${parameters}>; rel="next"`
}
