/** The story that the examples of the main operations come from: each command is run as it is shown. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Route } from '../../../src/platform/http/route.ts'
import { curlOf, type Example } from '../../../src/platform/openapi/examples.ts'
import { ROUTES } from '../../../src/routes.ts'
import { runTimer } from '../../../src/timers.ts'
import type { DnsServer } from '../../support/servers/dns-server.ts'
import type { World } from '../../support/world.ts'
import { publish } from '../../support/worlds/domain-world.ts'
import { consentAndInstall, REDIRECT, seedIntegration } from '../../support/worlds/integration-world.ts'

// biome-ignore lint/suspicious/noExplicitAny: an answer is walked as JSON
export type Json = any

const run = promisify(execFile)

/** Runs the story, and returns what was asked and answered by operationId. `dns`: where the world looks names up. */
export async function tellStory(world: World, dns: DnsServer): Promise<Record<string, Example>> {
  const { ask, examples } = await openAsker(world)
  const id = await askForProjects(ask)
  await askForDomains(ask, dns)
  await askForDeployments(world, ask, id)
  await askForVariables(ask)
  await askForEnds(world, ask)
  await askForAccess(world, ask)
  return examples
}

/** Runs the command that is shown, in a shell, and keeps the request and the response. */
async function openAsker(world: World) {
  const address = await world.listen()
  writeFileSync(join(world.folder, '.curlrc'), 'silent\nmax-time = 30\nwrite-out = "\\n%{http_code}"\n')
  const env = {
    PATH: process.env.PATH,
    CURL_HOME: world.folder,
    BERTH: address,
    TOKEN: world.credentials.token,
    OPERATOR_TOKEN: world.credentials.operatorToken,
  }
  const examples: Record<string, Example> = {}
  const ask = async (operationId: string, url: string, body?: unknown): Promise<Json> => {
    const route = ROUTES.find((one) => one.operationId === operationId) ?? assert.fail(operationId)
    const request = { url, ...(body !== undefined && { body }) }
    const { stdout } = await run('sh', ['-c', curlOf(route, request)], { env })
    const at = stdout.lastIndexOf('\n')
    const text = stdout.slice(0, at)
    assert.equal(Number(stdout.slice(at + 1)), route.status, `${operationId}: ${text}`)
    const answer = text === '' ? undefined : route.textReply ? text : readJson(route, text)
    examples[operationId] = { ...request, ...(answer !== undefined && { answer }) }
    return answer
  }
  return { ask, examples }
}

/** What an answer says. Of lines of JSON, which an operation without a list always answers with, the first. */
export function readJson(route: Route, text: string): Json {
  if (route.jsonLines === 'always')
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  return JSON.parse(route.jsonLines && !route.reply?.items ? text.split('\n', 1)[0]! : text)
}

type Ask = Awaited<ReturnType<typeof openAsker>>['ask']

async function askForProjects(ask: Ask): Promise<string> {
  const { id } = await ask('createProject', '/v10/projects', {
    name: 'shop',
    framework: 'nextjs',
    environmentVariables: [{ key: 'API_URL', value: 'https://api.example.com', type: 'plain', target: 'production' }],
  })
  await ask('getProjects', '/v9/projects?limit=20&search=sho')
  await ask('getProject', '/v9/projects/shop')
  await ask('updateProject', '/v9/projects/shop', { buildCommand: 'npm run build', nodeVersion: '22.x' })
  await ask('pauseProject', `/v1/projects/${id}/pause`)
  await ask('unpauseProject', `/v1/projects/${id}/unpause`)
  await ask('updateProjectDataCache', `/v1/data-cache/projects/${id}`, { disabled: true })
  return id
}

async function askForDomains(ask: Ask, dns: DnsServer): Promise<void> {
  const { verification } = await ask('addProjectDomain', '/v10/projects/shop/domains', { name: 'www.example.com' })
  await ask('getProjectDomain', '/v9/projects/shop/domains/www.example.com')
  publish(dns, verification[0].domain, verification[0].value)
  await ask('verifyProjectDomain', '/v9/projects/shop/domains/www.example.com/verify')
  dns.zones.delete(verification[0].domain)
  await ask('getProjectDomains', '/v9/projects/shop/domains?limit=20&verified=true')
}

async function askForDeployments(world: World, ask: Ask, id: string): Promise<void> {
  const made = { url: 'shop-1.apps.example.net', target: 'production', readyState: 'READY' }
  await ask('operatorCreateDeployment', `/operator/v1/projects/${id}/deployments`, made)
  await world.call('PATCH', '/v9/projects/shop', { autoAssignCustomDomains: false })
  const next = { ...made, url: 'shop-2.apps.example.net' }
  const second = await world.operator('POST', `/operator/v1/projects/${id}/deployments`, next)
  assert.equal(second.status, 201, second.text)
  await ask('requestPromote', `/v10/projects/${id}/promote/${second.body.id}`)
  await runTimer(world.deps, 'alias-requests', world.deps.clock.now())
  await ask('listPromoteAliases', `/v1/projects/${id}/promote/aliases?limit=20`)
}

async function askForVariables(ask: Ask): Promise<void> {
  const variable = { key: 'DATABASE_URL', value: 'postgres://db.example.com/shop', type: 'encrypted' }
  const { created } = await ask('createProjectEnv', '/v10/projects/shop/env?upsert=true', {
    ...variable,
    target: ['production', 'preview'],
    comment: "the shop's own database",
  })
  await ask('filterProjectEnvs', '/v9/projects/shop/env?decrypt=true')
  await ask('getProjectEnv', `/v1/projects/shop/env/${created.id}`)
  await ask('editProjectEnv', `/v9/projects/shop/env/${created.id}`, { value: 'postgres://db-2.example.com/shop' })
  await ask('removeProjectEnv', `/v9/projects/shop/env/${created.id}`)
}

async function askForEnds(world: World, ask: Ask): Promise<void> {
  assert.equal((await world.call('POST', '/v10/projects/shop/domains', { name: 'example.com' })).status, 200)
  await ask('updateProjectDomain', '/v9/projects/shop/domains/www.example.com', {
    redirect: 'example.com',
    redirectStatusCode: 308,
  })
  await ask('removeProjectDomain', '/v9/projects/shop/domains/www.example.com')
  await ask('deleteProject', '/v9/projects/shop')
}

async function askForAccess(world: World, ask: Ask): Promise<void> {
  const app = await seedIntegration(world, { teamId: world.credentials.teamId, slug: 'deployer' })
  const { code } = await consentAndInstall(world, app)
  const proof = { client_id: app.clientId, client_secret: app.clientSecret }
  await ask('exchangeCode', '/v2/oauth/access_token', { ...proof, code, redirect_uri: REDIRECT })
  await ask('getAuthUser', '/v2/user')
  await ask('getTeams', '/v2/teams?limit=20')
  await ask('createAuthToken', '/v3/user/tokens', { name: 'build server' })
  await ask('createWebhook', '/v1/webhooks', {
    url: 'https://hooks.example.com/berth',
    events: ['project.created', 'project.removed'],
  })
  const { id } = await ask('operatorCreateUser', '/operator/v1/users', { email: 'ada@example.com', username: 'ada' })
  await ask('operatorCreateTeam', '/operator/v1/teams', { slug: 'analysts', name: 'Analysts', ownerId: id })
  await ask('operatorCreateToken', '/operator/v1/tokens', { userId: id, name: 'laptop' })
}
