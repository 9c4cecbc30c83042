/** What the rest of Berth knows of a store: one schema, read and write, whichever engine is behind it. */
import { hash } from 'node:crypto'
import { type Compilable, type CompiledQuery, type Kysely, sql } from 'kysely'
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

/** Where queries run: the read connection, or the transaction of a write. */
export type Queries = Kysely<Schema>

export type Db = {
  engine: 'sqlite' | 'postgres'
  /** For GETs. Sees what is committed, and never waits for a writer. */
  read: Queries
  /**
   * For `prepared` statements that commit at once and wait for no transaction of this process, so a transaction may wait for them: they have
   * connections of their own. Undefined on SQLite.
   */
  autocommit?: Queries
  /**
   * Runs `work` in a serializable transaction and resolves when it is durable. `work` may run more than once (a lost race
   * is run again), so it awaits nothing but the database and keeps its effects in it. What it throws undoes what it did.
   * Refuses: busy 503 (races lost again and again). `owner`: the account that it is for; where writes queue, owners take turns.
   */
  write<T>(work: (tx: Queries) => Promise<T>, owner?: string): Promise<T>
  /**
   * What commits change. On SQLite all of it is known in the turn of the commit, so there it ends what is remembered. On PostgreSQL it is
   * known soon after, of every instance: platform/db/postgres/notifications.ts.
   */
  changes: ChangeFeed
  /** Whoever reads after it sees what is in the store now, also what came from elsewhere than this process. */
  refreshSnapshot(): void
  /** What the caller is told when a query failed for a reason of the store: unavailable 503, storage_full 507. Undefined for a bug. */
  refusalOf(error: unknown): RefusalKey | undefined
  /** Connections by their state; undefined where there is no pool. */
  connections?(): Record<string, number>
  close(): Promise<void>
}

/**
 * Brings the store to this program's schema, or to an earlier one, in one transaction: killed half-way, nothing of it stands.
 * Gives the migrations that ran. Throws on a newer store.
 */
export async function migrate(db: Queries, to?: string): Promise<string[]> {
  // The migrator has the server describe every column of every table, twice; most starts find nothing to do. It also says what is wrong.
  if (to === undefined && (await schemaOf(db).then(isUpToDate, () => false))) return []
  const schema = await schemaName(db)
  const provider = { getMigrations: async () => MIGRATIONS }
  const migrator = new Migrator({ db, provider, ...(schema !== null && { migrationTableSchema: schema }) })
  const { error, results = [] } = await (to === undefined ? migrator.migrateToLatest() : migrator.migrateTo(to))
  if (error === undefined) return results.map((result) => result.migrationName)
  const failed = results.find((result) => result.status === 'Error')
  if (failed) throw new Error(`migration ${failed.migrationName} failed`, { cause: error })
  const isOther = /^corrupted migrations/.test((error as Error).message)
  // The sentence says all that the cause does.
  if (isOther) throw new Error(otherVersion(await schemaOf(db)))
  throw new Error(CANNOT_USE, { cause: error })
}

/** The schema in which a store of PostgreSQL lies; null for an embedded one, and where the search path names none that is there. Another schema of the database may have tables of the same names. */
async function schemaName(db: Queries): Promise<string | null> {
  if (isSqlite(db)) return null
  try {
    return (await sql<{ name: string | null }>`select current_schema() as name`.execute(db)).rows[0]!.name
  } catch (error) {
    throw new Error(CANNOT_USE, { cause: error })
  }
}

/** Why this program does not open a store that has other migrations, and the way out. docs/upgrading.md: Going back. */
function otherVersion({ applied, unknown, pending }: SchemaState): string {
  if (applied.length === unknown.length)
    return `another program keeps its tables there: its migrations are ${someOf(unknown)}, and none is of Berth. Give Berth a database or a schema of its own (docs/operations.md: Another program's database)`
  if (unknown.length === 0)
    return `the store was written by another version of Berth: it lacks ${pending.join(', ')}, and has later migrations. Start the version that wrote it`
  return `the store was written by a newer version of Berth: it has ${unknown.join(', ')}, which this version (${VERSION}) does not know. Start the newer version again; to go back to this one, restore a backup that was made before the upgrade (berth restore)`
}

