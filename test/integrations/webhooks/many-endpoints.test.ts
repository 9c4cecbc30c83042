/** Lists of webhooks and log drains have an end, with those of many installations too. docs/webhooks.md. */
import assert from 'node:assert/strict'
import { addRows } from '../../support/states.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

type Table = 'webhook' | 'log_drain'

const URL = 'https://hooks.example.com'
const NEW: Record<Table, [path: string, body: object]> = {
  webhook: ['/v1/webhooks', { url: URL, events: ['project.created'] }],
  log_drain: ['/v1/log-drains', { url: URL, deliveryFormat: 'json', sources: ['build'] }],
}

for (const table of ['webhook', 'log_drain'] as const) {
  const [path, body] = NEW[table]
  onBothEngines(
    `a list of ${table} shows the newest 1,000, and each of account and installation has 20`,
    async (world) => {
      const teamId = `teamId=${world.credentials.teamId}`
      const { call, installationId } = await seedInstallation(world, {
        scopes: ['read:project', 'read-write:integration-configuration', 'read-write:log-drain'],
      })
      const url = `${path}?${teamId}`
      const theirs: string = JSON.parse((await call('POST', url, body)).text).id
      await multiply(world, table, theirs, 1020)
      for (let at = 0; at < 20; at++) await world.call('POST', url, body)
      const refused = await world.call.try('POST', url, body)
      assert.deepEqual([refused.status, /20 already/.test(refused.text)], [400, true], refused.text)
      const all = await listed(world.call, url)
      assert.equal(all.length, 1000)
      const ofUsers = await world.deps.db.read
        .selectFrom(table)
        .select('id')
        .where('configuration_id', 'is', null)
        .execute()
      assert.ok(
        ofUsers.every(({ id }) => all.slice(0, 20).includes(id)),
        'newest first',
      )
      const own = await listed(call, url)
      assert.deepEqual(own, [theirs], `${installationId} sees its own, however many newer ones there are`)
      if (table === 'log_drain')
        assert.equal((await world.call('GET', `/v1/drains?${teamId}`)).body.drains.length, 1000)
    },
  )
}

async function listed(call: Call, url: string): Promise<string[]> {
  return (JSON.parse((await call('GET', url)).text) as { id: string }[]).map(({ id }) => id)
}

/** Writes an endpoint `count` more times, each as one of another installation. */
async function multiply(world: World, table: Table, id: string, count: number): Promise<void> {
  const first = await world.deps.db.read.selectFrom(table).selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const more = Array.from({ length: count }, (_, at) => {
    return { ...first, id: `${id}${at}`, configuration_id: `icfg_${at}`, created_stamp: world.deps.clock.stamp() }
  })
  await addRows(world, table, more)
}
