/** Kysely over `node:sqlite`: one connection, statements kept by their text. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
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

/** Distinct query texts are few (lists of values are bounded); this bound is against a mistake, not for tuning. */
const STATEMENTS_KEPT = 1000

/** SQLite's schema changes are transactional; Kysely's adapter only says otherwise out of caution. */
const adapter = Object.defineProperty(new SqliteAdapter(), 'supportsTransactionalDdl', { value: true })

export function sqliteDialect(database: DatabaseSync): Dialect {
  const connection = sqliteConnection(database)
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

function sqliteConnection(database: DatabaseSync): DatabaseConnection {
  const statements = new Map<string, StatementSync>()
  const statementFor = (text: string): StatementSync => {
    let statement = statements.get(text)
    if (statement === undefined) {
      if (statements.size >= STATEMENTS_KEPT) statements.clear()
      statement = database.prepare(text)
      statements.set(text, statement)
    }
    return statement
  }
  return {
    executeQuery: async <R>(compiled: CompiledQuery): Promise<QueryResult<R>> => {
      const values = compiled.parameters as (string | number | null)[]
      // node:sqlite takes an object as named parameters; a value from outside must never become one.
      if (values.some((value) => typeof value === 'object' && value !== null)) throw new TypeError('object bound')
      const statement = statementFor(compiled.sql)
      if (givesRows(compiled)) return { rows: statement.all(...values) as R[] }
      const { changes } = statement.run(...values)
      return { rows: [], numAffectedRows: BigInt(changes) }
    },
    async *streamQuery() {
      yield* []
      throw new Error('no query is streamed: every list has a limit')
    },
  }
}

function givesRows({ query }: CompiledQuery): boolean {
  return (
    query.kind === 'SelectQueryNode' ||
    query.kind === 'RawNode' ||
    ('returning' in query && query.returning !== undefined)
  )
}
