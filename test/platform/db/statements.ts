/** The statements that a service sends to its store, recorded as they pass, and how the engine would run each over large tables. */
import { DatabaseSync } from 'node:sqlite'
import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import type { Queries } from '../../../src/platform/db/db.ts'
import { tablesOf } from '../../../src/platform/db/tables.ts'
import type { World } from '../../support/world.ts'

/** A few rows, however much a store holds. */
export const SMALL = new Set([
  'root_key',
  // 500 rows: delivery/runners/registry.ts.
  'runner',
  'fact',
  'backup',
  'backup_run',
  'keyring_copy',
  'kysely_migration',
  'kysely_migration_lock',
])

/** Each statement with values that it was given; SQLite plans without. */
export type Statements = Map<string, readonly unknown[]>

type Given = { text: string; values: unknown[] }

/** Records every statement that a connection of this process is given, until `stop`. */
export function hearStatements(): { said: Statements; stop(): void } {
  const said: Statements = new Map()
  const { prepare } = DatabaseSync.prototype
  const { query } = pg.Client.prototype
  DatabaseSync.prototype.prepare = function (text, ...rest) {
    said.set(text, [])
    return prepare.call(this, text, ...rest)
  }
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [first, values] = given as [string | Partial<Given>, unknown]
    const statement = typeof first === 'string' ? { text: first, values } : first
    if (statement.text !== undefined) said.set(statement.text, Array.isArray(statement.values) ? statement.values : [])
    return (query as (...given: unknown[]) => unknown).apply(this, given)
  } as typeof query
  return {
    said,
    stop() {
      DatabaseSync.prototype.prepare = prepare
      pg.Client.prototype.query = query
    },
  }
}

/** A table that a statement reads from its beginning to its end, or the index that it walks so. */
export type Walk = { table: string; index: string | undefined }

/** What each statement walks through whole, by its text. Those that walk nothing are not in the answer. */
export async function walksOf(world: World, statements: Statements): Promise<Map<string, Walk[]>> {
  const walks = new Map<string, Walk[]>()
  await world.deps.db.read.connection().execute(async (db) => {
    if (world.engine === 'postgres') await pretendLarge(db)
    for (const [text, values] of statements) {
      const found = await (world.engine === 'sqlite' ? walksOnSqlite : walksOnPostgres)(db, text, values)
      if (found.length > 0) walks.set(text, found)
    }
  })
  return walks
}

/** How SQLite runs a statement does not depend on the size of a table, and needs no setup. */
async function walksOnSqlite(db: Queries, text: string): Promise<Walk[]> {
  const tables = await tablesOf(db)
  const { rows } = await sql.raw<{ parent: number; detail: string }>(`explain query plan ${text}`).execute(db)
  // What a subquery gave is walked by its name, which may be a table's.
  const given = new Set(
    rows.map(({ parent, detail }) => `${parent} ${/^(?:CO-ROUTINE|MATERIALIZE) (.*)/.exec(detail)?.[1]}`),
  )
  return rows.flatMap(({ parent, detail }) => {
    const [, table = '', index] = /^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/.exec(detail) ?? []
    return tables.has(table) && !given.has(`${parent} ${table}`) ? [{ table, index }] : []
  })
}

/** PostgreSQL reads small tables whole, and rightly. Here its statistics say that no table that grows is small. */
async function pretendLarge(db: Queries): Promise<void> {
  const small = sql.join([...SMALL].flatMap((table) => [table, `${table}_pkey`]))
  await sql`set enable_seqscan = off`.execute(db)
  await sql`update pg_class set reltuples = 1e6, relpages = 1 
    where relnamespace = 'public'::regnamespace and relname not in (${small})`.execute(db)
}

type Node = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Plans?: Node[]
}

async function walksOnPostgres(db: Queries, text: string, values: readonly unknown[]): Promise<Walk[]> {
  const { rows } = await db.executeQuery<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    CompiledQuery.raw(`explain (format json) ${text}`, [...values]),
  )
  return walksIn(rows[0]!['QUERY PLAN'][0].Plan)
}

function walksIn(node: Node): Walk[] {
  const below = (node.Plans ?? []).flatMap(walksIn)
  const { 'Relation Name': table, 'Index Name': index } = node
  const whole =
    node['Node Type'] === 'Seq Scan' || (/^Index/.test(node['Node Type']) && node['Index Cond'] === undefined)
  return whole && table !== undefined ? [{ table, index }, ...below] : below
}
