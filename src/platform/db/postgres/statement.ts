/**
 * Statements, and the names that connections keep them by. The server parses and plans a named statement once for each connection, and then only runs it. `prepared`
 * (platform/db/db.ts) gives the names, so there are as many as the code has hot statements.
 */
import type { CompiledQuery } from 'kysely'
import { isStalePlan } from './conditions.ts'

/** A statement as it is sent. `noAnswer`: nothing that follows it needs its answer; the commit waits for it. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'> & { name?: string; noAnswer?: boolean }

/** The way of reads to the connections that they share, by the adapter that their Kysely carries. Only `prepared` (platform/db/db.ts) takes it. */
export const PIPELINES = new WeakMap<object, (statement: Statement) => Promise<unknown[]>>()

export type StatementNames = {
  /** A statement as the driver takes it, with its name where it has one that is kept. */
  withName(statement: Statement): { text: string; values: unknown[]; name?: string }
  /** Whether a statement failed because what a connection kept of it does not hold any more. Then all names are new ones. */
  resetAfter(error: unknown): boolean
}

/** `kept`: false where connections keep no statements, as behind pgbouncer before 1.21. */
export function createStatementNames(kept: boolean): StatementNames {
  let generation = 0
  return {
    withName({ sql, parameters, name }) {
      const statement = { text: sql, values: parameters as unknown[] }
      return kept && name !== undefined ? { ...statement, name: `${name}_${generation}` } : statement
    },
    resetAfter(error) {
      if (!isStalePlan(error)) return false
      generation++
      return true
    },
  }
}
