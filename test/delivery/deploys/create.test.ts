/** Deployments with files: what clients send, what is made, and what is refused without a trace. docs/deploying-sites.md: Create a deployment. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { contentOf } from '../../../src/delivery/deploys/uploaded-entries.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { setInTransfer } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'
import { file, header, tgz } from '../archive/tar.ts'
import { nodeFunction } from '../outputs/upload.ts'
import { sha1Of, upload } from '../uploads/uploading.ts'
import {
  type Content,
  create,
  deploy,
  listOf,
  mustCountRight,
  outputsOf,
  SITE,
  SUFFIX,
  uploadAll,
} from './deploying.ts'

/** An archive of files. */
function pack(contents: Readonly<Record<string, Content>>, more: readonly Buffer[] = []): Buffer {
  return tgz(...Object.entries(contents).map(([name, content]) => file(name, String(content))), ...more)
}

/** Everything that a refused request could change. */
async function everything({ deps }: World): Promise<unknown> {
  const { read } = deps.db
  const rows = []
  for (const table of ['project', 'deployment', 'deployment_meta', 'alias', 'output', 'output_blob', 'event'] as const)
    rows.push(await read.selectFrom(table).selectAll().execute())
  return rows
}

onBothEngines(
  'files that were uploaded become a READY deployment, whose manifest and files are in the store',
  async (world) => {
    const { call } = world
    const id = await seedProject(world, 'web')
    const asked = await create(call, SITE, { target: 'production' })
    assertRefused(asked, 400, 'missing_files')
    assert.deepEqual(
      asked.body.error.missing,
      listOf(SITE).map(({ sha }) => sha),
    )
    await uploadAll(call, SITE)
    const made = (await create(call, SITE, { target: 'production', meta: { a: 'b', n: 5 } })).body
    assert.deepEqual(
      [made.readyState, made.status, made.aliasAssigned, made.target, made.projectId, made.readySubstate, made.meta],
      ['READY', 'READY', true, 'production', id, 'PROMOTED', { a: 'b', n: '5' }],
    )
    assert.match(made.url, /^web-[a-z0-9]{9}\.apps\.example\.net$/)
    assert.equal((await call('GET', `/v13/deployments/${made.url}`)).body.id, made.id)
    assert.equal((await call('GET', '/v9/projects/web')).body.targets.production.id, made.id)
    const { outputs, held, blobs } = await outputsOf(world)
    assert.deepEqual(
      [outputs.length, held.length],
      [1, 3],
      'two files and the manifest; config.json is in the manifest',
    )
    const manifest = blobs.find((blob) => Number(blob.id) === Number(outputs[0]!.manifest_id))!
    const text = await contentOf(world.deps.files, world.credentials.userId, manifest.sha256)
    assert.equal(createHash('sha256').update(text!).digest('hex'), manifest.sha256)
    const { version, files } = JSON.parse(text!.toString())
    const paths = files.map(({ path }: { path: string }) => path)
    assert.deepEqual([version, paths.sort()], [1, ['/a/style.css', '/index.html']])
    await mustCountRight(world)
  },
  SUFFIX,
)

onBothEngines(
  'equal outputs are stored once, also for concurrent deployments, and deleted with the last of them',
  async (world) => {
    const { call } = world
    await seedProject(world, 'web')
    await uploadAll(call, SITE)
    const all = await Promise.all(Array.from({ length: 8 }, (_, at) => create(call, SITE, { meta: { n: String(at) } })))
    const ids = new Set(all.map((one) => one.body.id))
    assert.deepEqual([all.map((one) => one.status), ids.size], [Array(8).fill(200), 8])
    assert.deepEqual(
      (await outputsOf(world)).outputs.map(({ refs }) => Number(refs)),
      [8],
    )
    await mustCountRight(world)
    const other = await deploy(call, { ...SITE, '.vercel/output/static/b.html': 'b' })
    assert.equal((await outputsOf(world)).outputs.length, 2)
    await Promise.all([...ids, other.id].map((id) => call('DELETE', `/v13/deployments/${id}`)))
    await mustCountRight(world)
    await world.operator('POST', '/operator/v1/timers/unused-files/run', {})
    const { outputs, held } = await outputsOf(world)
    assert.deepEqual([outputs, held], [[], []])
    await mustCountRight(world)
    await deploy(call)
    await mustCountRight(world)
    await call('DELETE', '/v9/projects/web')
    await mustCountRight(world)
  },
  SUFFIX,
)

