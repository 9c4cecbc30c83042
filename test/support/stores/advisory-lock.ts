/** Holds an advisory lock on PostgreSQL in a test, and sees who waits for one. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { eventually } from '../eventually.ts'
import type { World } from '../world.ts'

const WAITS =
  "select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())"

export type LockHolder = {
  /** Begins a transaction that takes a lock: `shared` as a write does, or alone. `line` is SQL with the id as $1. */
  hold(line: string, id: string, how: '_shared' | ''): Promise<void>
  /** Runs SQL in the transaction. */
  run(sql: string, values?: unknown[]): Promise<void>
  /** Waits until someone waits for an advisory lock; `asked` must not be answered before. */
  untilWaiting(asked: Promise<unknown>): Promise<void>
  commit(): Promise<void>
}

/** Opens a connection to the world's database, which must be on PostgreSQL. */
export async function openLockHolder(t: TestContext, world: World): Promise<LockHolder> {
  const { database } = world.deps.config
  assert.ok(database.engine === 'postgres')
  const other = new pg.Client({ connectionString: database.url })
  await other.connect()
  t.after(() => other.end())
  return {
    async hold(line, id, how) {
      await other.query('begin')
      await other.query(`select pg_advisory_xact_lock${how}(${line})`, [id])
    },
    run: async (sql, values) => void (await other.query(sql, values)),
    async untilWaiting(asked) {
      let answered = false
      void asked.then(() => {
        answered = true
      })
      await eventually(async () => {
        assert.equal(answered, false, 'it did not wait')
        return (await other.query(WAITS)).rows.length > 0
      })
    },
    commit: async () => void (await other.query('commit')),
  }
}
