/** OAuth's rules for every endpoint: a parameter without a value is as if left out, and the answer names what was granted. docs/spec/decisions.md: Integrations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oauthRoutes } from '../../../src/integrations/oauth/routes.ts'
import { ROUTES } from '../../../src/routes.ts'
import { onBothEngines } from '../../support/world.ts'
import {
  consentAndInstall,
  exchange,
  formOf,
  REDIRECT,
  seedIntegration,
} from '../../support/worlds/integration-world.ts'

test('the routes that read a form are the endpoints of OAuth clients, so that one reader is all of them', () => {
  assert.deepEqual(
    ROUTES.filter(({ formBody }) => formBody).map(({ path }) => path),
    oauthRoutes.map(({ path }) => path),
  )
})

onBothEngines('a parameter without a value is as if left out, as form and as JSON, on each endpoint', async (world) => {
  const app = await seedIntegration(world)
  const post = world.as(undefined)
  const basic = { authorization: `Basic ${btoa(`${app.clientId}:${app.clientSecret}`)}` }
  const empty = { client_secret: '', client_id: '', code_verifier: '', grant_type: '', token_type_hint: '' }
  for (const asBody of [formOf, (fields: Record<string, string>) => fields]) {
    const { code } = await consentAndInstall(world, app)
    const fields = asBody({ ...empty, code, redirect_uri: REDIRECT })
    const given = await post('POST', '/v2/oauth/access_token', fields, basic)
    const token = given.body.access_token
    const form = asBody({ ...empty, token })
    assert.equal((await post('POST', '/v2/oauth/introspect', form, basic)).body.active, true)
    assert.equal((await post('POST', '/v2/oauth/revoke', form, basic)).status, 200)
    assert.equal((await post('POST', '/v2/oauth/introspect', form, basic)).body.active, false)
    const none = await post.try('POST', '/v2/oauth/introspect', asBody({ ...empty, token: '' }), basic)
    assert.deepEqual([none.status, none.body.error.code], [400, 'invalid_request'])
  }
})

onBothEngines('the exchange names the scopes that were granted, whatever was asked', async (world) => {
  const app = await seedIntegration(world)
  for (const asked of [{}, { scope: 'read:project' }, { scope: '' }]) {
    const { code } = await consentAndInstall(world, app)
    const { body } = await exchange(world, app, code, asked)
    const form = formOf({ client_id: app.clientId, client_secret: app.clientSecret, token: body.access_token })
    const shown = await world.as(undefined)('POST', '/v2/oauth/introspect', form)
    assert.match(body.scope, /\w/)
    assert.equal(body.scope, shown.body.scope)
  }
})

onBothEngines('a byte order mark before a form is passed over', async (world) => {
  const app = await seedIntegration(world)
  const { code } = await consentAndInstall(world, app)
  const { clientId: client_id, clientSecret: client_secret } = app
  const form = formOf({ client_id, client_secret, code, redirect_uri: REDIRECT })
  const marked = new Blob(['\uFEFF', form], { type: form.type })
  assert.equal((await world.as(undefined)('POST', '/v2/oauth/access_token', marked)).status, 200)
})
