/** An end of what an installation may do waits for its writes in flight, and lets none begin before it stands. PostgreSQL: on SQLite writes run one after another anyway. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openLockHolder } from '../../support/stores/advisory-lock.ts'
import { openWorld, type World } from '../../support/world.ts'
import {
  type App,
  consentAndInstall,
  exchange,
  formOf,
  seedInstallation,
  seedIntegration,
} from '../../support/worlds/integration-world.ts'

/** The line of an installation, as src/platform/access/installation.ts has it. */
const LINE = '0x62657274, hashtext($1) & 255'

type Setting = {
  world: World
  app: App
  code: string
  token: string
  installationId: string
  ownerId: string
  projectId: string
}

const ENDS: Record<string, (setting: Setting) => Promise<{ status: number; text: string }>> = {
  'it is removed': ({ world, installationId }) =>
    world.call.try('DELETE', `/v1/integrations/configuration/${installationId}?teamId=${world.credentials.teamId}`),
  'it loses a scope': ({ world, app }) =>
    world.operator.try('PATCH', `/operator/v1/integrations/${app.id}`, { scopes: ['read:project'] }),
  'who installed it is not an owner any more': ({ world, ownerId }) =>
    world.operator.try('PUT', `/operator/v1/teams/${world.credentials.teamId}/members/${ownerId}`, { role: 'VIEWER' }),
  'its code is used again': async ({ world, app, code }) => {
    const { status, text } = await exchange(world, app, code)
    return { status: status === 400 ? 204 : status, text }
  },
  'its client revokes the token': ({ world, app, token }) =>
    world
      .as(undefined)
      .try('POST', '/v2/oauth/revoke', formOf({ client_id: app.clientId, client_secret: app.clientSecret, token })),
}

for (const [what, end] of Object.entries(ENDS)) {
  test(`a write of an installation that is in flight is waited for when ${what}`, { timeout: 300_000 }, async (t) => {
    const setting = await openSetting(t)
    const { world, installationId, token } = setting
    const call = world.as(token)
    const holder = await openLockHolder(t, world)
    // As a write of the installation holds it until its commit.
    await holder.hold(LINE, installationId, '_shared')
    const ending = end(setting)
    await holder.untilWaiting(ending)
    await holder.commit()
    const { status, text } = await ending
    assert.ok(status < 300, text)
    const refused = await call.try('POST', `/v10/projects?teamId=${teamOf(world)}`, { name: 'late' })
    assert.ok([401, 403].includes(refused.status), refused.text)
  })
}

/** Changes by a user, each of which rewrites the row that writes of the installation share. */
const CHANGES: Record<string, (setting: Setting) => Promise<{ status: number; text: string }>> = {
  'its projects are narrowed': ({ world, installationId, projectId }) =>
    world.call.try('POST', `${configurationOf(installationId)}/project/${projectId}?teamId=${teamOf(world)}`, {
      allowed: false,
    }),
  'it is installed again': ({ world, app, ownerId }) =>
    world.operator.try('POST', `/operator/v1/integrations/${app.id}/installations`, {
      userId: ownerId,
      teamId: teamOf(world),
      projects: 'all',
    }),
  'an added scope is confirmed': async ({ world, app, installationId }) => {
    const scopes = ['read-write:project', 'read:team']
    await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { scopes })
    const confirm = `${configurationOf(installationId)}/confirm?teamId=${teamOf(world)}` as const
    return world.call.try('POST', confirm, { scopes: ['read:team'] })
  },
  'another owner takes ownership of it': ({ world, installationId }) =>
    world.call.try('POST', `${configurationOf(installationId)}/transfer-ownership?teamId=${teamOf(world)}`),
}

for (const [what, change] of Object.entries(CHANGES)) {
  test(`writes of an installation cannot keep a user waiting when ${what}`, { timeout: 300_000 }, async (t) => {
    const setting = await openSetting(t)
    const holder = await openLockHolder(t, setting.world)
    await holder.hold(LINE, setting.installationId, '_shared')
    const changing = change(setting)
    await holder.untilWaiting(changing)
    await holder.commit()
    const { status, text } = await changing
    assert.ok(status < 300, text)
  })
}

test('a write of an installation waits for an end that is in progress', { timeout: 300_000 }, async (t) => {
  const world = await openWorld('postgres')
  t.after(() => world.close())
  const { installationId, call } = await seedInstallation(world)
  const holder = await openLockHolder(t, world)
  await holder.hold(LINE, installationId, '')
  const writing = call.try('POST', `/v10/projects?teamId=${teamOf(world)}`, { name: 'waits' })
  await holder.untilWaiting(writing)
  await holder.run('update configuration set scopes_json = $1', ['["read:project"]'])
  await holder.commit()
  assert.equal((await writing).status, 403)
})

async function openSetting(t: TestContext): Promise<Setting> {
  const world = await openWorld('postgres')
  t.after(() => world.close())
  const owner = await world.user('grace')
  await world.operator('PUT', `/operator/v1/teams/${teamOf(world)}/members/${owner.id}`, { role: 'OWNER' })
  const app = await seedIntegration(world, { scopes: ['read-write:project'] })
  const { body: project } = await world.call('POST', `/v10/projects?teamId=${teamOf(world)}`, { name: 'site' })
  const { installationId, code } = await consentAndInstall(world, app, { userId: owner.id })
  const token = (await exchange(world, app, code)).body.access_token
  return { world, app, code, token, installationId, ownerId: owner.id, projectId: project.id }
}

function teamOf(world: World): string {
  return world.credentials.teamId
}

function configurationOf(id: string) {
  return `/v1/integrations/configuration/${id}` as const
}
