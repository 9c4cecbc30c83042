/** The interface of the database for the rest of Berth: one schema, read and write, on either engine. */
import { hash } from 'node:crypto'
import { type Compilable, type CompiledQuery, type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import type { RefusalKey } from '../../errors.ts'
import { someOf } from '../base/text.ts'
import { VERSION } from '../base/version.ts'
import type { ChangeFeed } from './change-feed.ts'
import { MIGRATIONS } from './migrations.ts'
import { PIPELINES, type Statement } from './postgres/statement.ts'
import type { Schema } from './schema.ts'
import { DIRECT_QUERIES } from './sqlite/dialect.ts'
import { hasTable, isSqlite, type Store } from './tables.ts'

const CANNOT_USE = 'the database cannot be used; see DATABASE_URL'

/** The read connection, or the transaction of a write. */
export type Queries = Kysely<Schema>

export type Db = {
  engine: 'sqlite' | 'postgres'
  /** For GETs. Sees committed data and never waits for a writer. */
  read: Queries
  /** For `prepared` statements that commit at once. They have connections of their own, so a transaction may wait for them. Undefined on SQLite. */
  autocommit?: Queries
  /**
   * Runs `work` in a serializable transaction and resolves when it is durable. `work` may run several times, so it awaits only the database and has no
   * other effects. An error rolls it back. Refuses: busy 503 (repeated serialization failures). `owner`: the account; queued writes of accounts run
   * round-robin.
   */
  write<T>(work: (tx: Queries) => Promise<T>, owner?: string): Promise<T>
  /**
   * The change feed. On SQLite a commit invalidates caches synchronously, on PostgreSQL soon after, for all instances:
   * platform/db/postgres/notifications.ts.
   */
  changes: ChangeFeed
  /** Makes later reads see the current data, including writes of other processes. */
  refreshSnapshot(): void
  /** The refusal for a query that failed because of the database: unavailable 503, storage_full 507. Undefined for a bug. */
  refusalOf(error: unknown): RefusalKey | undefined
  /** Whether a transaction that failed with this error may have committed, because no answer came from the database. */
  mayHaveCommitted(error: unknown): boolean
  /** Connections by state; undefined without a pool. */
  connections?(): Record<string, number>
  close(): Promise<void>
}

/** Migrates the database to this program's schema, or to an earlier one, in one transaction. Returns the migrations that ran. Throws on a newer database. */
export async function migrate(db: Queries, to?: string): Promise<string[]> {
  // The migrator describes every column of every table, twice; most starts have nothing to do. It also reports what is wrong.
  if (to === undefined && (await schemaOf(db).then(isUpToDate, () => false))) return []
  const schema = await schemaName(db)
  const provider = { getMigrations: async () => MIGRATIONS }
  const migrator = new Migrator({ db, provider, ...(schema !== null && { migrationTableSchema: schema }) })
  const { error, results = [] } = await (to === undefined ? migrator.migrateToLatest() : migrator.migrateTo(to))
  if (error === undefined) return results.map((result) => result.migrationName)
  const failed = results.find((result) => result.status === 'Error')
  if (failed) throw new Error(`migration ${failed.migrationName} failed`, { cause: error })
  const isOther = /^corrupted migrations/.test((error as Error).message)
  if (isOther) throw new Error(otherVersion(await schemaOf(db)))
  throw new Error(CANNOT_USE, { cause: error })
}

/**
 * The PostgreSQL schema of the database; null on SQLite, and where the search path names none that exists. Another schema may have tables of the same
 * names.
 */
async function schemaName(db: Queries): Promise<string | null> {
  if (isSqlite(db)) return null
  try {
    return (await sql<{ name: string | null }>`select current_schema() as name`.execute(db)).rows[0]!.name
  } catch (error) {
    throw new Error(CANNOT_USE, { cause: error })
  }
}

/** Explains why this program cannot open a database with other migrations. docs/upgrading.md: Downgrade. */
function otherVersion({ applied, unknown, pending }: SchemaState): string {
  if (applied.length === unknown.length)
    return `another program keeps its tables there: its migrations are ${someOf(unknown)}, and none is of Berth. Give Berth a database or a schema of its own (docs/operations.md: Shared database)`
  if (unknown.length === 0)
    return `the store was written by another version of Berth: it lacks ${pending.join(', ')}, and has later migrations. Start the version that wrote it`
  return `the store was written by a newer version of Berth: it has ${unknown.join(', ')}, which this version (${VERSION}) does not know. Start the newer version again; to go back to this one, restore a backup that was made before the upgrade (berth restore)`
}

/** Migrations of a database. `unknown`: a newer program ran them. */
export type SchemaState = { applied: string[]; pending: string[]; unknown: string[] }

/** Reads the migrations of a database. An empty one has none. */
export async function schemaOf(db: Store): Promise<SchemaState> {
  const names = Object.keys(MIGRATIONS)
  if (!(await hasTable(db, 'kysely_migration'))) return { applied: [], pending: names, unknown: [] }
  const rows = (await db.selectFrom('kysely_migration').select('name').orderBy('name').execute()) as { name: string }[]
  const applied = rows.map((row) => row.name)
  return {
    applied,
    pending: names.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !names.includes(name)),
  }
}

