/** Endpoints that hang with thousands of deliveries waiting delay no other account. docs/webhooks.md. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { seedProject } from '../../support/projects.ts'
import { LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines } from '../../support/world.ts'
import { pile } from './delivery-rows.ts'

onBothEngines(
  'while 20 endpoints of one account hang and thousands of deliveries wait, events of another account arrive within two seconds (a bound on time)',
  async (world, t) => {
    const [hangs, good] = await Promise.all([receiver(t), receiver(t)])
    hangs.answer(() => {})
    await seedProject(world, 'first')
    const endpointIds: string[] = []
    for (let at = 0; at < 20; at++) endpointIds.push((await register(world, hangs.url, ['project.created'])).id)
    const rival = await world.user('rival')
    const hook = { url: good.url, events: ['project.created'] }
    assert.equal((await rival.call('POST', '/v1/webhooks', hook)).status, 200)
    const { account_id: accountId } = await world.deps.db.read
      .selectFrom('webhook')
      .select('account_id')
      .where('id', '=', endpointIds[0]!)
      .executeTakeFirstOrThrow()
    await pile(world, 4000, { accountId, endpointIds })
    await hangs.until(48)
    for (let at = 0; at < 8; at++) {
      assert.equal((await rival.call('POST', '/v10/projects', { name: `r${at}` })).status, 200)
      await good.until(at + 1)
      const { body, at: arrived } = good.got[at]!
      assertWithin(arrived - body.createdAt, 2000)
      // It goes on for longer than the time-out of 15 s, after which the endpoints are known to fail.
      await sleep(2200)
    }
    assert.ok(hangs.mostOpen() <= 48, `${hangs.mostOpen()} were in flight at once`)
  },
  { ...LOCAL, BERTH_TIMERS: 'on' },
)
