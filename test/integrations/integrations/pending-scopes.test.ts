/** Pending scopes by the API: a renewed consent and a confirmation grant them, with one event. Specification: Integration configuration. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'
import { eventsOf } from '../../support/worlds/installation-rows.ts'
import { consentAndInstall, seedIntegration } from '../../support/worlds/integration-world.ts'

onBothEngines(
  'a renewed consent confirms pending scopes: the installation is notified of it, and of nothing when none are pending',
  async (world) => {
    const { teamId } = world.credentials
    const app = await seedIntegration(world, { scopes: ['read:project'] })
    const { installationId } = await consentAndInstall(world, app)
    const told = async () => (await eventsOf(world, 'integration-configuration.')).map((event) => event.payload)
    await consentAndInstall(world, app)
    assert.deepEqual(await told(), [], 'nothing waited')
    const edit = (scopes: string[]) =>
      world.call('PATCH', `/v1/integrations/apps/${app.id}?teamId=${teamId}`, { scopes })
    await edit(['read-write:project', 'read:user'])
    const path = `/v1/integrations/configuration/${installationId}?teamId=${teamId}` as const
    const waiting = await world.call('GET', path)
    assert.deepEqual(waiting.body.pendingScopes, ['read-write:project', 'read:user'])
    assert.deepEqual(waiting.body.scopes, ['read:project'])
    const stale = await world.call.try('POST', `${path.replace('?', '/confirm?')}`, { scopes: ['read:user'] })
    assert.deepEqual(
      [stale.status, stale.body.error.pendingScopes],
      [409, ['read-write:project', 'read:user']],
      'a confirmation of another list returns what is pending',
    )
    assert.match(stale.body.error.message, /read-write:project, read:user/)
    assert.equal((await consentAndInstall(world, app)).installationId, installationId)
    const scopes = ['read-write:project', 'read:user']
    const expected = [{ team: { id: teamId }, user: { id: null }, configuration: { id: installationId, scopes } }]
    assert.deepEqual(await told(), expected)
    assert.deepEqual((await world.call('GET', path)).body.pendingScopes, [])
    await consentAndInstall(world, app)
    assert.deepEqual(await told(), expected)
  },
)

onBothEngines(
  'a user confirms by the API the scopes that were shown, after the team edited the integration',
  async (world) => {
    const { userId, teamId } = world.credentials
    const app = await seedIntegration(world, { scopes: ['read:project'] })
    const { installationId } = await consentAndInstall(world, app)
    const edit = (scopes: string[]) =>
      world.call('PATCH', `/v1/integrations/apps/${app.id}?teamId=${teamId}`, { scopes })
    assert.equal((await edit(['read-write:project', 'read:user'])).status, 200)
    const path = `/v1/integrations/configuration/${installationId}/confirm?teamId=${teamId}` as const
    const confirmed = (scopes: unknown) => world.call.try('POST', path, { scopes })
    for (const [scopes, status, code] of [
      [['read:user'], 409, 'conflict'],
      [[], 409, 'conflict'],
      [undefined, 400, 'bad_request'],
      [['read:nothing'], 400, 'bad_request'],
      ['read:user', 400, 'bad_request'],
    ] as const) {
      const answer = await confirmed(scopes)
      assert.deepEqual([answer.status, answer.body.error.code], [status, code])
    }
    const member = await world.user('mia')
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${member.id}`, { role: 'MEMBER' })
    const seen = { scopes: ['read:user', 'read-write:project'] }
    assert.equal((await member.call.try('POST', path, seen)).status, 403)
    const [first, second] = await Promise.all([world.call.try('POST', path, seen), world.call.try('POST', path, seen)])
    for (const answer of [first, second]) {
      assert.deepEqual([answer.status, answer.body.scopes], [200, ['read-write:project', 'read:user']], answer.text)
    }
    const told = await eventsOf(world, 'integration-configuration.')
    assert.deepEqual(
      told.map(({ payload }) => payload),
      [
        {
          ...{ team: { id: teamId }, user: { id: userId } },
          configuration: { id: installationId, scopes: ['read-write:project', 'read:user'] },
        },
      ],
    )
  },
)
