/** Synchronous replication without a standby: the server waits, and so nothing is acknowledged. docs/scaling.md: Failover. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { startPostgres } from '../../support/postgres.ts'
import { openWorld, type World } from '../../support/world.ts'

const create = (world: World, name: string) => world.call.try('POST', '/v10/projects', { name })
const seen = (answer: { status: number; body: { error?: { code: string } } }) => [
  answer.status,
  answer.body.error?.code,
]

test('a write that no standby has is not acknowledged, however long the server waits for one [postgres]', {
  timeout: 300_000,
}, async (t) => {
  const { url, say } = await startServer(t)
  await say('create database synchronous')
  // Statements wait as long as in use: those of a patient test would wait for minutes.
  const world = await openWorld('postgres', { DATABASE_URL: `${url}/synchronous`, BERTH_TEST_PATIENCE: '1' })
  try {
    assert.equal((await create(world, 'one')).status, 200)
    await say("alter system set synchronous_standby_names = 'nobody'")
    await say('select pg_reload_conf()')
    await untilCommitsWait(url, say)
    assert.deepEqual(seen(await create(world, 'two')), [503, 'unavailable'])
    // The commit still waits for a standby: no other request sees it.
    assert.equal((await world.call.try('GET', '/v9/projects/two')).status, 404)
    await say('alter system reset synchronous_standby_names')
    await say('select pg_reload_conf()')
    assert.equal((await create(world, 'three')).status, 200)
  } finally {
    await world.close()
  }
})

/** The server applies its settings shortly after the reload: waits until commits wait for a standby. */
async function untilCommitsWait(url: string, say: Server['say']): Promise<void> {
  const client = new pg.Client({ connectionString: `${url}/postgres` })
  await client.connect()
  await say('create table probe (at int)')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const { pid } = rows[0]!
  for (let waits = false; !waits; ) {
    let written = false
    const write = client.query('insert into probe values (1)').then(() => {
      written = true
    })
    while (!written && !waits) {
      const { rowCount } = await say(`select from pg_stat_activity where pid = ${pid} and wait_event = 'SyncRep'`)
      waits = rowCount === 1
    }
    if (waits) await say(`select pg_cancel_backend(${pid})`)
    await write
  }
  await client.end()
}

interface Server {
  url: string
  say(statement: string): Promise<pg.QueryResult>
}

/** A server of the test's own, whose settings it may change. */
async function startServer(t: TestContext): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-cluster-pg-'))
  const { server, url } = await startPostgres(folder, ['max_connections=100', 'shared_buffers=32MB'])
  const client = new pg.Client({ connectionString: `${url}/postgres` })
  t.after(async () => {
    await client.end()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  await client.connect()
  // What these statements write waits for no standby.
  await client.query("set synchronous_commit = 'local'")
  return { url, say: (statement) => client.query(statement) }
}
