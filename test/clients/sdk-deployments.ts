/** Deployments and the aliases that point to them; promote, and back. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { seedDeployment } from '../support/projects.ts'
import type { Decoded } from './sdk-client.ts'
import type { Projects } from './sdk-projects.ts'
import type { Story } from './sdk-story.ts'

/** Promotes a second deployment of a full project, rolls back, and reads what there is. */
export async function tellBuild(story: Story, { bare, full, deployments }: Projects): Promise<void> {
  const { use, raw, world } = story
  const projectId = full[0].id
  const first = deployments[0]!
  const sweep = () => world.operator('POST', '/operator/v1/timers/alias-requests/run', {})
  const live = async () => (await raw('GET', `/v9/projects/${projectId}`)).targets.production.id

  await use('listPromoteAliases', { projectId: bare.id }, (never) => assert.deepEqual(Object.keys(never ?? {}), []))
  const second = await seedDeployment(world, projectId, {
    url: `second-${story.label}.host.test`,
  })
  await use('requestPromote', { projectId, deploymentId: second })
  await sweep()
  assert.equal(await live(), second)
  await use('listPromoteAliases', { projectId, limit: 2, failedOnly: false }, ({ aliases, pagination }) => {
    if (story.before('1.8.0')) return
    assert.deepEqual(aliases.map(({ status }: Decoded) => status).toSorted(), ['completed', 'completed'])
    assert.equal(pagination.count, 2)
  })
  const follows = ({ lastAliasRequest }: Decoded) =>
    assert.deepEqual([lastAliasRequest.toDeploymentId, lastAliasRequest.type], [second, 'promote'])
  if (story.has('getProject')) await use('getProject', { idOrName: projectId }, follows)
  else await use('getProjects', { search: full[0].name }, ({ projects: [project] }) => follows(project))
  await use('requestRollback', { projectId, deploymentId: first })
  await sweep()
  if (story.has('requestRollback')) assert.equal(await live(), first)
  await readDeployments(story, full, first)
  await readAliases(story, story.has('requestRollback') ? first : second)
  await removeOne(story, projectId)
  await uploadOne(story)
  await deployFiles(story, projectId)
  await cancelOne(story, projectId)
}

async function removeOne(story: Story, projectId: string): Promise<void> {
  const { use, world, label } = story
  const url = `gone-${label}.host.test`
  const id = await seedDeployment(world, projectId, { url, target: 'preview' })
  await use('getDeploymentEvents', { idOrUrl: url }, (events) => {
    if (!Array.isArray(events)) return void story.remarks.set('getDeploymentEvents', NO_ANSWER)
    assert.deepEqual(
      events.map(({ info }: Decoded) => info.readyState),
      ['QUEUED', 'READY', 'READY'],
    )
  })
  await use('getRuntimeLogs', { projectId, deploymentId: id }, (line) => assert.equal(line.source, 'delimiter'))
  const asked = { name: label, deploymentId: id, target: 'production', meta: { action: 'promote' } }
  await use('createDeployment', { requestBody: asked }, (promoted) => assert.equal(promoted.id, id))
  await world.operator('POST', '/operator/v1/timers/alias-requests/run', {})
  await use('deleteDeployment', { id }, ({ uid, state }) => assert.deepEqual([uid, state], [id, 'DELETED']))
}

const NO_ANSWER = { outcome: 'works', why: 'These versions declare and return no response.' } as const

/** Uploads a file; versions before 1.6 send no body, so that theirs is empty. */
async function uploadOne({ use, before, remarks, label }: Story): Promise<void> {
  const requestBody = new TextEncoder().encode(before('1.6.0') ? '' : `uploaded for a ${label}`)
  const digest = createHash('sha1').update(requestBody).digest('hex')
  const { length } = requestBody
  // Versions before 1.3 send "undefined" for each header that is not given.
  const headers = { contentLength: length, xNowSize: length, xNowDigest: digest, xVercelDigest: digest }
  await use('uploadFile', { ...headers, requestBody }, (answer) => assert.deepEqual(answer?.urls ?? [], []))
  if (before('1.6.0')) remarks.set('uploadFile', SENDS_NOTHING)
}

