/** Disabled for 30 days: removed, never early, once, whatever the clock does. Specification: States and transitions; docs/spec/reliability.md T53, F19 to F21. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '../../../src/config.ts'
import { disableInstallationsOf } from '../../../src/integrations/installations/disable.ts'
import { createClockMonitor } from '../../../src/platform/base/clock-monitor.ts'
import { openService } from '../../../src/service.ts'
import { runTimer, startTimers } from '../../../src/timers.ts'
import { callWith } from '../../support/call.ts'
import { eventually } from '../../support/eventually.ts'
import { addRows, disableInstallation } from '../../support/states.ts'
import { type Call, newDatabase, onBothEngines, type World } from '../../support/world.ts'
import {
  configurationNow,
  consentAndInstall,
  eventsOf,
  type InstalledApp,
  seedIntegration,
} from '../../support/worlds/installation-rows.ts'
import { DAY, leave, MINUTE, openTeam, SCOPES, sweep } from '../../support/worlds/team-installation.ts'

/** Things of an installation's own, and the same of others. */
async function furnish(world: World, { configuration, token }: InstalledApp, call: Call) {
  const { deps } = world
  const { id, integration_id, account_id } = configuration
  await call('POST', '/v10/projects', { name: 'web' })
  const { teamId } = world.credentials
  const people = callWith(world.call, `teamId=${teamId}`)
  for (const [by, key] of [
    [call, 'OF_APP'],
    [call, 'OF_APP_TOO'],
    [people, 'OF_PEOPLE'],
  ] as const) {
    const body = { key, value: 'canary-value', target: ['production', 'preview'], type: 'encrypted' }
    assert.equal((await by('POST', '/v10/projects/web/env', body)).status, 201)
  }
  const common = { account_id, url: 'https://x.example', created_by: null, failing_since: null, disabled_at: null }
  for (const [name, configuration_id] of [
    ['mine', id],
    ['other', null],
  ] as const) {
    const both = () => ({
      ...{ ...common, configuration_id, disabled_reason: null, updated_at: 1, project_ids_json: null },
      created_stamp: deps.clock.stamp(),
    })
    const webhook = { id: `hook_${name}`, integration_id: null, events_json: null, sealed_secret: null }
    await addRows(world, 'webhook', [{ ...both(), ...webhook }])
    const drain = {
      id: `ld_${name}`,
      name,
      delivery_format: 'json',
      sealed_secret: 's',
      environments_json: '[]',
    } as const
    await addRows(world, 'log_drain', [{ ...both(), ...drain }])
    const deliveries = [`hook_${name}`, `ld_${name}`, 'hook_of_integration'].map((endpoint_id) => {
      const created_stamp = deps.clock.stamp()
      const key = { id: `dlv_${created_stamp}`, account_id, configuration_id, endpoint_id, created_stamp }
      return { ...key, type: 'project.renamed', body: null, attempts: 0, due_at: null, status: 'pending' as const }
    })
    await addRows(world, 'delivery', deliveries)
  }
  return { people, integration_id, token }
}

