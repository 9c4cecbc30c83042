/** Functions have the variables that a deployment was created with. docs/functions.md: Environment. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { openInstance, SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { seedTransferAccounts } from '../../support/worlds/transfer-world.ts'
import { BUILDS, createSource, OUTPUT, openRunners } from '../builds/building.ts'
import { deploy, SITE } from '../deploys/deploying.ts'

const SETTINGS = { ...BUILDS, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' }
const TARGETS = { target: ['production', 'preview'], type: 'encrypted' }

async function openEnvironments(world: World) {
  const { ask, close } = await openInstance(world)
  const envOf = async ({ id }: { id: string }) => {
    const answer = await ask(`/sites/v1/environments/${id}`)
    assert.equal(answer.status, 200, answer.text)
    const { KEY, GONE, OWN, VERCEL_GIT_COMMIT_SHA } = JSON.parse(answer.text).env
    return [KEY, GONE, OWN, VERCEL_GIT_COMMIT_SHA]
  }
  return { envOf, close }
}

const stored = ({ deps }: World) => deps.db.read.selectFrom('frozen_env').selectAll().orderBy('id').execute()

async function usedBy(world: World): Promise<number> {
  const rows = await world.deps.db.read.selectFrom('file_usage').select('bytes').execute()
  return rows.reduce((sum, { bytes }) => sum + Number(bytes), 0)
}

async function seedVariables(world: World) {
  const projectId = await seedProject(world, 'web')
  const made = await world.call('POST', '/v10/projects/web/env', [
    { key: 'KEY', value: 'first', ...TARGETS },
    { key: 'GONE', value: 'still here', ...TARGETS },
  ])
  const [key, gone] = made.body.created.map(({ id }: { id: string }) => id)
  const change = async () => {
    await world.call('PATCH', `/v9/projects/web/env/${key}`, { value: 'second' })
    await world.call('DELETE', `/v9/projects/web/env/${gone}`)
  }
  return { projectId, change }
}

onBothEngines(
  'a changed variable reaches functions of later deployments and of redeploys, and never those of an older deployment',
  async (world) => {
    const { change } = await seedVariables(world)
    const { envOf, close } = await openEnvironments(world)
    const said = { env: { OWN: 'of the create' }, gitMetadata: { commitSha: 'abc' } }
    const plain = await deploy(world.call)
    const same = await deploy(world.call, SITE, { meta: { again: '1' } })
    const own = await deploy(world.call, SITE, said)
    await change()
    for (const one of [plain, same]) assert.deepEqual(await envOf(one), ['first', 'still here', undefined, undefined])
    assert.deepEqual(await envOf(own), ['first', 'still here', 'of the create', 'abc'])
    const again = (deploymentId: string) => world.call('POST', '/v13/deployments', { name: 'web', deploymentId })
    assert.deepEqual(await envOf((await again(own.id)).body), ['second', undefined, 'of the create', 'abc'])
    assert.deepEqual(await envOf((await again(plain.id)).body), ['second', undefined, undefined, undefined])
    assert.deepEqual(await envOf(plain), ['first', 'still here', undefined, undefined])
    const rows = await stored(world)
    assert.deepEqual(
      rows.map(({ refs }) => refs),
      [2, 1, 1, 1],
      'deployments of equal variables share a row',
    )
    assert.doesNotMatch(JSON.stringify(rows), /still here|of the create|second/)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'functions of a build have the variables of its create, and a deployment of an earlier version the present ones',
  async (world) => {
    const { change } = await seedVariables(world)
    const { envOf, close } = await openEnvironments(world)
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    await change()
    const runner = runners.of(await runners.take())
    for (const content of Object.values(OUTPUT)) await runner.put(content)
    assert.equal((await runner.succeed()).status, 200)
    assert.deepEqual((await envOf({ id })).slice(0, 2), ['first', 'still here'])
    await tamper(world, 'deployment', { env_id: null as unknown as number }, { id })
    assert.deepEqual((await envOf({ id })).slice(0, 2), ['second', undefined])
    await runners.close()
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'without autoExposeSystemEnvs later deployments get no system variables, but those that name one',
  async (world) => {
    await seedProject(world, 'web')
    await world.call('POST', '/v10/projects/web/env', {
      key: 'VERCEL_URL',
      value: 'VERCEL_URL',
      type: 'system',
      target: TARGETS.target,
    })
    const before = await deploy(world.call)
    await world.call('PATCH', '/v9/projects/web', { autoExposeSystemEnvs: false })
    const after = await deploy(world.call, SITE, { meta: { again: '1' } })
    const { ask, close } = await openInstance(world)
    const envOf = async (id: string) => JSON.parse((await ask(`/sites/v1/environments/${id}`)).text).env
    assert.equal((await envOf(before.id)).VERCEL_ENV, 'preview')
    assert.deepEqual(Object.keys(await envOf(after.id)), ['VERCEL_URL'])
    assert.match((await envOf(after.id)).VERCEL_URL, /^web-/)
    const runners = await openRunners(world)
    await createSource(world)
    assert.deepEqual(Object.keys((await runners.take()).env).toSorted(), ['CI', 'VERCEL_URL'])
    await runners.close()
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'variables count for the account while a deployment has them, and go with the last or with the project',
  async (world) => {
    const { change } = await seedVariables(world)
    const before = await deploy(world.call)
    const used = await usedBy(world)
    assert.equal(Number((await stored(world))[0]!.bytes), 4096)
    const same = await deploy(world.call, SITE, { meta: { again: '1' } })
    assert.equal(await usedBy(world), used, 'a shared row counts once')
    await change()
    await deploy(world.call, SITE, { meta: { again: '2' } })
    assert.equal(await usedBy(world), used + 4096)
    await world.call('DELETE', `/v13/deployments/${before.id}`)
    assert.equal((await stored(world)).length, 2)
    await world.call('DELETE', `/v13/deployments/${same.id}`)
    assert.equal((await stored(world)).length, 1)
    assert.equal(await usedBy(world), used)
    await world.call('DELETE', '/v9/projects/web')
    assert.deepEqual(await stored(world), [])
    assert.equal(await usedBy(world), used - 4096)
  },
  SETTINGS,
)

onBothEngines(
  'a shared variable stays with a deployment whose project leaves the account',
  async (world) => {
    const accounts = await seedTransferAccounts(world)
    const { projectId } = accounts
    const evs = [{ key: 'KEY', value: 'of the giver' }]
    await world.call('POST', '/v1/env', { evs, ...TARGETS, projectId: [projectId] })
    const { envOf, close } = await openEnvironments(world)
    const one = await deploy(world.call)
    assert.equal((await accounts.take(await accounts.offer())).status, 202)
    assert.equal(await accounts.sweep(), 1)
    assert.equal((await envOf(one))[0], 'of the giver')
    const frozen = JSON.parse((await stored(world))[0]!.variables_json!)
    assert.deepEqual(
      frozen.map(({ box }: { box: string }) => box),
      [projectId],
      'the key of the account may go',
    )
    await close()
  },
  SETTINGS,
)
