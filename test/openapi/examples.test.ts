/**
 * The examples of /docs and of the OpenAPI document are what a service answers to the very commands that are shown. After a change of
 * an answer `npm run examples` writes them anew.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { docsPage } from '../../src/openapi/docs-page.ts'
import { curlOf, type Example, readExamples } from '../../src/openapi/examples.ts'
import { openApiText } from '../../src/openapi/pages.ts'
import { ROUTES } from '../../src/routes.ts'
import { runTimer } from '../../src/timers.ts'
import { lacking, starts } from '../support/programs.ts'
import { root } from '../support/root.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { onBothEngines, type World } from '../support/world.ts'
import { publish } from '../support/worlds/domain-world.ts'
import { install, makeIntegration, REDIRECT } from '../support/worlds/integration-world.ts'
import { stableAnswers } from './stable-answers.ts'

/** The operations of the specification, in its order. */
const SPECIFIED = [
  'createProject',
  'getProjects',
  'getProject',
  'updateProject',
  'deleteProject',
  'pauseProject',
  'unpauseProject',
  'updateProjectDataCache',
  'listPromoteAliases',
  'addProjectDomain',
  'getProjectDomains',
  'getProjectDomain',
  'updateProjectDomain',
  'removeProjectDomain',
  'verifyProjectDomain',
  'createProjectEnv',
  'filterProjectEnvs',
  'getProjectEnv',
  'editProjectEnv',
  'removeProjectEnv',
  'exchangeCode',
]

const dns = await startDnsServer()
after(() => dns.close())
const ajv = new Ajv2020({ strict: false })
const hasCurl = starts('curl', '--version')
const run = promisify(execFile)

/** Asks by the command that is shown, in a shell, and keeps what was asked and answered. */
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
  const ask = async (operationId: string, url: string, body?: unknown) => {
    const route = ROUTES.find((one) => one.operationId === operationId) ?? assert.fail(operationId)
    const request = { url, ...(body !== undefined && { body }) }
    const { stdout } = await run('sh', ['-c', curlOf(route, request)], { env })
    const at = stdout.lastIndexOf('\n')
    const text = stdout.slice(0, at)
    assert.equal(Number(stdout.slice(at + 1)), route.status, `${operationId}: ${text}`)
    const answer = text === '' ? undefined : JSON.parse(text)
    examples[operationId] = { ...request, ...(answer !== undefined && { answer }) }
    return answer
  }
  return { ask, examples }
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
  await ask('updateProject', '/v9/projects/shop', { buildCommand: 'npm run build', nodeVersion: '20.x' })
  await ask('pauseProject', `/v1/projects/${id}/pause`)
  await ask('unpauseProject', `/v1/projects/${id}/unpause`)
  await ask('updateProjectDataCache', `/v1/data-cache/projects/${id}`, { disabled: true })
  return id
}

async function askForDomains(ask: Ask): Promise<void> {
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
  const app = await makeIntegration(world, { teamId: world.credentials.teamId })
  const { code } = await install(world, app)
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

onBothEngines(
  'each command of the documents is answered as they say; npm run examples writes them anew',
  async (world, t) => {
    if (!hasCurl) return t.skip(lacking('curl', 'curl', 'whether the examples of /docs are true'))
    const { ask, examples } = await openAsker(world)
    const id = await askForProjects(ask)
    await askForDomains(ask)
    await askForDeployments(world, ask, id)
    await askForVariables(ask)
    await askForEnds(world, ask)
    await askForAccess(world, ask)
    t.assert.fileSnapshot(stableAnswers(examples), join(root, 'src', 'openapi', 'examples.json'))
  },
  { BERTH_DNS_SERVERS: dns.address },
)

test('each operation of the specification has an example on /docs and in the OpenAPI document, which fits its schema', () => {
  const examples = readExamples()
  const page = docsPage(ROUTES, readExamples)('/docs')
  const { paths } = JSON.parse(openApiText(ROUTES))
  for (const operationId of [...SPECIFIED, ...Object.keys(examples)]) {
    const route = ROUTES.find((one) => one.operationId === operationId) ?? assert.fail(`no operation ${operationId}`)
    const example = examples[operationId] ?? assert.fail(`no example of ${operationId}`)
    const operation = paths[route.path.replaceAll(/:(\w+)/g, '{$1}')][route.method.toLowerCase()]
    const shown = page.split(`<details id="${operationId}">`)[1]!.split('</details>')[0]!
    assert.match(shown, /<h3>Example<\/h3>\s*<pre>curl /, operationId)
    const said = Object.values(operation.responses[route.status].content ?? {})[0] as { example?: unknown } | undefined
    assert.deepEqual(said?.example, example.answer, operationId)
    for (const [schema, value] of [
      [route.body, example.body],
      [route.reply, example.answer],
    ])
      if (value !== undefined) assert.ok(ajv.validate(schema, value), `${operationId}: ${ajv.errorsText()}`)
    for (const content of Object.values(operation.requestBody?.content ?? {}) as { example?: unknown }[])
      assert.deepEqual(content.example, example.body, operationId)
    for (const { name, in: place, required, example: value } of operation.parameters)
      if (required || (place === 'query' && example.url.includes(`${name}=`))) assert.ok(value !== undefined, name)
  }
})

test('a command quotes what a shell would read', async () => {
  const route = { method: 'POST', auth: 'public' } as const
  const hard = { text: `'; echo $HOME \`id\` "\\` }
  const command = curlOf(route, { url: '/x?a=1&b=2', body: hard }).replace(/^curl/, 'printf "%s\\n"')
  const { stdout } = await run('sh', ['-c', command], {
    env: { PATH: process.env.PATH, BERTH: 'http://b', TOKEN: 't' },
  })
  assert.deepEqual(JSON.parse(stdout.slice(stdout.indexOf('\n-d\n') + 4)), hard)
  assert.ok(stdout.includes('\nhttp://b/x?a=1&b=2\n-H\nAuthorization: Bearer t\n'))
})
