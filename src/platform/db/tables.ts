/** Access to the tables of a database of any schema, for copies. */
import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** Queries on tables without types: a database of any schema. */
// biome-ignore lint/suspicious/noExplicitAny: the names of tables and columns are read from the store itself
export type Store = Kysely<any>

export type Rows = Record<string, unknown>[]

/** Rows per read or write. With the largest values (64 KiB) that is some 15 MB. */
const SLICE = 200

/** Returns the tables with their columns, including the migration tables. */
export async function tablesOf(db: Store): Promise<Map<string, string[]>> {
  const columns = isSqlite(db)
    ? sql<Column>`select t.name as "table", c.name as "column" from sqlite_master t join pragma_table_info(t.name) c
        where t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' order by t.name, c.cid`
    : sql<Column>`select c.table_name as "table", c.column_name as "column" from information_schema.columns c
        join information_schema.tables t using (table_schema, table_name)
        where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' order by c.table_name, c.ordinal_position`
  const tables = new Map<string, string[]>()
  for (const { table, column } of (await columns.execute(db)).rows) {
    const columns = tables.get(table)
    if (columns === undefined) tables.set(table, [column])
    else columns.push(column)
  }
  return tables
}
type Column = { table: string; column: string }

/** Returns whether a table exists. */
export async function hasTable(db: Store, name: string): Promise<boolean> {
  const found = isSqlite(db)
    ? sql`select 1 from sqlite_master where type = 'table' and name = ${name}`
    : sql`select 1 from pg_catalog.pg_tables where schemaname = current_schema() and tablename = ${name}`
  return (await found.execute(db)).rows.length > 0
}

/** Returns the rows of a table in slices, in any order. On PostgreSQL, call it inside a transaction. */
export function rowsOf(db: Store, table: string): AsyncGenerator<Rows> {
  return isSqlite(db) ? rowsOfSqlite(db, table) : rowsOfPostgres(db, table)
}

async function* rowsOfSqlite(db: Store, table: string): AsyncGenerator<Rows> {
  for (let last = Number.MIN_SAFE_INTEGER; ; ) {
    const { rows } = await sql<Record<string, unknown>>`select rowid as berth_rowid, * from ${sql.table(table)}
      where rowid > ${last} order by rowid limit ${SLICE}`.execute(db)
    if (rows.length === 0) return
    last = rows.at(-1)!.berth_rowid as number
    yield rows.map(({ berth_rowid: _, ...row }) => row)
  }
}

async function* rowsOfPostgres(db: Store, table: string): AsyncGenerator<Rows> {
  await sql`declare berth_rows no scroll cursor for select * from ${sql.table(table)}`.execute(db)
  for (;;) {
    const { rows } = await sql.raw<Record<string, unknown>>(`fetch ${SLICE} from berth_rows`).execute(db)
    if (rows.length === 0) break
    yield rows
  }
  await sql`close berth_rows`.execute(db)
}

/** Counts the rows of a table by a full scan. */
export async function countRows(db: Store, table: string): Promise<number> {
  const { rows } = await sql<{ rows: number }>`select count(*) as rows from ${sql.table(table)}`.execute(db)
  return Number(rows[0]!.rows)
}

/** Returns whether a table has rows. */
export async function hasRows(db: Store, table: string): Promise<boolean> {
  return (await sql`select 1 from ${sql.table(table)} limit 1`.execute(db)).rows.length > 0
}

/** Returns whether the database is SQLite. */
export function isSqlite(db: Store): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}