onBothEngines(
  'an output with many errors is refused with 20 of them, each to its end, and the number of the others',
  async (world) => {
    await seedProject(world, 'web')
    const path = `.vercel/output/functions/${'a-name-of-a-directory/'.repeat(8)}`
    const functions = Array.from({ length: 25 }, (_, at) => [`${path}${at}.func/.vc-config.json`, '{}'])
    const contents = { '.vercel/output/config.json': '{"version":3}', ...Object.fromEntries(functions) }
    await uploadAll(world.call, contents)
    const refused = await create(world.call, contents)
    assertRefused(refused, 400, 'bad_request')
    const [first, ...lines] = refused.body.error.message.split('\n')
    assert.deepEqual([first, lines.length], ['This cannot be deployed.', 21], refused.text)
    assert.match(lines.pop()!, /^\d+ more errors are not listed\.$/)
    for (const line of lines) assert.ok(line.startsWith(path) && line.endsWith('.'), line)
  },
  SUFFIX,
)

onBothEngines(
  'a repeated create returns the same deployment, unless it differs or comes later',
  async (world) => {
    const { call } = world
    await seedProject(world, 'web')
    await uploadAll(call, SITE)
    const both = await Promise.all([create(call, SITE), create(call, SITE), create(call, SITE)])
    assert.equal(new Set(both.map((one) => one.body.id)).size, 1)
    assert.equal((await create(call, SITE)).body.id, both[0]!.body.id)
    assert.notEqual((await create(call, SITE, { meta: { n: '1' } })).body.id, both[0]!.body.id)
    assert.notEqual((await create(call, SITE, {}, '?forceNew=1')).body.id, both[0]!.body.id)
    world.deps.clock.set(world.deps.clock.now() + 10_001)
    const later = (await create(call, SITE)).body.id
    assert.notEqual(later, both[0]!.body.id)
    assert.equal((await call('GET', '/v6/deployments')).body.deployments.length, 4)
    await mustCountRight(world)
  },
  SUFFIX,
)

onBothEngines(
  'inline files, links, empty folders and archives deploy as plain files do',
  async (world) => {
    const { call } = world
    await seedProject(world, 'web')
    const data = Object.entries(SITE).map(([file, content], at) => ({
      file,
      ...(at === 0
        ? { data: String(content) }
        : { data: Buffer.from(String(content)).toString('base64'), encoding: 'base64' }),
    }))
    const inline = await call.try('POST', '/v13/deployments', { name: 'web', files: data })
    assert.equal(inline.status, 200, inline.text)
    const plain = await deploy(call)
    const tar = pack(SITE)
    await upload(call, tar)
    const files = [{ file: '.vercel/source.tgz', mode: 0o666, size: tar.length, sha: sha1Of(tar) }]
    const archived = await call.try('POST', '/v13/deployments?prebuilt=1', { name: 'web', files })
    assert.equal(archived.status, 200, archived.text)
    const halves = [tar.subarray(0, 100), tar.subarray(100)]
    for (const half of halves) await upload(call, half)
    const parts = halves.map((half, at) => ({ file: `.vercel/source.tgz.part${at + 1}`, sha: sha1Of(half) }))
    const split = await call.try('POST', '/v13/deployments', { name: 'web', files: parts })
    assert.equal(split.status, 200, split.text)
    assert.equal(new Set([inline.body.id, plain.id, archived.body.id, split.body.id]).size, 4)
    assert.equal((await outputsOf(world)).outputs.length, 1, 'all are equal')
    const linked = { ...SITE, '.vercel/output/static/home.html': { link: 'index.html' } }
    await uploadAll(call, linked)
    const folder = { file: '.vercel/output/static/empty', mode: 0o040755 }
    const other = await call.try('POST', '/v13/deployments', { name: 'web', files: [...listOf(linked), folder] })
    assert.equal(other.status, 200, other.text)
    await mustCountRight(world)
  },
  SUFFIX,
)

const FUNCTIONS: Record<string, Content> = {
  ...SITE,
  ...Object.fromEntries(Object.entries(nodeFunction('api/é')).map(([path, text]) => [`.vercel/output/${path}`, text])),
}

