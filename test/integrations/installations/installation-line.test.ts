/** An end of what an installation may do waits for its writes in flight, and lets none begin before it stands. PostgreSQL: on SQLite writes run one after another anyway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
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
const WAITS =
  "select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())"

type Setting = { world: World; app: App; code: string; token: string; installationId: string; ownerId: string }

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
    const world = await openWorld('postgres')
    t.after(() => world.close())
    const { teamId } = world.credentials
    const owner = await world.user('grace')
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${owner.id}`, { role: 'OWNER' })
    const app = await seedIntegration(world, { scopes: ['read-write:project'] })
    const { installationId, code } = await consentAndInstall(world, app, { userId: owner.id })
    const token = (await exchange(world, app, code)).body.access_token
    const call = world.as(token)
    const { database } = world.deps.config
    assert.ok(database.engine === 'postgres')
    const other = new pg.Client({ connectionString: database.url })
    await other.connect()
    t.after(() => other.end())
    const untilWaiting = async (asked: Promise<unknown>) => {
      let answered = false
      void asked.then(() => {
        answered = true
      })
      await eventually(async () => {
        assert.equal(answered, false, 'it did not wait')
        return (await other.query(WAITS)).rows.length > 0
      })
    }
    // As a write of the installation holds it until its commit.
    await other.query('begin')
    await other.query(`select pg_advisory_xact_lock_shared(${LINE})`, [installationId])
    const ending = end({ world, app, code, token, installationId, ownerId: owner.id })
    await untilWaiting(ending)
    await other.query('commit')
    const { status, text } = await ending
    assert.ok(status < 300, text)
    const refused = await call.try('POST', `/v10/projects?teamId=${teamId}`, { name: 'late' })
    assert.ok([401, 403].includes(refused.status), refused.text)
  })
}

test('a write of an installation waits for an end that is in progress', { timeout: 300_000 }, async (t) => {
  const world = await openWorld('postgres')
  t.after(() => world.close())
  const { installationId, call } = await seedInstallation(world)
  const { database } = world.deps.config
  assert.ok(database.engine === 'postgres')
  const other = new pg.Client({ connectionString: database.url })
  await other.connect()
  t.after(() => other.end())
  await other.query('begin')
  await other.query(`select pg_advisory_xact_lock(${LINE})`, [installationId])
  const writing = call.try('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'waits' })
  await eventually(async () => (await other.query(WAITS)).rows.length > 0)
  await other.query('update configuration set scopes_json = $1', ['["read:project"]'])
  await other.query('commit')
  assert.equal((await writing).status, 403)
})
