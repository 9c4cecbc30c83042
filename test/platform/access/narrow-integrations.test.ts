/** A token of some projects ends, widens and makes no integration: they reach beyond those projects. Of the others it learns nothing. docs/accounts.md: Narrow tokens. */

import assert from 'node:assert/strict'
import { SCOPES } from '../../../src/platform/permissions/scopes.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { PUBLIC, type Samples, sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { markDomainsVerified } from '../../support/states.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'
import { REDIRECT, seedInstallation } from '../../support/worlds/integration-world.ts'

onBothEngines('a token limited to projects changes no integration and no installation', async (world) => {
  const { teamId } = world.credentials
  const team = `teamId=${teamId}`
  const seen = (await world.call('POST', `/v10/projects?${team}`, { name: 'seen' })).body
  const other = (await world.call('POST', `/v10/projects?${team}`, { name: 'other' })).body
  const { app, installationId, call } = await seedInstallation(world)
  const variable = { key: 'KEY', value: 'value', target: ['production'], type: 'plain' }
  assert.equal((await call('POST', `/v10/projects/${other.id}/env?${team}`, variable)).status, 201)
  const scopes = ['read-write:project', 'read-write:project-env-vars', 'read-write:global-project-env-vars']
  await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { scopes })

  const narrow = await world.token({ teamId, projectIds: [seen.id] })
  const apps = '/v1/integrations/apps'
  const installation = `/v1/integrations/configuration/${installationId}` as const
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
    const answer = await narrow.try(method, `${path}?${team}`, body)
    assert.deepEqual([answer.status, answer.body?.error?.code], [403, 'forbidden'], `${method} ${path}: ${answer.text}`)
  }
  const { envs } = (await world.call('GET', `/v9/projects/${other.id}/env?${team}`)).body
  assert.equal(envs.length, 1)
  assert.equal((await call('GET', `/v9/projects/${other.id}?${team}`)).status, 200)
})

/** A project that a narrow token does not see, named by whatever can name a project; gives the ids that no answer may hold. */
async function openVault(world: World, { projectId, installationId }: Samples): Promise<string[]> {
  const made = async <const U extends string>(url: U, body: object) => {
    const answer = await world.call.try('POST', url, body)
    assert.ok(answer.status < 300, `${url}: ${answer.text}`)
    return answer.body
  }
  const vaultId = await seedProject(world, 'vault')
  await made('/v10/projects/vault/domains', { name: 'vault.example.com' })
  await markDomainsVerified(world)
  const deploymentId = await seedDeployment(world, vaultId, { url: 'vault-1.apps.example.net' })
  const variable = { key: 'KEY', value: 'value', target: ['preview'] }
  const envId = (await made('/v10/projects/vault/env', variable)).created.id
  const both = { projectIds: [projectId, vaultId] }
  const hook = await made('/v1/webhooks', { url: 'https://hooks.example.com', events: ['project.renamed'], ...both })
  const drain = { url: 'https://logs.example.com', sources: ['edge'], deliveryFormat: 'json' }
  const { id: drainId } = await made('/v1/log-drains', { ...drain, ...both })
  await made('/v3/user/tokens', { name: 'of the vault', projectId: vaultId })
  const { code } = await made('/projects/vault/transfer-request', {})
  for (const allowed of [false, true]) {
    await made(`/v1/integrations/configuration/${installationId}/project/${vaultId}`, { allowed })
  }
  return [vaultId, deploymentId, envId, hook.id, drainId, code]
}

onBothEngines(
  'no response of any operation has an id of another project for a token limited to projects',
  async (world) => {
    const samples = await seedSamples(world)
    const hidden = await openVault(world, samples)
    const { projectId, installationId } = samples
    const { id: otherId } = (await world.call('GET', '/v9/projects/other')).body
    const projects = [projectId, otherId]
    const scopes = SCOPES.map((scope) => `read-write:${scope}`)
    const app = { slug: 'narrow', scopes }
    const callers: [string, Call][] = [
      ['token', await world.token({ projectIds: projects })],
      ['installation', (await seedInstallation(world, app, { teamId: undefined, projects })).call],
    ]
    const vault = {
      idOrName: 'vault',
      projectId: 'vault',
      domain: 'vault.example.com',
      idOrUrl: 'vault-1.apps.example.net',
    }
    const order = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
    const routes = PUBLIC.toSorted((a, b) => order.indexOf(a.method) - order.indexOf(b.method))
    let answered = 0
    for (const route of routes) {
      for (const path of [vault, {}]) {
        for (const [name, call] of callers) {
          const { method, url, body } = sampleRequest(route, samples, path)
          const { status, text, headers } = await call.try(method, url, body)
          if (status < 300) answered++
          for (const id of hidden) {
            assert.ok(!`${JSON.stringify(headers)} ${text}`.includes(id), `${name}: ${method} ${url} ${status} ${text}`)
          }
        }
      }
    }
    assert.ok(answered > routes.length, `only ${answered} answers: the search is too small`)
    const whole = await world.call('GET', `/v1/integrations/configuration/${installationId}`)
    assert.ok(whole.body.projects.includes(hidden[0]!), 'a caller that sees the whole account gets it')
  },
)

onBothEngines('a token limited to projects subscribes to events of projects only', async (world) => {
  const projectId = await seedProject(world, 'seen')
  const hook = (events: string[]) => ({ url: 'https://hooks.example.com', events, projectIds: [projectId] })
  const narrow = await world.token({ projectIds: [projectId] })
  const ofAccount = ['removed', 'permission-upgraded', 'transferred', 'scope-change-confirmed']
  for (const event of ofAccount.map((one) => `integration-configuration.${one}`)) {
    const refused = await narrow.try('POST', '/v1/webhooks', hook(['project.renamed', event]))
    assert.equal(refused.status, 403, refused.text)
    assert.match(
      refused.body.error.message,
      new RegExp(`limited to some projects: .${event}. covers the whole account`),
    )
  }
  assert.deepEqual((await narrow('GET', '/v1/webhooks')).body, [], 'a refused request registers nothing')
  const own = await narrow(
    'POST',
    '/v1/webhooks',
    hook(['project.renamed', 'deployment.created', 'project.domain.moved']),
  )
  assert.equal(own.status, 200, own.text)
  const wide = await world.call('POST', '/v1/webhooks', hook(['integration-configuration.removed']))
  assert.equal(wide.status, 200, wide.text)
  // A new URL is a new receiver: the narrow token may not choose one for these events.
  const moved = await narrow.try('PATCH', `/v1/webhooks/${wide.body.id}`, { url: 'https://elsewhere.example.com' })
  assert.equal(moved.status, 403, moved.text)
  const { call } = await seedInstallation(world, {}, { teamId: undefined, projects: [projectId] })
  assert.equal(
    (await call.try('POST', '/v1/webhooks', hook(['integration-configuration.removed']))).status,
    403,
    'no scope',
  )
  const app = { slug: 'listens', scopes: ['read-write:integration-configuration'] }
  const listens = await seedInstallation(world, app, { teamId: undefined, projects: [projectId] })
  const itself = await listens.call('POST', '/v1/webhooks', hook(['integration-configuration.removed']))
  assert.equal(itself.status, 200, 'an installation can subscribe to its own events')
})
