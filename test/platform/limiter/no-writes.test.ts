/** Limits that instances share, while the database takes no writes and after it. docs/limits.md: Several instances. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { seedProject } from '../../support/projects.ts'
import { terminateConnections } from '../../support/stores/terminate-connections.ts'
import { callerOf, onBothEngines, openWorld, type World } from '../../support/world.ts'

const FEW = { BERTH_RATE_LIMITS: '{"env-read": {"total": 20, "seconds": 600}}' }

/** Longer than an instance leaves a database alone that took no writes. */
const ASKED_AGAIN_MS = 1100

function urlOf({ deps }: World): string {
  const { database } = deps.config
  assert.ok(database.engine === 'postgres')
  return database.url
}

/** Makes every new transaction of the database read-only, or writable again, for connections that are there too. */
async function setReadOnly(world: World, on: boolean): Promise<void> {
  const url = new URL(urlOf(world))
  const name = url.pathname.slice(1)
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await client.query('set default_transaction_read_only = off')
  await client.query(`alter database ${name} set default_transaction_read_only = ${on ? 'on' : 'off'}`)
  await terminateConnections(client, name)
  await client.end()
}

async function usedOf(world: World, accountId: string): Promise<number> {
  const row = await world.deps.db.read
    .selectFrom('rate_limit')
    .select('used')
    .where('name', '=', 'env-read')
    .where('owner', '=', accountId)
    .executeTakeFirst()
  return row?.used ?? 0
}

onBothEngines(
  'a database that takes no writes stops no read; an instance counts for itself then, and reports it later',
  async (world) => {
    await seedProject(world, 'web')
    const read = async () => (await world.call.try('GET', '/v9/projects/web/env')).status
    for (let at = 0; at < 5; at++) assert.equal(await read(), 200)
    await setReadOnly(world, true)
    const statuses = []
    for (let at = 0; at < 20; at++) statuses.push(await read())
    assert.deepEqual(
      statuses.filter((status) => status === 503),
      [],
      'no read was refused for it',
    )
    assert.deepEqual(statuses.filter((status) => status === 200).length, 15, 'and the limit holds')
    await setReadOnly(world, false)
    // Until then it does not ask the database.
    await sleep(ASKED_AGAIN_MS)
    assert.equal(await read(), 429)
    assert.ok((await usedOf(world, world.credentials.userId)) <= 20)
  },
  FEW,
  ['postgres'],
)

onBothEngines(
  'what an instance gave out while the database took no writes is missing for the others after it',
  async (world) => {
    await seedProject(world, 'web')
    const other = await openWorld('postgres', {
      ...FEW,
      DATABASE_URL: urlOf(world),
      BERTH_KEYS: `${world.folder}/keys.json`,
    })
    try {
      const read = async (call: World['call']) => (await call.try('GET', '/v9/projects/web/env')).status
      await setReadOnly(world, true)
      for (let at = 0; at < 10; at++) assert.equal(await read(world.call), 200)
      await setReadOnly(world, false)
      // Until then it does not ask the database.
      await sleep(ASKED_AGAIN_MS)
      assert.equal(await read(world.call), 200, 'and reports that it gave out eleven')
      const there = callerOf(other, world.credentials.token)
      const statuses = []
      for (let at = 0; at < 15; at++) statuses.push(await read(there))
      assert.ok(statuses.filter((status) => status === 200).length <= 9, `${statuses}`)
    } finally {
      await other.close()
    }
  },
  FEW,
  ['postgres'],
)
