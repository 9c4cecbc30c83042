/** Acknowledged writes survive: kill -9 at any time, migrations killed half-way, stores of other versions. docs/spec/reliability.md F1, F24, F25. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
import {
  allNames,
  credentialsOf,
  launch,
  newHome,
  processOnBothEngines,
  type RunningService,
  runUntilExit,
  type ServiceHome,
  sendRequest,
  startService,
} from '../../support/process.ts'
import type { Engine } from '../../support/world.ts'

/** Creates projects one after another on several connections until the service is gone; gives the names it said 200 to. */
async function storm(running: RunningService, token: string, round: number, acknowledged: Set<string>): Promise<void> {
  const creator = async (lane: number) => {
    for (let at = 0; ; at++) {
      const name = `r${round}-${lane}-${at}`
      const answer = await sendRequest(running, token, 'POST', '/v10/projects', { name })
      if (answer === undefined) return
      if (answer.status === 200) acknowledged.add(name)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, lane) => creator(lane)))
}

processOnBothEngines('no acknowledged create is lost in kill -9 under load, again and again', async (t, engine) => {
  const home = await newHome(t, engine)
  const acknowledged = new Set<string>()
  const rounds = engine === 'sqlite' ? 10 : 4
  for (let round = 0; round < rounds; round++) {
    const running = await startService(t, home)
    const { token } = credentialsOf(home)
    const before = acknowledged.size
    const load = storm(running, token, round, acknowledged)
    // On a slow machine the first answers take a while: the kill is to meet a storm.
    await eventually(() => acknowledged.size >= before + 10)
    // The kill comes at a random time.
    await sleep(Math.random() * 200)
    await running.kill('SIGKILL')
    await load
  }
  const running = await startService(t, home)
  const { token } = credentialsOf(home)
  const there = await allNames(running, token)
  assert.ok(acknowledged.size >= rounds * 10, `only ${acknowledged.size} were acknowledged`)
  for (const name of acknowledged) assert.ok(there.has(name), `${name} was acknowledged and is lost`)
  const { events, projects } = await countRows(home, engine, running)
  assert.equal(events, projects, 'every project has its event, and no event is without its project')
})

/** Counts from outside of the service: on SQLite, once it is stopped. */
async function countRows(
  home: ServiceHome,
  engine: Engine,
  running: RunningService,
): Promise<{ events: number; projects: number }> {
  const sql =
    "select (select count(*) from event where type = 'project.created') as events, (select count(*) from project) as projects"
  if (engine === 'postgres') return onPostgres(home, async (client) => numbers((await client.query(sql)).rows[0]))
  await running.kill('SIGTERM')
  return onSqlite(home, (database) => {
    assert.deepEqual(database.prepare('pragma integrity_check').all(), [{ __proto__: null, integrity_check: 'ok' }])
    return numbers(database.prepare(sql).get() as Record<string, unknown>)
  })
}

function numbers(row: Record<string, unknown>): { events: number; projects: number } {
  return { events: Number(row.events), projects: Number(row.projects) }
}

processOnBothEngines('a first start that is killed at any time is completed by the next', async (t, engine) => {
  const home = await newHome(t, engine)
  for (const afterMs of [120, 180, 220, 260, 300, 340, 400]) {
    const running = launch(t, home)
    // The kill comes at any time of a start.
    await sleep(afterMs)
    await running.kill('SIGKILL')
  }
  const running = await startService(t, home)
  const { token, teamId } = credentialsOf(home)
  assert.equal(
    (await sendRequest(running, token, 'POST', `/v10/projects?teamId=${teamId}`, { name: 'web' }))?.status,
    200,
  )
  assert.equal(await running.kill('SIGTERM'), 0)
})

processOnBothEngines('a store that a newer version wrote is refused and left as it is', async (t, engine) => {
  const home = await newHome(t, engine)
  assert.equal(await (await startService(t, home)).kill('SIGTERM'), 0)
  const mark = "insert into kysely_migration (name, timestamp) values ('9999-later', '2099-01-01')"
  if (engine === 'postgres') await onPostgres(home, (client) => client.query(mark))
  else await onSqlite(home, (database) => database.exec(mark))
  const { code, err } = await runUntilExit(t, home)
  assert.equal(code, 1)
  assert.match(err, /^berth: the store was written by a newer version of Berth: it has 9999-/)
})

processOnBothEngines(
  'an unavailable database ends the start with 1 and a sentence without its password',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const away = engine === 'postgres' ? 'postgres://berth:hunter2@127.0.0.1:1/none' : 'sqlite:/dev/null/berth.db'
    const { code, err, out } = await runUntilExit(t, home, { DATABASE_URL: away, BERTH_START_WAIT_SECONDS: '0' })
    assert.equal(code, 1)
    assert.match(err, /^berth: \S/)
    assert.equal(`${err}${out}`.includes('hunter2'), false)
  },
)

async function onPostgres<T>(home: ServiceHome, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: home.env.DATABASE_URL })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}

async function onSqlite<T>(home: ServiceHome, run: (database: DatabaseSync) => T): Promise<T> {
  const file = join(home.folder, 'berth.db')
  assert.ok(existsSync(file))
  const database = new DatabaseSync(file)
  try {
    return run(database)
  } finally {
    database.close()
  }
}
