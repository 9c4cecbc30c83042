/** A world with something in it, and one good request for every operation of the route table. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { recordRunner } from '../../src/delivery/runners/registry.ts'
import { type Route, unversionedPath } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import { withQuery } from './call.ts'
import { seedDeployment, seedProject } from './projects.ts'
import { endDeliveries, markDomainsVerified, seedIdentity, setDue } from './states.ts'
import type { ApiResponse, Call, Method, World } from './world.ts'
import { type App, consentAndInstall, REDIRECT, seedIntegration } from './worlds/integration-world.ts'

export type Samples = {
  projectId: string
  userId: string
  teamId: string
  /** A second user with a project `secret` and a team `rivals` of their own. */
  rival: Awaited<ReturnType<World['user']>> & { projectId: string; teamId: string }
  /** A variable of `web`, and a root key that wraps nothing any more. */
  envId: string
  /** Shared variables: one of `web`, and one that is deleted. */
  sharedId: string
  sharedToDelete: string
  idleKeyId: string
  /** A READY production deployment of `web`, which its domains point to. */
  deploymentId: string
  /** A READY preview without a name, to be removed. */
  oldDeploymentId: string
  /** A deployment of files, the id of one of them, and one that has not ended. */
  siteId: string
  fileId: string
  buildingId: string
  /** A code for the first user to receive a project of the rival. */
  transferCode: string
  /** An invitation of the first user to the rival's team, and one of another user to the first team. */
  invitationId: string
  sentInvitationId: string
  /** A user without a team or project, with an unused token. */
  spare: { id: string; tokenId: string }
  /** A MEMBER of the first user's team, and an unused token of the first user. */
  mateId: string
  ownTokenId: string
  /** A webhook, a delivery to it (that failed for good), and a log drain. */
  webhookId: string
  deliveryId: string
  operatorsDeliveryId: string
  drainDeliveryId: string
  drainId: string
  otherDrainId: string
  newerDrainId: string
  /** Integrations of the first team by slug, one for each thing that is done to one. */
  apps: Record<(typeof APPS)[number], App>
  /** `helper` on the first user's personal account, and a code of it. */
  installationId: string
  code: string
}

/** A runner that requested a build. */
const RUNNER = 'runnerrunner0001'
const APPS = ['helper', 'teams-secrets', 'operators-secrets', 'teams-last', 'operators-last'] as const

