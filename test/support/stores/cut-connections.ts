/** Connections to PostgreSQL that a test ends. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'

const LONGEST_MS = 10_000

/**
 * Ends all other connections to a database, and waits until this process knows it: what is sent over a connection that is cut is
 * refused with 503, rightly. `client`: may be connected to another database of the server. `name`: of the programs that are cut off, a pattern of LIKE.
 */
export async function cutConnections(client: pg.Client, database: string, name = '%'): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid, $3) from pg_stat_activity
      where datname = $1 and application_name like $2 and pid <> pg_backend_pid()`,
    [database, name, LONGEST_MS],
  )
  // The servers had ended before this answer was sent, so their last words are here. Each is read before the next turn but one.
  for (let turn = 0; turn < 3; turn++) await nextTurn()
}
