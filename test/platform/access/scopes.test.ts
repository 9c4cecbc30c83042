/**
 * Every public operation against every scope, with the token of a real installation, compared with one table that is written
 * by hand from the specification (Scopes, Authentication) and docs/spec/decisions.md, and not from the code.
 */

import assert from 'node:assert/strict'
import { withQuery } from '../../support/call.ts'
import { iterations } from '../../support/iterations.ts'
import { PUBLIC, type Samples, sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'
import { type App, consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'
import { SCOPES } from './scope-names.ts'

type Scope = (typeof SCOPES)[number]
type Level = 'read' | 'write'
/** All of these; `env`: either scope of variables. `null`: no installation may, whatever it was granted. */
type Needs = Partial<Record<Scope | 'env', Level>> | null

const PROJECT_READ: Needs = { project: 'read' }
const PROJECT_WRITE: Needs = { project: 'write' }
/** "Updating a domain of a project requires write permission on both `project` and `domain`." */
const DOMAIN_WRITE: Needs = { project: 'write', domain: 'write' }
const ENV_READ: Needs = { env: 'read' }
const ENV_WRITE: Needs = { env: 'write' }
const DEPLOYMENT_READ: Needs = { deployment: 'read' }
const PROMOTE: Needs = { project: 'write', deployment: 'write' }
const CONFIGURATION_READ: Needs = { 'integration-configuration': 'read' }
const CONFIGURATION_WRITE: Needs = { 'integration-configuration': 'write' }
const DRAIN_READ: Needs = { 'log-drain': 'read' }
const DRAIN_WRITE: Needs = { 'log-drain': 'write' }
const PERSONS_ONLY: Needs = null

const ORACLE: Record<string, Needs> = {
  // Operations 1 to 9.
  createProject: PROJECT_WRITE,
  getProjects: PROJECT_READ,
  getProject: PROJECT_READ,
  updateProject: PROJECT_WRITE,
  deleteProject: PROJECT_WRITE,
  pauseProject: PROJECT_WRITE,
  unpauseProject: PROJECT_WRITE,
  updateProjectDataCache: PROJECT_WRITE,
  listPromoteAliases: PROJECT_READ,
  // Links and bypass secrets are settings. Only users give a project away; taking one is like creating it.
  linkProject: PROJECT_WRITE,
  unlinkProject: PROJECT_WRITE,
  updateProjectBranch: PROJECT_WRITE,
  updateProjectProtectionBypass: PROJECT_WRITE,
  createProjectTransferRequest: PERSONS_ONLY,
  acceptProjectTransferRequest: PERSONS_ONLY,
  // Operations 10 to 15, and those next to them.
  addProjectDomain: DOMAIN_WRITE,
  getProjectDomains: PROJECT_READ,
  getProjectDomain: PROJECT_READ,
  getProjectDomainAnswers: PROJECT_READ,
  updateProjectDomain: DOMAIN_WRITE,
  removeProjectDomain: DOMAIN_WRITE,
  verifyProjectDomain: DOMAIN_WRITE,
  moveProjectDomain: DOMAIN_WRITE,
  addProjectAlias: DOMAIN_WRITE,
  removeProjectAlias: DOMAIN_WRITE,
  getDomainProjectDomains: { project: 'read', domain: 'read' },
  getDomainConfig: { domain: 'read' },
  getProjectDomainByName: PROJECT_READ,
  // Domains of the account: `domain` alone, but removing one changes projects.
  getDomains: { domain: 'read' },
  getDomain: { domain: 'read' },
  createOrTransferDomain: { domain: 'write' },
  getDomainVerificationRecord: { domain: 'read' },
  claimDomainOwnership: { domain: 'write' },
  deleteDomain: DOMAIN_WRITE,
  // Lists that are always empty need what full ones would.
  getCerts: { domain: 'read' },
  getRecords: { domain: 'read' },
  getStorageStores: PROJECT_READ,
  // Operations 16 to 20, and those next to them.
  createProjectEnv: ENV_WRITE,
  filterProjectEnvs: ENV_READ,
  getProjectEnv: ENV_READ,
  editProjectEnv: ENV_WRITE,
  removeProjectEnv: ENV_WRITE,
  batchRemoveProjectEnv: ENV_WRITE,
  putProjectEnvFile: ENV_WRITE,
  exportProjectEnv: ENV_READ,
  pullProjectEnv: ENV_READ,
  pullProjectEnvOfDevelopment: ENV_READ,
  pullProjectEnvOfBranch: ENV_READ,
  getProjectEnvHistory: ENV_READ,
  restoreProjectEnv: ENV_WRITE,
  // Shared variables need the same scopes as those of a project.
  createSharedEnvVariable: ENV_WRITE,
  listSharedEnvVariable: ENV_READ,
  listAllSharedEnvVariables: ENV_READ,
  updateSharedEnvVariable: ENV_WRITE,
  deleteSharedEnvVariable: ENV_WRITE,
  getSharedEnvVar: ENV_READ,
  unlinkSharedEnvVariable: ENV_WRITE,
  // Custom environments are settings of the project.
  updateProjectCrons: PROJECT_WRITE,
  purgeEdgeCache: PROJECT_WRITE,
  purgeDataCache: PROJECT_WRITE,
  invalidateByTags: PROJECT_WRITE,
  dangerouslyDeleteByTags: PROJECT_WRITE,
  createCustomEnvironment: PROJECT_WRITE,
  getProjectCustomEnvironments: PROJECT_READ,
  getCustomEnvironment: PROJECT_READ,
  updateCustomEnvironment: PROJECT_WRITE,
  removeCustomEnvironment: PROJECT_WRITE,
  // Deployments and promote.
  getDeployments: DEPLOYMENT_READ,
  getDeployment: DEPLOYMENT_READ,
  getDeploymentByUrl: DEPLOYMENT_READ,
  getDeploymentEvents: DEPLOYMENT_READ,
  listDeploymentBuilds: DEPLOYMENT_READ,
  getRuntimeLogs: DEPLOYMENT_READ,
  listRequestLogs: DEPLOYMENT_READ,
  listLogEvents: DEPLOYMENT_READ,
  listProjectCrons: DEPLOYMENT_READ,
  getDeploymentUsage: DEPLOYMENT_READ,
  deleteDeployment: PROMOTE,
  updateDeploymentExpiration: PROMOTE,
  listDeploymentAliases: DEPLOYMENT_READ,
  requestPromote: PROMOTE,
  createDeployment: PROMOTE,
  uploadFile: PROMOTE,
  cancelDeployment: PROMOTE,
  listDeploymentFiles: DEPLOYMENT_READ,
  getDeploymentFileContents: DEPLOYMENT_READ,
  requestRollback: PROMOTE,
  listRollbackAliases: PROJECT_READ,
  listAliases: DEPLOYMENT_READ,
  getAlias: DEPLOYMENT_READ,
  deleteAlias: PROMOTE,
  /** It may add a domain, too. */
  assignAlias: { ...PROMOTE, domain: 'write' },
  // Accounts. Of a search other scopes decide what it finds: test/projects/search/search.test.ts.
  searchAccount: { team: 'read' },
  getAuthUser: { user: 'read' },
  getTeams: { team: 'read' },
  getTeam: { team: 'read' },
  getTeamMembers: { team: 'read' },
  getTeamMemberProjects: { team: 'read' },
  getProjectMembers: { project: 'read', team: 'read' },
  // Members, settings of the team and the tokens of users are for users alone.
  patchTeam: PERSONS_ONLY,
  inviteUserToTeam: PERSONS_ONLY,
  updateTeamMember: PERSONS_ONLY,
  removeTeamMember: PERSONS_ONLY,
  joinTeam: PERSONS_ONLY,
  deleteTeamInviteCode: PERSONS_ONLY,
  listAuthTokens: PERSONS_ONLY,
  createAuthToken: PERSONS_ONLY,
  getAuthToken: PERSONS_ONLY,
  deleteAuthToken: PERSONS_ONLY,
  // Integrations are created by users; an installation can read and end itself, and never widens itself.
  createIntegration: PERSONS_ONLY,
  getIntegrations: PERSONS_ONLY,
  getIntegration: PERSONS_ONLY,
  updateIntegration: PERSONS_ONLY,
  deleteIntegration: PERSONS_ONLY,
  createIntegrationSecret: PERSONS_ONLY,
  deleteIntegrationSecret: PERSONS_ONLY,
  getConfigurations: CONFIGURATION_READ,
  getConfiguration: CONFIGURATION_READ,
  deleteConfiguration: CONFIGURATION_WRITE,
  getConfigurationProject: CONFIGURATION_READ,
  setConfigurationProject: PERSONS_ONLY,
  transferConfigurationOwnership: PERSONS_ONLY,
  confirmConfigurationScopes: PERSONS_ONLY,
  // Webhooks and log drains.
  /** The sample subscribes to projects, and a caller subscribes only to what it may read. */
  createWebhook: { 'integration-configuration': 'write', project: 'read' },
  getWebhooks: CONFIGURATION_READ,
  getWebhook: CONFIGURATION_READ,
  updateWebhook: CONFIGURATION_WRITE,
  deleteWebhook: CONFIGURATION_WRITE,
  getWebhookDeliveries: CONFIGURATION_READ,
  getWebhookDelivery: CONFIGURATION_READ,
  replayWebhookDelivery: CONFIGURATION_WRITE,
  replayWebhookDeliveries: CONFIGURATION_WRITE,
  testWebhook: CONFIGURATION_WRITE,
  // Only a user becomes the owner of what former members set up.
  transferWebhookOwnership: PERSONS_ONLY,
  transferLogDrainOwnership: PERSONS_ONLY,
  createConfigurableLogDrain: DRAIN_WRITE,
  getAllLogDrains: DRAIN_READ,
  getConfigurableLogDrain: DRAIN_READ,
  deleteConfigurableLogDrain: DRAIN_WRITE,
  createDrain: DRAIN_WRITE,
  getDrains: DRAIN_READ,
  getEndpointVerification: DRAIN_READ,
  testDrain: DRAIN_WRITE,
  getDrain: DRAIN_READ,
  updateDrain: DRAIN_WRITE,
  deleteDrain: DRAIN_WRITE,
  getDrainDeliveries: DRAIN_READ,
  replayDrainDelivery: DRAIN_WRITE,
  getIntegrationInstallations: PERSONS_ONLY,
  getActivity: PERSONS_ONLY,
  listUserEvents: PERSONS_ONLY,
  createTeam: PERSONS_ONLY,
  createLogDrain: DRAIN_WRITE,
  getIntegrationLogDrains: DRAIN_READ,
  deleteIntegrationLogDrain: DRAIN_WRITE,
}

type Granted = Partial<Record<Scope, Level>>

function allowedByTable(operationId: string, granted: Granted): boolean {
  const needs = ORACLE[operationId]
  if (needs === undefined) assert.fail(`${operationId} is not in the table: say by hand which scopes it needs`)
  if (needs === null) return false
  return Object.entries(needs).every(([scope, level]) =>
    scope === 'env'
      ? holds(granted['project-env-vars'], level) || holds(granted['global-project-env-vars'], level)
      : holds(granted[scope as Scope], level),
  )
}

function holds(has: Level | undefined, level: Level): boolean {
  return has === 'write' || has === level
}

/** Nothing; each scope alone, at read and at read-write; and all scopes but one, which is missing or at read. */
function grants(): Granted[] {
  const all = Object.fromEntries(SCOPES.map((scope) => [scope, 'write'])) as Granted
  const without = (scope: Scope) => Object.fromEntries(Object.entries(all).filter(([one]) => one !== scope))
  return [
    {},
    all,
    ...SCOPES.flatMap((scope): Granted[] => [
      { [scope]: 'read' },
      { [scope]: 'write' },
      without(scope),
      { ...all, [scope]: 'read' },
    ]),
  ]
}

const written = (granted: Granted) =>
  Object.entries(granted).map(([scope, level]) => `${level === 'read' ? 'read' : 'read-write'}:${scope}`)

/** The integration asks for these now, and the account consents: the token that it has is what it may from now on. */
async function consentTo(world: World, app: App, scopes: string[], where: object): Promise<string> {
  const changed = await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { scopes })
  assert.deepEqual(changed.body.scopes, [...scopes].sort(), changed.text)
  return (await consentAndInstall(world, app, where)).code
}

/** A good request that changes no sample when it is accepted: for ids that do not exist, or without an effect. */
function harmlessSample(route: (typeof PUBLIC)[number], samples: Samples) {
  if (route.operationId === 'setConfigurationProject') return sampleRequest(route, samples)
  const unknown = { idOrName: 'unknown', projectId: 'unknown', code: 'unknown' }
  const apps = route.path.includes('/integrations/apps')
  return sampleRequest(
    route,
    samples,
    apps ? unknown : { ...unknown, ...(route.method !== 'GET' && { id: 'unknown_id' }) },
  )
}

onBothEngines(
  'each operation, at each scope at nothing, read and read-write, is allowed as the table says',
  async (world) => {
    const samples = await seedSamples(world)
    const app = await seedIntegration(world, { slug: 'walker', scopes: [] })
    const { code, installationId } = await consentAndInstall(world, app)
    const call = world.as((await exchange(world, app, code)).body.access_token)
    let asked = 0
    // What a scope opens is one table, whatever the engine: PostgreSQL, which is slower, is asked for every fifth of them.
    const every = world.engine === 'postgres' ? iterations(5, 5, 1) : 1
    const some = grants().filter((_, at) => at % every === 0)
    for (const granted of some) {
      await consentTo(world, app, written(granted), {})
      for (const route of PUBLIC) {
        const { method, url, body } = harmlessSample(route, { ...samples, installationId })
        const answer = await call.try(method, withQuery(url, `teamId=${samples.teamId}`), body)
        const said = `${route.operationId} with ${written(granted).join(' ') || 'nothing'}: ${answer.text.slice(0, 300)}`
        assert.ok(answer.status < 500, said)
        assert.equal(answer.status !== 403, allowedByTable(route.operationId, granted), said)
        if (answer.status === 403) assert.equal(answer.body.error.code, 'forbidden', said)
        asked++
      }
    }
    assert.equal(grants().length, 2 + 4 * SCOPES.length)
    assert.equal(asked, PUBLIC.length * some.length)
  },
)

onBothEngines('the token of a team installation names its team on every request, by id or slug', async (world) => {
  const samples = await seedSamples(world)
  const app = await seedIntegration(world, { slug: 'walker', scopes: SCOPES.map((scope) => `read-write:${scope}`) })
  const { code, installationId } = await consentAndInstall(world, app)
  const call = world.as((await exchange(world, app, code)).body.access_token)
  for (const route of PUBLIC) {
    const { method, url, body } = harmlessSample(route, { ...samples, installationId })
    // An empty `teamId` counts as none.
    for (const query of ['', 'teamId=', 'slug=']) {
      const missing = await call.try(method, query === '' ? url : withQuery(url, query), body)
      assert.deepEqual([missing.status, missing.body.error.code], [403, 'forbidden'], route.operationId)
      assert.match(missing.body.error.message, /teamId/, route.operationId)
    }
    for (const query of [`teamId=${samples.teamId}`, 'slug=team', `teamId=${samples.teamId}&slug=team`]) {
      const answer = await call.try(method, withQuery(url, query), body)
      assert.equal(answer.status === 403, ORACLE[route.operationId] === null, `${route.operationId} ${answer.text}`)
    }
    const answers = new Set<string>()
    for (const query of [
      `teamId=${samples.rival.teamId}`,
      'slug=rivals',
      'slug=admin',
      `teamId=${samples.userId}`,
      `teamId=${samples.teamId}&slug=rivals`,
      'teamId=team_unknown',
    ]) {
      const answer = await call.try(method, withQuery(url, query), body)
      assert.deepEqual([answer.status, answer.body.error.code], [403, 'forbidden'], `${route.operationId} ${query}`)
      answers.add(answer.text)
    }
    assert.equal(answers.size, 1, route.operationId)
  }
})

onBothEngines('the token of a personal installation names no team, and may name its own account', async (world) => {
  const samples = await seedSamples(world)
  const app = await seedIntegration(world, { slug: 'walker', scopes: SCOPES.map((scope) => `read-write:${scope}`) })
  const { code, installationId } = await consentAndInstall(world, app, { teamId: undefined })
  const call = world.as((await exchange(world, app, code)).body.access_token)
  for (const route of PUBLIC) {
    const { method, url, body } = harmlessSample(route, { ...samples, installationId })
    for (const own of [url, withQuery(url, `teamId=${samples.userId}`), withQuery(url, 'slug=admin')]) {
      const answer = await call.try(method, own, body)
      assert.equal(answer.status === 403, ORACLE[route.operationId] === null, `${route.operationId} ${answer.text}`)
    }
    for (const query of [`teamId=${samples.teamId}`, 'slug=team', 'slug=rivals']) {
      const refused = await call.try(method, withQuery(url, query), body)
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'], `${route.operationId} ${query}`)
    }
  }
})

type Variable = { key: string; configurationId: string | null }
const keysOf = (envs: Variable[]) => envs.map((one) => one.key).sort()

onBothEngines(
  'with project-env-vars alone an integration has its own variables and no other is there',
  async (world) => {
    const { teamId } = world.credentials
    const url = <const U extends string>(path: U) => withQuery(path, `teamId=${teamId}`)
    assert.equal((await world.call('POST', url('/v10/projects'), { name: 'web' })).status, 200)
    const scopes = ['read-write:project', 'read-write:project-env-vars']
    const own = { scopes }
    const [first, second, global] = await Promise.all([
      madeWith(world, 'first', own),
      madeWith(world, 'second', own),
      madeWith(world, 'global', { scopes: ['read:project', 'read-write:global-project-env-vars'] }),
    ])
    const ids: Record<string, string> = {}
    for (const [call, key] of [
      [world.call, 'PEOPLES'],
      [first.call, 'FIRSTS'],
      [second.call, 'SECONDS'],
    ] as const) {
      const body = { key, value: 'clear', type: 'encrypted', target: ['production', 'preview'] }
      const made = await call('POST', url('/v10/projects/web/env'), body)
      assert.equal(made.status, 201, made.text)
      ids[key] = made.body.created.id
    }
    for (const [call, keys] of [
      [first.call, ['FIRSTS']],
      [second.call, ['SECONDS']],
      [global.call, ['FIRSTS', 'PEOPLES', 'SECONDS']],
      [world.call, ['FIRSTS', 'PEOPLES', 'SECONDS']],
    ] as const) {
      assert.deepEqual(keysOf((await call('GET', url('/v9/projects/web/env'))).body.envs), keys)
      assert.deepEqual(keysOf((await call('GET', url('/v9/projects/web'))).body.env), keys)
      assert.deepEqual(keysOf((await call('GET', url('/v9/projects'))).body.projects[0].env), keys)
      assert.deepEqual(Object.keys((await call('GET', url('/v3/env/pull/web/production'))).body.env ?? {}).sort(), keys)
    }
    const unknown = `env_${'0'.repeat(16)}`
    for (const key of ['PEOPLES', 'SECONDS']) {
      for (const [method, path, body] of [
        ['GET', '/v1/projects/web/env/ID', undefined],
        ['PATCH', '/v9/projects/web/env/ID', { comment: 'mine' }],
        ['DELETE', '/v9/projects/web/env/ID', undefined],
        ['GET', '/v1/projects/web/env/ID/history', undefined],
      ] as const) {
        const asked = await first.call.try(method, url(path.replace('ID', ids[key]!)), body)
        const nothing = await first.call.try(method, url(path.replace('ID', unknown)), body)
        assert.equal(asked.status, 404, `${method} ${key}`)
        assert.equal(asked.text.replace(ids[key]!, ''), nothing.text.replace(unknown, ''))
      }
    }
    const gone = await first.call('DELETE', url('/v1/projects/web/env'), { ids: Object.values(ids) })
    assert.deepEqual(gone.body.ids, [ids.FIRSTS], 'of all that it names, its own goes')
    const left = (await world.call('GET', url('/v9/projects/web/env'))).body.envs as Variable[]
    assert.deepEqual(keysOf(left), ['PEOPLES', 'SECONDS'])
    assert.equal(left.find((one) => one.key === 'SECONDS')?.configurationId, second.installationId)
  },
)

onBothEngines(
  'an installation that reads all variables and writes its own does not write those of others',
  async (world) => {
    const { teamId } = world.credentials
    const url = <const U extends string>(path: U) => withQuery(path, `teamId=${teamId}`)
    await world.call('POST', url('/v10/projects'), { name: 'web' })
    const body = { key: 'PEOPLES', value: 'clear', type: 'encrypted', target: ['preview'] }
    const { id } = (await world.call('POST', url('/v10/projects/web/env'), body)).body.created
    await world.call('PATCH', url(`/v9/projects/web/env/${id}`), { value: 'later' })
    const scopes = ['read:project', 'read:global-project-env-vars', 'read-write:project-env-vars']
    const { call } = await madeWith(world, 'mixed', { scopes })
    assert.equal((await call('GET', url(`/v1/projects/web/env/${id}`))).body.value, 'later')
    const own = await call('POST', url('/v10/projects/web/env'), { ...body, key: 'OWN' })
    assert.equal(own.status, 201)
    for (const [method, path, sent] of [
      ['PATCH', `/v9/projects/web/env/${id}`, { value: 'taken' }],
      ['DELETE', `/v9/projects/web/env/${id}`, undefined],
      ['DELETE', '/v1/projects/web/env', { ids: [own.body.created.id, id] }],
      ['POST', '/v10/projects/web/env?upsert=true', { ...body, value: 'taken' }],
      ['POST', `/v1/projects/web/env/${id}/history/1/restore`, undefined],
      ['PUT', '/v1/projects/web/env?target=preview', new Blob(['PEOPLES=taken'], { type: 'text/plain' })],
    ] as const) {
      const answer = await call.try(method, url(path), sent)
      assert.deepEqual(
        [answer.status, answer.body?.error?.code],
        [403, 'forbidden'],
        `${method} ${path} ${answer.text}`,
      )
    }
    assert.equal((await world.call('GET', url(`/v1/projects/web/env/${id}`))).body.value, 'later')
    assert.equal(
      (await call('PATCH', url(`/v9/projects/web/env/${own.body.created.id}`), { value: 'new' })).status,
      200,
    )
  },
)

async function madeWith(world: World, slug: string, wanted: object): Promise<{ call: Call; installationId: string }> {
  const app = await seedIntegration(world, { slug, ...wanted })
  const { code, installationId } = await consentAndInstall(world, app)
  return { call: world.as((await exchange(world, app, code)).body.access_token), installationId }
}

onBothEngines('creating a project with variables needs the scope of variables too', async (world) => {
  const plain = await madeWith(world, 'plain', { scopes: ['read-write:project'] })
  const { teamId } = world.credentials
  const variables = [{ key: 'A', value: 'b', target: 'production' }]
  const create = (call: Call, name: string) =>
    call.try('POST', `/v10/projects?teamId=${teamId}`, { name, environmentVariables: variables })
  assert.equal((await create(plain.call, 'one')).status, 403)
  assert.equal((await plain.call.try('GET', `/v9/projects/one?teamId=${teamId}`)).status, 404)
  const both = await madeWith(world, 'both', { scopes: ['read-write:project', 'read-write:project-env-vars'] })
  const made = await create(both.call, 'two')
  assert.deepEqual([made.status, made.body.env[0].configurationId], [200, both.installationId])
})