/** Fills a world: projects `web` (with four verified domains and a deployment) and `other` of the first user, and a rival tenant. */
export async function seedSamples(world: World): Promise<Samples> {
  const backup = { place: join(world.folder, 'backups'), name: 'berth-sample.db', begunAt: 1, bytes: 1, sha256: 'x' }
  assert.equal((await world.operator('POST', '/operator/v1/backups/reports', backup)).status, 204)
  const projectId = await seedProject(world, 'web')
  await seedProject(world, 'other')
  for (const name of ['www.example.com', 'moved.example.com', 'kept.example.com', 'taken.example.com']) {
    assert.equal((await world.call('POST', '/v10/projects/web/domains', { name })).status, 200)
  }
  for (const name of ['proven.org', 'removed.org']) {
    assert.equal((await world.call('POST', '/v7/domains', { name })).status, 200)
  }
  await markDomainsVerified(world)
  const deploymentId = await seedDeployment(world, projectId, { url: 'web-1.apps.example.net' })
  const oldDeploymentId = await seedDeployment(world, projectId, { url: 'old-1.apps.example.net', target: 'preview' })
  const site = await deploySite(world.call)
  const unended = { url: 'building-1.apps.example.net', target: 'preview', readyState: 'BUILDING' }
  const buildingId = await seedDeployment(world, projectId, unended)
  const drain = { url: 'https://logs.example.com', sources: ['edge'], deliveryFormat: 'json' }
  const drainId = (await world.call('POST', '/v1/log-drains', drain)).body.id
  const otherDrainId = (await world.call('POST', '/v1/log-drains', drain)).body.id
  const newerDrainId = (await world.call('POST', '/v1/log-drains', drain)).body.id
  const hook = { url: 'https://hooks.example.com', events: ['project.renamed'] }
  const webhookId = (await world.call('POST', '/v1/webhooks', hook)).body.id
  await world.call('PATCH', '/v9/projects/other', { name: 'renamed' })
  await world.call('PATCH', '/v9/projects/renamed', { name: 'other' })
  await endDeliveries(world, 'failed')
  const line = { timestamp: 1, message: 'hello', source: 'edge' }
  await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines: [line] })
  const [{ id: drainDeliveryId }] = (await world.call('GET', `/v1/drains/${newerDrainId}/deliveries`)).body.deliveries
  // As after an attempt that failed: the next one is far away.
  await setDue(world, drainDeliveryId, world.deps.clock.now() + 3_600_000)
  const [{ id: deliveryId }, { id: operatorsDeliveryId }] = (
    await world.operator('GET', '/operator/v1/webhook-deliveries?status=failed')
  ).body.deliveries
  await world.call('POST', '/v9/projects/web/link', { type: 'github', repo: 'acme/web' })
  const credentials = `/operator/v1/accounts/${world.credentials.teamId}/git-credentials/bitbucket` as const
  await world.operator('PUT', credentials, { token: 't', webhookUrl: 'https://build.example.com' })
  assert.equal((await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })).status, 201)
  const variable = { key: 'TOKEN', value: 'first', target: ['preview'] }
  const { id: envId } = (await world.call('POST', '/v10/projects/web/env', variable)).body.created
  await world.call('PATCH', `/v9/projects/web/env/${envId}`, { value: 'second' })
  const share = async (key: string) => {
    const body = { evs: [{ key, value: 'shared' }], type: 'encrypted', target: ['preview'], projectId: [projectId] }
    const made = await world.call('POST', '/v1/env', body)
    assert.equal(made.status, 201, made.text)
    return made.body.created[0].id as string
  }
  const [sharedId, sharedToDelete] = [await share('SHARED'), await share('DELETED')]
  const { activeKeyId: idleKeyId } = (await world.operator('GET', '/operator/v1/keys')).body
  await world.operator('POST', '/operator/v1/keys/rotate')
  const rival = await world.user('rival')
  const team = await world.operator('POST', '/operator/v1/teams', { slug: 'rivals', name: 'R', ownerId: rival.id })
  const secret = await rival.call('POST', '/v10/projects', { name: 'secret' })
  assert.equal(secret.status, 200)
  await rival.call('POST', '/v10/projects', { name: 'gift' })
  const offered = await rival.call('POST', '/projects/gift/transfer-request')
  assert.equal(offered.status, 200)
  const idIn = (answer: ApiResponse<{ inviteUrl: string }>) => answer.body.inviteUrl.split('/').at(-1) as string
  const toFirst = { uid: world.credentials.userId, role: 'VIEWER' }
  const invitationId = idIn(await rival.call.try('POST', `/v1/teams/${team.body.id}/members`, toFirst))
  const toNobody = { email: 'nobody@example.com' }
  const sentInvitationId = idIn(await world.call.try('POST', '/v1/teams/team/members', toNobody))
  const spare = await world.user('spare')
  await seedIdentity(world, spare.id)
  const token = await world.operator('POST', '/operator/v1/tokens', { userId: spare.id })
  const mate = await world.user('mate')
  await world.operator('PUT', `/operator/v1/teams/${world.credentials.teamId}/members/${mate.id}`, { role: 'MEMBER' })
  const own = await world.operator('POST', '/operator/v1/tokens', { userId: world.credentials.userId })
  await recordRunner(world.deps, { runner: RUNNER, hostname: 'build-1', version: '1' })
  // One after another, so that lists have them in one order in every run.
  const byName = {} as Samples['apps']
  for (const slug of APPS) byName[slug] = await seedIntegration(world, { slug })
  return {
    ...(await consentAndInstall(world, byName.helper, { teamId: undefined })),
    apps: byName,
    projectId,
    userId: world.credentials.userId,
    teamId: world.credentials.teamId,
    envId,
    sharedId,
    sharedToDelete,
    idleKeyId,
    deploymentId,
    oldDeploymentId,
    ...site,
    buildingId,
    transferCode: offered.body.code,
    invitationId,
    sentInvitationId,
    rival: { ...rival, projectId: secret.body.id, teamId: team.body.id },
    spare: { id: spare.id, tokenId: token.body.id },
    mateId: mate.id,
    ownTokenId: own.body.id,
    webhookId,
    deliveryId,
    operatorsDeliveryId,
    drainDeliveryId,
    drainId,
    otherDrainId,
    newerDrainId,
  }
}

