/** A client of OAuth has no budget of audit entries: what it asks and what ends nothing leaves none. docs/integrations.md: Rationale. */
import assert from 'node:assert/strict'
import { onBothEngines, type World } from '../../support/world.ts'
import {
  type App,
  consentAndInstall,
  exchange,
  formOf,
  seedInstallation,
  seedIntegration,
} from '../../support/worlds/integration-world.ts'

const typesIn = async (world: World) => {
  const rows = await world.deps.db.read.selectFrom('audit').select('type').orderBy('stamp').execute()
  return rows.map(({ type }) => type)
}
const ask = (world: World, { clientId, clientSecret }: App, path: 'introspect' | 'revoke', token: string) => {
  const fields = { client_id: clientId, client_secret: clientSecret, token }
  return world.as(undefined).try('POST', `/v2/oauth/${path}`, formOf(fields))
}

onBothEngines('what a client asks leaves no entry, and a token that it ends leaves one', async (world) => {
  const { app, token } = await seedInstallation(world)
  const before = await typesIn(world)
  for (const asked of [token, 'unknown'])
    assert.deepEqual((await ask(world, app, 'introspect', asked)).text.includes('"active":true'), asked === token)
  assert.equal((await ask(world, app, 'revoke', 'unknown')).status, 200)
  assert.deepEqual(await typesIn(world), before)
  for (let times = 0; times < 2; times++) assert.equal((await ask(world, app, 'revoke', token)).status, 200)
  assert.deepEqual(await typesIn(world), [...before, 'revokeToken'])
})

onBothEngines('a code that is used again and again leaves one entry, and each use is refused', async (world) => {
  const app = await seedIntegration(world)
  const { code } = await consentAndInstall(world, app)
  assert.equal((await exchange(world, app, code)).status, 200)
  const before = await typesIn(world)
  for (let times = 0; times < 3; times++)
    assert.equal((await exchange(world, app, code)).body.error.code, 'invalid_grant')
  assert.deepEqual(await typesIn(world), [...before, 'endReplayedToken'])
})
