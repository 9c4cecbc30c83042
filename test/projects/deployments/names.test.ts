/** A deployment is found by each of its names, wherever a path or a query names one. docs/deployments.md: Names of a deployment. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROUTES } from '../../../src/routes.ts'
import { type Method, onBothEngines, type World } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'

/** Every operation that names a deployment: a good request by a name of it, and what it answers. */
const OPERATIONS: Record<string, { path: (name: string) => string; body?: object; status: number }> = {
  'GET /v13/deployments/:idOrUrl': { path: (name) => `/v13/deployments/${name}`, status: 200 },
  'GET /v13/deployments/get': { path: (name) => `/v13/deployments/get?url=${name}`, status: 200 },
  'GET /v3/deployments/:idOrUrl/events': { path: (name) => `/v3/deployments/${name}/events`, status: 200 },
  'GET /v11/deployments/:id/builds': { path: (name) => `/v11/deployments/${name}/builds`, status: 200 },
  'GET /v6/deployments/:id/files': { path: (name) => `/v6/deployments/${name}/files`, status: 200 },
  'GET /v8/deployments/:id/files/:fileId': { path: (name) => `/v8/deployments/${name}/files/x`, status: 404 },
  'GET /v2/deployments/:id/aliases': { path: (name) => `/v2/deployments/${name}/aliases`, status: 200 },
  'GET /v1/deployments/:idOrUrl/usage': { path: (name) => `/v1/deployments/${name}/usage`, status: 200 },
  'GET /v1/projects/:projectId/deployments/:deploymentId/runtime-logs': {
    path: (name) => `/v1/projects/web/deployments/${name}/runtime-logs`,
    status: 200,
  },
  'POST /v2/deployments/:id/aliases': {
    path: (name) => `/v2/deployments/${name}/aliases`,
    body: { alias: 'one' },
    status: 200,
  },
  'POST /v10/projects/:projectId/promote/:deploymentId': {
    path: (name) => `/v10/projects/web/promote/${name}`,
    body: {},
    status: 201,
  },
  'POST /v1/projects/:projectId/rollback/:deploymentId': {
    path: (name) => `/v1/projects/web/rollback/${name}`,
    body: {},
    status: 201,
  },
  'PATCH /v12/deployments/:id/cancel': { path: (name) => `/v12/deployments/${name}/cancel`, body: {}, status: 409 },
  'DELETE /v13/deployments/:idOrUrl': { path: (name) => `/v13/deployments/${name}`, status: 200 },
}

test('every operation of clients that names a deployment is in the table', () => {
  const names = ROUTES.filter(({ path }) => !path.startsWith('/operator'))
    .filter(({ path }) => /\/deployments\/(:|get$)|:deploymentId/.test(path))
    .map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(names.sort(), Object.keys(OPERATIONS).sort())
})

/** A project with a READY production deployment to which three names lead, one of them in Unicode. */
async function openNamed(world: World) {
  const web = await seedWebProject(world, ['one', 'xn--bcher-kva'])
  const id = await web.deploy()
  const idn = 'bücher.apps.example.net'
  const hosts = ['d1.host.test', 'D1.Host.Test', 'one.apps.example.net', 'ONE.apps.example.net.', idn]
  const urls = ['https://d1.host.test', 'https://one.apps.example.net/', 'http://one.apps.example.net/a?b#c']
  return { web, id, names: [id, ...hosts, ...urls].map(encodeURIComponent) }
}

for (const [operation, { path, body, status }] of Object.entries(OPERATIONS)) {
  if (operation.startsWith('DELETE')) continue
  onBothEngines(
    `${operation} takes each name`,
    async (world) => {
      const { names } = await openNamed(world)
      const method = operation.split(' ')[0] as Method
      const answers = []
      for (const name of names) {
        const answer = await world.call.try(method, path(name), body)
        assert.equal(answer.status, status, `${name}: ${answer.text}`)
        // An error about an unassigned name says that name; an error about a missing part of the deployment does not.
        assert.doesNotMatch(answer.text, /Deployment \\".*not found/, name)
        answers.push(answer.text)
      }
      // Each log line has its own timestamp.
      if (method === 'GET' && !path('').includes('runtime-logs')) assert.equal(new Set(answers).size, 1)
      for (const none of ['two.apps.example.net', 'dpl_none', 'ü..', encodeURIComponent('https://')])
        assertRefused(await world.call.try(method, path(none), body), 404, 'not_found')
    },
    SETTINGS,
  )
}

onBothEngines(
  'a deployment is removed by each of its names, and by each in `url`',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    for (const name of ['d1.host.test', 'one.apps.example.net', 'https%3A%2F%2Fone.apps.example.net%2F']) {
      const id = await web.deploy({ url: 'd1.host.test' })
      assert.equal((await world.call('DELETE', `/v13/deployments/${name}`)).body.uid, id)
      const next = await web.deploy({ url: 'd1.host.test' })
      assert.equal((await world.call('DELETE', `/v13/deployments/dpl_none?url=${name}`)).body.uid, next)
    }
  },
  SETTINGS,
)

onBothEngines(
  'a name resolves to the deployment that it points to now, and only in its account',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const first = await web.deploy()
    const read = async () => (await world.call('GET', '/v13/deployments/one.apps.example.net')).body
    assert.equal((await read()).id, first)
    assert.ok((await read()).alias?.includes('one.apps.example.net'))
    const second = await web.deploy()
    assert.equal((await read()).id, second)
    const other = await world.user('other')
    assertRefused(await other.call.try('GET', '/v13/deployments/one.apps.example.net'), 404, 'not_found')
    const elsewhere = (await world.call('POST', '/v10/projects', { name: 'elsewhere' })).body.id
    const narrow = await world.token({ projectIds: [elsewhere] })
    assertRefused(await narrow.try('GET', '/v13/deployments/one.apps.example.net'), 404, 'not_found')
  },
  SETTINGS,
)

onBothEngines(
  'an alias is found by each form of its name, and listed by several names',
  async (world) => {
    await openNamed(world)
    for (const name of [
      'bücher.apps.example.net',
      'xn--bcher-kva.apps.example.net.',
      'https://Bücher.apps.example.net',
    ])
      assert.equal(
        (await world.call('GET', `/v4/aliases/${encodeURIComponent(name)}`)).body.alias,
        'xn--bcher-kva.apps.example.net',
      )
    for (const query of [
      'domain=one.apps.example.net&domain=bücher.apps.example.net',
      'domain=ONE.apps.example.net,xn--bcher-kva.apps.example.net',
    ])
      assert.equal((await world.call('GET', `/v4/aliases?${encodeURI(query)}`)).body.aliases.length, 2, query)
    assert.equal((await world.call('GET', '/v4/aliases?domain=one.apps.example.net')).body.aliases.length, 1)
  },
  SETTINGS,
)