/** Deploys two files of `web`, inline in the request, and returns the id of the page. */
export async function deploySite(call: Call, page = '<h1>Hello</h1>'): Promise<Pick<Samples, 'siteId' | 'fileId'>> {
  const files = [
    { file: '.vercel/output/config.json', data: '{"version":3}' },
    { file: '.vercel/output/static/index.html', data: page },
  ]
  const { id: siteId } = (await call('POST', '/v13/deployments', { name: 'web', files })).body
  const [file] = (await call('GET', `/v6/deployments/${siteId}/files`)).body
  return { siteId, fileId: file!.uid! }
}

export type SampleRequest = { method: Method; url: string; body: unknown }

const LOGS = { type: 'http', endpoint: 'https://logs.example.com', encoding: 'json', headers: {} }

const BODIES: Record<string, object> = {
  createProjectEnv: { key: 'SAMPLE', value: 'v', target: ['preview'] },
  createSharedEnvVariable: { evs: [{ key: 'SAMPLE_SHARED', value: 'v' }], type: 'encrypted', target: ['preview'] },
  editProjectEnv: { comment: 'sample' },
  batchRemoveProjectEnv: { ids: ['env_unknown'] },
  putProjectEnvFile: new Blob(['SAMPLE=v'], { type: 'text/plain' }),
  createCustomEnvironment: { slug: 'sample' },
  updateCustomEnvironment: { description: 'sample' },
  removeCustomEnvironment: {},
  addProjectDomain: { name: 'added.example.com' },
  updateProjectDomain: { gitBranch: 'next' },
  removeProjectDomain: {},
  moveProjectDomain: { projectId: 'other' },
  createOrTransferDomain: { name: 'added.org', method: 'add' },
  assignAlias: { alias: 'kept.example.com' },
  addProjectAlias: { domain: 'alias.example.com', target: 'PRODUCTION' },
  createDeployment: {
    name: 'web',
    deploymentId: 'web-1.apps.example.net',
    target: 'production',
    meta: { action: 'promote' },
  },
  createProject: { name: 'sample' },
  updateProject: { framework: 'nextjs' },
  updateProjectDataCache: { disabled: true },
  operatorCreateUser: { email: 'sample@example.com', username: 'sample' },
  operatorUpdateUser: { name: 'Spare' },
  operatorCreateTeam: { slug: 'samples', name: 'Samples' },
  operatorSetMember: { role: 'VIEWER' },
  operatorUpdateAccount: { plan: 'enterprise' },
  operatorCreateToken: { name: 'sample' },
  operatorRunTimer: {},
  operatorNoteKeyringCopy: { place: '/copies/keyring.json', keys: [{ id: 'rk_unknown', proof: 'x' }] },
  operatorVerifyBackup: { name: 'berth-sample.db' },
  operatorReportBackup: { place: '/backups', name: 'berth.db', begunAt: 1, bytes: 1, sha256: 'x' },
  operatorUpdateRunner: { draining: true },
  operatorRevokeToken: { token: 'berth_unknown' },
  updateDeploymentExpiration: { expirationErrored: '1w' },
  updateProjectCrons: { enabled: false },
  invalidateByTags: { tags: ['news', 'posts'] },
  dangerouslyDeleteByTags: { tags: ['news'] },
  updateProjectProtectionBypass: { generate: {} },
  linkProject: { type: 'github', repo: 'acme/web' },
  updateProjectBranch: { branch: 'trunk' },
  operatorSetGitCredential: { token: 't', webhookUrl: 'https://build.example.com' },
  createProjectTransferRequest: {},
  acceptProjectTransferRequest: {},
  operatorCreateDeployment: { url: 'web-2.apps.example.net', target: 'production', readyState: 'BUILDING' },
  operatorUpdateDeployment: { upstream: 'http://127.0.0.1:3001' },
  createWebhook: { url: 'https://hooks.example.com', events: ['project.created'] },
  updateWebhook: { enabled: true },
  createConfigurableLogDrain: { url: 'https://logs.example.com', sources: ['edge'], deliveryFormat: 'json' },
  createLogDrain: { url: 'https://logs.example.com', name: 'logs' },
  createDrain: { name: 'logs', projects: 'all', schemas: { log: { version: 'v1' } }, delivery: LOGS },
  replayWebhookDeliveries: { since: 0, until: 1 },
  createTeam: { slug: 'own-team' },
  testDrain: { schemas: { log: { version: 'v1' } }, delivery: LOGS },
  updateDrain: { name: 'renamed' },
  operatorTakeLogs: { lines: [{ timestamp: 1, message: 'hello', source: 'edge' }] },
  createIntegration: newApp('teams-own'),
  updateIntegration: { name: 'Helper' },
  operatorCreateIntegration: newApp('operators-own'),
  operatorUpdateIntegration: { name: 'Helper' },
  operatorInstallIntegration: { projects: 'all' },
  setConfigurationProject: { allowed: true },
  confirmConfigurationScopes: { scopes: [] },
  patchTeam: { description: 'sample' },
  inviteUserToTeam: { role: 'VIEWER' },
  joinTeam: {},
  updateTeamMember: { role: 'DEVELOPER' },
  createAuthToken: { name: 'sample' },
  listLogEvents: {
    event: 'vercel.log',
    scope: { projectIds: ['web'] },
    timeRange: { start: '2026-01-01T00:00:00Z', end: '2026-01-02T00:00:00Z' },
  },
}

