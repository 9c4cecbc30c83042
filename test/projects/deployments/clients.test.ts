/** What clients ask of a deployment that Berth neither built nor runs: looked up by host name, its builds, events and logs. docs/deployments.md. */
import assert from 'node:assert/strict'
import { setInTransfer } from '../../support/states.ts'
import { type Method, onBothEngines } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'

onBothEngines(
  'a deployment is found by its host name in the query, as actions request it',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy()
    for (const path of ['/v13/deployments/get', '/v11/now/deployments/get', '/v3/now/deployments/get'] as const)
      for (const said of ['url=d1.host.test', 'url=https://D1.host.test', 'url=https://d1.host.test/', `id=${id}`]) {
        const { body } = await world.call('GET', `${path}?${said}`)
        assert.deepEqual([body.id, body.readyState], [id, 'READY'], said)
      }
    assertRefused(await world.call.try('GET', '/v13/deployments/get?url=d2.host.test'), 404, 'not_found')
    assertRefused(await world.call.try('GET', '/v13/deployments/get'), 400, 'bad_request')
    const other = await world.user('other')
    assertRefused(await other.call.try('GET', '/v13/deployments/get?url=d1.host.test'), 404, 'not_found')
  },
  SETTINGS,
)

onBothEngines(
  'events are the reported states, as a list or as lines, and the last one links to the log',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy({ readyState: 'BUILDING' })
    const other = await web.deploy({ readyState: 'ERROR' })
    const read = async (deployment: string, query = '') =>
      world.call.try('GET', `/v3/deployments/${deployment}/events${query}`)
    const states = async (deployment: string) =>
      (await read(deployment)).body.map((event: { info: { readyState: string } }) => event.info.readyState)
    assert.deepEqual(await states(id), ['QUEUED', 'BUILDING', 'BUILDING'])
    assert.deepEqual(await states(other), ['QUEUED', 'ERROR', 'ERROR'])
    await web.patch(id, { readyState: 'READY' })
    const list = await read(id)
    assert.deepEqual(await states(id), ['QUEUED', 'BUILDING', 'READY', 'READY'])
    assert.match(list.body.at(-1)!.text, /build system/)
    const lines = await world.call(
      'GET',
      `/v3/now/deployments/d1.host.test/events?direction=forward&follow=1&format=lines`,
    )
    assert.match(String(lines.headers['content-type']), /^application\/stream\+json/)
    const parsed = lines.text.split('\n').slice(0, -1)
    assert.deepEqual(
      parsed.map((line) => JSON.parse(line)),
      list.body,
    )
    const texts = async (query: string) => (await read(id, query)).body.map((one: { serial: string }) => one.serial)
    assert.deepEqual(await texts('?direction=backward&limit=2&follow=&builds=1&delimiter=1'), ['3', '2'])
    assert.deepEqual(await texts('?limit=-1&until=1'), [])
    assert.deepEqual(await texts('?since=1&limit=1'), ['0'])
    assert.deepEqual(await texts('?name=bld_1'), [])
    assertRefused(await read('dpl_none'), 404, 'not_found')
    assert.deepEqual((await world.call('GET', `/v11/deployments/${id}/builds`)).body, { builds: [] })
    assertRefused(await world.call.try('GET', '/v11/deployments/dpl_none/builds'), 404, 'not_found')
  },
  SETTINGS,
)

onBothEngines(
  'without log lines, runtime logs are one line, at which clients stop',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy()
    const path = `/v1/projects/${web.id}/deployments/${id}/runtime-logs` as const
    for (const query of ['', '?format=lines']) {
      const { text, headers } = await world.call('GET', path + query)
      assert.match(String(headers['content-type']), /^application\/stream\+json/)
      assert.equal(text.indexOf('\n'), text.length - 1)
      const { rowId, level, source, message } = JSON.parse(text)
      assert.deepEqual([rowId, level, source], ['', 'error', 'delimiter'])
      assert.match(message, /wrote no such line/)
    }
    assertRefused(await world.call.try('GET', path.replace(id, 'dpl_none')), 404, 'not_found')
    assertRefused(await world.call.try('GET', path.replace(web.id, 'prj_none')), 404, 'not_found')
  },
  SETTINGS,
)

/** As CLI 33 asks for the folder of a new name: all files are named, and nothing was uploaded. */
const OF_A_FOLDER = {
  name: 'fresh',
  files: [{ file: 'index.html', sha: 'a'.repeat(40), size: 3, mode: 33_188 }],
  ...{ version: 2, source: 'cli', env: {}, build: { env: {} }, projectSettings: { rootDirectory: null } },
}

