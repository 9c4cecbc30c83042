/** The answers of all public operations: to their samples, and about projects and deployments with everything set. */
import assert from 'node:assert/strict'
import type { Route } from '../../src/platform/http/route.ts'
import { withQuery } from '../support/call.ts'
import { seedDeployment } from '../support/projects.ts'
import { PUBLIC, sampleRequest, seedSamples, teamQuery } from '../support/sample-requests.ts'
import type { World } from '../support/world.ts'
import {
  BESIDE,
  GIT_PROVIDERS,
  type GitHosts,
  ON_CREATE,
  ON_UPDATE,
  SECRET_VARIABLE,
  VARIABLES,
} from '../support/worlds/full-project.ts'

/** An answer as it came, and the operation that gave it. `version`: it is for this version of the SDK alone, which said so in `User-Agent`. */
export type Answered = { operationId: string; answer: unknown; version?: string }

/** Asks everything, what removes something last; of webhooks, the names of whose events follow from who asks, as each version. */
export async function gatherAnswers(world: World, hosts: GitHosts, versions: readonly string[]): Promise<Answered[]> {
  const samples = await seedSamples(world)
  const full = await gatherFull(world, hosts)
  const all: Answered[] = []
  const late = ({ method, operationId }: Route) => Number(method === 'DELETE') + Number(operationId === 'deleteProject')
  for (const route of [...PUBLIC].sort((one, other) => late(one) - late(other))) {
    const { operationId } = route
    for (const version of /Webhooks?$/.test(operationId) && route.method !== 'DELETE' ? versions : [undefined]) {
      const { method, url, body } = sampleRequest(route, samples)
      const headers = version === undefined ? {} : { 'user-agent': agentOf(version) }
      const answer = await world.call.try(method, withQuery(url, teamQuery(route, samples)), body, headers)
      assert.equal(answer.status, route.status, `${operationId}: ${answer.text}`)
      const isJson = /json/.test(String(answer.headers['content-type']))
      if (isJson) all.push({ operationId, answer: JSON.parse(answer.text), ...(version !== undefined && { version }) })
    }
  }
  return [...full, ...all]
}

/** How an SDK says its version. */
export function agentOf(version: string): string {
  return `speakeasy-sdk/typescript ${version} 2.0.0 0.0.1 @vercel/sdk`
}

async function gatherFull(world: World, hosts: GitHosts): Promise<Answered[]> {
  const { userId } = world.credentials
  await world.operator('PATCH', `/operator/v1/accounts/${userId}`, { plan: 'enterprise' })
  await hosts.allow(world, userId)
  const all: Answered[] = []
  const gather = async (operationId: string, method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) => {
    const answer = await world.call.try(method, url, body)
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`)
    if (answer.text !== '') all.push({ operationId, answer: JSON.parse(answer.text) })
  }
  for (const type of GIT_PROVIDERS) {
    const name = `full-${type}`
    const project = `/v9/projects/${name}`
    const repository = { gitRepository: { type, repo: 'acme/web' } }
    await gather('createProject', 'POST', '/v10/projects', { name, ...ON_CREATE, ...repository })
    await gather('updateProject', 'PATCH', project, BESIDE)
    await gather('createCustomEnvironment', 'POST', `${project}/custom-environments`, { slug: 'qa', description: 'd' })
    await gather('createProjectEnv', 'POST', `/v10/projects/${name}/env`, [...VARIABLES, SECRET_VARIABLE])
    const branch = { key: 'B', value: 'v', type: 'encrypted', target: ['preview'], gitBranch: 'dev', comment: 'c' }
    await gather('createProjectEnv', 'POST', `/v10/projects/${name}/env`, branch)
    await gather('updateProjectProtectionBypass', 'PATCH', `${project}/protection-bypass`, { generate: {} })
    await gather('updateProjectDataCache', 'PATCH', `/v1/data-cache/projects/${name}`, { disabled: true })
    await gather('updateProject', 'PATCH', project, ON_UPDATE)
    await gatherDeployments(world, name, gather)
    await gather('getProject', 'GET', project)
  }
  await gather('getProjects', 'GET', '/v9/projects?limit=100')
  await gather('getProjects', 'GET', '/v9/projects?search=full-github')
  await gather('getDeployments', 'GET', '/v6/deployments?limit=100')
  await gather('listAliases', 'GET', '/v4/aliases')
  return all
}

type Gather = (operationId: string, method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) => Promise<void>

async function gatherDeployments(world: World, name: string, gather: Gather): Promise<void> {
  const { id } = (await world.call('GET', `/v9/projects/${name}`)).body
  const meta = { githubCommitRef: 'main', githubCommitSha: 'a'.repeat(40) }
  const make = (url: string, said: object) => seedDeployment(world, id, { url: `${url}-${name}.host.test`, ...said })
  for (const readyState of ['QUEUED', 'INITIALIZING', 'BUILDING', 'CANCELED', 'ERROR'])
    await make(readyState.toLowerCase(), { readyState, target: null, gitBranch: 'dev', meta })
  await make('of-qa', { target: null, customEnvironmentId: 'qa' })
  await make('first', { meta })
  const second = await make('second', { meta, gitBranch: 'main' })
  await gather('addProjectDomain', 'POST', `/v9/projects/${name}/domains`, { name: `${name}.example.com` })
  await gather('requestPromote', 'POST', `/v9/projects/${name}/promote/${second}`, {})
  await world.operator('POST', '/operator/v1/timers/alias-requests/run', {})
  await gather('listPromoteAliases', 'GET', `/v1/projects/${name}/promote/aliases`)
  for (const at of ['queued', 'canceled', 'of-qa', 'first', 'second'])
    await gather('getDeployment', 'GET', `/v13/deployments/${at}-${name}.host.test`)
}
