/** What an orchestrator asks: does the process live, and should it get requests. docs/operations.md. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { credentialsOf, newHome, processOnBothEngines, startService } from '../../support/process.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** After this time a finding is reported again. */
const KEPT_MS = 600

async function readiness(world: World): Promise<[status: number, failing: string[]]> {
  // It asks the store itself.
  await sleep(KEPT_MS)
  const { status, text } = await world.as(undefined).try('GET', '/readyz')
  const body = JSON.parse(text)
  assert.equal(body.ready, status === 200)
  return [status, body.failing]
}

onBothEngines('both respond without a token, reveal nothing else, and are not cacheable', async (world) => {
  const nobody = world.as(undefined)
  const [alive, ready] = [await nobody.try('GET', '/healthz'), await nobody.try('GET', '/readyz')]
  assert.deepEqual([alive.status, alive.body], [200, { alive: true }])
  assert.deepEqual([ready.status, ready.body], [200, { ready: true, failing: [] }])
  for (const { headers } of [alive, ready]) assert.equal(headers['cache-control'], 'no-store')
  for (const path of ['/healthz', '/readyz']) {
    assert.equal((await nobody('HEAD', path)).status, 200)
    assert.equal((await nobody.try('POST', path, {})).status, 405)
  }
})

onBothEngines(
  'a store without a migration, or without its active root key in the keyring, is not ready',
  async (world) => {
    const { write } = world.deps.db
    await write((tx) => sql`delete from kysely_migration where name = '0014-makers'`.execute(tx))
    assert.deepEqual(await readiness(world), [503, ['migrations']])
    await write((tx) =>
      sql`insert into kysely_migration (name, timestamp) values ('0014-makers', '2026'), ('9999-newer', '2026')`.execute(
        tx,
      ),
    )
    assert.deepEqual(await readiness(world), [200, []], 'a newer instance has brought the store further')

    const foreign = { id: 'rk_of_another', sealed_check: 'x', activated_stamp: world.deps.clock.stamp() }
    await write((tx) => tx.insertInto('root_key').values(foreign).execute())
    assert.deepEqual(await readiness(world), [503, ['keys']])
    assert.equal((await world.as(undefined)('GET', '/healthz')).status, 200)
    await write((tx) => tx.deleteFrom('root_key').where('id', '=', foreign.id).execute())
    renameSync(join(world.folder, 'keys.json'), join(world.folder, 'keys.away'))
    assert.deepEqual(await readiness(world), [200, []], 'what is open is open')
  },
)

onBothEngines(
  'a store that fails or does not answer in a second is not ready, and is asked by one at a time (a bound on time)',
  async (world) => {
    let asked = 0
    const answers: (() => void)[] = []
    const executor = world.deps.db.read.getExecutor() as { executeQuery: (...said: unknown[]) => Promise<unknown> }
    const real = executor.executeQuery
    executor.executeQuery = () => {
      asked++
      return new Promise((_, reject) => answers.push(() => reject(new Error('gone'))))
    }
    const before = performance.now()
    const nobody = world.as(undefined)
    const many = await Promise.all(Array.from({ length: 50 }, () => nobody.try('GET', '/readyz')))
    assertWithin(performance.now() - before, 3000)
    for (const { status, text } of many) assert.deepEqual([status, JSON.parse(text).failing], [503, ['store']])
    assert.deepEqual(await readiness(world), [503, ['store']])
    assert.equal(asked, 1, 'while nothing is answered nothing more is asked')
    for (const fail of answers) fail()
    executor.executeQuery = real
    assert.deepEqual(await readiness(world), [200, []])
  },
)

processOnBothEngines(
  'after SIGTERM it is not ready at once, and completes requests in flight until the listener closes',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await startService(t, home)
    const { hostname, port } = new URL(running.address)
    const { token } = credentialsOf(home)
    assert.equal((await fetch(`${running.address}/readyz`)).status, 200)
    // A load balancer is connected and begins to ask before the stop, so nothing looks idle. It ends its request after it.
    const sockets = ['/readyz', '/v9/projects'].map((path) => ({
      path,
      socket: connect(Number(port), hostname),
      text: '',
    }))
    for (const asked of sockets) {
      await once(asked.socket, 'connect')
      asked.socket.on('data', (chunk) => {
        asked.text += chunk
      })
      asked.socket.write(`GET ${asked.path} HTTP/1.1\r\nhost: x\r\n`)
    }
    running.child.kill('SIGTERM')
    const isListening = () =>
      fetch(`${running.address}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
    while (await isListening()) await sleep(2)
    for (const { socket } of sockets) socket.write(`authorization: Bearer ${token}\r\n\r\n`)
    await Promise.all(sockets.map(({ socket }) => once(socket, 'close')))
    assert.match(
      sockets[0]!.text,
      /^HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*\{"ready":false,"failing":\["stopping"\]\}/,
    )
    assert.match(sockets[1]!.text, /^HTTP\/1\.1 200 /)
    assert.equal(await running.kill('SIGTERM'), 0)
  },
)
