/**
 * Statements and their server-side names. The server parses and plans a named statement once per connection. `preparedQuery` (platform/db/db.ts) sets
 * the names, so their number is bounded by the hot statements in the code.
 */
import type { CompiledQuery } from 'kysely'
import { isStalePlan } from './conditions.ts'

/** A statement to send. `discardResult`: nothing that follows needs its result; the commit waits for it. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'> & { name?: string; discardResult?: boolean }

/** The shared read connections, by the Kysely adapter. Only `preparedQuery` (platform/db/db.ts) uses it. */
export const PIPELINES = new WeakMap<object, (statement: Statement) => Promise<unknown[]>>()

export type StatementNames = {
  /** The statement for the driver, with its name if it has one. */
  withName(statement: Statement): { text: string; values: unknown[]; name?: string }
  /** Whether a statement failed because its prepared form is stale. Then all names are replaced. */
  resetAfter(error: unknown): boolean
}

/** Creates statement names. `kept`: false where connections keep no statements, as behind pgbouncer before 1.21. */
export function createStatementNames(isNamed: boolean): StatementNames {
  let generation = 0
  return {
    withName({ sql, parameters, name }) {
      const statement = { text: sql, values: parameters as unknown[] }
      return isNamed && name !== undefined ? { ...statement, name: `${name}_${generation}` } : statement
    },
    resetAfter(error) {
      if (!isStalePlan(error)) return false
      generation++
      return true
    },
  }
}
