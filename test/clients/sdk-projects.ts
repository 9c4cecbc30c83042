/** Projects, their variables and what is set on them: bare, and with everything that a project can have, at every git provider. */
import assert from 'node:assert/strict'
import { seedDeployment } from '../support/projects.ts'
import {
  BESIDE,
  GIT_PROVIDERS,
  ON_CREATE,
  ON_UPDATE,
  SECRET_VARIABLE,
  VARIABLES,
} from '../support/worlds/full-project.ts'
import type { Decoded } from './sdk-client.ts'
import type { Story } from './sdk-story.ts'

export type Projects = {
  bare: Decoded
  /** The full ones: linked to github, gitlab and bitbucket. */
  full: Decoded[]
  /** A READY production deployment of each full one. */
  deployments: string[]
  /** Deletes them all. */
  end(): Promise<void>
}

const FIRST_VARIABLES = [
  { key: 'FIRST', value: 'f', target: 'production', type: 'encrypted' },
  { key: 'BRANCH', value: 'b', target: 'preview', gitBranch: 'dev', type: 'plain' },
]
const TOKEN = { key: 'TOKEN', value: 'hunter2', type: 'encrypted', target: ['production', 'preview'], comment: 'c' }

const LOST: readonly [before: string, operations: string[], why: string][] = [
  [
    '1.8.0',
    ['editProjectEnv', 'listPromoteAliases'],
    'Up to 1.7 the SDK decodes this response to `{}`; the request works.',
  ],
  [
    '1.8.0',
    ['getProjects', 'updateProject', 'updateProjectDataCache'],
    'Up to 1.7 the SDK drops `addresses` and `protectionMode` of `trustedIps`, and keeps its `deploymentType`.',
  ],
  [
    '1.18.6',
    ['getProjectEnv'],
    'Up to 1.18.5 the SDK drops `value` of one variable when `decrypted` is next to it, as it must; `filterProjectEnvs` with ' +
      '`decrypt` has both.',
  ],
  ['1.8.0', ['filterProjectEnvs'], 'Up to 1.7 the SDK drops `pagination` of this answer.'],
]

/** Makes them, fills them, and reads and changes every part of them. */
export async function tellProjects(story: Story): Promise<Projects> {
  const { use, raw, accountId, label } = story
  for (const [before, operations, why] of LOST)
    if (story.before(before))
      for (const operation of operations) story.remarks.set(operation, { outcome: 'works', why })
  const bare = await use('createProject', { requestBody: { name: 'bare' } }, (made) => {
    assert.deepEqual([made.name, made.accountId, made.framework, made.nodeVersion], ['bare', accountId, null, '22.x'])
    assert.deepEqual([made.directoryListing, made.link, made.trustedIps], [false, undefined, null])
  })
  const full: Decoded[] = []
  for (const type of GIT_PROVIDERS) {
    const requestBody = {
      ...ON_CREATE,
      name: `${label}-${type}`,
      environmentVariables: FIRST_VARIABLES,
      gitRepository: { type, repo: 'acme/web' },
    }
    const made = await use('createProject', { requestBody }, (project) => {
      assert.deepEqual([project.framework, project.buildCommand, project.env.length], ['nextjs', 'make', 2])
      assert.deepEqual([project.link.type, project.link.productionBranch], [type, 'main'])
    })
    const stored = await raw('GET', `/v9/projects/${made.id}`)
    assert.deepEqual({ ...made.link }, stored.link, `every field of a link to ${type}`)
    full.push(made)
  }
  const deployments = await Promise.all(full.map((project) => fill(story, project)))
  await readVariables(story, bare, full)
  await readProjects(story, bare, full, deployments)
  await pauseAndClear(story, bare, full)
  await transfer(story)
  return { bare, full, deployments, end: () => endProjects(story, [bare, ...full]) }
}

