/** What the rest of Berth knows of a store: one schema, read and write, whichever engine is behind it. */
import { hash } from 'node:crypto'
import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { RefusalKey } from '../errors.ts'
import type { Changes } from './changes.ts'
import * as start from './migrations/0001-start.ts'
import * as domains from './migrations/0002-domains.ts'
import * as env from './migrations/0003-env.ts'
import * as integrations from './migrations/0004-integrations.ts'
import * as deployments from './migrations/0010-deployments.ts'
import * as links from './migrations/0011-links.ts'
import * as transfer from './migrations/0012-transfer.ts'
import * as edge from './migrations/0013-edge.ts'
import * as makers from './migrations/0014-makers.ts'
import * as environments from './migrations/0015-custom-environments.ts'
import * as members from './migrations/0016-members.ts'
import * as accountDomains from './migrations/0017-account-domains.ts'
import * as auditChain from './migrations/0018-audit-chain.ts'
import * as keptAnswers from './migrations/0019-kept-answers.ts'
import * as growth from './migrations/0020-growth.ts'
import * as edgeStamps from './migrations/0021-edge-stamps.ts'
import * as heldEndpoints from './migrations/0024-held-endpoints.ts'
import * as endedWebhooks from './migrations/0025-ended-webhooks.ts'
import * as mailBudgets from './migrations/0026-mail-budgets.ts'
import * as invitations from './migrations/0028-invitations.ts'
import * as reservedSlugs from './migrations/0029-reserved-slugs.ts'
import * as people from './migrations/0030-people.ts'
import * as deploymentMeta from './migrations/0034-deployment-meta.ts'
import * as repoCase from './migrations/0035-repo-case.ts'
import * as releasedProofs from './migrations/0042-released-proofs.ts'
import * as deliveryTurns from './migrations/0043-delivery-turns.ts'
import * as drainBytes from './migrations/0060-drain-bytes.ts'
import * as domainsOfEnvironments from './migrations/0065-domains-of-environments.ts'
import * as sharedEnv from './migrations/0066-shared-env.ts'
import * as rateLimits from './migrations/0080-rate-limits.ts'
import * as drainSampling from './migrations/0085-drain-sampling.ts'
import * as expiration from './migrations/0086-expiration.ts'
import * as sessions from './migrations/0090-sessions.ts'
import * as sessionPlaces from './migrations/0091-session-places.ts'
import * as emailChange from './migrations/0092-email-change.ts'
import * as storeSize from './migrations/0095-store-size.ts'
import * as edgeNotes from './migrations/0099-edge-notes.ts'
import * as secondFactors from './migrations/0110-second-factors.ts'
import { PIPELINED, type Statement } from './postgres/statement.ts'
import type { Schema } from './schema.ts'
import { DIRECT } from './sqlite/dialect.ts'
import { hasTable, type Store } from './tables.ts'

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
  apart?: Queries
  /**
   * Runs `work` in a serializable transaction and resolves when it is durable. `work` may run more than once (a lost race
   * is run again), so it awaits nothing but the database and keeps its effects in it. What it throws undoes what it did.
   * Refuses: busy 503 (races lost again and again). `owner`: the account that it is for; where writes queue, owners take turns.
   */
  write<T>(work: (tx: Queries) => Promise<T>, owner?: string): Promise<T>
  /**
   * What commits change. On SQLite all of it is known in the turn of the commit, so there it ends what is remembered. On PostgreSQL it is
   * known soon after, of every instance: db/postgres/feed.ts.
   */
  changes: Changes
  /** Whoever reads after it sees what is in the store now, also what came from elsewhere than this process. */
  renew(): void
  /** What the caller is told when a query failed for a reason of the store: unavailable 503, storage_full 507. Undefined for a bug. */
  refusalOf(error: unknown): RefusalKey | undefined
  /** Connections by their state; undefined where there is no pool. */
  connections?(): Record<string, number>
  close(): Promise<void>
}

/** Hears what the store does, for the figures. */
export type StoreWatch = {
  /** So many writes were made durable together, in so many milliseconds. */
  committed(writes: number, ms: number): void
  /** A transaction lost a race and is run again. */
  lostRace(): void
}