function newApp(slug: string): object {
  return { slug, name: 'App', redirectUrl: REDIRECT, scopes: ['read:project'] }
}
/** What the path names where it is not `www.example.com`. */
const DOMAINS: Record<string, string> = {
  moveProjectDomain: 'moved.example.com',
  getDomainVerificationRecord: 'proven.org',
  claimDomainOwnership: 'proven.org',
  deleteDomain: 'removed.org',
}
const QUERIES: Record<string, string> = {
  searchAccount: 'q=web',
  removeProjectAlias: 'domain=alias.example.com',
  operatorDeleteUser: 'force=true',
  putProjectEnvFile: 'target=preview',
  exportProjectEnv: 'target=preview',
  purgeEdgeCache: 'projectIdOrName=web',
  purgeDataCache: 'projectIdOrName=web',
  invalidateByTags: 'projectIdOrName=web',
  dangerouslyDeleteByTags: 'projectIdOrName=web',
  listRequestLogs: 'projectId=web',
}
const BODIES_THAT_NAME_A_USER: Record<string, string> = {
  operatorCreateTeam: 'ownerId',
  inviteUserToTeam: 'uid',
  operatorCreateToken: 'userId',
  operatorInstallIntegration: 'userId',
}
const BODIES_THAT_NAME_A_TEAM = new Set(['operatorCreateIntegration'])
/** Routes of a team and not of a user. */
const OF_TEAMS = /\/integrations\/apps/

/** A request of this operation that succeeds after `seedSamples`; `path` replaces parameters of the path. */
export function sampleRequest(route: Route, samples: Samples, path: Record<string, string> = {}): SampleRequest {
  const named: Record<string, string> = {
    idOrName: 'web',
    projectId: samples.projectId,
    userId: samples.spare.id,
    uid: samples.mateId,
    teamId: samples.teamId,
    accountId: samples.teamId,
    idOrSlug: 'team',
    id: idFor(route, samples),
    deploymentId: samples.deploymentId,
    fileId: samples.fileId,
    deliveryId: route.path.includes('/drains/') ? samples.drainDeliveryId : samples.deliveryId,
    idOrUrl: route.operationId === 'deleteDeployment' ? samples.oldDeploymentId : 'web-1.apps.example.net',
    idOrAlias: 'kept.example.com',
    secretId: route.path.includes('/:secretId') ? appFor(route, samples).secretId : '',
    target: 'preview',
    environmentSlugOrId: 'staging',
    gitBranch: 'dev',
    version: '1',
    name: 'old-events',
    step: 'keyring',
    code: samples.transferCode,
    inviteId: samples.sentInvitationId,
    ...(route.operationId === 'operatorDeleteTeam' && { teamId: samples.rival.teamId }),
    ...(route.operationId === 'joinTeam' && { idOrSlug: samples.rival.teamId }),
    provider: 'bitbucket',
    runner: RUNNER,
    domain: DOMAINS[route.operationId] ?? 'www.example.com',
    ...path,
  }
  const filled = route.path.replaceAll(/:(\w+)/g, (_, name) => named[name] ?? assert.fail(`no sample for :${name}`))
  const byUrl = route.operationId === 'getDeploymentByUrl' ? `url=${named.idOrUrl}` : ''
  const url = withQuery(filled, QUERIES[route.operationId] ?? byUrl)
  if (!route.body) return { method: route.method, url, body: undefined }
  if (route.auth === 'client') return { method: route.method, url, body: formOf(samples) }
  const body =
    sharedBody(route, samples) ?? BODIES[route.operationId] ?? assert.fail(`no sample body for ${route.operationId}`)
  const user = BODIES_THAT_NAME_A_USER[route.operationId]
  const team = BODIES_THAT_NAME_A_TEAM.has(route.operationId)
  if (route.textBody) return { method: route.method, url, body }
  if (route.operationId === 'joinTeam') return { method: route.method, url, body: { inviteCode: samples.invitationId } }
  const names = { ...(user && { [user]: samples.spare.id }), ...(team && { teamId: samples.teamId }) }
  return { method: route.method, url, body: { ...body, ...names } }
}