/** Settings, variables of every type, a secret that bypasses the protection, the data cache off, and a deployment. */
async function fill(story: Story, project: Decoded): Promise<string> {
  const { use, raw, world } = story
  const idOrName = project.id
  await raw('PATCH', `/v9/projects/${idOrName}`, BESIDE)
  await use('createProjectEnv', { idOrName, requestBody: TOKEN }, ({ created, failed }) =>
    assert.deepEqual([created.key, created.type, failed], ['TOKEN', 'encrypted', []]),
  )
  await use('createProjectEnv', { idOrName, requestBody: VARIABLES }, ({ created, failed }) =>
    assert.deepEqual([created.length, failed], [VARIABLES.length, []]),
  )
  await raw('POST', `/v10/projects/${idOrName}/env`, SECRET_VARIABLE)
  await use('createProjectEnv', { idOrName, upsert: 'true', requestBody: [{ ...TOKEN, value: 'new' }] }, (answer) =>
    assert.equal(answer.created.length, 1),
  )
  await use('createProjectEnv', { idOrName, requestBody: [TOKEN, { ...TOKEN, key: 'NEXT' }] }, ({ created, failed }) =>
    assert.deepEqual([created.length, failed[0].error.code], [1, 'ENV_ALREADY_EXISTS']),
  )
  const generated = await use('updateProjectProtectionBypass', { idOrName, requestBody: { generate: {} } })
  const [secret] = Object.keys(generated.protectionBypass)
  assert.match(secret!, /^[A-Za-z0-9]{32}$/)
  await raw('PATCH', `/v1/data-cache/projects/${idOrName}`, { disabled: true })
  for (const readyState of ['QUEUED', 'INITIALIZING', 'BUILDING', 'CANCELED', 'ERROR'])
    await seedDeployment(world, project.id, {
      url: `${readyState.toLowerCase()}-${project.name}.host.test`,
      readyState,
      target: null,
      gitBranch: 'dev',
    })
  const url = `${project.name}-1.host.test`
  const id = await seedDeployment(world, project.id, { url, meta: { githubCommitRef: 'main' } })
  await use('updateProject', { idOrName, requestBody: ON_UPDATE }, (changed) => isFull(story, changed, project))
  return id
}

/** What a full project must decode to, in whichever answer it comes. */
function isFull(story: Story, project: Decoded, made: Decoded): void {
  assert.deepEqual([project.id, project.name, project.link.type], [made.id, made.name, made.link.type])
  assert.deepEqual([project.nodeVersion, project.gitForkProtection, project.skewProtectionMaxAge], ['18.x', false, 60])
  assert.deepEqual([project.installCommand, project.gitLFS], ['i', true])
  // From 1.11 on it is part of what a project sends, and of no answer.
  if (story.before('1.11.0')) assert.equal(project.serverlessFunctionRegion, 'fra1')
  assert.equal(project.env.length, 8)
  assert.deepEqual(project.env.map(({ type }: Decoded) => type).toSorted(), [
    'encrypted',
    'encrypted',
    'encrypted',
    'plain',
    'plain',
    'secret',
    'sensitive',
    'system',
  ])
  assert.equal(project.ssoProtection.deploymentType, 'preview')
  assert.equal(project.trustedIps.deploymentType, 'all')
  // Up to 1.7.7 the SDK takes the short variant of its union, whatever comes (docs/spec/wire.md 4.4).
  if (!story.before('1.8.0')) assert.equal(project.trustedIps.addresses[0].value, '10.0.0.0/8')
  assert.ok(project.passwordProtection)
  assert.equal((Object.values(project.protectionBypass) as Decoded[])[0].scope, 'automation-bypass')
  assert.equal(project.dataCache.userDisabled, true)
  assert.equal(project.latestDeployments.length, 5)
  assert.equal(project.targets.production.readyState, 'READY')
  assert.ok(project.createdAt > 1_700_000_000_000 && project.updatedAt >= project.createdAt)
}

async function readVariables(story: Story, bare: Decoded, full: Decoded[]): Promise<void> {
  const { use, raw } = story
  await use('filterProjectEnvs', { idOrName: bare.id }, ({ envs }) => assert.deepEqual(envs, []))
  const [{ id: idOrName }] = full
  const list = await use('filterProjectEnvs', { idOrName, decrypt: 'true', source: 'vercel-cli:pull' }, ({ envs }) => {
    const shown = Object.fromEntries(envs.map(({ key, value }: Decoded) => [key, value]))
    assert.deepEqual(shown, {
      ...{ FIRST: 'f', BRANCH: 'b', TOKEN: 'new', NEXT: 'hunter2' },
      ...{ K_plain: 'v', K_sensitive: '', K_secret: 'v', VERCEL_URL: 'VERCEL_URL' },
    })
  })
  for (const { id, key, type } of list.envs)
    await use('getProjectEnv', { idOrName, id }, (env) => {
      assert.deepEqual([env.key, env.type], [key, type])
      if (key === 'TOKEN' && !story.before('1.18.6')) assert.deepEqual([env.value, env.decrypted], ['new', true])
    })
  const { id } = list.envs.find(({ key }: Decoded) => key === 'TOKEN')
  await use('editProjectEnv', { idOrName, id, requestBody: { target: ['preview'], comment: 'edited' } })
  const edited = await raw('GET', `/v1/projects/${idOrName}/env/${id}`)
  assert.deepEqual([edited.target, edited.comment, edited.value], [['preview'], 'edited', 'new'])
  await raw('PATCH', `/v9/projects/${idOrName}/env/${id}`, { target: TOKEN.target, comment: TOKEN.comment })

  const spare = { idOrName: bare.id, requestBody: { key: 'SPARE', value: 's', type: 'plain', target: ['preview'] } }
  const { created } = await use('createProjectEnv', spare)
  await use('removeProjectEnv', { idOrName: bare.id, id: created.id })
  const again = await use('createProjectEnv', spare)
  const ids = [again.created.id]
  await use('batchRemoveProjectEnv', { idOrName: bare.id, requestBody: { ids } }, (gone) =>
    assert.deepEqual([gone.deleted, gone.ids], [1, ids]),
  )
  if (!story.has('batchRemoveProjectEnv')) await raw('DELETE', `/v9/projects/${bare.id}/env/${ids[0]}`)
}