onBothEngines(
  'a disabled installation is there for 30 days less a minute; then it is removed with all that it owned, once',
  async (world) => {
    const { ada, call, installed, integration, as } = await openTeam(world)
    const { teamId } = world.credentials
    const { people } = await furnish(world, installed, call)
    const staying = await consentAndInstall(world, await seedIntegration(world, SCOPES), {
      userId: world.credentials.userId,
      account: { id: teamId, kind: 'team' },
    })
    await leave(world, ada.id)
    const { id } = installed.configuration
    const { disabled_at } = await configurationNow(world, id)
    const due = disabled_at! + 30 * DAY
    for (const early of [disabled_at!, due - DAY, due - MINUTE, due - 1]) {
      assert.deepEqual(await sweep(world, early), { swept: 0 })
      assert.equal((await call.try('GET', '/v9/projects')).body.error.code, 'integration_configuration_disabled')
    }
    const swept = await Promise.all([sweep(world, due), sweep(world, due + MINUTE), sweep(world, due)])
    assert.equal(
      swept.reduce((sum, end) => sum + end.swept, 0),
      1,
    )
    assert.deepEqual(await sweep(world, due + DAY), { swept: 0 })
    const gone = await call.try('GET', '/v9/projects')
    assert.deepEqual([gone.status, gone.body.error.invalidToken], [401, true])
    assert.equal((await configurationNow(world, id)).deleted_at, due)
    assert.equal((await as(staying.token)('GET', '/v9/projects')).status, 200)
    const told = await eventsOf(world, 'integration-configuration.')
    assert.deepEqual(
      told.map(({ type, configuration_id, account_id, payload }) => ({ type, configuration_id, account_id, payload })),
      [
        {
          type: 'integration-configuration.removed',
          configuration_id: id,
          account_id: teamId,
          payload: {
            team: { id: teamId },
            user: { id: null },
            configuration: { id, projectSelection: 'all', projects: [] },
          },
        },
      ],
    )
    const { envs } = (await people('GET', '/v9/projects/web/env')).body
    assert.deepEqual(
      envs.map((env: { key: string }) => env.key),
      ['OF_PEOPLE'],
    )
    const deleted = await eventsOf(world, 'project.env-variable.deleted')
    assert.deepEqual(deleted.flatMap(({ payload }) => payload.envVars.map(({ key }: { key: string }) => key)).sort(), [
      'OF_APP',
      'OF_APP_TOO',
    ])
    for (const { payload } of deleted) assert.deepEqual(payload.user, { id: null })
    const { db } = world.deps
    const usage = await db.read.selectFrom('env_usage').selectAll().orderBy('target').execute()
    assert.deepEqual(
      usage.map(({ target, variables, bytes }) => [target, variables, bytes]),
      [
        ['preview', 1, 12],
        ['production', 1, 12],
      ],
    )
    const history = await db.read.selectFrom('env_history').selectAll().where('configuration_id', '=', id).execute()
    assert.equal(history.length, 4)
    for (const row of history) assert.equal(row.sealed_value, null)
    const ends = history.filter((row) => row.action === 'deleted').map((row) => [row.actor_kind, row.actor_id])
    assert.deepEqual(ends, Array(2).fill(['timer', 'disabled-configurations']))
    const count = async (table: 'token' | 'authorization_code' | 'configuration_project') =>
      (await db.read.selectFrom(table).selectAll().where('configuration_id', '=', id).execute()).length
    assert.deepEqual(
      [await count('token'), await count('authorization_code'), await count('configuration_project')],
      [0, 0, 0],
    )
    const drains = await db.read.selectFrom('log_drain').select('id').execute()
    assert.deepEqual(
      drains.map((drain) => drain.id),
      ['ld_other'],
    )
    // Its webhook has ended; it stays until it has received the end (webhook-installations.test.ts).
    const webhooks = await db.read.selectFrom('webhook').select(['id', 'ended_at']).orderBy('id').execute()
    assert.deepEqual(
      webhooks.map((webhook) => [webhook.id, webhook.ended_at]),
      [
        ['hook_mine', due],
        ['hook_other', null],
      ],
    )
    const waiting = await db.read.selectFrom('delivery').selectAll().where('type', '=', 'project.renamed').execute()
    for (const row of waiting) assert.equal(row.status, row.configuration_id === id ? 'dropped' : 'pending')
    assert.equal(waiting.filter((row) => row.status === 'dropped').length, 3)
    // The place is free: it can be installed again.
    await consentAndInstall(world, integration, {
      userId: world.credentials.userId,
      account: { id: teamId, kind: 'team' },
    })
  },
)

onBothEngines(
  'the removal of an installation names its selected projects, and then it is found by no caller',
  async (world) => {
    const { ada, account } = await openTeam(world)
    const made = await world.call('POST', `/v10/projects?teamId=${account.id}`, { name: 'chosen' })
    const selected = await consentAndInstall(world, await seedIntegration(world, SCOPES), {
      ...{ userId: ada.id, account, projects: [made.body.id] },
    })
    await leave(world, ada.id)
    await sweep(world, world.deps.clock.now() + 31 * DAY)
    const told = await eventsOf(world, 'integration-configuration.removed')
    assert.deepEqual(
      told.map(({ payload }) => payload.configuration).find((one) => one.id === selected.configuration.id),
      { id: selected.configuration.id, projectSelection: 'selected', projects: [made.body.id] },
    )
    assert.equal(told.length, 2)
  },
)

test('two services on one database sweep and disable at once, and everything is done once [postgres]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
  const settings = { BERTH_DATA: folder, DATABASE_URL: await newDatabase(), BERTH_TIMERS: 'off' }
  const faults: string[] = []
  const log = () => pino({ level: 'error' }, { write: (line: string) => void faults.push(line) })
  const open = () =>
    openService(readConfig(settings), log(), (error) => {
      throw error
    })
  const one = await open()
  const two = await open()
  try {
    const { userId, teamId } = one.credentials
    const world = { ...one, credentials: one.credentials } as unknown as World
    const account = { id: teamId!, kind: 'team' } as const
    const ids: string[] = []
    for (let n = 0; n < 25; n++) {
      const integration = await seedIntegration(world, SCOPES)
      ids.push((await consentAndInstall(one, integration, { userId: userId!, account })).configuration.id)
    }
    const disable = ({ deps }: typeof one) =>
      deps.db.write((db) => {
        const actor = { kind: 'operator', id: 'operator', tokenId: null } as const
        const ctx = { actor, db, now: deps.clock.now(), stamp: deps.clock.stamp(), deps, emit: () => {} }
        return disableInstallationsOf(ctx, { id: teamId!, slug: 'team' }, userId!, 'original-owner-left-the-team')
      })
    await Promise.all([disable(one), disable(two), disable(one), disable(two)])
    assert.equal((await one.deps.db.read.selectFrom('mail').selectAll().execute()).length, 1)
    const due = one.deps.clock.now() + 30 * DAY
    const swept = await Promise.all(
      [one, two, one, two].map(({ deps }) => runTimer(deps, 'disabled-configurations', due)),
    )
    assert.equal(
      swept.reduce((sum, count) => sum + count),
      ids.length,
    )
    const told = await eventsOf(one, 'integration-configuration.removed')
    assert.deepEqual(told.map((event) => event.configuration_id).sort(), ids.sort())
  } finally {
    await one.close()
    await two.close()
    rmSync(folder, { recursive: true })
  }
  assert.deepEqual(faults, [])
})

