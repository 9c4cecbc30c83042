/** Copies rows, table by table, between engines. */
import { sql } from 'kysely'
import { MAX_UNCONFIRMED_MS } from '../../accounts/users/operator-suspension.ts'
import type { Queries } from '../../platform/db/db.ts'
import { countRows, isSqlite, rowsOf, type Store, tablesOf } from '../../platform/db/tables.ts'
import { cachePurgesOf, purgesAfterRestore } from '../../platform/verdict/cache-purges.ts'
import type { Progress } from './progress.ts'

/** Triggers write it while other tables are filled, so it is copied last. */
const NOTED_BY_TRIGGERS = 'edge_change'

/** Key of the row that marks a restore: all cached state may be stale. */
export const RESTORED = 'restored'

/**
 * Marks a restored database. No row records which changes were lost, so followers of the previous one must reload everything. Refresh tokens of
 * identities are stale too.
 */
export async function noteRestore(db: Queries): Promise<void> {
  await deleteVouching(db)
  await raisePurges(db)
  const newest = await db
    .selectFrom('edge_change')
    .select(({ fn }) => fn.max('stamp').as('stamp'))
    .executeTakeFirst()
  const stamp = Math.max(Date.now(), Number(newest?.stamp ?? 0) + 1)
  await db.deleteFrom('edge_change').where('key', '=', RESTORED).execute()
  await db.insertInto('edge_change').values({ key: RESTORED, stamp }).execute()
}

/**
 * The provider may have rotated refresh tokens since the backup, and using an old one may revoke the tokens of production. So none is kept, and users
 * must sign in again. docs/single-sign-on.md: After a restore.
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

const PROJECTS_AT_ONCE = 500

/** Sites servers keep pages of purges that the backup does not have, so numbers must not be used again. docs/prerendering.md: Purge. */
async function raisePurges(db: Queries): Promise<void> {
  const now = Date.now()
  const none = JSON.stringify(purgesAfterRestore(undefined, now))
  for (let last = ''; ; ) {
    const purged = await db
      .selectFrom('project')
      .select(['id', 'purges_json'])
      .where('id', '>', last)
      .where('purges_json', 'is not', null)
      .orderBy('id')
      .limit(PROJECTS_AT_ONCE)
      .execute()
    for (const { id, purges_json } of purged) {
      const purges = purgesAfterRestore(cachePurgesOf(purges_json), now)
      await db
        .updateTable('project')
        .set({ purges_json: JSON.stringify(purges) })
        .where('id', '=', id)
        .execute()
    }
    if (purged.length < PROJECTS_AT_ONCE) break
    last = purged.at(-1)!.id
  }
  await db.updateTable('project').set({ purges_json: none }).where('purges_json', 'is', null).execute()
}

/** Lists the tables with data, in the order in which they are filled. Excludes Kysely's own, which record migrations. */
export async function tablesToCopy(db: Store): Promise<Map<string, string[]>> {
  const all = await tablesOf(db)
  const names = [...all.keys()].filter((name) => !name.startsWith('kysely_'))
  const last = (name: string) => Number(name === NOTED_BY_TRIGGERS)
  return new Map(names.sort((a, b) => last(a) - last(b)).map((name) => [name, all.get(name)!]))
}

/**
 * Copies every row and replaces rows that migrations inserted into `to`. Both are transactions with the same tables (or `from` is an unchanging
 * file). Tables of other programs in a PostgreSQL schema are not touched; returns those of `from`. Throws when a table or column is missing, or a row
 * was lost.
 */
export async function copyRows(from: Queries, to: Queries, progress: Progress): Promise<string[]> {
  const [source, target] = [await tablesToCopy(from), await tablesToCopy(to)]
  const own = isSqlite(from) ? source : target
  const ownOf = (all: Map<string, string[]>) => new Map([...all].filter(([name]) => own.has(name)))
  const tables = ownOf(source)
  mustBeAlike(tables, ownOf(target))
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
    if (there !== count) throw new Error(`the table ${table} has ${there} rows of ${count}; nothing was saved`)
  }
  if (!isSqlite(to)) await goOnCounting(to, own)
  return [...source.keys()].filter((name) => !own.has(name))
}

/** PostgreSQL sequences do not notice rows with explicit numbers. SQLite uses the greatest number. */
async function goOnCounting(to: Store, own: ReadonlyMap<string, unknown>): Promise<void> {
  const numbered = sql<{ table: string; column: string }>`select table_name as "table", column_name as "column"
    from information_schema.columns where table_schema = current_schema() and is_identity = 'YES'`
  for (const { table, column } of (await numbered.execute(to)).rows.filter((row) => own.has(row.table)))
    await sql`select setval(pg_get_serial_sequence(${table}, ${column}), coalesce(max(${sql.ref(column)}), 0) + 1, false)
      from ${sql.table(table)}`.execute(to)
}

/** The order of columns may differ between engines after migrations. */
function mustBeAlike(a: Map<string, string[]>, b: Map<string, string[]>): void {
  const textOf = (tables: Map<string, string[]>) =>
    [...tables].map(([name, columns]) => `${name}(${columns.toSorted()})`).sort()
  const [left, right] = [textOf(a), textOf(b)]
  const odd = left.find((table) => !right.includes(table)) ?? right.find((table) => !left.includes(table))
  if (odd !== undefined) throw new Error(`the two stores do not have the same tables: ${odd} is in one of them only`)
}
