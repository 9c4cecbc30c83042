/** Finds the projects of a list on SQLite: by narrow columns first, then reads only the full rows of the page. docs/scaling.md: How a search works. */
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { walkNewest } from '../../platform/db/chunks.ts'
import { containsPattern } from '../../platform/db/db.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'

type Builder = ExpressionBuilder<Schema, 'project'>

/** `filters`: further conditions. `ids`: the only candidates, if few. */
export type Wanted = {
  count: number
  before: number | undefined
  after: number | undefined
  search: string | undefined
  filters: (eb: Builder) => Expression<SqlBool>[]
  readsRows: boolean
  ids: readonly string[] | undefined
}
export type Found = Pick<Row<'project'>, 'id' | 'updated_stamp'>

/** Name index entries and rows per statement: a millisecond. */
const NAMES = 5000
const ROWS = 500

/** Finds the projects of a page, last updated first, and one more if the list continues. */
export async function findProjects(ctx: Ctx, query: Wanted): Promise<Found[]> {
  const { count, before = Number.MAX_SAFE_INTEGER, after, search, filters, ids } = query
  if (ids?.length === 0) return []
  const all = ctx.db
    .selectFrom('project')
    .select(['id', 'updated_stamp'])
    .where('account_id', '=', ctx.account.id)
    .$if(after !== undefined, (some) => some.where('updated_stamp', '>', after!))
  const fitting = all
    .where((eb) => eb.and(filters(eb)))
    .$if(search !== undefined, (some) => some.where(sql<SqlBool>`name like ${containsPattern(search!)} escape '!'`))
  if (ids !== undefined) {
    // No index contains the sum, so the engine finds these first and then sorts them.
    const few = fitting.where('id', 'in', ids).where('updated_stamp', '<', before)
    return few.orderBy(sql`updated_stamp + 0`, 'desc').limit(sql.lit(count)).execute()
  }
  return walkNewest({
    before,
    count,
    async endOf(slice) {
      const last = await all
        .clearSelect()
        .select('updated_stamp')
        .where('updated_stamp', '<', slice)
        .orderBy('updated_stamp', 'desc')
        .offset(sql.lit((query.readsRows ? ROWS : NAMES) - 1))
        .limit(sql.lit(1))
        .executeTakeFirst()
      return last?.updated_stamp
    },
    find: ({ before, from }, left) =>
      fitting
        .where('updated_stamp', '<', before)
        .$if(from !== undefined, (some) => some.where('updated_stamp', '>=', from!))
        .orderBy('updated_stamp', 'desc')
        .limit(sql.lit(left))
        .execute(),
  })
}

/** Reads found projects in their order. Omits those that were removed meanwhile. */
export async function readFound({ db, account }: Ctx, found: readonly Found[]): Promise<Row<'project'>[]> {
  if (found.length === 0) return []
  const ids = found.map(({ id }) => id)
  const rows = await db
    .selectFrom('project')
    .selectAll()
    .where('account_id', '=', account.id)
    .where('id', 'in', ids)
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** Returns projects that name an Edge Config, if few. Any account may name any of them, and then many match. */
export async function fewThatName(
  { db }: Ctx,
  column: 'edge_config_id' | 'edge_config_token_id',
  name: string,
): Promise<string[] | undefined> {
  const rows = await db
    .selectFrom('env_var')
    .select('project_id')
    .distinct()
    .where(column, '=', name)
    .limit(sql.lit(ROWS + 1))
    .execute()
  return rows.length > ROWS ? undefined : rows.map(({ project_id }) => project_id)
}
