import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { StoreObserver } from '../change-feed.ts'

/** Query texts are few, as lists of values are bounded; this limit guards against a bug. */
const STATEMENTS_KEPT = 1000

/** Runs a query synchronously, without the promises and hooks of Kysely's executor. */
export type DirectQuery = (sql: string, values: readonly unknown[]) => unknown[]

/** The snapshot of a read connection: opened by a query, ended by a commit. */
export type ReadSnapshot = { open(): void }

/** Direct access to a connection, by its Kysely adapter. Only `preparedQuery` (db.ts) uses it. */
export const DIRECT_QUERIES = new WeakMap<object, DirectQuery>()

/** Creates a Kysely dialect over one connection. `snapshot`: of a read connection, opened by a query where none is open. */
export function sqliteDialect(
  database: DatabaseSync,
  snapshot?: ReadSnapshot,
  onStatement?: StoreObserver['statement'],
): Dialect {
  const run = watched(statementsOf(database, snapshot), onStatement)
  const connection = sqliteConnection(run)
  // SQLite's schema changes are transactional, and platform/db/sqlite/group-commit.ts orders the writes of this connection.
  const adapter = Object.defineProperties(new SqliteAdapter(), {
    supportsTransactionalDdl: { value: true },
    supportsMultipleConnections: { value: true },
  })
  DIRECT_QUERIES.set(adapter, (sql, values) => run(sql, values, true).rows)
  return {
    createAdapter: () => adapter,
    createDriver: () => sqliteDriver(database, connection),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function sqliteDriver(database: DatabaseSync, connection: DatabaseConnection): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: async () => database.exec('BEGIN IMMEDIATE'),
    commitTransaction: async () => database.exec('COMMIT'),
    rollbackTransaction: async () => database.exec('ROLLBACK'),
    releaseConnection: async () => {},
    destroy: async () => database.close(),
  }
}

type Run = ReturnType<typeof statementsOf>

/** Reports each statement to the observer. */
function watched(run: Run, onStatement: StoreObserver['statement']): Run {
  if (onStatement === undefined) return run
  return (sql, values, givesRows) => {
    const since = performance.now()
    try {
      const ran = run(sql, values, givesRows)
      onStatement(sql, since)
      return ran
    } catch (error) {
      onStatement(sql, since, error)
      throw error
    }
  }
}

type Ran = { rows: unknown[]; changes: number | bigint }

/** Runs statements, prepared once and cached by text. */
function statementsOf(database: DatabaseSync, snapshot: ReadSnapshot | undefined) {
  const statements = new Map<string, StatementSync>()
  return (sql: string, values: readonly unknown[], givesRows: boolean): Ran => {
    // node:sqlite reads an object as named parameters; an external value must never become one.
    if (values.some((value) => typeof value === 'object' && value !== null)) throw new TypeError('object bound')
    let statement = statements.get(sql)
    if (statement === undefined) {
      if (statements.size >= STATEMENTS_KEPT) statements.clear()
      statement = database.prepare(sql)
      statements.set(sql, statement)
    }
    snapshot?.open()
    if (givesRows) return { rows: statement.all(...(values as SQLInputValue[])), changes: 0 }
    return { rows: [], changes: statement.run(...(values as SQLInputValue[])).changes }
  }
}

function sqliteConnection(run: Run): DatabaseConnection {
  return {
    executeQuery: async <R>(compiled: CompiledQuery): Promise<QueryResult<R>> => {
      const { rows, changes } = run(compiled.sql, compiled.parameters, givesRows(compiled))
      return { rows: rows as R[], numAffectedRows: BigInt(changes) }
    },
    async *streamQuery() {
      yield* []
      throw new Error('no query is streamed: every list has a limit')
    },
  }
}

function givesRows({ query }: CompiledQuery): boolean {
  const returns = 'returning' in query && query.returning !== undefined
  return returns || query.kind === 'SelectQueryNode' || query.kind === 'RawNode'
}
