/** The calls of two programs that many run, as their source makes them: Infisical's sync of secrets, Sentry's integration. docs/spec/client-requests.md D.1. */
import assert from 'node:assert/strict'
import { seedDeployment, seedProject } from '../support/projects.ts'
import { onBothEngines } from '../support/world.ts'
import { seedInstallation } from '../support/worlds/integration-world.ts'
import { note } from './ledger.ts'
import type { Decoded } from './sdk-client.ts'
import { type ApiError, newProvider } from './terraform-provider.ts'

onBothEngines('Infisical keeps the variables of a project as its own', async (world) => {
  const ask = newProvider(await world.listen(), world.credentials.token, undefined)
  const { id } = await ask('POST', '/v10/projects', { name: 'web' })
  const path = `/v9/projects/${id}/env`
  const variable = { key: 'TOKEN', value: 'v', type: 'encrypted', target: ['production', 'preview'] }
  await ask('POST', `/v10/projects/${id}/env`, variable)
  await ask('POST', `/v10/projects/${id}/env`, { ...variable, key: 'BRANCH', target: ['preview'], gitBranch: 'dev' })
  const { envs } = await ask('GET', `${path}?decrypt=true`)
  // It spreads `target`.
  assert.ok(envs.length === 2 && envs.every(({ target }: Decoded) => Array.isArray(target)))
  const { id: envId } = envs.find(({ key }: Decoded) => key === 'TOKEN')
  const [branch] = (await ask('GET', `${path}?decrypt=true&gitBranch=dev`)).envs
  assert.deepEqual([branch.key, branch.value], ['BRANCH', 'v'])
  assert.equal((await ask('GET', `${path}/${envId}?decrypt=true`)).value, 'v')
  await ask('PATCH', `${path}/${envId}`, { ...variable, value: 'w' })
  assert.equal((await ask('GET', `${path}/${envId}?decrypt=true`)).value, 'w')
  await ask('DELETE', `${path}/${envId}`)
  assert.equal((await ask('GET', path)).envs.length, 1)
  // Its pager of projects, with the user's own id where no team is set, and of branches of one project.
  for (let at = 0; at < 22; at++) await ask('POST', '/v10/projects', { name: `p${at}` })
  const names = new Set<string>()
  for (let from = ''; ; ) {
    const { projects, pagination } = await ask('GET', `/v9/projects?teamId=${world.credentials.userId}&limit=10${from}`)
    for (const { name } of projects) names.add(name)
    if (pagination.next === null) break
    from = `&until=${pagination.next}`
  }
  assert.equal(names.size, 23)
  const newest = (await ask('GET', '/v9/projects?limit=1')).projects[0]
  const since = (await ask('GET', `/v9/projects?teamId=${world.credentials.userId}&since=${newest.updatedAt}`)).projects
  assert.deepEqual(
    since.map(({ id }: Decoded) => id),
    [],
  )
  note({ client: 'other-infisical', operation: 'projects: list', engine: world.engine, outcome: 'works' })
  for (const operation of ['list', 'read', 'create', 'update', 'delete'])
    note({ client: 'other-infisical', operation: `variables: ${operation}`, engine: world.engine, outcome: 'works' })
})

