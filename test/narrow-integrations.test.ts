/** A token of some projects ends, widens and makes no integration: they reach beyond those projects. docs/decisions/0004. */
import assert from 'node:assert/strict'
import { makeInstallation, REDIRECT } from './integration-world.ts'
import { onBothEngines } from './world.ts'

onBothEngines('a token limited to projects changes no integration and no installation', async (world) => {
  const { teamId } = world.credentials
  const team = `teamId=${teamId}`
  const seen = (await world.call('POST', `/v10/projects?${team}`, { name: 'seen' })).body
  const other = (await world.call('POST', `/v10/projects?${team}`, { name: 'other' })).body
  const { app, configurationId, call } = await makeInstallation(world)
  const variable = { key: 'KEY', value: 'value', target: ['production'], type: 'plain' }
  assert.equal((await call('POST', `/v10/projects/${other.id}/env?${team}`, variable)).status, 201)
  const scopes = ['read-write:project', 'read-write:project-env-vars', 'read-write:global-project-env-vars']
  await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { scopes })

  const narrow = await world.token({ teamId, projectIds: [seen.id] })
  const apps = '/v1/integrations/apps'
  const installation = `/v1/integrations/configuration/${configurationId}`
  const asked = [
    ['POST', apps, { slug: 'mine', name: 'Mine', redirectUrl: REDIRECT, scopes: [] }],
    ['PATCH', `${apps}/${app.id}`, { redirectUrl: 'https://elsewhere.example.com/callback' }],
    ['POST', `${apps}/${app.id}/secrets`, undefined],
    ['DELETE', `${apps}/${app.id}/secrets/${app.secretId}`, undefined],
    ['DELETE', `${apps}/${app.id}`, undefined],
    ['POST', `${installation}/project/${seen.id}`, { allowed: false }],
    ['POST', `${installation}/confirm`, { scopes: ['read-write:global-project-env-vars'] }],
    ['POST', `${installation}/transfer-ownership`, undefined],
    ['DELETE', installation, undefined],
  ] as const
  for (const [method, path, body] of asked) {
    const answer = await narrow(method, `${path}?${team}`, body)
    assert.deepEqual([answer.status, answer.body?.error?.code], [403, 'forbidden'], `${method} ${path}: ${answer.text}`)
  }
  const { envs } = (await world.call('GET', `/v9/projects/${other.id}/env?${team}`)).body
  assert.equal(envs.length, 1)
  assert.equal((await call('GET', `/v9/projects/${other.id}?${team}`)).status, 200)
})
