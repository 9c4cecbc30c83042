/** Webhooks of the real program, which is killed, stopped, and run in two instances. docs/spec/reliability.md D13, F21, F22. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
import { iterations } from '../../support/iterations.ts'
import {
  credentialsOf,
  newHome,
  processOnBothEngines,
  type RunningService,
  type ServiceHome,
  startService,
} from '../../support/process.ts'
import { LOCAL, type Receiver, receiver, verify } from '../../support/servers/receiver.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { ENGINES, type Engine } from '../../support/world.ts'

const KILLS = iterations(2, 20)
const PROJECTS = iterations(40, 500)
const LANES = 8

type Asked = { status: number; body: Record<string, string> }

async function ask({ address }: RunningService, token: string, method: string, path: string, body?: object) {
  try {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${address}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) } as Asked
  } catch {
    return undefined
  }
}

async function hookOn(running: RunningService, home: ServiceHome, url: string, events: string[]): Promise<string> {
  const made = await ask(running, credentialsOf(home).token, 'POST', '/v1/webhooks', { url, events })
  assert.equal(made?.status, 200, JSON.stringify(made?.body))
  return made!.body.secret!
}

type Work = { name: string; made: boolean; removed: boolean }

/** Creates and removes projects until all are done or the service is gone. After a broken answer the request is sent again. */
async function storm(running: RunningService, token: string, todo: Work[]): Promise<void> {
  const lane = async () => {
    for (let work = todo.pop(); work !== undefined; work = todo.pop()) {
      if (!work.made) {
        const made = await ask(running, token, 'POST', '/v10/projects', { name: work.name })
        work.made = made?.status === 200 || made?.status === 409
      }
      if (work.made) {
        const removed = await ask(running, token, 'DELETE', `/v9/projects/${work.name}`)
        work.removed = removed?.status === 204 || removed?.status === 404
      }
      if (!work.removed) return void todo.push(work)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

for (const engine of ENGINES) {
  const name = `through ${KILLS} kill -9, all that was committed of ${PROJECTS} projects arrives, signed, and nothing else`
  test(`${name} [${engine}]`, { timeout: 600_000 }, async (t) => {
    const home = await newHome(t, engine)
    const hook = await receiver(t)
    const todo: Work[] = Array.from({ length: PROJECTS }, (_, at) => ({ name: `p${at}`, made: false, removed: false }))
    let secret: string | undefined
    for (let kill = 0; kill < KILLS; kill++) {
      const running = await startService(t, home, LOCAL)
      secret ??= await hookOn(running, home, hook.url, ['project.created', 'project.removed'])
      const load = storm(running, credentialsOf(home).token, todo)
      const enough = PROJECTS - ((kill + 1) * PROJECTS) / (KILLS + 1)
      await eventually(() => todo.length <= enough)
      // The kill comes at a random time.
      await sleep(Math.random() * 50)
      await running.kill('SIGKILL')
      await load
    }
    const running = await startService(t, home, LOCAL)
    await storm(running, credentialsOf(home).token, todo)
    assert.equal(todo.length, 0)
    // Deliveries that a killed process had leased are attempted again when the lease ends.
    const distinct = () => new Set(hook.got.map(({ body }) => body.id))
    await eventually(
      () => distinct().size >= 2 * PROJECTS,
      () => `${distinct().size} of ${2 * PROJECTS} arrived`,
    )
    // Nothing else may come.
    await sleep(200)
    const log = running.out()
    await running.kill('SIGTERM')
    const events = await eventsIn(home, engine)
    assert.equal(events.length, 2 * PROJECTS)
    assert.deepEqual([...distinct()].sort(), events.sort())
    for (const got of hook.got) verify(got, secret!)
    assert.equal(/"level":(50|60)/.test(log), false, log)
    t.diagnostic(`${events.length} events, ${hook.got.length - events.length} arrived more than once`)
  })
}

async function eventsIn(home: ServiceHome, engine: Engine): Promise<string[]> {
  const query = 'select id from event'
  if (engine === 'sqlite') {
    const database = new DatabaseSync(join(home.folder, 'berth.db'))
    const rows = database.prepare(query).all()
    database.close()
    return rows.map(({ id }) => String(id))
  }
  const client = new pg.Client({ connectionString: home.env.DATABASE_URL })
  await client.connect()
  const { rows } = await client.query(query)
  await client.end()
  return rows.map(({ id }) => String(id))
}

processOnBothEngines('an event is on its way at once, with no one asking (a bound on time)', async (t, engine) => {
  const { running, home, hook } = await withHook(t, engine)
  const { token } = credentialsOf(home)
  const waits: number[] = []
  for (let at = 0; at < 10; at++) {
    const before = Date.now()
    await ask(running, token, 'POST', '/v10/projects', { name: `p${at}` })
    await hook.until(at + 1)
    waits.push(Date.now() - before)
  }
  waits.sort((a, b) => a - b)
  assertWithin(waits[5]!, 500)
  assert.equal(await running.kill('SIGTERM'), 0)
})

processOnBothEngines(
  'at a stop, deliveries without an answer are released, and the next start sends them at once (a bound on time)',
  async (t, engine) => {
    const { running, home, hook } = await withHook(t, engine)
    hook.answer(() => {})
    const { token } = credentialsOf(home)
    for (const name of ['a', 'b']) await ask(running, token, 'POST', '/v10/projects', { name })
    await hook.until(2)
    const before = Date.now()
    assert.equal(await running.kill('SIGTERM'), 0)
    assertWithin(Date.now() - before, 9000)
    hook.answer((response) => response.end())
    const again = await startService(t, home, LOCAL)
    const started = Date.now()
    await hook.until(4)
    assertWithin(Date.now() - started, 10_000)
    const ids = hook.got.map(({ body }) => body.id)
    assert.deepEqual(ids.slice(0, 2).sort(), ids.slice(2).sort())
    assert.equal(await again.kill('SIGTERM'), 0)
  },
)

test('two instances on one PostgreSQL make each delivery once, also when one of them stops', {
  timeout: 300_000,
}, async (t) => {
  const { running: one, home, hook } = await withHook(t, 'postgres')
  const two = await startService(t, home, LOCAL)
  hook.answer((response) => void setTimeout(() => response.end(), 20))
  const { token } = credentialsOf(home)
  const make = async (first: number, on: RunningService[]) => {
    const made = Array.from({ length: 60 }, (_, at) =>
      ask(on[at % on.length]!, token, 'POST', '/v10/projects', { name: `p${first + at}` }),
    )
    for (const answer of await Promise.all(made)) assert.equal(answer?.status, 200, JSON.stringify(answer))
  }
  await make(0, [one, two])
  await make(100, [one, two])
  assert.equal(await one.kill('SIGTERM'), 0)
  await make(200, [two])
  await hook.until(180)
  // Nothing may come twice.
  await sleep(1500)
  const ids = hook.got.map(({ body }) => body.id)
  assert.deepEqual([ids.length, new Set(ids).size], [180, 180])
  assert.equal(await two.kill('SIGTERM'), 0)
  for (const { out } of [one, two]) assert.equal(/"level":(50|60)/.test(out()), false, out())
})

async function withHook(
  t: TestContext,
  engine: Engine,
): Promise<{ running: RunningService; home: ServiceHome; hook: Receiver }> {
  const home = await newHome(t, engine)
  const running = await startService(t, home, LOCAL)
  const hook = await receiver(t)
  await hookOn(running, home, hook.url, ['project.created'])
  return { running, home, hook }
}