onBothEngines('Sentry reads the projects of an installation and writes its variables over and over', async (world) => {
  const { teamId } = world.credentials
  const origin = await world.listen()
  for (let at = 0; at < 25; at++) await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: `p${at}` })
  const scopes = ['read:project', 'read-write:global-project-env-vars', 'read:team']
  const { token } = await seedInstallation(world, { scopes })
  const ask = newProvider(origin, token, teamId)
  assert.equal((await ask('GET', `/v1/teams/${teamId}`)).slug, 'team')
  const names = new Set<string>()
  // It goes on for as long as a page is full.
  for (let until = '', count = 20; count === 20; ) {
    const { projects, pagination } = await ask('GET', `/v4/projects/?limit=20${until}`)
    for (const { name } of projects) names.add(name)
    count = pagination.count
    until = `&until=${pagination.next}`
  }
  assert.equal(names.size, 25)
  const project = await ask('GET', '/v1/projects/p1')
  const path = `projects/${project.id}/env`
  const variables = [
    { key: 'SENTRY_AUTH_TOKEN', value: 't', type: 'encrypted', target: ['production'] },
    { key: 'VERCEL_GIT_COMMIT_SHA', value: 'VERCEL_GIT_COMMIT_SHA', type: 'system', target: ['production'] },
  ]
  for (const variable of variables) await ask('POST', `/v4/${path}`, variable)
  for (const variable of variables) {
    const taken = (error: ApiError) => error.code === 'ENV_ALREADY_EXISTS'
    await assert.rejects(ask('POST', `/v5/${path}`, variable), taken)
    const { envs } = await ask('GET', `/v4/${path}`)
    const { id } = envs.find(({ key }: Decoded) => key === variable.key)
    await ask('PATCH', `/v4/${path}/${id}`, variable)
  }
  for (const operation of ['team: read', 'projects: list', 'projects: read', 'variables: create', 'variables: upsert'])
    note({ client: 'other-sentry', operation, engine: world.engine, outcome: 'works' })
})

onBothEngines('Infisical keeps the shared variables of a team', async (world) => {
  const { token, teamId } = world.credentials
  const ask = newProvider(await world.listen(), token, teamId)
  const evs = [{ key: 'OF_INFISICAL', value: 'one' }]
  const made = await ask('POST', '/v1/env', { evs, type: 'encrypted', target: ['production'], projectId: [] })
  assert.deepEqual([made.created.length, made.failed], [1, []])
  const { data, pagination } = await ask('GET', '/v1/env')
  assert.equal(pagination.next, null, 'its pager ends')
  assert.equal((await ask('GET', `/v1/env/${data[0].id}`)).value, 'one')
  const { updated, failed } = await ask('PATCH', '/v1/env', {
    updates: { [data[0].id]: { value: 'two', projectId: [] } },
  })
  assert.deepEqual([updated.length, failed], [1, []])
  assert.equal((await ask('GET', `/v1/env/${data[0].id}`)).value, 'two')
  await ask('DELETE', '/v1/env', { ids: [data[0].id] })
  assert.deepEqual((await ask('GET', '/v1/env')).data, [])
  for (const operation of ['create', 'delete', 'list', 'update'])
    note({
      client: 'other-infisical',
      operation: `shared variables: ${operation}`,
      engine: world.engine,
      outcome: 'works',
    })
})

onBothEngines('GitHub Actions find the deployment of a commit, and no other', async (world) => {
  const ask = newProvider(await world.listen(), world.credentials.token, undefined)
  const projectId = await seedProject(world, 'web')
  const made = (at: number, githubCommitRef: string) =>
    seedDeployment(world, projectId, {
      url: `web-${at}.host.test`,
      target: 'preview',
      meta: { githubCommitRef, githubCommitSha: `sha${at}`, githubCommitRepo: 'web' },
    })
  const ids = [await made(0, 'dev'), await made(1, 'main'), await made(2, 'dev')]
  const found = async (query: string): Promise<string[]> =>
    (await ask('GET', `/v6/deployments?projectId=${projectId}&${query}`)).deployments.map(({ uid }: Decoded) => uid)
  assert.deepEqual(await found('meta-githubCommitSha=sha1&limit=1'), [ids[1]])
  assert.deepEqual(await found('meta-githubCommitRef=dev&state=READY'), [ids[2], ids[0]])
  assert.deepEqual(await found('meta-githubCommitSha=none'), [])
  // zentered/vercel-preview-url reads the whole list and looks for itself.
  const { deployments } = await ask('GET', `/v6/deployments?projectId=${projectId}`)
  const own = deployments.filter(
    ({ meta }: Decoded) => meta.githubCommitRepo === 'web' && meta.githubCommitRef === 'dev',
  )
  assert.equal(own[0].url, 'web-2.host.test')
  // UnlyEd/github-action-await-vercel.
  assert.equal((await ask('GET', '/v11/now/deployments/get?url=web-1.host.test')).readyState, 'READY')
  for (const operation of ['deployments: by commit', 'deployments: by host name'])
    note({ client: 'other-actions', operation, engine: world.engine, outcome: 'works' })
})