/** What names a shared variable in its body. */
function sharedBody({ operationId }: Route, samples: Samples): object | undefined {
  if (operationId === 'updateSharedEnvVariable') return { updates: { [samples.sharedId]: { comment: 'sample' } } }
  return operationId === 'deleteSharedEnvVariable' ? { ids: [samples.sharedToDelete] } : undefined
}

/** A body for every request of an app: fields that a route does not know are dropped. */
function formOf({ apps, code }: Samples): object {
  const { clientId: client_id, clientSecret: client_secret } = apps.helper
  return { client_id, client_secret, code, redirect_uri: REDIRECT, token: 'berth_unknown' }
}

/** The query that the first user's call needs to succeed: routes of a team name one. */
export function teamQuery(route: Route, samples: Samples): string {
  return route.auth === 'public' && OF_TEAMS.test(route.path) ? `teamId=${samples.teamId}` : ''
}

function appFor({ path, method, auth }: Route, { apps }: Samples): App {
  const operator = auth === 'operator'
  if (path.includes('/secrets')) return operator ? apps['operators-secrets'] : apps['teams-secrets']
  if (method === 'DELETE') return operator ? apps['operators-last'] : apps['teams-last']
  return apps.helper
}

function idFor(route: Route, samples: Samples): string {
  if (route.operationId === 'operatorRetireKey') return samples.idleKeyId
  if (route.path.includes('/integrations/configuration/')) return samples.installationId
  if (route.operationId === 'cancelDeployment') return samples.buildingId
  if (/\/deployments\/:id\/files/.test(route.path)) return samples.siteId
  if (route.path.includes('/deployments/')) return samples.deploymentId
  if (route.path.includes('/webhooks/')) return samples.webhookId
  if (route.path.includes('/integrations/log-drains/')) return samples.otherDrainId
  if (route.path.includes('/log-drains/')) return samples.drainId
  if (route.path.includes('/drains/')) return samples.newerDrainId
  if (route.path.includes('/webhook-deliveries/')) return samples.operatorsDeliveryId
  if (/\/integrations\/(apps\/)?:id/.test(route.path)) return appFor(route, samples).id
  if (route.path.includes('/user/tokens/')) return samples.ownTokenId
  if (route.path.startsWith('/v1/env/')) return samples.sharedId
  return route.path.includes('/env/') ? samples.envId : samples.spare.tokenId
}

export const PUBLIC = ROUTES.filter((route) => route.auth === 'public')
export const CLIENTS = ROUTES.filter((route) => route.auth === 'client')
export const OPERATORS = ROUTES.filter((route) => route.auth === 'operator')
/** The routes whose subject is one project. */
export const ON_PROJECT = PUBLIC.filter((route) => /:(idOrName|projectId)/.test(route.path))

/** Who calls a route in the first user's world. */
export function callerOf(route: Route, world: World): Call {
  if (route.auth === 'client') return world.as(undefined)
  return route.auth === 'operator' ? world.operator : world.call
}

/** The path of a request without its version. */
export function unversionedSamplePath(asked: SampleRequest): string {
  return unversionedPath(asked.url)
}
