/** A store's rows, table by table, from one engine to the other. */
import { sql } from 'kysely'
import { MAX_UNCONFIRMED_MS } from '../../accounts/single-sign-on/identities.ts'
import type { Queries } from '../../platform/db/db.ts'
import { countRows, isSqlite, rowsOf, type Store, tablesOf } from '../../platform/db/tables.ts'
import type { Progress } from './progress.ts'

/** Triggers write it as the other tables are filled, so it is copied last. */
const NOTED_BY_TRIGGERS = 'edge_change'

/** The key of the row by which a restore says that anything may differ from what was known before. */
export const RESTORED = 'restored'

/**
 * Notes in a restored store that it was restored: no row says what was lost, so whoever followed the former store takes all. What it knows of
 * people at a provider is old too.
 */
export async function noteRestore(db: Queries): Promise<void> {
  await deleteVouching(db)
  const newest = await db
    .selectFrom('edge_change')
    .select(({ fn }) => fn.max('stamp').as('stamp'))
    .executeTakeFirst()
  const stamp = Math.max(Date.now(), Number(newest?.stamp ?? 0) + 1)
  await db.deleteFrom('edge_change').where('key', '=', RESTORED).execute()
  await db.insertInto('edge_change').values({ key: RESTORED, stamp }).execute()
}

/**
 * A refresh token from before a restore says nothing of its person: the provider may have changed it since, and one that sees an old token
 * may end the newer ones, which production has. So none is kept. Whoever signs in by a provider is asked to do it again, as where a provider
 * gives no such token: docs/single-sign-on.md: After a restore.
 */
async function deleteVouching(db: Queries): Promise<void> {
  const now = Date.now()
  const people = db.selectFrom('identity').select('user_id').where('ended_at', 'is', null)
  await db.deleteFrom('session').where('user_id', 'in', people).execute()
  await db
    .updateTable('identity')
    .set({ refresh_token: null, checked_at: now, due_at: now + MAX_UNCONFIRMED_MS })
    .where('ended_at', 'is', null)
    .execute()
}

/** The tables that hold data, in the order in which they are filled. Kysely's own say what migrations ran, and are not copied. */
export async function tablesToCopy(db: Store): Promise<Map<string, string[]>> {
  const all = await tablesOf(db)
  const names = [...all.keys()].filter((name) => !name.startsWith('kysely_'))
  const last = (name: string) => Number(name === NOTED_BY_TRIGGERS)
  return new Map(names.sort((one, other) => last(one) - last(other)).map((name) => [name, all.get(name)!]))
}

/**
 * Copies every row; what migrations put into `to` goes first. Both are transactions (or `from` is a file that nobody writes) and have the same tables.
 * Other programs may have more in the schema of a PostgreSQL: nothing of theirs is read or written. Gives the tables of `from` that were left out so.
 * Throws when a table or column is missing on one side, or a row got lost on the way.
 */
export async function copyRows(from: Queries, to: Queries, progress: Progress): Promise<string[]> {
  const [one, other] = [await tablesToCopy(from), await tablesToCopy(to)]
  const own = isSqlite(from) ? one : other
  const ownOf = (all: Map<string, string[]>) => new Map([...all].filter(([name]) => own.has(name)))
  const tables = ownOf(one)
  mustBeAlike(tables, ownOf(other))
  const counts = new Map<string, number>()
  for (const table of tables.keys()) counts.set(table, await countRows(from, table))
  const total = counts.values().reduce((sum, count) => sum + count, 0)
  let copied = 0
  for (const [table, count] of counts) {
    await (to as Store).deleteFrom(table).execute()
    for await (const rows of rowsOf(from, table)) {
      await (to as Store).insertInto(table).values(rows).execute()
      copied += rows.length
      progress('copy', copied, total)
    }
    const there = await countRows(to, table)
    if (there !== count) throw new Error(`the table ${table} has ${there} rows of ${count}; nothing was kept`)
  }
  if (!isSqlite(to)) await goOnCounting(to, own)
  return [...one.keys()].filter((name) => !own.has(name))
}

/** PostgreSQL numbers rows by sequences, which do not notice rows that bring their number. SQLite looks for the greatest. */
async function goOnCounting(to: Store, own: ReadonlyMap<string, unknown>): Promise<void> {
  const numbered = sql<{ table: string; column: string }>`select table_name as "table", column_name as "column"
    from information_schema.columns where table_schema = current_schema() and is_identity = 'YES'`
  for (const { table, column } of (await numbered.execute(to)).rows.filter((row) => own.has(row.table)))
    await sql`select setval(pg_get_serial_sequence(${table}, ${column}), coalesce(max(${sql.ref(column)}), 0) + 1, false)
      from ${sql.table(table)}`.execute(to)
}

/** The order of columns may differ: what was added by a migration stands where the engine puts it. */
function mustBeAlike(one: Map<string, string[]>, other: Map<string, string[]>): void {
  const textOf = (tables: Map<string, string[]>) =>
    [...tables].map(([name, columns]) => `${name}(${columns.toSorted()})`).sort()
  const [left, right] = [textOf(one), textOf(other)]
  const odd = left.find((table) => !right.includes(table)) ?? right.find((table) => !left.includes(table))
  if (odd !== undefined) throw new Error(`the two stores do not have the same tables: ${odd} is in one of them only`)
}
