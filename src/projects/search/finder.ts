import { type SelectQueryBuilder, sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import type { SearchResult } from './schema.ts'

/** `partial`: the account has more rows than were scanned. */
export type FinderResult = { found: Omit<SearchResult, 'kind'>[]; partial: boolean }

/** Finds a lower-case text and returns at most `count` results. `typed`: the text as it was sent, for ids. */
export type Finder = (ctx: Ctx, text: string, count: number, typed: string) => Promise<FinderResult>

/** The most projects to scan for a caller who sees only some, or for variables. */
export const MAX_SEARCHED_PROJECTS = 1000

/** Returns an order with exact names first. */
export function exactly(column: string, text: string) {
  return sql`case when ${sql.ref(column)} = ${text} then 0 else 1 end`
}

/** Returns whether a list has more than `max` rows. */
// biome-ignore lint/suspicious/noExplicitAny: of whatever tables
export async function isLonger(list: SelectQueryBuilder<any, any, any>, max: number): Promise<boolean> {
  return (
    (await list.clearSelect().select(sql`1`.as('one')).offset(sql.lit(max)).limit(sql.lit(1)).executeTakeFirst()) !==
    undefined
  )
}

/** Moves exact matches to the front and keeps the order of the others. */
export function exactFirst<T>(all: readonly T[], text: string, nameOf: (item: T) => string): T[] {
  return all.toSorted((a, b) => Number(nameOf(b).toLowerCase() === text) - Number(nameOf(a).toLowerCase() === text))
}
