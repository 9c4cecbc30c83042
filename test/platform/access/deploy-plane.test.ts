/**
 * Every operation of deployments, their files and aliases × role × kind of token × whose deployment it is, by a table that is written by hand; what an account
 * is shown of bytes that only another one has. docs/deploying-sites.md, docs/building.md, docs/spec/decisions.md: Accounts, actors, permissions.
 */
import assert from 'node:assert/strict'
import { cliHeaders, sha1Of } from '../../delivery/uploads/uploading.ts'
import { callWith } from '../../support/call.ts'
import { seedProject } from '../../support/projects.ts'
import { deploySite, PUBLIC } from '../../support/sample-requests.ts'
import { markDomainsVerified } from '../../support/states.ts'
import { type Call, type Method, onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'
import { SETTINGS } from '../../support/worlds/sites-world.ts'

/** `build`: a deployment from source that waits. `ended`: one that was canceled. */
type Place = { site: string; file: string; alias: string; url: string; projectId: string; build: string; ended: string }
type Asked = [method: Method, path: string, body?: object | Buffer]
type Row = { is: 'read' | 'write' | 'list'; of?: 'account'; ask: (place: Place) => Asked }

const at = (is: Row['is'], ask: Row['ask'], of?: 'account'): Row => ({ is, ask, ...(of && { of }) })
const CONFIG = { file: '.vercel/output/config.json', data: '{"version":3}' }
const SOURCE = { file: 'index.html', data: 'source' }
const BYTES = Buffer.from('uploaded')

/** TABLE each operation, with a request that is accepted where it is allowed. `account`: it names no deployment and no project. */
const OPERATIONS: Record<string, Row> = {
  uploadFile: at('write', () => ['POST', '/v2/files', BYTES], 'account'),
  createDeployment: at('write', ({ projectId }) => [
    'POST',
    '/v13/deployments',
    { name: 'web', project: projectId, files: [CONFIG] },
  ]),
  'createDeployment, again': at('write', ({ site }) => [
    'POST',
    '/v13/deployments?forceNew=1',
    { name: 'web', deploymentId: site, meta: { action: 'redeploy' } },
  ]),
  'createDeployment, from source': at('write', ({ projectId }) => [
    'POST',
    '/v13/deployments',
    { name: 'web', project: projectId, files: [SOURCE] },
  ]),
  'createDeployment, built again': at('write', ({ ended }) => [
    'POST',
    '/v13/deployments?forceNew=1',
    { name: 'web', deploymentId: ended, meta: { action: 'redeploy' } },
  ]),
  getDeployments: at('list', () => ['GET', '/v6/deployments']),
  getDeployment: at('read', ({ site }) => ['GET', `/v13/deployments/${site}`]),
  getDeploymentByUrl: at('read', ({ url }) => ['GET', `/v13/deployments/get?url=${url}`]),
  getDeploymentEvents: at('read', ({ site }) => ['GET', `/v3/deployments/${site}/events`]),
  'getDeploymentEvents, of a build': at('read', ({ build }) => ['GET', `/v3/deployments/${build}/events`]),
  'getDeploymentEvents, followed': at('read', ({ ended }) => [
    'GET',
    `/v3/deployments/${ended}/events?follow=1&format=lines`,
  ]),
  'listDeploymentBuilds, of a build': at('read', ({ build }) => ['GET', `/v11/deployments/${build}/builds`]),
  listDeploymentBuilds: at('read', ({ site }) => ['GET', `/v11/deployments/${site}/builds`]),
  getDeploymentUsage: at('read', ({ site }) => ['GET', `/v1/deployments/${site}/usage`]),
  getRuntimeLogs: at('read', ({ site, projectId }) => [
    'GET',
    `/v1/projects/${projectId}/deployments/${site}/runtime-logs`,
  ]),
  listRequestLogs: at('read', ({ site, projectId }) => [
    'GET',
    `/api/logs/request-logs?projectId=${projectId}&deploymentId=${site}`,
  ]),
  listLogEvents: at('read', ({ projectId }) => [
    'POST',
    '/v1/observability/events',
    { event: 'vercel.log', scope: { projectIds: [projectId] }, timeRange: { start: '2026-01-01', end: '2026-01-02' } },
  ]),
  listDeploymentFiles: at('read', ({ site }) => ['GET', `/v6/deployments/${site}/files`]),
  getDeploymentFileContents: at('read', ({ site, file }) => ['GET', `/v8/deployments/${site}/files/${file}`]),
  listDeploymentAliases: at('read', ({ site }) => ['GET', `/v2/deployments/${site}/aliases`]),
  listAliases: at('list', () => ['GET', '/v4/aliases']),
  getAlias: at('read', ({ alias }) => ['GET', `/v4/aliases/${alias}`]),
  listPromoteAliases: at('read', ({ projectId }) => ['GET', `/v1/projects/${projectId}/promote/aliases`]),
  listRollbackAliases: at('read', ({ projectId }) => ['GET', `/v9/projects/${projectId}/rollback/aliases`]),
  assignAlias: at('write', ({ site, alias }) => ['POST', `/v2/deployments/${site}/aliases`, { alias }]),
  cancelDeployment: at('write', ({ site }) => ['PATCH', `/v12/deployments/${site}/cancel`]),
  'cancelDeployment, of a build': at('write', ({ build }) => ['PATCH', `/v12/deployments/${build}/cancel`]),
  updateDeploymentExpiration: at('write', ({ projectId }) => [
    'PATCH',
    `/v9/projects/${projectId}/deployment-expiration`,
    { expiration: '1y' },
  ]),
  requestPromote: at('write', ({ site, projectId }) => ['POST', `/v10/projects/${projectId}/promote/${site}`, {}]),
  requestRollback: at('write', ({ site, projectId }) => ['POST', `/v1/projects/${projectId}/rollback/${site}`, {}]),
  deleteAlias: at('write', ({ alias }) => ['DELETE', `/v2/aliases/${alias}`]),
  deleteDeployment: at('write', ({ site }) => ['DELETE', `/v13/deployments/${site}`]),
}

type Outcome = 'in' | 'no' | 'missing' | 'stranger'
/** The outcome for a caller: of reads, of writes, and of what names neither a deployment nor a project. */
type Rights = { read: Outcome; write: Outcome; account: Outcome; sees: boolean }

const ALL: Rights = { read: 'in', write: 'in', account: 'in', sees: true }
const READS: Rights = { read: 'in', write: 'no', account: 'no', sees: true }
const NOTHING: Rights = { read: 'no', write: 'no', account: 'no', sees: false }
/** A token for another project: this one is not there. */
const ELSEWHERE: Rights = { read: 'missing', write: 'missing', account: 'in', sees: false }
const STRANGER: Rights = { read: 'stranger', write: 'stranger', account: 'stranger', sees: false }

/** TABLE what each role of a team may, by any token of theirs. */
const ROLES: Record<string, Rights> = { OWNER: ALL, MEMBER: ALL, DEVELOPER: ALL, VIEWER: READS, BILLING: NOTHING }
const READ_SCOPES = ['read:project', 'read:deployment']
const WRITE_SCOPES = ['read-write:project', 'read-write:deployment', 'read-write:domain']

type Caller = { name: string; rights: Rights; call: Call }

async function callersOf(world: World, otherProjectId: string): Promise<Caller[]> {
  const { teamId, userId } = world.credentials
  const query = `teamId=${teamId}`
  const token = async (wanted: object) =>
    world.as((await world.operator('POST', '/operator/v1/tokens', wanted)).body.token)
  const callers: Caller[] = []
  for (const [role, rights] of Object.entries(ROLES)) {
    const user = await world.user(role.toLowerCase())
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role })
    callers.push({ name: role, rights, call: callWith(user.call, query) })
    callers.push({ name: `${role}, by a token of the team`, rights, call: await token({ userId: user.id, teamId }) })
  }
  const foreign = await world.user('foreign')
  const narrow = { userId, teamId, projectIds: [otherProjectId] }
  return [
    ...callers,
    { name: 'read scopes', rights: READS, call: await token({ userId, teamId, scopes: READ_SCOPES }) },
    { name: 'write scopes', rights: ALL, call: await token({ userId, teamId, scopes: WRITE_SCOPES }) },
    { name: 'other scopes', rights: NOTHING, call: await token({ userId, teamId, scopes: ['read-write:user'] }) },
    { name: 'a token of another project', rights: ELSEWHERE, call: await token(narrow) },
    { name: 'an installation', rights: ALL, call: await installed(world, 'sees-all', 'all') },
    {
      name: 'an installation on another project',
      rights: ELSEWHERE,
      call: await installed(world, 'sees-some', [otherProjectId]),
    },
    { name: 'a foreign account', rights: { ...ELSEWHERE }, call: foreign.call },
    { name: 'a foreign account that names the team', rights: NOTHING, call: callWith(foreign.call, query) },
    { name: 'the operator', rights: STRANGER, call: world.operator },
    { name: 'nobody', rights: STRANGER, call: world.as(undefined) },
  ]
}

