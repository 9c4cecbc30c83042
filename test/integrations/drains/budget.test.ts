/** The bytes that wait for log drains are limited, for a drain and for an account. docs/limits.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { createBacklogBudget, readBacklog } from '../../../src/integrations/drains/budget.ts'
import { hearStatements } from '../../platform/db/statements.ts'
import { seedProject } from '../../support/projects.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { deliver, deliveries, LOCAL, receiver } from '../../support/servers/receiver.ts'
import { onBothEngines, openWorld } from '../../support/world.ts'

const MIB = 1024 * 1024
/** Lines of 960,000 bytes. */
const LINES = Array.from({ length: 4 }, () => ({ timestamp: 1, message: 'x'.repeat(240_000), source: 'lambda' }))

onBothEngines(
  'at most 16 MiB of lines wait for a drain; more are dropped, counted and reported by one letter, until the drain takes lines again',
  async (world, t) => {
    const hook = await receiver(t)
    hook.answer((response) => response.writeHead(500).end())
    const wanted = { url: hook.url, deliveryFormat: 'ndjson', sources: ['lambda'] }
    const { id } = (await world.call('POST', '/v1/log-drains', wanted)).body
    const projectId = await seedProject(world, 'web')
    const hand = async () => {
      const taken = await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines: LINES })
      assert.equal(taken.status, 202, taken.text)
      return taken.body as { drains: number; dropped: number }
    }
    const answers = []
    for (let at = 0; at < 20; at++) answers.push(await hand())
    const kept = answers.filter(({ drains }) => drains === 1)
    assert.deepEqual([kept.length, new Set(kept.map(({ dropped }) => dropped))], [17, new Set([0])])
    assert.deepEqual(answers.slice(17), Array(3).fill({ lines: 4, drains: 0, dropped: 4 }))
    assert.equal(world.deps.metrics.counter('berth_drain_lines_dropped_total').value, 12)
    // The next one, if it is still so, comes a day later.
    const letters = (await readQueuedMail(world)).filter(({ due_at }) => due_at! <= world.deps.clock.now())
    assert.deepEqual(
      letters.map(({ subject }) => subject),
      [`Log lines are dropped: ${new URL(hook.url).host}`],
    )
    assert.ok(letters[0]!.body_text.includes(id))

    // Lines whose attempt failed still wait, and count, until they arrive.
    await deliver(world)
    assert.deepEqual(await hand(), { lines: 4, drains: 0, dropped: 4 })
    hook.answer((response) => response.end())
    await deliver(world, world.deps.clock.now() + 60_000)
    assert.deepEqual(await hand(), { lines: 4, drains: 1, dropped: 0 })
  },
  LOCAL,
)

onBothEngines(
  'lines that are given up are not kept',
  async (world, t) => {
    const hook = await receiver(t)
    hook.answer((response) => response.writeHead(500).end())
    await world.call('POST', '/v1/log-drains', { url: hook.url, deliveryFormat: 'json', sources: ['lambda'] })
    const projectId = await seedProject(world, 'web')
    await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines: LINES })
    for (let attempt = 1; attempt <= 10; attempt++) await deliver(world, (await deliveries(world))[0].dueAt)
    const rows = await world.deps.db.read.selectFrom('delivery').select(['status', 'body']).execute()
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ status: 'failed', body: null }],
    )
  },
  LOCAL,
)

test('the drains of an account share 64 MiB, and those that are full leave room for the next one', () => {
  const hasRoom = createBacklogBudget(new Map([['early', 4 * MIB]]))
  const taken = new Map<string, number>([['early', 4]])
  for (let round = 0; round < 20; round++) {
    for (const drain of ['early', 'a', 'b', 'c', 'd', 'e']) {
      if (hasRoom(drain, MIB)) taken.set(drain, (taken.get(drain) ?? 0) + 1)
    }
  }
  const all = [...taken.values()].reduce((sum, mib) => sum + mib, 0)
  assert.ok(all < 64 && Math.max(...taken.values()) <= 16, JSON.stringify([...taken]))
  assert.equal(hasRoom('next', MIB), true)
  const alone = createBacklogBudget(new Map())
  assert.equal(alone('one', 16 * MIB), true)
  assert.equal(alone('one', 1), false)
})

test('the bytes that wait are added up from an index alone, without the lines [sqlite]', async (t) => {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  const { deps } = world
  const heard = hearStatements()
  await readBacklog(deps.db.read, 'team_any').finally(heard.stop)
  const statement = [...heard.said.keys()].find((text) => text.includes('sum(body_bytes)'))!
  const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${statement}`).execute(deps.db.read)
  assert.deepEqual(
    rows.map(({ detail }) => detail),
    ['SEARCH delivery USING COVERING INDEX delivery_bytes (account_id=?)'],
  )
})
