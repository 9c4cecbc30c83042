/** What each kind of a search has in common. */
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import type { SearchResult } from './schema.ts'

/** `partial`: the account has more than is looked at. */
export type FinderResult = { found: Omit<SearchResult, 'kind'>[]; partial: boolean }

/** Looks for a text, which is in lower case, and gives at most `count` results. */
export type Finder = (ctx: Ctx, text: string, count: number) => Promise<FinderResult>

/** Projects of a caller who sees only some, or that are looked through for variables. */
export const MAX_SEARCHED_PROJECTS = 1000

/** An order that begins with what is called exactly so. */
export function exactly(column: string, text: string) {
  return sql`case when ${sql.ref(column)} = ${text} then 0 else 1 end`
}

/** Whether a list has more rows than so many. */
// biome-ignore lint/suspicious/noExplicitAny: of whatever tables
export async function isLonger(list: SelectQueryBuilder<any, any, any>, most: number): Promise<boolean> {
  return (
    (await list.clearSelect().select(sql`1`.as('one')).offset(sql.lit(most)).limit(sql.lit(1)).executeTakeFirst()) !==
    undefined
  )
}

/** What is called exactly so comes first; the others stay in their order. */
export function exactFirst<T>(all: readonly T[], text: string, nameOf: (one: T) => string): T[] {
  return all.toSorted(
    (one, other) => Number(nameOf(other).toLowerCase() === text) - Number(nameOf(one).toLowerCase() === text),
  )
}