onBothEngines(
  'a clock that jumps a month deletes nothing; the operator can still say so',
  async (world) => {
    const { ada, call } = await openTeam(world)
    await leave(world, ada.id)
    const { clock, metrics, wakeups } = world.deps
    /** Has the sweep of disabled installations come to its turn, and then one that runs whatever the clock says. */
    const sweepAll = async () => {
      const told = metrics.gauge('berth_timer_last_run_timestamp_seconds', 'audit-chain')
      // A round that began before may end first: the second one surely began after it.
      for (let round = 0; round < 2; round++) {
        told.value = 0
        wakeups.timer('disabled-configurations')
        wakeups.timer('audit-chain')
        await eventually(() => told.value > 0)
      }
    }
    clock.set(Date.now() + 31 * DAY)
    await sweepAll()
    assert.equal((await call.try('GET', '/v9/projects')).body.error.code, 'integration_configuration_disabled')
    assert.match(world.logged(), /the clock jumped/)
    clock.set(undefined)
    await sweepAll()
    assert.deepEqual(await eventsOf(world, 'integration-configuration.'), [])
    assert.deepEqual(await sweep(world, Date.now() + 31 * DAY), { swept: 1 })
  },
  { BERTH_TIMERS: 'on' },
)

onBothEngines('what became due while the service was down is done soon after it starts', async (world) => {
  const { ada, installed } = await openTeam(world)
  await leave(world, ada.id)
  await disableInstallation(world, installed.configuration.id, null, Date.now() - 31 * DAY)
  const stop = startTimers(world.deps)
  await eventually(async () => (await configurationNow(world, installed.configuration.id)).deleted_at !== null)
  await stop()
  assert.equal((await eventsOf(world, 'integration-configuration.removed')).length, 1)
})

test('a clock is suspect from a jump until it is back, or has gone on steadily for a day', () => {
  const HOUR = 60 * MINUTE
  for (const jump of [31 * DAY, -31 * DAY, HOUR + 2000, -HOUR - 2000]) {
    const watch = createClockMonitor()
    const at = (passed: number, ahead = 0) => watch(1_800_000_000_000 + passed + ahead, passed)
    assert.deepEqual(at(0), { isSuspect: false, isNewJump: false, jumpMs: 0 })
    // Corrected bit by bit, as clocks are, by more than an hour in all.
    for (let n = 1; n <= 10; n++) assert.equal(at(n * MINUTE, n * 1000).isSuspect, false)
    const from = 10_000
    assert.deepEqual(at(HOUR, from + jump), { isSuspect: true, isNewJump: true, jumpMs: jump })
    assert.deepEqual(at(HOUR + 1000, from + jump), { isSuspect: true, isNewJump: false, jumpMs: jump })
    assert.equal(at(HOUR + 2000, from).isSuspect, false)
    assert.equal(at(2 * HOUR, from + jump).isNewJump, true)
    assert.equal(at(2 * HOUR + DAY - 1, from + jump).isSuspect, true)
    assert.equal(at(2 * HOUR + DAY, from + jump).isSuspect, false)
    assert.equal(at(3 * HOUR + DAY, from + jump).isSuspect, false)
    // A second jump begins the day again.
    assert.equal(at(4 * HOUR + DAY, from + 2 * jump).isNewJump, true)
    assert.equal(at(5 * HOUR + DAY, from + 3 * jump).isNewJump, true)
    assert.equal(at(4 * HOUR + 2 * DAY, from + 3 * jump).isSuspect, true)
    assert.equal(at(5 * HOUR + 2 * DAY, from + 3 * jump).isSuspect, false)
  }
})

onBothEngines('codes are remembered for a day after they ended, so that a replay is known', async (world) => {
  const { userId } = world.credentials
  const integration = await seedIntegration(world, SCOPES)
  await consentAndInstall(world, integration, { userId, account: { id: userId, kind: 'user' } })
  const { expires_at } = await world.deps.db.read.selectFrom('authorization_code').selectAll().executeTakeFirstOrThrow()
  const run = async (now: number) => (await world.operator('POST', '/operator/v1/timers/old-codes/run', { now })).body
  assert.deepEqual(await run(expires_at + DAY - 1), { swept: 0 })
  assert.deepEqual(await run(expires_at + DAY), { swept: 1 })
})