/** Deploys files that the request itself holds, and reads them back. */
async function deployFiles({ use, raw, label }: Story, projectId: string): Promise<void> {
  const page = `<h1>${label}</h1>`
  const files = [
    { file: '.vercel/output/config.json', data: '{"version":3}' },
    { file: '.vercel/output/static/index.html', data: page },
  ]
  const { id } = await raw('POST', '/v13/deployments?prebuilt=1', { name: label, project: projectId, files })
  await use('listDeploymentFiles', { id }, (tree) =>
    assert.deepEqual(
      tree.map(({ name, type }: Decoded) => [name, type]),
      [['index.html', 'file']],
    ),
  )
  const [{ uid: fileId }] = await raw('GET', `/v6/deployments/${id}/files`)
  await use('getDeploymentFileContents', { id, fileId })
}

async function cancelOne({ use, world, label }: Story, projectId: string): Promise<void> {
  const url = `waiting-${label}.host.test`
  const id = await seedDeployment(world, projectId, { url, target: 'preview', readyState: 'QUEUED' })
  await use('cancelDeployment', { id }, (canceled) =>
    assert.deepEqual([canceled.id, canceled.readyState], [id, 'CANCELED']),
  )
}

const SENDS_NOTHING = { outcome: 'works', why: 'These versions send no content, so the file is empty.' } as const

async function readDeployments({ use, label }: Story, full: Decoded[], first: string): Promise<void> {
  const [{ id: projectId, name }] = full
  await use('getDeployments', { projectId, limit: 10, target: 'production' }, ({ deployments }) => {
    const found = deployments.find(({ uid }: Decoded) => uid === first)
    assert.deepEqual([deployments.length, found.name, found.url], [2, name, `${name}-1.host.test`])
    assert.equal(found.meta.githubCommitRef, 'main')
  })
  await use('getDeployments', { limit: 100 }, ({ deployments, pagination }) =>
    assert.deepEqual([deployments.length, pagination.next], [19, null]),
  )
  for (const idOrUrl of [first, `${name}-1.host.test`])
    await use('getDeployment', { idOrUrl }, (one) => assert.deepEqual([one.id, one.readyState], [first, 'READY']))
  await use('getDeployment', { idOrUrl: `canceled-${label}-gitlab.host.test` }, (one) =>
    assert.equal(one.readyState, 'CANCELED'),
  )
}

async function readAliases(story: Story, live: string): Promise<void> {
  const { use, label } = story
  const list = await use('listAliases', { limit: 10 }, ({ aliases, pagination }) => {
    assert.ok(aliases.length > 0 && pagination.count === aliases.length)
    assert.ok(aliases.some(({ deploymentId }: Decoded) => deploymentId === live))
  })
  const { alias, uid } = list.aliases.find(({ deploymentId }: Decoded) => deploymentId === live)
  assert.match(alias, new RegExp(label))
  await (listsOneAlias(story)
    ? tellContradiction(story, alias)
    : use('getAlias', { idOrAlias: alias }, (found) => {
        assert.deepEqual([found.alias, found.deploymentId], [alias, live])
        assert.ok(found.created instanceof Date)
      }))
  const assigned = { alias: `assigned-${label}.apps.example.net` }
  await use('assignAlias', { id: live, requestBody: assigned }, (made) => {
    assert.equal(made.alias, assigned.alias)
    assert.ok(made.created instanceof Date)
  })
  await use('listDeploymentAliases', { id: live }, ({ aliases }) =>
    assert.ok(aliases.some((found: Decoded) => found.alias === alias)),
  )
  await use('deleteAlias', { aliasId: uid }, ({ status }) => assert.equal(status, 'SUCCESS'))
}

function listsOneAlias({ before }: Story): boolean {
  return !before('1.11.0') && before('1.18.6')
}

async function tellContradiction(story: Story, idOrAlias: string): Promise<void> {
  const operation = 'getAlias'
  story.called.add(operation)
  story.remarks.set(operation, {
    outcome: 'differs',
    why:
      'From 1.11 to 1.18.5 the SDK expects a list for one alias, and otherwise the alias itself, as Berth returns it: a response ' +
      'cannot be both. `listAliases` has the same.',
  })
  await story.refused(operation, { idOrAlias }, ({ name }) => assert.equal(name, 'ResponseValidationError'))
}
