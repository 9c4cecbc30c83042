/** What a deployment has of files, and how one that has not ended is canceled. docs/deploying-sites.md: Files of a deployment, States. */
import assert from 'node:assert/strict'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { setInTransfer } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'
import { nodeFunction } from '../outputs/upload.ts'
import { deploy, SITE, SUFFIX } from './deploying.ts'

onBothEngines(
  'the files of a deployment are a tree, and every user who sees the deployment can read one by its id',
  async (world) => {
    const { call } = world
    const projectId = await seedProject(world, 'web')
    const both = { ...nodeFunction('api/hello'), ...nodeFunction('api/large', { memory: 1024, maxDuration: 'max' }) }
    const functions = Object.entries(both).map(([path, text]) => [`.vercel/output/${path}`, text])
    const { id } = await deploy(call, { ...SITE, ...Object.fromEntries(functions) })
    const tree = (await call('GET', `/v6/deployments/${id}/files`)).body
    const [folder, api, page] = tree
    assert.deepEqual(
      [folder!.type, folder!.name, api!.type, api!.name, page!.type, page!.name, page!.size, page!.contentType],
      ['directory', 'a', 'directory', 'api', 'file', 'index.html', 14, 'text/html; charset=utf-8'],
    )
    assert.deepEqual(api!.children, [
      { type: 'lambda', name: 'hello', mode: 0o100644 },
      { type: 'lambda', name: 'large', mode: 0o100644, memory: 1024, maxDuration: 1800 },
    ])
    assert.deepEqual([folder!.mode, page!.mode], [0o040755, 0o100644])
    const read = (from: typeof call, file: string, of = id) => from.try('GET', `/v8/deployments/${of}/files/${file}`)
    const content = (await read(call, page!.uid!)).body
    assert.equal(Buffer.from(content.data, 'base64').toString(), '<h1>Hello</h1>')
    const large = { ...SITE, '.vercel/output/static/large.bin': Buffer.alloc(4 * 1024 ** 2 + 1) }
    const other = await deploy(call, large)
    const file = (await call('GET', `/v6/deployments/${other.id}/files`)).body.find(({ name }) => name === 'large.bin')!
    assertRefused(await read(call, file.uid!, other.id), 413, 'payload_too_large')
    assertRefused(await read(call, file.uid!), 404, 'not_found')
    assertRefused(await read(call, 'nosuch'), 404, 'not_found')
    const registered = await seedDeployment(world, projectId, { url: 'x.host.test' })
    assert.deepEqual((await call('GET', `/v6/deployments/${registered}/files`)).body, [])
    assertRefused(await read(call, page!.uid!, registered), 404, 'not_found')
    const stranger = await world.user('other')
    assertRefused(await stranger.call.try('GET', `/v6/deployments/${id}/files`), 404, 'not_found')
    assertRefused(await read(stranger.call, page!.uid!), 404, 'not_found')
  },
  SUFFIX,
)

onBothEngines(
  'a deployment that moved to another account keeps its files, which count where they were uploaded',
  async (world) => {
    const { call } = world
    await seedProject(world, 'web')
    const site = await deploy(call, SITE, { target: 'production' })
    const usage = () => world.deps.db.read.selectFrom('file_usage').selectAll().execute()
    const before = await usage()
    const other = await world.user('other')
    const { code } = (await call('POST', '/projects/web/transfer-request', {})).body
    assert.equal((await other.call('PUT', `/projects/transfer-request/${code}`, {})).status, 202)
    await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
    const [, page] = (await other.call('GET', `/v6/deployments/${site.id}/files`)).body
    const content = (await other.call('GET', `/v8/deployments/${site.id}/files/${page!.uid}`)).body
    assert.equal(Buffer.from(content.data, 'base64').toString(), '<h1>Hello</h1>')
    const again = { name: 'web', deploymentId: site.id, meta: { action: 'redeploy' } }
    assert.equal((await other.call('POST', '/v13/deployments', again)).body.readyState, 'READY')
    assertRefused(await call.try('GET', `/v6/deployments/${site.id}/files`), 404, 'not_found')
    assert.deepEqual(await usage(), before)
  },
  SUFFIX,
)

onBothEngines(
  'a deployment is canceled once, unless it has ended, and later reports of its build system are refused',
  async (world) => {
    const { call, operator } = world
    const projectId = await seedProject(world, 'web')
    const id = await seedDeployment(world, projectId, { url: 'x.host.test', readyState: 'BUILDING' })
    const cancel = (from: typeof call, of: string) => from.try('PATCH', `/v12/deployments/${of}/cancel`)
    const stranger = await world.user('other')
    assertRefused(await cancel(stranger.call, id), 404, 'not_found')
    await setInTransfer(world, projectId, 5)
    assertRefused(await cancel(call, id), 409, 'conflict')
    await setInTransfer(world, projectId, null)
    const { body } = await cancel(call, id)
    assert.deepEqual([body.readyState, body.aliasAssigned, typeof body.canceledAt], ['CANCELED', false, 'number'])
    assertRefused(await cancel(call, id), 409, 'conflict')
    assertRefused(
      await operator.try('PATCH', `/operator/v1/deployments/${id}`, { readyState: 'READY' }),
      409,
      'conflict',
    )
    const site = await deploy(call)
    assertRefused(await cancel(call, site.id), 409, 'conflict')
    const events = await world.deps.db.read.selectFrom('event').select('type').execute()
    assert.equal(events.filter(({ type }) => type === 'deployment.canceled').length, 1)
  },
  SUFFIX,
)