async function installed(world: World, slug: string, projects: 'all' | string[]): Promise<Call> {
  const { teamId, userId } = world.credentials
  const app = await seedIntegration(world, { slug, name: slug, teamId, scopes: WRITE_SCOPES })
  const { code } = await consentAndInstall(world, app, { userId, teamId, projects })
  return callWith(world.as((await exchange(world, app, code)).body.access_token), `teamId=${teamId}`)
}

onBothEngines(
  'each operation of deployments accepts the callers of the table, and shows others no deployment',
  async (world) => {
    const operations = new Set(Object.keys(OPERATIONS).map((name) => name.split(',')[0]!))
    const routes = PUBLIC.filter(({ tag }) => tag === 'deployments').map(({ operationId }) => operationId)
    assert.deepEqual([...operations].sort(), routes.sort())
    const owner = callWith(world.call, `teamId=${world.credentials.teamId}`)
    const projectId = await seedProject(world, 'web', `?teamId=${world.credentials.teamId}`)
    const otherId = await seedProject(world, 'other', `?teamId=${world.credentials.teamId}`)
    const faults: string[] = []
    for (const { name, rights, call } of await callersOf(world, otherId)) {
      const place = await openPlace(world, owner, projectId, name)
      for (const [operation, row] of Object.entries(OPERATIONS)) {
        const answer = await ask(call, row.ask(place))
        const outcome = outcomeOf(answer.status)
        const wanted = row.is === 'list' ? listed(rights) : rights[row.of ?? (row.is as 'read' | 'write')]
        const said = `${name}, ${operation}: ${answer.status} ${answer.text.slice(0, 200)}`
        if (outcome !== wanted) faults.push(`${said}, not ${wanted}`)
        if (row.is === 'list' && outcome === 'in' && answer.text.includes(place.site) !== rights.sees) faults.push(said)
      }
    }
    assert.deepEqual(faults, [])
  },
  { ...SETTINGS, BERTH_BUILDS: 'sandboxed' },
)