/** The migrations travel with the program; a name, once released, is never changed. */
export const MIGRATIONS: Record<string, Migration> = {
  '0001-start': start,
  '0002-domains': domains,
  '0003-env': env,
  '0004-integrations': integrations,
  '0010-deployments': deployments,
  '0011-links': links,
  '0012-transfer': transfer,
  '0013-edge': edge,
  '0014-makers': makers,
  '0015-custom-environments': environments,
  '0016-members': members,
  '0017-account-domains': accountDomains,
  '0018-audit-chain': auditChain,
  '0019-kept-answers': keptAnswers,
  '0020-growth': growth,
  '0021-edge-stamps': edgeStamps,
  '0024-held-endpoints': heldEndpoints,
  '0025-ended-webhooks': endedWebhooks,
  '0026-mail-budgets': mailBudgets,
  '0028-invitations': invitations,
  '0029-reserved-slugs': reservedSlugs,
  '0030-people': people,
  '0034-deployment-meta': deploymentMeta,
  '0035-repo-case': repoCase,
  '0042-released-proofs': releasedProofs,
  '0043-delivery-turns': deliveryTurns,
  '0060-drain-bytes': drainBytes,
  '0065-domains-of-environments': domainsOfEnvironments,
  '0066-shared-env': sharedEnv,
  '0080-rate-limits': rateLimits,
  '0085-drain-sampling': drainSampling,
  '0086-expiration': expiration,
  '0090-sessions': sessions,
  '0091-session-places': sessionPlaces,
  '0092-email-change': emailChange,
  '0095-store-size': storeSize,
  '0099-edge-notes': edgeNotes,
  '0110-second-factors': secondFactors,
}

/**
 * Brings the store to this program's schema, or to an earlier one, in one transaction: killed half-way, nothing of it stands.
 * Gives the migrations that ran. Throws on a newer store.
 */
export async function migrate(db: Queries, to?: string): Promise<string[]> {
  // The migrator has the server describe every column of every table, twice; most starts find nothing to do. It also says what is wrong.
  if (to === undefined && (await schemaOf(db).then(isComplete, () => false))) return []
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } })
  const { error, results = [] } = await (to === undefined ? migrator.migrateToLatest() : migrator.migrateTo(to))
  if (error === undefined) return results.map((result) => result.migrationName)
  const failed = results.find((result) => result.status === 'Error')
  if (failed) throw new Error(`migration ${failed.migrationName} failed`, { cause: error })
  const unknown = /^corrupted migrations/.test((error as Error).message)
  throw new Error(
    unknown
      ? 'the store was written by another (newer?) version of Berth'
      : 'the database cannot be used; see DATABASE_URL',
    { cause: error },
  )
}

/** How far a store is: the migrations it has, those it lacks, and those that this program does not know (a newer one ran them). */
export type SchemaState = { applied: string[]; pending: string[]; unknown: string[] }

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
export function isComplete({ pending, unknown }: SchemaState): boolean {
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
export function violates(error: unknown, index: keyof typeof UNIQUE): boolean {
  const { constraint, message } = error as { constraint?: string; message?: string }
  return constraint === index || message === `UNIQUE constraint failed: ${UNIQUE[index]}`
}

/**
 * A short query of a hot path, built and compiled once per engine and then run with new values (building costs more than running:
 * docs/decisions/0005). `build` gets a stand-in for every named value. `noAnswer`: the caller needs no row of it, and nothing that it catches depends on it; within a transaction on PostgreSQL its
 * failure is told by what follows, at the latest by the commit. `long`: it may take long or give very much, so on PostgreSQL it has a
 * connection of its own.
 */
export function prepared<Values extends Record<string, string | number | null>, Result>(
  build: (db: Queries, value: Values) => Compilable<Result>,
  { noAnswer = false, long = false } = {},
): (db: Queries, values: Values) => Promise<Result[]> {
  const compiledFor = compileOnce(build, noAnswer)
  return async (db, values) => {
    const { query, fill } = compiledFor(db)
    const parameters = fill(values)
    const { adapter } = db.getExecutor()
    const direct = DIRECT.get(adapter)
    if (direct !== undefined) return direct(query.sql, parameters) as Result[]
    const pipelined = db.isTransaction || long ? undefined : PIPELINED.get(adapter)
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
