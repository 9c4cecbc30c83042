/** Domains and deployments of a custom environment: kept, answered, routed at the edge, removed with it. docs/custom-environments.md. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import { readDomainAssignments, SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openEdgeOf } from '../../support/worlds/edge-world.ts'

const DOMAINS = '/v9/projects/web/domains'
const at = (label: string) => `${label}.apps.example.net`
const told = ({ status, body }: ApiResponse) => [status, body?.error?.code]

async function addEnvironment({ call }: World, slug = 'staging', project = 'web'): Promise<string> {
  const made = await call('POST', `/v9/projects/${project}/custom-environments`, { slug })
  assert.equal(made.status, 201, made.text)
  return made.body.id
}

async function add({ call }: World, label: string, said: object) {
  const added = await call('POST', DOMAINS, { name: at(label), ...said })
  assert.equal(added.status, 200, added.text)
  return added
}

onBothEngines(
  'a domain has one environment, named by id or slug, and serves only that one',
  async (world) => {
    const { call } = world
    await seedWebProject(world, ['one'])
    const id = await addEnvironment(world)
    assert.equal((await add(world, 'stage', { customEnvironmentId: 'staging' })).body.customEnvironmentId, id)
    const url = `${DOMAINS}/${at('stage')}` as const
    assert.equal((await call('GET', url)).body.customEnvironmentId, id)
    for (const body of [{ gitBranch: 'dev' }, { redirect: at('one') }, { customEnvironmentId: 'nosuch' }])
      assert.deepEqual(told(await call.try('PATCH', url, body)), [400, 'bad_request'], JSON.stringify(body))
    assert.deepEqual((await call('PATCH', url, { gitBranch: null, redirect: null })).body.customEnvironmentId, id)
    const moved = await call('PATCH', url, { gitBranch: 'dev', customEnvironmentId: null })
    assert.deepEqual([moved.body.gitBranch, moved.body.customEnvironmentId], ['dev', null])
    assert.deepEqual(told(await call.try('PATCH', url, { customEnvironmentId: id })), [400, 'bad_request'])
    const back = await call('PATCH', url, { gitBranch: null, customEnvironmentId: id })
    assert.equal(back.body.customEnvironmentId, id)

    const listed = async (query: string) =>
      (await call('GET', `${DOMAINS}?${query}`)).body.domains.map(({ name }: { name: string }) => name)
    assert.deepEqual(await listed('customEnvironmentId=staging'), [at('stage')])
    assert.deepEqual(await listed(`customEnvironmentId=${id}`), [at('stage')])
    assert.deepEqual(await listed('customEnvironmentId=nosuch'), [])
    assert.deepEqual(await listed('production=true'), [at('one')])
    assert.deepEqual(await listed('target=preview'), [at('stage')])
    await seedProject(world, 'other')
    const there = await call('POST', `/v1/projects/web/domains/${at('stage')}/move`, { projectId: 'other' })
    assert.deepEqual([there.status, there.body.customEnvironmentId], [200, null])
  },
  SETTINGS,
)

onBothEngines(
  'domains of an environment point to its newest deployment, and to no other',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const customEnvironmentId = await addEnvironment(world)
    const other = await addEnvironment(world, 'qa')
    await add(world, 'stage', { customEnvironmentId })
    await add(world, 'dev', { gitBranch: 'dev' })
    const live = await web.deploy()
    const preview = { target: 'preview', gitBranch: 'dev' }
    const ofBranch = await web.deploy(preview)
    const ofQa = await web.deploy({ ...preview, customEnvironmentId: other })
    assert.deepEqual(await readDomainAssignments(world), { [at('one')]: live, [at('dev')]: ofBranch })
    const first = await web.deploy({ customEnvironmentId: 'staging', target: null })
    const second = await web.deploy({ ...preview, customEnvironmentId })
    const now = async () => (await readDomainAssignments(world))[at('stage')]
    assert.equal(await now(), second)
    await add(world, 'second', { customEnvironmentId })
    assert.deepEqual(await readDomainAssignments(world), {
      [at('one')]: live,
      [at('dev')]: ofBranch,
      [at('stage')]: second,
      [at('second')]: second,
    })
    assert.equal((await world.call('DELETE', `/v13/deployments/${second}`)).status, 200)
    assert.equal(await now(), first)
    // Promoted, a deployment takes production's domains alone.
    await web.promote(ofQa)
    for (let at = 0; at < 4; at++) await web.sweep()
    assert.deepEqual(await readDomainAssignments(world), {
      [at('one')]: ofQa,
      [at('dev')]: ofBranch,
      [at('stage')]: first,
      [at('second')]: first,
    })
    assert.equal((await world.call('PATCH', `${DOMAINS}/${at('second')}`, { customEnvironmentId: null })).status, 200)
    assert.equal((await readDomainAssignments(world))[at('second')], ofQa)
  },
  SETTINGS,
)

onBothEngines(
  'a deployment belongs to an environment of its project, shows it, and is found by it',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const id = await addEnvironment(world)
    const made = await web.deploy({ target: 'preview', customEnvironmentId: 'staging' })
    await web.deploy()
    const { call, operator } = world
    assert.deepEqual((await call('GET', `/v13/deployments/${made}`)).body.customEnvironment, { id })
    const listed = async (query: string) =>
      (await call('GET', `/v6/deployments?${query}`)).body.deployments?.map(({ uid }: { uid: string }) => uid)
    assert.deepEqual(await listed(`customEnvironmentSlugOrId=${id}`), [made])
    assert.deepEqual(await listed('customEnvironmentSlugOrId=staging&projectId=web'), [made])
    assert.deepEqual(await listed(`customEnvironmentSlugOrId=staging&projectId=${web.id}`), [made])
    assert.deepEqual(await listed('customEnvironmentSlugOrId=nosuch&projectId=web'), [])
    assert.deepEqual(await listed('customEnvironmentSlugOrId=staging&projectId=nosuch'), [])
    assert.deepEqual(told(await call.try('GET', '/v6/deployments?customEnvironmentSlugOrId=staging')), [
      400,
      'bad_request',
    ])
    const refused = (said: object) =>
      operator.try('POST', `/operator/v1/projects/${web.id}/deployments`, {
        url: 'x.host.test',
        readyState: 'READY',
        ...said,
      })
    for (const said of [{ customEnvironmentId: 'nosuch' }, { customEnvironmentId: id, target: 'production' }])
      assert.deepEqual(told(await refused(said)), [400, 'bad_request'], JSON.stringify(said))
    const assigned = await call('POST', `/v2/deployments/${made}/aliases`, { alias: at('given') })
    assert.equal(assigned.status, 200, assigned.text)
    assert.equal((await call('GET', `${DOMAINS}/${at('given')}`)).body.customEnvironmentId, id)
  },
  SETTINGS,
)

onBothEngines(
  'at the edge a domain of an environment is a preview: it outlives a pause, and is guarded as previews are',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const customEnvironmentId = await addEnvironment(world)
    await add(world, 'stage', { customEnvironmentId })
    await web.deploy({ upstream: 'http://127.0.0.1:9' })
    await web.deploy({ target: 'preview', customEnvironmentId, upstream: 'http://127.0.0.1:9' })
    const { ask, settle } = await openEdgeOf(world)
    const status = async (label: string) => {
      await settle()
      return (await ask('/edge/v1/check', { host: at(label) })).status
    }
    assert.deepEqual([await status('one'), await status('stage')], [200, 200])
    await world.call('POST', '/v1/projects/web/pause')
    assert.deepEqual([await status('one'), await status('stage')], [503, 200])
    // Without a deployment, the edge derives its verdict from the domain alone.
    await world.call('PATCH', `${DOMAINS}/${at('stage')}`, { customEnvironmentId: null })
    assert.equal(await status('stage'), 503)
    await world.call('PATCH', `${DOMAINS}/${at('stage')}`, { customEnvironmentId })
    assert.equal(await status('stage'), 200)
  },
  SETTINGS,
)

onBothEngines(
  'an environment takes its domains along, and those that redirect to them',
  async (world) => {
    const { call } = world
    const web = await seedWebProject(world, ['one'])
    const customEnvironmentId = await addEnvironment(world)
    await add(world, 'stage', { customEnvironmentId })
    await add(world, 'old', { redirect: at('stage') })
    const live = await web.deploy()
    await web.deploy({ target: 'preview', customEnvironmentId })
    assert.equal((await call('DELETE', '/v9/projects/web/custom-environments/staging', {})).status, 200)
    assert.deepEqual(await readDomainAssignments(world), { [at('one')]: live })
    const left = (await call('GET', DOMAINS)).body.domains.map(({ name }: { name: string }) => name)
    assert.deepEqual(left, [at('one')])
    const events = await world.deps.db.read.selectFrom('event').select('type').execute()
    assert.equal(events.filter(({ type }) => type === 'project.domain.deleted').length, 2)
    assert.deepEqual(told(await call.try('POST', DOMAINS, { name: at('new'), customEnvironmentId })), [
      400,
      'bad_request',
    ])
  },
  SETTINGS,
)

onBothEngines(
  'an environment with more than 100 domains, those that redirect to them counted too, is not removed',
  async (world) => {
    await seedWebProject(world, [])
    const id = await addEnvironment(world)
    await add(world, 'stage', { customEnvironmentId: id })
    for (let one = 1; one <= 100; one++) await add(world, `to${one}`, { redirect: at('stage') })
    const url = `/v9/projects/web/custom-environments/${id}` as const
    assert.deepEqual(told(await world.call.try('DELETE', url)), [409, 'conflict'])
    assert.equal((await world.call('DELETE', `${DOMAINS}/${at('to1')}`)).status, 200)
    assert.equal((await world.call('DELETE', url)).status, 200)
    assert.deepEqual((await world.call('GET', DOMAINS)).body.domains, [])
  },
  SETTINGS,
)