/** How far a store is: the migrations it has, those it lacks, and those that this program does not know (a newer one ran them). */
export type SchemaState = { applied: string[]; pending: string[]; unknown: string[] }

/** Reads how far a store is. One without any table has no migration. */
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

/** Whether a store has every migration of this program, and none that it does not know. */
export function isUpToDate({ pending, unknown }: SchemaState): boolean {
  return pending.length === 0 && unknown.length === 0
}

/** The unique indexes by the name PostgreSQL tells, with the columns SQLite tells. */
const UNIQUE = {
  project_name: 'project.account_id, project.name',
  account_slug_key: 'account.slug',
  account_email_key: 'account.email',
  integration_slug: 'integration.slug',
}

/** Whether an error is this unique index saying that the place is taken. */
export function isUniqueViolation(error: unknown, index: keyof typeof UNIQUE): boolean {
  const { constraint, message } = error as { constraint?: string; message?: string }
  return constraint === index || message === `UNIQUE constraint failed: ${UNIQUE[index]}`
}

/**
 * A short query of a hot path, built and compiled once per engine and then run with new values (building costs more than running:
 * docs/decisions/0005). `build` gets a stand-in for every named value. `noAnswer`: the caller needs no row of it, and nothing that it catches depends on it; within a transaction on PostgreSQL its
 * failure is told by what follows, at the latest by the commit. `long`: it may take long or give very much, so on PostgreSQL it has a
 * connection of its own.
 */
export function preparedQuery<Values extends Record<string, string | number | null>, Result>(
  build: (db: Queries, value: Values) => Compilable<Result>,
  { noAnswer = false, long = false } = {},
): (db: Queries, values: Values) => Promise<Result[]> {
  const compiledFor = compileOnce(build, noAnswer)
  return async (db, values) => {
    const { query, fill } = compiledFor(db)
    const parameters = fill(values)
    const { adapter } = db.getExecutor()
    const direct = DIRECT_QUERIES.get(adapter)
    if (direct !== undefined) return direct(query.sql, parameters) as Result[]
    const pipelined = db.isTransaction || long ? undefined : PIPELINES.get(adapter)
    if (pipelined !== undefined) return (await pipelined({ ...query, parameters })) as Result[]
    return (await db.executeQuery<Result>({ ...query, parameters })).rows
  }
}

type Compiled<Values, Result> = { query: CompiledQuery<Result> & Statement; fill: (values: Values) => unknown[] }

/** Builds and compiles a query once for each engine. `fill` gives its parameters for these values. `noAnswer`: as for `prepared`. */
export function compileOnce<Values extends Record<string, string | number | null>, Result>(
  build: (db: Queries, value: Values) => Compilable<Result>,
  noAnswer = false,
): (db: Queries) => Compiled<Values, Result> {
  const compiled = new WeakMap<object, Compiled<Values, Result>>()
  return (db) => {
    const engine = db.getExecutor().adapter
    let entry = compiled.get(engine)
    if (entry === undefined) {
      entry = compile(build, db, noAnswer)
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
  noAnswer: boolean,
): Compiled<Values, Result> {
  const standIns = new Proxy({}, { get: (_, name) => new StandIn(String(name)) }) as Values
  const query = build(db, standIns).compile()
  const slots = query.parameters
  const name = hash('sha256', query.sql, 'base64url').slice(0, 24)
  return {
    query: { ...query, name, noAnswer },
    fill: (values) =>
      slots.map((slot) => (slot instanceof StandIn ? (values as Record<string, unknown>)[slot.name] : slot)),
  }
}

/** The pattern of `like … escape '!'` that finds a text within another one. It is in lower case, so what it is compared with must be too. */
export function containsPattern(text: string): string {
  return `%${text.toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`
}