/** A site with an alias of its own and two builds, which the caller may end. */
async function openPlace(world: World, owner: Call, projectId: string, name: string): Promise<Place> {
  const { siteId: site, fileId: file } = await deploySite(owner, `<h1>${name}</h1>`)
  const { body } = await owner('GET', `/v13/deployments/${site}`)
  const alias = `${name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}.example.com`
  await owner('POST', `/v10/projects/${projectId}/domains`, { name: alias })
  await markDomainsVerified(world)
  await owner('POST', `/v2/deployments/${site}/aliases`, { alias })
  const queue = async (which: string) => {
    const files = { name: 'web', project: projectId, files: [SOURCE], meta: { of: name, which } }
    return (await owner('POST', '/v13/deployments?forceNew=1', files)).body.id
  }
  const [build, ended] = [await queue('build'), await queue('ended')]
  await owner('PATCH', `/v12/deployments/${ended}/cancel`)
  return { site, file, alias, url: body.url, projectId, build, ended }
}

function ask(call: Call, [method, path, body]: Asked) {
  if (!(body instanceof Buffer)) return call.try(method, path, body)
  return call.try(method, path, body, { 'content-type': 'application/octet-stream', ...cliHeaders(body) })
}

function outcomeOf(status: number): Outcome {
  if (status === 401) return 'stranger'
  if (status === 403) return 'no'
  return status === 404 ? 'missing' : 'in'
}

function listed({ read }: Rights): Outcome {
  return read === 'missing' ? 'in' : read
}

onBothEngines('bytes of another account are never confirmed, by a create or by an upload', async (world) => {
  const { teamId } = world.credentials
  const foreign = await world.user('foreign')
  const team = callWith(world.call, `teamId=${teamId}`)
  const owners: [string, Call][] = [
    ['a foreign account', foreign.call],
    ['a team of the same user', team],
  ]
  for (const [name, owner] of owners) {
    const [theirs, unknown] = [
      Buffer.from(`what ${name} has`),
      Buffer.from(`what no account has, not even ${name}`.slice(0, 40)),
    ]
    assert.equal((await ask(owner, ['POST', '/v2/files', theirs])).status, 200)
    const asked = await Promise.all([theirs, unknown].map((bytes) => createOf(world.call, bytes)))
    const [said, nothing] = asked.map(({ status, text, headers }, at) => ({
      status,
      text: text.replaceAll(sha1Of([theirs, unknown][at]!), 'SHA1'),
      headers: Object.keys(headers).sort(),
    }))
    assert.equal(said!.status, 400)
    assert.match(said!.text, /missing_files/)
    assert.deepEqual(said, nothing, name)
    const uploads = []
    for (const bytes of [theirs, unknown, theirs, unknown]) {
      const { status, text, headers } = await ask(world.call, ['POST', '/v2/files', bytes])
      uploads.push({ status, text, headers: Object.keys(headers).sort() })
    }
    assert.deepEqual(uploads, Array(4).fill(uploads[0]), name)
    assert.equal(uploads[0]!.status, 200)
  }
})

/** Asks for a deployment of one file that was not sent. */
function createOf(call: Call, bytes: Buffer) {
  const file = { file: '.vercel/output/static/a', sha: sha1Of(bytes), size: bytes.length, mode: 0o100644 }
  return call.try('POST', '/v13/deployments?skipAutoDetectionConfirmation=1', { name: 'web', files: [CONFIG, file] })
}
