/** Disabled: the owner leaves or is demoted, nothing acts, and an owner of the team takes ownership. Specification: States and transitions. */

import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { PUBLIC, sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { LOCAL, receiver } from '../../support/servers/receiver.ts'
import { enableInstallation } from '../../support/states.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines } from '../../support/world.ts'
import {
  configurationNow,
  consentAndInstall,
  eventsOf,
  seedIntegration,
} from '../../support/worlds/installation-rows.ts'
import { leave, openTeam, SCOPES, setRole } from '../../support/worlds/team-installation.ts'

const letters = readQueuedMail

onBothEngines(
  'the installations of a user who falls below MEMBER or leaves are disabled, and no others',
  async (world) => {
    const { userId, teamId } = world.credentials
    for (const [role, reason] of [
      ['DEVELOPER', 'original-owner-role-downgraded'],
      ['VIEWER', 'original-owner-role-downgraded'],
      ['BILLING', 'original-owner-role-downgraded'],
      [undefined, 'original-owner-left-the-team'],
    ] as const) {
      const user = await world.user(`u${role ?? 'gone'}`.toLowerCase())
      await setRole(world, user.id, 'OWNER')
      const integration = await seedIntegration(world, SCOPES)
      const other = await seedIntegration(world, SCOPES)
      const account = { id: teamId, kind: 'team' } as const
      const on = await consentAndInstall(world, integration, { userId: user.id, account })
      const own = await consentAndInstall(world, integration, {
        userId: user.id,
        account: { id: user.id, kind: 'user' },
      })
      const others = await consentAndInstall(world, other, { userId, account })
      await setRole(world, user.id, 'MEMBER')
      assert.equal((await configurationNow(world, on.configuration.id)).disabled_at, null)
      const before = world.deps.clock.now()
      if (role) await setRole(world, user.id, role)
      else assert.equal((await leave(world, user.id)).status, 204)
      const now = await configurationNow(world, on.configuration.id)
      assert.equal(now.disabled_reason, reason)
      assert.ok(now.disabled_at! >= before && now.disabled_at! <= world.deps.clock.now())
      const said = await world.as(on.token).try('GET', `/v9/projects?teamId=${teamId}`)
      assert.deepEqual([said.status, said.body.error.code], [403, 'integration_configuration_disabled'])
      for (const { configuration } of [own, others]) {
        assert.equal((await configurationNow(world, configuration.id)).disabled_at, null)
      }
      assert.equal((await world.as(own.token)('GET', '/v9/projects')).status, 200)
      // Coming back is not a consent: an owner must take ownership of it.
      await setRole(world, user.id, 'OWNER')
      assert.deepEqual(await configurationNow(world, on.configuration.id), now)
      // Going again does not begin the 30 days again.
      world.deps.clock.set(world.deps.clock.now() + 1000)
      await leave(world, user.id)
      assert.deepEqual(await configurationNow(world, on.configuration.id), now)
    }
  },
)

onBothEngines(
  'every owner that the team has left gets one email with what is disabled and where to take ownership of it',
  async (world) => {
    const { ada, account } = await openTeam(world)
    const { teamId } = world.credentials
    const second = await seedIntegration(world, SCOPES, 'Buoy\r\nX-Evil: yes')
    await consentAndInstall(world, second, { userId: ada.id, account })
    for (const [name, role] of [
      ['grace', 'OWNER'],
      ['heidi', 'MEMBER'],
    ] as const) {
      const { id } = await world.user(name)
      await setRole(world, id, role)
    }
    await leave(world, ada.id)
    const sent = await letters(world)
    assert.deepEqual(sent.map((letter) => letter.recipient).sort(), ['admin@berth.localhost', 'grace@example.com'])
    for (const { body_text, subject } of sent) {
      assert.equal(subject, 'Integrations of team are disabled')
      assert.match(
        body_text,
        /^ada left the team. The integrations that ada owned on the team team are disabled:\n\n {2}Buoy X-Evil: yes\n {2}Lighthouse\n/,
      )
      assert.ok(body_text.endsWith(`\n${world.deps.origin()}/integrations/installed?teamId=${teamId}`))
    }
    // With nothing installed, no email is sent; nor where no owner is left.
    const ivan = await world.user('ivan')
    await setRole(world, ivan.id, 'OWNER')
    await leave(world, ivan.id)
    assert.equal((await letters(world)).length, 2)
  },
)

onBothEngines(
  'a disabled installation is refused by every public operation, before its body is read',
  async (world) => {
    const samples = await seedSamples(world)
    const { ada, call } = await openTeam(world)
    await setRole(world, ada.id, 'VIEWER')
    for (const route of PUBLIC) {
      const { method, url, body } = sampleRequest(route, samples)
      for (const sent of [body, '{"nonsense": [tru']) {
        const answer = await call.try(method, url, sent)
        const said = [answer.status, answer.body?.error.code]
        assert.deepEqual(said, [403, 'integration_configuration_disabled'], route.operationId)
      }
    }
  },
)

onBothEngines(
  'disabled in the middle of a storm of writes: no effect is committed after it (a bound on time)',
  async (world) => {
    const { ada, call, installed } = await openTeam(world)
    const names = async () =>
      new Set((await world.deps.db.read.selectFrom('project').select('name').execute()).map((row) => row.name))
    for (let round = 0; round < 6; round++) {
      const made = new Set<string>()
      let refused = 0
      let ended = false
      const writer = async (lane: number) => {
        for (let n = 0; !ended && n < 400; n++) {
          const name = `r${round}-${lane}-${n}`
          const answer = await call.try('POST', '/v10/projects', { name })
          if (answer.status === 200) made.add(name)
          else assert.deepEqual([answer.status, answer.body.error.code], [403, 'integration_configuration_disabled'])
          if (answer.status === 403 && ++refused > 40) ended = true
        }
      }
      const storm = Promise.all(Array.from({ length: 12 }, (_, lane) => writer(lane)))
      // In flight in every lane.
      await eventually(() => made.size >= 12)
      const path = `/operator/v1/teams/${world.credentials.teamId}/members/${ada.id}` as const
      const began = performance.now()
      assert.equal((await world.operator('PUT', path, { role: 'VIEWER' })).status, 200)
      // Those that come do not keep it from its turn for ever.
      assertWithin(performance.now() - began, 5000)
      const there = await names()
      await storm
      const later = [...(await names())].filter((name) => !there.has(name))
      assert.deepEqual(later, [], 'committed after the disabling was')
      for (const name of made) assert.ok(there.has(name), name)
      assert.ok(made.size > 0 && refused > 0, `${made.size} made, ${refused} refused`)
      await setRole(world, ada.id, 'OWNER')
      await enableInstallation(world, installed.configuration.id)
    }
  },
)

const answered = (answer: { status: number; body?: { error?: { code: string } } }) => [
  answer.status,
  answer.body?.error?.code,
]

onBothEngines('an owner takes a disabled installation over: its tokens act again, for the new owner', async (world) => {
  const { ada, call, installed } = await openTeam(world)
  const { userId, teamId } = world.credentials
  const { id } = installed.configuration
  const path = `/v1/integrations/configuration/${id}/transfer-ownership?teamId=${teamId}` as const
  const grace = await world.user('grace')
  await setRole(world, grace.id, 'OWNER')
  await leave(world, ada.id)
  const { disabled_at } = await configurationNow(world, id)
  const refused = [
    [ada.call, [403, 'forbidden']],
    [world.as(installed.token), [403, 'integration_configuration_disabled']],
    [world.as(undefined), [401, 'forbidden']],
  ] as const
  for (const [by, said] of refused) assert.deepEqual(answered(await by.try('POST', path)), said)
  for (const role of ['MEMBER', 'DEVELOPER', 'VIEWER', 'BILLING']) {
    await setRole(world, ada.id, role)
    assert.deepEqual(answered(await ada.call.try('POST', path)), [403, 'forbidden'], role)
  }
  await leave(world, ada.id)
  assert.equal((await configurationNow(world, id)).disabled_at, disabled_at)
  // Two owners at once: both are answered, and one has it in the end.
  const answers = await Promise.all([world.call, grace.call].map((by) => by.try('POST', path)))
  for (const answer of answers) assert.equal(answer.status, 200, answer.text)
  const now = await configurationNow(world, id)
  assert.deepEqual([now.disabled_at, now.disabled_reason], [null, null])
  assert.ok(now.resumed_at! >= disabled_at!)
  assert.equal((await call('GET', '/v2/user')).body.user.id, now.user_id)
  const told = await eventsOf(world, 'integration-configuration.')
  const installation = { id, projectSelection: 'all', projects: [] }
  const by = (user: string, previousUserId: string) => ({
    ...{ team: { id: teamId }, user: { id: user }, configuration: installation, previousUserId },
  })
  const [first, last] = now.user_id === grace.id ? [userId, grace.id] : [grace.id, userId]
  assert.deepEqual(
    told.map(({ type, configuration_id, payload }) => [type, configuration_id, payload]),
    [
      ['integration-configuration.transferred', id, by(first, ada.id)],
      ['integration-configuration.transferred', id, by(last, first)],
    ],
  )
  // Again: nothing to do, nothing sent, and it is not resumed a second time.
  const owner = now.user_id === grace.id ? grace.call : world.call
  assert.equal((await owner('POST', path)).body.userId, now.user_id)
  assert.deepEqual(await configurationNow(world, id), now)
  assert.equal((await eventsOf(world, 'integration-configuration.')).length, 2)
  await setRole(world, now.user_id, 'VIEWER')
  assert.equal((await configurationNow(world, id)).disabled_reason, 'original-owner-role-downgraded')
})

onBothEngines(
  'taking ownership returns the installation; one that is removed, of another account or asked for by an app is refused',
  async (world) => {
    const { installed, as, account } = await openTeam(world)
    const samples = await seedSamples(world)
    const { id } = installed.configuration
    const to = <const What extends string>(which: string, what: What, query = `teamId=${account.id}`) =>
      `/v1/integrations/configuration/${which}/${what}?${query}` as const
    const taken = await world.call('POST', to(id, 'transfer-ownership'))
    assert.equal(taken.status, 200, taken.text)
    const { createdAt, updatedAt, integration, ...rest } = taken.body
    assert.ok(createdAt > 0 && updatedAt >= createdAt)
    assert.equal(integration.slug, taken.body.slug)
    assert.deepEqual(
      { ...rest, slug: 'a-slug' },
      {
        ...{
          id,
          type: 'integration-configuration',
          integrationId: installed.configuration.integration_id,
          slug: 'a-slug',
        },
        ...{ ownerId: account.id, teamId: account.id, userId: world.credentials.userId, scopes: SCOPES },
        ...{ pendingScopes: [], projectSelection: 'all', source: 'external', installationType: 'external' },
        completedAt: installed.configuration.completed_at,
      },
    )
    assert.equal((await configurationNow(world, id)).resumed_at, null, 'it was not disabled')
    const app = as(installed.token)
    for (const [what, body] of [
      ['transfer-ownership', undefined],
      ['confirm', { scopes: [] }],
    ] as const) {
      assert.deepEqual(answered(await app.try('POST', to(id, what, ''), body)), [403, 'forbidden'], what)
      const unknown = await world.call.try('POST', to(`icfg_${'0'.repeat(24)}`, what), body)
      assert.deepEqual(answered(unknown), [404, 'not_found'])
      const rival = samples.rival.call.try('POST', to(id, what, `teamId=${samples.rival.teamId}`), body)
      assert.deepEqual(answered(await rival), [404, 'not_found'])
      assert.deepEqual(answered(await world.call.try('POST', to(id, what, ''), body)), [404, 'not_found'])
    }
  },
)

onBothEngines(
  'a test event is refused while the installation of the webhook is disabled, and sent otherwise',
  async (world, t) => {
    const hook = await receiver(t)
    const { ada, call, installed } = await openTeam(world)
    const { userId, teamId } = world.credentials
    const made = await call('POST', '/v1/webhooks', { url: hook.url, events: ['project.created'] })
    assert.equal(made.status, 200, made.text)
    const path = `/v1/webhooks/${made.body.id}/test?teamId=${teamId}` as const
    const sent = await world.call('POST', path)
    assert.deepEqual([sent.status, sent.body.arrived], [200, true], sent.text)
    await setRole(world, ada.id, 'VIEWER')
    const refused = await world.call.try('POST', path)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'], refused.text)
    assert.match(refused.body.error.message, /installation of the webhook is disabled/)
    assert.equal(hook.got.length, 1)
    const own =
      `/v1/integrations/configuration/${installed.configuration.id}/transfer-ownership?teamId=${teamId}` as const
    const taken = await world.call('POST', own)
    assert.equal(taken.status, 200, taken.text)
    assert.equal((await configurationNow(world, installed.configuration.id)).user_id, userId)
    assert.equal((await world.call('POST', path)).status, 200)
    assert.equal(hook.got.length, 2)
  },
  LOCAL,
)
