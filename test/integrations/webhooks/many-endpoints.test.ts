/** Lists of webhooks and log drains have an end, with those of many installations too. docs/webhooks.md. */
import assert from 'node:assert/strict'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

const TABLES = {
  webhook: { path: '/v1/webhooks', body: { url: 'https://hooks.example.com', events: ['project.created'] } },
  log_drain: {
    path: '/v1/log-drains',
    body: { url: 'https://hooks.example.com', deliveryFormat: 'json', sources: ['build'] },
  },
} as const

for (const [table, { path, body }] of Object.entries(TABLES) as [
  keyof typeof TABLES,
  { path: '/v1'; body: object },
][]) {
  onBothEngines(
    `a list of ${table} shows the newest 1,000, and each of account and installation has 20`,
    async (world) => {
      const teamId = `teamId=${world.credentials.teamId}`
      const { call, installationId } = await seedInstallation(world, {
        scopes: ['read:project', 'read-write:integration-configuration', 'read-write:log-drain'],
      })
      const theirs = (await call('POST', `${path}?${teamId}`, body)).body.id
      await multiply(world, table, theirs, 1020)
      for (let at = 0; at < 20; at++) await world.call('POST', `${path}?${teamId}`, body)
      const refused = await world.call.try('POST', `${path}?${teamId}`, body)
      assert.deepEqual([refused.status, /20 already/.test(refused.text)], [400, true], refused.text)
      const all = (await world.call('GET', `${path}?${teamId}`)).body
      assert.equal(all.length, 1000)
      assert.equal(all[0].configurationId ?? null, null, 'newest first')
      const own = (await call('GET', `${path}?${teamId}`)).body
      assert.deepEqual(
        own.map(({ id }: { id: string }) => id),
        [theirs],
        `${installationId} sees its own, however many newer ones there are`,
      )
      if (table === 'log_drain')
        assert.equal((await world.call('GET', `/v1/drains?${teamId}`)).body.drains.length, 1000)
    },
  )
}

/** Writes an endpoint `count` more times, each as one of another installation. */
async function multiply(world: World, table: keyof typeof TABLES, id: string, count: number): Promise<void> {
  const first = await world.deps.db.read.selectFrom(table).selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const more = Array.from({ length: count }, (_, at) => {
    return { ...first, id: `${id}${at}`, configuration_id: `icfg_${at}`, created_stamp: world.deps.clock.stamp() }
  })
  await addRows(world, table, more)
}