onBothEngines(
  'the response to a deploy lists unsupported parts, in headers that clients print',
  async (world) => {
    await seedProject(world, 'web')
    await uploadAll(world.call, FUNCTIONS)
    const made = await create(world.call, FUNCTIONS)
    assert.equal(made.status, 200, made.text)
    assert.match(String(made.headers['x-vercel-warning-functions-not-run']), /^The function \(api\/\?\) will not run/)
    await mustCountRight(world)
  },
  SUFFIX,
)

onBothEngines(
  'a deployment without files that a client would continue later is refused with what to do',
  async (world) => {
    await seedProject(world, 'web')
    const asked = await create(world.call, {}, { build: { env: { VERCEL_MANUAL_PROVISIONING: '1' } } }, '?prebuilt=1')
    assertRefused(asked, 400, 'bad_request')
    assert.match(asked.body.error.message, /`vercel deploy init`.* run `vercel deploy --prebuilt`\.$/)
    const continued = await world.call.try('POST', '/deployments/dpl_x/continue', { files: [] })
    assert.match(continued.body.error.message, /`vercel deploy --prebuilt` deploys what was built elsewhere\.$/)
  },
  SUFFIX,
)

onBothEngines(
  'sources, invalid outputs and invalid archives are refused with messages, and nothing is created',
  async (world) => {
    const { call } = world
    await seedProject(world, 'web')
    const before = await everything(world)
    const source = { 'index.html': 'a', 'package.json': '{}' }
    const says = async (files: unknown, sentence: RegExp, query = '', headers: Record<string, string> = {}) => {
      const answer = await call.try('POST', `/v13/deployments${query}`, { name: 'web', files }, headers)
      assertRefused(answer, 400, 'bad_request')
      assert.match(answer.body.error.message, sentence)
    }
    const build = /does not build.*vercel build && vercel deploy --prebuilt.*upstream/
    await says(listOf(source), build)
    await says([], build)
    await says(undefined, build)
    await says(listOf(source), build, '?prebuilt=1')
    const archive = (bytes: Buffer) => [
      { file: '.vercel/source.tgz', sha: sha1Of(bytes), size: bytes.length, mode: 438 },
    ]
    const packed = pack(source)
    const cli = { 'user-agent': 'vercel 56.5.0 node-v24.0.0 linux (x64)' }
    await says(archive(packed), build, '', cli)
    await upload(call, packed)
    await says(archive(packed), build)
    const garbage = randomBytes(100)
    await upload(call, garbage)
    await says(archive(garbage), /^This cannot be deployed\.\n.*archive/)
    const device = pack({}, [header({ name: 'a', flag: '3' })])
    await upload(call, device)
    await says(archive(device), /a is a device/)
    const wrong = { ...SITE, '.vercel/output/config.json': '{"version":2,"routes":5}' }
    await uploadAll(call, wrong)
    await says(listOf(wrong), /config\.json: version must be 3/)
    await says([{ file: '../a', sha: 'a'.repeat(40) }], /files\[0\]/)
    await says([{ ...listOf(SITE)[1], size: 99 }, ...listOf(wrong).slice(0, 1)], /size/)
    assert.deepEqual(await everything(world), before)
    await mustCountRight(world)
  },
  SUFFIX,
)

onBothEngines(
  'a project is found by id or name, created where the client confirmed, and a target must be there',
  async (world) => {
    const { call } = world
    const before = await everything(world)
    assertRefused(await create(call, SITE), 400, 'missing_project_settings')
    assertRefused(
      await create(call, SITE, { project: 'prj_none' }, '?skipAutoDetectionConfirmation=1'),
      404,
      'not_found',
    )
    const yes = '?skipAutoDetectionConfirmation=1'
    assertRefused(await create(call, SITE, { name: 'Not A Name' }, yes), 400, 'invalid_project_name')
    assertRefused(await create(call, SITE, {}, yes), 400, 'missing_files')
    await uploadAll(call, SITE)
    assertRefused(await create(call, SITE, { customEnvironmentSlugOrId: 'staging' }, yes), 400, 'bad_request')
    assert.deepEqual(await everything(world), before)
    const settings = { framework: 'vite', buildCommand: 'x', rootDirectory: null, unknown: 1 }
    const made = await create(call, SITE, { projectSettings: settings }, yes)
    assert.equal(made.status, 200, made.text)
    const project = (await call('GET', '/v9/projects/web')).body
    assert.deepEqual([project.id, project.framework, project.buildCommand], [made.body.projectId, 'vite', 'x'])
    const { id } = (await call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })).body
    const environments = [
      { customEnvironmentSlugOrId: 'staging' },
      { target: 'staging' },
      { customEnvironmentSlugOrId: id },
    ]
    for (const said of environments) {
      const { body } = await create(call, SITE, { name: 'nobody', project: project.id, ...said })
      assert.deepEqual([body.customEnvironment.id, body.target, body.projectId], [id, null, project.id])
    }
    assertRefused(await create(call, SITE, { target: 'nowhere' }), 400, 'bad_request')
    const branch = await create(call, SITE, { gitMetadata: { commitRef: 'main', dirty: true } })
    assert.equal(branch.body.gitBranch, 'main')
    assert.equal((await create(call, SITE, { meta: { githubCommitRef: 'dev' } })).body.gitBranch, 'dev')
    const long = await create(call, SITE, { meta: { githubCommitMessage: 'x'.repeat(3000) } })
    assert.equal(long.body.meta.githubCommitMessage?.length, 1000)
    const staged = await create(call, SITE, { target: 'production', autoAssignCustomDomains: false })
    assert.equal(staged.body.readySubstate, 'STAGED')
    await setInTransfer(world, project.id, 5)
    assertRefused(await create(call, SITE, { meta: { n: '9' } }), 409, 'conflict')
    await mustCountRight(world)
  },
  SUFFIX,
)