async function readProjects(story: Story, bare: Decoded, full: Decoded[], deployments: string[]): Promise<void> {
  const { use, label } = story
  const expected = [...full.map(({ name }) => name), 'bare'].toSorted()
  await use('getProjects', { limit: '50' }, ({ projects, pagination }) => {
    assert.deepEqual(projects.map(({ name }: Decoded) => name).toSorted(), expected)
    assert.deepEqual({ ...pagination }, { count: 4, next: null, prev: null })
    for (const [at, made] of full.entries()) {
      const found = projects.find(({ id }: Decoded) => id === made.id)
      isFull(story, found, made)
      assert.equal(found.targets.production.id, deployments[at])
    }
  })
  await use('getProjects', { search: `${label.toUpperCase()}-GIT`, limit: '1' }, ({ projects, pagination }) => {
    assert.deepEqual([projects.length, pagination.count, typeof pagination.next], [1, 1, 'number'])
  })
  for (const project of [bare, ...full])
    for (const idOrName of [project.id, project.name])
      await use('getProject', { idOrName }, (found) => {
        assert.equal(found.id, project.id)
        if (project !== bare) isFull(story, found, project)
      })
}

async function pauseAndClear(story: Story, bare: Decoded, full: Decoded[]): Promise<void> {
  const { use, raw } = story
  const paused = async ({ id }: Decoded) => (await raw('GET', `/v9/projects/${id}`)).paused
  for (const project of [bare, full[0]]) {
    const projectId = project.id
    await use('pauseProject', { projectId }, async () => assert.equal(await paused(project), true))
    await use('unpauseProject', { projectId }, async () => assert.equal(await paused(project), false))
    await use('updateProjectDataCache', { projectId, requestBody: { disabled: true } }, (switched) => {
      assert.deepEqual([switched.id, switched.dataCache.userDisabled], [projectId, true])
      if (project !== bare) isFull(story, switched, project)
    })
    const purged = { projectIdOrName: project.name, requestBody: { tags: ['news'] } }
    for (const operation of ['invalidateByTags', 'dangerouslyDeleteByTags']) await use(operation, purged)
  }
  const cleared = {
    framework: null,
    buildCommand: null,
    ssoProtection: null,
    trustedIps: null,
    passwordProtection: null,
  }
  await use('updateProject', { idOrName: 'bare', requestBody: cleared }, (changed) =>
    assert.deepEqual([changed.id, changed.framework, changed.ssoProtection], [bare.id, null, null]),
  )
  const made = await use('updateProjectProtectionBypass', { idOrName: 'bare', requestBody: { generate: {} } })
  const [secret] = Object.keys(made.protectionBypass)
  const requestBody = { revoke: { secret, regenerate: false } }
  await use('updateProjectProtectionBypass', { idOrName: 'bare', requestBody }, (revoked) =>
    assert.deepEqual(revoked.protectionBypass, {}),
  )
}

/** Gives one away, and takes one. */
async function transfer(story: Story): Promise<void> {
  const { use, raw, world, label } = story
  const rival = await world.user(`rival-of-${label}`)
  const passed = () => world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
  await raw('POST', '/v10/projects', { name: 'gift' })
  const given = await use('createProjectTransferRequest', { idOrName: 'gift', requestBody: {} })
  if (given === undefined) return void (await raw('DELETE', '/v9/projects/gift'))
  if (story.before('1.4.0')) {
    story.remarks.set('createProjectTransferRequest', { outcome: 'works', why: NO_CODE })
    given.code = (await raw('POST', '/projects/gift/transfer-request', {})).code
  }
  assert.equal((await rival.call('PUT', `/projects/transfer-request/${given.code}`, {})).status, 202)
  await passed()
  assert.equal((await rival.call('GET', '/v9/projects/gift')).status, 200)

  const { code } = (await rival.call('POST', '/projects/gift/transfer-request', {})).body
  await use('acceptProjectTransferRequest', { code, requestBody: { newProjectName: 'taken' } })
  await passed()
  assert.equal((await raw('GET', '/v9/projects/taken')).transferredFromAccountId, rival.id)
  await raw('DELETE', '/v9/projects/taken')
}

const NO_CODE = '1.3 declares no field of this answer, and drops the code that is in it: ask without the SDK.'

async function endProjects({ use }: Story, projects: Decoded[]): Promise<void> {
  for (const { id } of projects) await use('deleteProject', { idOrName: id })
  await use('getProjects', {}, (left) => assert.deepEqual(left.projects, []))
}
