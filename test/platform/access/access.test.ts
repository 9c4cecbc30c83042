/** Who may do what: roles against operations, in a table written by hand; scopes are in scopes.test.ts. docs/spec/decisions.md: Accounts, actors, permissions. */

import assert from 'node:assert/strict'
import { withQuery } from '../../support/call.ts'
import { seedProject } from '../../support/projects.ts'
import { PUBLIC, sampleRequest } from '../../support/sample-requests.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'

const OPERATIONS = [
  'createProject',
  'getProjects',
  'getProject',
  'updateProject',
  'pauseProject',
  'unpauseProject',
  'updateProjectDataCache',
  'getAuthUser',
  'getTeams',
  'getTeam',
  'deleteProject',
] as const

const ALL = OPERATIONS
const ACCOUNT = ['getAuthUser', 'getTeams', 'getTeam'] as const
const READ = ['getProjects', 'getProject'] as const
const WRITE = ['createProject', 'updateProject', 'pauseProject', 'unpauseProject', 'updateProjectDataCache'] as const

const MAY_BY_ROLE: Record<string, readonly string[]> = {
  OWNER: ALL,
  MEMBER: ALL,
  DEVELOPER: [...ACCOUNT, ...READ, ...WRITE],
  VIEWER: [...ACCOUNT, ...READ],
  BILLING: ACCOUNT,
}

/** What this caller is let do, operation by operation, on a project of its own. */
async function operationsOf(world: World, call: Call, name: string, query: string): Promise<string[]> {
  const place = {
    projectId: await seedProject(world, name, query),
    userId: '',
    teamId: '',
    rival: {},
    spare: {},
    oldDeploymentIds: {},
    apps: { helper: {}, 'teams-last': {} },
  }
  const may: string[] = []
  for (const operationId of OPERATIONS) {
    const route = PUBLIC.find((one) => one.operationId === operationId) ?? assert.fail(operationId)
    const { method, url, body } = sampleRequest(route, place as never, { idOrName: name, projectId: name })
    const sent = operationId === 'createProject' ? { name: `${name}-made` } : body
    const answer = await call.try(method, withQuery(url, query.slice(1)), sent)
    assert.ok(answer.status < 300 || answer.status === 403, `${name} ${operationId}: ${answer.text}`)
    if (answer.status < 300) may.push(operationId)
    else assert.equal(answer.body.error.code, 'forbidden')
  }
  return may.sort()
}

onBothEngines('each role of a team may do what its row says and nothing else', async (world) => {
  const { teamId } = world.credentials
  for (const [role, may] of Object.entries(MAY_BY_ROLE)) {
    const user = await world.user(role.toLowerCase())
    const path = `/operator/v1/teams/${teamId}/members/${user.id}`
    assert.equal((await world.operator('PUT', path, { role })).status, 200)
    const did = await operationsOf(world, user.call, `of-${role.toLowerCase()}`, `?teamId=${teamId}`)
    assert.deepEqual(did, [...may].sort(), role)
  }
})

onBothEngines('scopes never widen a role: a viewer with read-write:project still only reads', async (world) => {
  const { teamId } = world.credentials
  const user = await world.user('viewer')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role: 'VIEWER' })
  const body = { userId: user.id, scopes: ['read-write:project', 'read:user'] }
  const { token } = (await world.operator('POST', '/operator/v1/tokens', body)).body
  const did = await operationsOf(world, world.as(token), 'seen', `?teamId=${teamId}`)
  assert.deepEqual(did, ['getAuthUser', 'getProject', 'getProjects'])
})

onBothEngines('a role that is lowered while it is used binds from the next request', async (world) => {
  const { teamId } = world.credentials
  const user = await world.user('fallen')
  const path = `/operator/v1/teams/${teamId}/members/${user.id}`
  const create = (name: string) => user.call.try('POST', `/v10/projects?teamId=${teamId}`, { name })
  await world.operator('PUT', path, { role: 'OWNER' })
  assert.equal((await create('one')).status, 200)
  await world.operator('PUT', path, { role: 'VIEWER' })
  assert.equal((await create('two')).status, 403)
  await world.operator('DELETE', path)
  assert.equal((await user.call.try('GET', `/v9/projects?teamId=${teamId}`)).status, 403)
})

onBothEngines('an empty `teamId=` and an empty `slug=` both mean that none is given', async (world) => {
  const { teamId, userId } = world.credentials
  const accountOf = async (query: string) => {
    const made = await world.call('POST', `/v10/projects?${query}`, { name: 'web' })
    assert.equal(made.status, 200, `${query}: ${made.text}`)
    const removed = await world.call('DELETE', `/v9/projects/web?${query}`)
    assert.equal(removed.status, 204, removed.text)
    return made.body.accountId
  }
  for (const query of [`teamId=${teamId}&slug=`, 'slug=team&teamId=', `slug=&teamId=${teamId}`])
    assert.equal(await accountOf(query), teamId, query)
  for (const query of ['slug=', 'teamId=', 'slug=&teamId=']) assert.equal(await accountOf(query), userId, query)
  const both = await world.call.try('GET', `/v9/projects?teamId=${teamId}&slug=rivals`)
  assert.equal(both.status, 403, both.text)
  // The caller by the slug alone is in the cache then.
  assert.equal((await world.call('GET', '/v9/projects?slug=team')).status, 200)
  const other = await world.call.try('GET', '/v9/projects?teamId=team_unknown&slug=team')
  assert.equal(other.status, 403, other.text)
})