onBothEngines(
  'a refused create names what is missing: the project settings that CLI 33 needs to link a folder, or a build system',
  async (world) => {
    const web = await seedWebProject(world)
    const unlinked = await world.call.try('POST', '/v13/deployments', OF_A_FOLDER)
    assertRefused(unlinked, 400, 'missing_project_settings')
    const { projectSettings, framework } = unlinked.body.error
    assert.deepEqual([projectSettings.framework, projectSettings.buildCommand], [null, null])
    for (const name of ['installCommand', 'buildCommand', 'devCommand', 'outputDirectory'] as const)
      assert.equal(typeof framework.settings[name].placeholder, 'string')
    assert.equal((await world.call.try('GET', '/v9/projects/fresh')).status, 404, 'nothing is made')
    const notBuilt = async (query: string, body: object) => {
      const answer = await world.call.try('POST', `/v13/deployments?${query}`, body)
      assertRefused(answer, 400, 'bad_request')
      assert.match(answer.body.error.message, /does not build.*--prebuilt.*build system.*\/operator\/v1\/projects/)
    }
    await notBuilt('skipAutoDetectionConfirmation=1', OF_A_FOLDER)
    await notBuilt('', { ...OF_A_FOLDER, name: 'web' })
    await notBuilt('prebuilt=1', { ...OF_A_FOLDER, project: web.id })
    const id = await web.deploy()
    const redeploy = { deploymentId: id, name: 'web', meta: { action: 'redeploy' } }
    const again = await world.call.try('POST', '/v13/deployments?forceNew=1', redeploy)
    assertRefused(again, 400, 'bad_request')
    assert.match(again.body.error.message, /neither source nor output.*build system registered it/)
  },
  SETTINGS,
)

onBothEngines(
  'a preview is promoted with the request of newer CLIs',
  async (world) => {
    const web = await seedWebProject(world)
    await web.deploy()
    const preview = await web.deploy({ target: null })
    const body = { deploymentId: preview, name: 'web', target: 'production', meta: { action: 'promote' } }
    const asked = await world.call('POST', '/v13/deployments', body)
    assert.deepEqual([asked.status, asked.body.id, asked.body.readyState], [200, preview, 'READY'])
    await web.sweep()
    const { targets, lastAliasRequest } = await web.read()
    assert.deepEqual([targets.production.id, lastAliasRequest.jobStatus], [preview, 'succeeded'])
    assertRefused(
      await world.call.try('POST', '/v13/deployments', { ...body, deploymentId: 'dpl_none' }),
      404,
      'not_found',
    )
    await setInTransfer(world, web.id, 5)
    assertRefused(await world.call.try('POST', '/v13/deployments', body), 409, 'conflict')
  },
  SETTINGS,
)

onBothEngines('paths of unsupported features say what to use instead, with or without a token', async (world) => {
  const stranger = world.as(undefined)
  const says = async (method: Method, path: string, status: number, sentence: RegExp) => {
    const answer = await stranger.try(method, path, method === 'POST' ? 'x'.repeat(100_000) : undefined)
    assert.equal(answer.status, status, path)
    assert.match(answer.body.error.message, sentence)
  }
  for (const path of [
    '/v3/domains/price?name=a.com',
    '/v4/domains/status?name=a.com',
    '/v1/registrar/domains/a.com/price',
  ])
    await says('GET', path, 404, /sells no domains/)
  await says('GET', '/v1/registrar/domains/a.com/availability', 404, /sells no domains/)
  await says('POST', '/v3/domains/buy', 404, /sells no domains/)
  const team = /no project roles.*PATCH \/v1\/teams/
  await says('POST', '/v1/projects/web/members', 405, team)
  await says('PATCH', '/v1/projects/web/members', 405, team)
  await says('DELETE', '/v1/projects/web/members/usr_1', 404, team)
  await says('POST', '/v1/projects/web/members/batch', 404, team)
  await says('DELETE', '/v1/projects/web/members/batch', 404, team)
  await says('POST', '/v1/projects/web/crons/run', 404, /by their schedule alone/)
  const put = await stranger.try('PUT', '/v13/deployments')
  assertRefused(put, 405, 'method_unknown')
  assert.equal(put.headers.allow, 'GET, POST, HEAD')
  assert.match(put.body.error.message, /PUT is not a method of this path/)
})