onBothEngines(
  'a deployment of files is redeployed, promoted and rolled back by its output, and one of an upstream is not built',
  async (world) => {
    const { call } = world
    const projectId = await seedProject(world, 'web')
    const first = await deploy(call, SITE, { target: 'production' })
    const preview = await deploy(call, SITE, { meta: { n: '1' }, gitMetadata: { commitRef: 'dev' } })
    const again = (body: object) => call.try('POST', '/v13/deployments?forceNew=1', { name: 'web', ...body })
    const made = (await again({ deploymentId: preview.url, meta: { action: 'redeploy' } })).body
    assert.deepEqual([made.target, made.gitBranch, made.meta], [null, 'dev', { n: '1', action: 'redeploy' }])
    assert.notEqual(made.url, preview.url)
    const live = (await again({ deploymentId: preview.id, target: 'production', meta: { action: 'redeploy' } })).body
    assert.deepEqual([live.target, live.readySubstate], ['production', 'PROMOTED'])
    assert.equal((await outputsOf(world)).outputs.length, 1)
    const promoted = await again({ deploymentId: preview.id, target: 'production', meta: { action: 'promote' } })
    assert.equal(promoted.body.id, preview.id)
    assert.equal((await call.try('POST', `/v9/projects/web/rollback/${first.id}`, {})).status, 201)
    await world.operator('POST', '/operator/v1/timers/alias-requests/run', {})
    assert.equal((await call('GET', '/v9/projects/web')).body.targets.production.id, first.id)
    const registered = await seedDeployment(world, projectId, { url: 'x.host.test', upstream: 'http://10.0.0.1:80' })
    const refusal = await again({ deploymentId: registered })
    assertRefused(refusal, 400, 'bad_request')
    assert.match(refusal.body.error.message, /neither source nor output.*a build system registered it.*vercel deploy/)
    assertRefused(await again({ deploymentId: 'dpl_none' }), 404, 'not_found')
    await mustCountRight(world)
  },
  SUFFIX,
)

onBothEngines(
  'files and deployments of another account stay its own, and its names reveal nothing',
  async (world) => {
    const { call } = world
    await seedProject(world, 'web')
    const mine = await deploy(call)
    const other = await world.user('other')
    await other.call('POST', '/v10/projects', { name: 'web' })
    const asked = await create(other.call, SITE)
    assertRefused(asked, 400, 'missing_files')
    assert.equal(asked.body.error.missing.length, 3)
    assertRefused(
      await other.call.try('POST', '/v13/deployments', { name: 'web', deploymentId: mine.id }),
      404,
      'not_found',
    )
    assertRefused(await create(other.call, SITE, { project: mine.projectId }), 404, 'not_found')
    await uploadAll(other.call, SITE)
    const theirs = await create(other.call, SITE)
    assert.equal(theirs.status, 200, theirs.text)
    const { outputs } = await outputsOf(world)
    assert.deepEqual(
      outputs.map(({ account_id, refs }) => [account_id, Number(refs)]),
      [
        [world.credentials.userId, 1],
        [theirs.body.ownerId, 1],
      ],
    )
    await mustCountRight(world)
  },
  SUFFIX,
)
