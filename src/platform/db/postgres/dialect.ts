/**
 * Kysely over the pool, with pipelining: BEGIN is sent together with the first statement, and a statement with `discardResult` together with the next one
 * or with COMMIT.
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

/** Receives the changes of a transaction that was, or may have been, committed. */
type OnCommit = (changed: ChangedTopics) => void
type Listeners = { onCommit: OnCommit; onStatement: StoreObserver['statement'] }

/** Creates a Kysely dialect over a pool for transactions and shared connections for prepared reads. `onCommit` receives the topics of each transaction. */
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

/** Reports each statement to the observer. */
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

/** When a connection was returned to the pool, in monotonic ms. */
const GIVEN_BACK = new WeakMap<pg.PoolClient, number>()

function giveBack(client: pg.PoolClient, isBroken: boolean | undefined): void {
  GIVEN_BACK.set(client, performance.now())
  client.release(isBroken)
}

/** Returns a pooled connection that was not idle for longer than this: a network may have dropped an idle one. */
async function connectLately(pool: Connections['pool'], believedMs: number): Promise<pg.PoolClient> {
  for (;;) {
    const client = await pool.connect()
    const since = GIVEN_BACK.get(client)
    if (since === undefined || performance.now() - since <= believedMs) return client
    client.release(true)
    hangUp(client)
  }
}

/** Retries a read outside of a transaction once, on another connection, when its connection was cut. */
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

/** Wraps a pooled connection for one statement or transaction. */
function openConnection(client: pg.PoolClient, names: StatementNames, listeners: Listeners): Connection {
  const { onCommit, onStatement } = listeners
  const sent = createSent()
  let begun: Promise<unknown> | undefined
  /** Only a transaction is retried when a statement name is stale, so nothing else uses names. */
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
      // Outside its transaction only a SELECT changes nothing, so others wait until the transaction has begun.
      if (compiled.query.kind !== 'SelectQueryNode') await begun
      if (compiled.discardResult && begun !== undefined) {
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
      // A closed connection also rolls back. The caller gets the first error.
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

/** Statements that were sent without waiting. After the first failure, all later ones of the transaction fail with less detail. */
function createSent() {
  const all: Promise<unknown>[] = []
  return {
    add<T>(promise: Promise<T>): Promise<T> {
      all.push(promise)
      // `firstFailure` reports it.
      promise.catch(() => {})
      return promise
    },
    /** Waits for all of them. Returns the error of the first that failed, else `error`. */
    async firstFailure(error?: unknown): Promise<unknown> {
      const outcomes = await Promise.allSettled(all)
      const failed = outcomes.find((outcome) => outcome.status === 'rejected')
      return failed === undefined ? error : failed.reason
    },
  }
}

/** Returns whether a failure means that nothing was committed. */
function isUndone(error: unknown): boolean {
  return /^(40|23|25)/.test((error as { code?: string }).code ?? '')
}

/** Returns whether an earlier statement failed and the caller went on: the server has rolled back. */
function isAborted(error: unknown): boolean {
  return (error as { code?: string }).code === '25P02'
}

function resultOf<R>({ command, rowCount, rows }: pg.QueryResult): QueryResult<R> {
  if (command === 'SELECT' || rowCount === null) return { rows: rows ?? [] }
  return { rows, numAffectedRows: BigInt(rowCount) }
}