/** Returns whether a database has exactly the migrations of this program. */
export function isUpToDate({ pending, unknown }: SchemaState): boolean {
  return pending.length === 0 && unknown.length === 0
}

/** Unique indexes by their PostgreSQL name, with the columns that SQLite reports. */
const UNIQUE = {
  project_name: 'project.account_id, project.name',
  account_slug_key: 'account.slug',
  account_email_key: 'account.email',
  integration_slug: 'integration.slug',
}

/** Returns whether an error is a violation of this unique index. */
export function isUniqueViolation(error: unknown, index: keyof typeof UNIQUE): boolean {
  const { constraint, message } = error as { constraint?: string; message?: string }
  return constraint === index || message === `UNIQUE constraint failed: ${UNIQUE[index]}`
}

/**
 * Creates a short query for a hot path, compiled once per engine (docs/decisions/0005). `build` gets a placeholder for every named value. `discardResult`:
 * the result is not needed; within a PostgreSQL transaction a failure surfaces at the latest at the commit. `ownConnection`: the query may be slow or large, so
 * on PostgreSQL it uses its own connection.
 */
export function preparedQuery<Values extends Record<string, string | number | null>, Result>(
  build: (db: Queries, value: Values) => Compilable<Result>,
  { discardResult = false, ownConnection = false } = {},
): (db: Queries, values: Values) => Promise<Result[]> {
  const compiledFor = compileOnce(build, discardResult)
  return async (db, values) => {
    const { query, fill } = compiledFor(db)
    const parameters = fill(values)
    const { adapter } = db.getExecutor()
    const direct = DIRECT_QUERIES.get(adapter)
    if (direct !== undefined) return direct(query.sql, parameters) as Result[]
    const pipelined = db.isTransaction || ownConnection ? undefined : PIPELINES.get(adapter)
    if (pipelined !== undefined) return (await pipelined({ ...query, parameters })) as Result[]
    return (await db.executeQuery<Result>({ ...query, parameters })).rows
  }
}

type Compiled<Values, Result> = { query: CompiledQuery<Result> & Statement; fill: (values: Values) => unknown[] }

/** Compiles a query once per engine. `fill` returns its parameters. `discardResult`: as for `preparedQuery`. */
export function compileOnce<Values extends Record<string, string | number | null>, Result>(
  build: (db: Queries, value: Values) => Compilable<Result>,
  discardResult = false,
): (db: Queries) => Compiled<Values, Result> {
  const compiled = new WeakMap<object, Compiled<Values, Result>>()
  return (db) => {
    const engine = db.getExecutor().adapter
    let entry = compiled.get(engine)
    if (entry === undefined) {
      entry = compile(build, db, discardResult)
      compiled.set(engine, entry)
    }
    return entry
  }
}

class StandIn {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

function compile<Values extends object, Result>(
  build: (db: Queries, value: Values) => Compilable<Result>,
  db: Queries,
  discardResult: boolean,
): Compiled<Values, Result> {
  const standIns = new Proxy({}, { get: (_, name) => new StandIn(String(name)) }) as Values
  const query = build(db, standIns).compile()
  const slots = query.parameters
  const name = hash('sha256', query.sql, 'base64url').slice(0, 24)
  return {
    query: { ...query, name, discardResult },
    fill: (values) =>
      slots.map((slot) => (slot instanceof StandIn ? (values as Record<string, unknown>)[slot.name] : slot)),
  }
}

/** Counts the rows of a query that selects no columns yet. */
export async function rowCount<DB, Table extends keyof DB, O>(
  query: SelectQueryBuilder<DB, Table, O>,
): Promise<number> {
  const row: unknown = await query.select(sql<number>`count(*)`.as('count')).executeTakeFirstOrThrow()
  return Number((row as { count: number }).count)
}

/** Returns the pattern of `like … escape '!'` for a substring. It is in lower case, so compare it with lower case. */
export function containsPattern(text: string): string {
  return `%${text.toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`
}
