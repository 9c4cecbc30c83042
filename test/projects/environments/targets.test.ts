/** Wherever a path or a query has a `target`, a custom environment is one of its values, by slug and by id. docs/custom-environments.md: Variables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROUTES } from '../../../src/routes.ts'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const Q = '/v9/projects/web'
/** What the answers of these operations have, each one of it. */
type Named = {
  domains: { name: string }[]
  deployments: { url: string }[]
  envs: { key: string }[]
  plan: { unchanged: string[] }
  env: object
}
/** Of the one operation that takes a text. */
const TEXT = { 'content-type': 'text/plain' }
/** Every operation of clients whose path or query has a `target`, and what it answers for one: names of what is there. */
const OPERATIONS: Record<
  string,
  { path: (target: string) => string; body?: string; names: (body: Named) => string[] }
> = {
  'GET /v9/projects/:idOrName/domains': {
    path: (target) => `${Q}/domains?target=${target}`,
    names: (body) => body.domains.map((one: { name: string }) => one.name),
  },
  'GET /v6/deployments': {
    path: (target) => `/v6/deployments?projectId=web&target=${target}`,
    names: (body) => body.deployments.map((one: { url: string }) => one.url),
  },
  'GET /v9/projects/:idOrName/env': {
    path: (target) => `${Q}/env?target=${target}`,
    names: (body) => body.envs.map((one: { key: string }) => one.key),
  },
  'PUT /v1/projects/:idOrName/env': {
    path: (target) => `/v1/projects/web/env?dryRun=true&target=${target}`,
    body: 'OF_STAGING=v',
    names: (body) => body.plan.unchanged,
  },
  'GET /v1/projects/:idOrName/env/export': {
    path: (target) => `/v1/projects/web/env/export?target=${target}`,
    names: (body) => [...String(body).matchAll(/^(\w+)=/gm)].map(([, key]) => key!),
  },
  'GET /v3/env/pull/:projectId/:target': {
    path: (target) => `/v3/env/pull/web/${target}`,
    names: (body) => Object.keys(body.env),
  },
}

test('every operation of clients whose path or query has a target is in the table', () => {
  const named = ROUTES.filter(({ path, query }) => {
    const properties = (query as { properties?: object } | undefined)?.properties ?? {}
    return !path.startsWith('/operator') && ('target' in properties || path.endsWith('/:target'))
  }).map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(named.sort(), Object.keys(OPERATIONS).sort())
})

for (const [operation, { path, body, names }] of Object.entries(OPERATIONS)) {
  onBothEngines(
    `${operation} takes a custom environment as a target, and refuses one that is not there`,
    async (world) => {
      const { call } = world
      const web = await seedWebProject(world, ['one'])
      const { id } = (await call('POST', `${Q}/custom-environments`, { slug: 'staging' })).body
      await call('POST', `${Q}/custom-environments`, { slug: 'other' })
      const domain = { name: 'stage.apps.example.net', customEnvironmentId: id }
      await call('POST', '/v10/projects/web/domains', domain)
      await web.deploy()
      await web.deploy({ target: 'preview', url: 'of-staging.host.test', customEnvironmentId: id })
      const variable = { type: 'encrypted', value: 'v', target: [] }
      await call('POST', '/v10/projects/web/env', { ...variable, key: 'OF_STAGING', customEnvironmentIds: [id] })
      await call('POST', '/v10/projects/web/env', { ...variable, key: 'OF_PRODUCTION', target: ['production'] })
      const method = operation.split(' ')[0] as 'GET' | 'PUT'
      const had = async (target: string) => {
        const answer = await call.try(method, path(target), body, TEXT)
        assert.equal(answer.status, 200, answer.text)
        return names((answer.body ?? answer.text) as never)
      }
      const expected = await had('staging')
      assert.equal(expected.length, 1)
      assert.match(expected[0]!, /^(stage\.apps\.example\.net|of-staging\.host\.test|OF_STAGING)$/)
      assert.deepEqual(await had(id), expected)
      assert.deepEqual(await had('other'), [])
      assert.ok(!(await had('production')).includes(expected[0]!))
      assert.deepEqual(await had('development'), [])
      const { status } = await call.try(method, path('nosuch'), body, TEXT)
      assert.equal(status, operation.includes('/env/pull') ? 404 : 400)
    },
    SETTINGS,
  )
}

onBothEngines(
  'the list of deployments takes the slug of a custom environment where one project is named, and says so elsewhere',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    await world.call('POST', `${Q}/custom-environments`, { slug: 'staging' })
    const deployment = await web.deploy({ target: 'preview', customEnvironmentId: 'staging' })
    await web.deploy({ target: 'preview' })
    for (const query of [
      `projectId=${web.id}`,
      'app=web',
      'projectIds=web',
      'customEnvironmentSlugOrId=staging&app=web',
    ]) {
      const { body } = await world.call('GET', `/v6/deployments?target=staging&${query}`)
      assert.deepEqual(
        body.deployments.map((one: { uid: string }) => one.uid),
        [deployment],
        query,
      )
    }
    assert.deepEqual((await world.call('GET', '/v6/deployments?target=staging&projectId=nosuch')).body.deployments, [])
    const refused = await world.call.try('GET', '/v6/deployments?target=staging')
    assert.equal(refused.status, 400)
    assert.match(refused.body.error.message, /`target` needs a `projectId`/)
    const unknown = await world.call.try('GET', '/v6/deployments?target=nosuch&projectId=web')
    assert.match(
      unknown.body.error.message,
      /`target` names "nosuch".*it has production, preview, development, staging\.$/,
    )
  },
  SETTINGS,
)
