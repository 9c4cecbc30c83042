/**
 * Kysely over the pool. What need not wait for an answer is sent without: BEGIN goes together with the first statement, and a statement
 * with `noAnswer` together with the next one or with COMMIT.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type pg from 'pg'
import type { ChangedTopics, StoreObserver } from '../change-feed.ts'
import { BEGIN_CAPTURE, parseCaptured, READ_CAPTURED } from './change-triggers.ts'
import { isCut } from './conditions.ts'
import { type Connections, hangUp } from './pipeline.ts'
import { PIPELINES, type Statement, type StatementNames } from './statement.ts'

/** Hears what a transaction changed that was committed, or of which that is not known. */
type OnCommit = (changed: ChangedTopics) => void
type Listeners = { onCommit: OnCommit; onStatement: StoreObserver['statement'] }

/** Kysely over a pool for transactions, and over shared connections for prepared reads. `onCommit` hears of the subjects that each transaction changed. */
export function postgresDialect(
  connections: Omit<Connections, 'apart'>,
  onCommit: OnCommit,
  onStatement?: StoreObserver['statement'],
): Dialect {
  const adapter = new PostgresAdapter()
  PIPELINES.set(adapter, watched(connections.pipeline.run, onStatement))
  return {
    createAdapter: () => adapter,
    createDriver: () => postgresDriver(connections, { onCommit, onStatement }),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

type Connection = DatabaseConnection & {
  begin(isolationLevel: string): void
  commit(): Promise<void>
  rollback(): Promise<void>
  release(isCut?: boolean): void
}

/** The same, and each statement is told. */
function watched<S extends Statement, T>(
  run: (statement: S) => Promise<T>,
  onStatement: StoreObserver['statement'],
): (statement: S) => Promise<T> {
  if (onStatement === undefined) return run
  return async (statement) => {
    const since = performance.now()
    try {
      const answer = await run(statement)
      onStatement(statement.sql, since)
      return answer
    } catch (error) {
      onStatement(statement.sql, since, error)
      throw error
    }
  }
}

function postgresDriver({ pool, names, idle }: Omit<Connections, 'apart'>, listeners: Listeners): Driver {
  const own = (connection: DatabaseConnection) => connection as Connection
  return {
    init: async () => {},
    acquireConnection: async () => {
      const open = async () => openConnection(await connectLately(pool, idle.believedMs), names, listeners)
      return openReading(await open(), open)
    },
    beginTransaction: async (connection, { isolationLevel = 'read committed' }) =>
      own(connection).begin(isolationLevel),
    commitTransaction: (connection) => own(connection).commit(),
    rollbackTransaction: (connection) => own(connection).rollback(),
    releaseConnection: async (connection) => own(connection).release(),
    destroy: () => pool.end(),
  }
}

/** When a connection of the pool was given back, in monotonic ms. */
const GIVEN_BACK = new WeakMap<pg.PoolClient, number>()

function giveBack(client: pg.PoolClient, isBroken: boolean | undefined): void {
  GIVEN_BACK.set(client, performance.now())
  client.release(isBroken)
}

/** A connection of the pool that was not idle for longer than this: a network may have forgotten one that was. */
async function connectLately(pool: Connections['pool'], believedMs: number): Promise<pg.PoolClient> {
  for (;;) {
    const client = await pool.connect()
    const since = GIVEN_BACK.get(client)
    if (since === undefined || performance.now() - since <= believedMs) return client
    client.release(true)
    hangUp(client)
  }
}

/** The same, and a read outside of a transaction whose connection was cut is sent once more, on another one: nothing was lost by it. */
function openReading(first: Connection, open: () => Promise<Connection>): Connection {
  let held: Connection | undefined = first
  let begun = false
  return {
    begin(isolationLevel) {
      begun = true
      held!.begin(isolationLevel)
    },
    async executeQuery<R>(compiled: CompiledQuery & Statement): Promise<QueryResult<R>> {
      try {
        return await held!.executeQuery<R>(compiled)
      } catch (error) {
        if (begun || compiled.query.kind !== 'SelectQueryNode' || !isCut(error)) throw error
        held!.release(true)
        held = undefined
        held = await open()
        return held.executeQuery<R>(compiled)
      }
    },
    commit: () => held!.commit(),
    rollback: () => held!.rollback(),
    release: () => held?.release(),
    streamQuery,
  }
}

/** A connection of the pool for as long as somebody has it: for a statement, or for a transaction. */
function openConnection(client: pg.PoolClient, names: StatementNames, listeners: Listeners): Connection {
  const { onCommit, onStatement } = listeners
  const sent = openSent()
  let begun: Promise<unknown> | undefined
  /** Only a transaction is run again when a name holds no more, so nothing else uses names. */
  const send = watched(
    ({ sql, parameters, name }: Statement): Promise<pg.QueryResult> =>
      client.query(names.withName({ sql, parameters, ...(begun !== undefined && name !== undefined && { name }) })),
    onStatement,
  )
  let broken = false
  return {
    begin(isolationLevel) {
      begun = sent.add(client.query(`start transaction isolation level ${isolationLevel}; ${BEGIN_CAPTURE}`))
    },
    async executeQuery<R>(compiled: CompiledQuery & Statement): Promise<QueryResult<R>> {
      // Without its transaction a SELECT changes nothing, so only a SELECT may be sent before it is known that the transaction has begun.
      if (compiled.query.kind !== 'SelectQueryNode') await begun
      if (compiled.noAnswer && begun !== undefined) {
        sent.add(send(compiled))
        return { rows: [] }
      }
      try {
        return resultOf<R>(await send(compiled))
      } catch (error) {
        const first = await sent.firstFailure(error)
        names.resetAfter(first)
        throw first
      }
    },
    async commit() {
      const committed = sent.add(client.query(`${READ_CAPTURED}; commit`) as Promise<unknown>)
      const failure = await sent.firstFailure()
      if (failure !== undefined) {
        if (!isUndone(failure)) onCommit('all')
        throw isAborted(failure) ? new Error('the transaction was not committed', { cause: failure }) : failure
      }
      onCommit(parseCaptured(((await committed) as pg.QueryResult[])[0]!))
    },
    async rollback() {
      // A connection that cannot say it is closed, which undoes the transaction too. The caller hears why it was rolled back.
      await client.query('rollback').catch(() => {
        broken = true
      })
    },
    release: (isCut) => giveBack(client, broken || isCut),
    streamQuery,
  }
}

async function* streamQuery(): AsyncGenerator<never> {
  yield* []
  throw new Error('no query is streamed: every list has a limit')
}

/** What was sent and not waited for. When one fails, all that follows it in its transaction fails too, and says less. */
function openSent() {
  const all: Promise<unknown>[] = []
  return {
    add<T>(one: Promise<T>): Promise<T> {
      all.push(one)
      // Told by `firstFailure`.
      one.catch(() => {})
      return one
    },
    /** Waits for all of it. Gives why the first one failed that did, else `error`. */
    async firstFailure(error?: unknown): Promise<unknown> {
      const outcomes = await Promise.allSettled(all)
      const failed = outcomes.find((outcome) => outcome.status === 'rejected')
      return failed === undefined ? error : failed.reason
    },
  }
}

/** Whether a failure says that nothing was committed: the transaction was broken, lost a race, or met a constraint. */
function isUndone(error: unknown): boolean {
  return /^(40|23|25)/.test((error as { code?: string }).code ?? '')
}

/** Whether a statement had failed before, and whoever ran it went on: the server has undone everything. */
function isAborted(error: unknown): boolean {
  return (error as { code?: string }).code === '25P02'
}

function resultOf<R>({ command, rowCount, rows }: pg.QueryResult): QueryResult<R> {
  if (command === 'SELECT' || rowCount === null) return { rows: rows ?? [] }
  return { rows, numAffectedRows: BigInt(rowCount) }
}
