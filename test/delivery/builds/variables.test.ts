/** Variables of a build are those at its creation, sealed until a lease opens them, which the audit log records. docs/building.md: Environment. */
import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { openInstance, SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { deploy, SITE } from '../deploys/deploying.ts'
import { BUILDS, createSource, OUTPUT, openRunners, stateOf } from './building.ts'

const TARGETS = { target: ['production', 'preview'] }

async function linesOf({ deps }: World) {
  return deps.db.read.selectFrom('audit').selectAll().where('type', '=', 'leaseBuild').execute()
}

/** The variables of a deployment as they are stored. */
async function frozenOf({ deps }: World, id: string) {
  const rows = await deps.db.read
    .selectFrom('deployment')
    .innerJoin('frozen_env', 'frozen_env.id', 'deployment.env_id')
    .select('variables_json')
    .where('deployment.id', '=', id)
    .execute()
  return rows[0]?.variables_json
}

onBothEngines(
  'a build has the variables that its project had at the create, and leaves one line in the audit log',
  async (world) => {
    const projectId = await seedProject(world, 'web')
    const { userId } = world.credentials
    const made = await world.call('POST', '/v10/projects/web/env', [
      { key: 'CHANGED', value: 'of the create', type: 'encrypted', ...TARGETS },
      { key: 'DELETED', value: 'still here', type: 'sensitive', ...TARGETS },
      { key: 'PLAIN', value: 'seen', type: 'plain', ...TARGETS },
    ])
    const [changed, deleted] = made.body.created.map(({ id }: { id: string }) => id)
    const evs = [{ key: 'SHARED', value: 'linked' }]
    await world.call('POST', '/v1/env', { evs, type: 'encrypted', ...TARGETS, projectId: [projectId] })
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    assert.doesNotMatch((await frozenOf(world, id))!, /of the create|still here/)
    await world.call('PATCH', `/v9/projects/web/env/${changed}`, { value: 'of later' })
    await world.call('DELETE', `/v9/projects/web/env/${deleted}`)
    await world.call('POST', '/v10/projects/web/env', { key: 'NEW', value: 'too late', type: 'encrypted', ...TARGETS })
    assert.deepEqual(await linesOf(world), [])
    const lease = await runners.take()
    const { CHANGED, DELETED, PLAIN, SHARED, NEW } = lease.env
    assert.deepEqual(
      [CHANGED, DELETED, PLAIN, SHARED, NEW],
      ['of the create', 'still here', 'seen', 'linked', undefined],
    )
    assert.ok(lease.masked.includes('CHANGED') && lease.masked.includes('DELETED') && !lease.masked.includes('PLAIN'))
    const [line, ...others] = await linesOf(world)
    assert.deepEqual(others, [])
    assert.deepEqual(
      [line!.account_id, line!.actor_kind, line!.subject_id, line!.fields_json],
      [userId, 'timer', id, '["preview"]'],
    )
    const runner = runners.of(lease)
    for (const content of Object.values(OUTPUT)) await runner.put(content)
    assert.equal((await runner.succeed()).status, 200)
    await world.call('POST', '/v13/deployments?forceNew=1', {
      name: 'web',
      deploymentId: id,
      meta: { action: 'again' },
    })
    const again = await runners.take()
    assert.deepEqual([again.env.CHANGED, again.env.DELETED, again.env.NEW], ['of later', undefined, 'too late'])
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a build and functions know a custom environment by its slug, also under its new one',
  async (world) => {
    const projectId = await seedProject(world, 'web')
    const { body } = await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
    const runners = await openRunners(world)
    const instance = await openInstance(world)
    const functionsOf = async (id: string) =>
      JSON.parse((await instance.ask(`/sites/v1/environments/${id}`)).text).env.VERCEL_TARGET_ENV
    const build = async (said: object) => {
      const { id } = await createSource(world, { ...said })
      const lease = await runners.take()
      const { environment, target, env } = lease
      const runner = runners.of(lease)
      for (const content of Object.values(OUTPUT)) await runner.put(content)
      assert.equal((await runner.succeed()).status, 200)
      return { id, said: [environment, target, env.VERCEL_ENV, env.VERCEL_TARGET_ENV] }
    }
    assert.deepEqual((await build({})).said, [null, 'preview', 'preview', 'preview'])
    const { id, said } = await build({ target: 'staging' })
    assert.deepEqual(said, ['staging', 'preview', 'preview', 'staging'])
    assert.equal(await functionsOf(id), 'staging')
    await world.call('PATCH', `/v9/projects/${projectId}/custom-environments/staging`, { slug: 'canary' })
    assert.deepEqual((await build({ target: body.id })).said, ['canary', 'preview', 'preview', 'canary'])
    assert.equal(await functionsOf(id), 'canary')
    await world.call('DELETE', `/v9/projects/${projectId}/custom-environments/canary`, {})
    assert.equal(await functionsOf(id), body.id, 'it is removed, and had an id')
    await instance.close()
    await runners.close()
  },
  { ...BUILDS, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' },
)

onBothEngines(
  'of a create `build.env` is for its build alone, and `env` for its functions',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const instance = await openInstance(world)
    const { id } = await createSource(world, { env: { RUNS: 'a' }, build: { env: { BUILDS: 'b' } } })
    const lease = await runners.take()
    assert.deepEqual([lease.env.BUILDS, lease.env.RUNS], ['b', undefined])
    const runner = runners.of(lease)
    for (const content of Object.values(OUTPUT)) await runner.put(content)
    assert.equal((await runner.succeed()).status, 200)
    const { env } = JSON.parse((await instance.ask(`/sites/v1/environments/${id}`)).text)
    assert.deepEqual([env.BUILDS, env.RUNS], [undefined, 'a'])
    await instance.close()
    await runners.close()
  },
  { ...BUILDS, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' },
)

onBothEngines(
  'the bypass secret that is chosen for deployments is a masked variable of builds and functions, as it was at the create',
  async (world) => {
    const projectId = await seedProject(world, 'web')
    const [first, second] = ['A1'.repeat(16), 'B2'.repeat(16)]
    const path = `/v1/projects/${projectId}/protection-bypass`
    await world.call('PATCH', path, { generate: { secret: first } })
    const runners = await openRunners(world)
    const { ask, close } = await openInstance(world)
    let serial = 0
    const given = async () => {
      const { id } = await deploy(world.call, SITE, { meta: { n: String(++serial) } })
      await createSource(world)
      const functions = async () => JSON.parse((await ask(`/sites/v1/environments/${id}`)).text)
      return { build: await runners.take(), functions: await functions(), again: functions }
    }
    const NAME = 'VERCEL_AUTOMATION_BYPASS_SECRET'
    const none = await given()
    for (const { env, masked } of [none.build, none.functions])
      assert.deepEqual([env[NAME], masked.includes(NAME)], [undefined, false], 'it is not chosen')
    assert.deepEqual(await linesOf(world), [])

    await world.call('PATCH', path, { update: { secret: first, isEnvVar: true } })
    const chosen = await given()
    for (const { env, masked } of [chosen.build, chosen.functions])
      assert.deepEqual([env[NAME], masked.includes(NAME)], [first, true])
    assert.equal((await linesOf(world)).length, 1, 'a lease with a secret is in the audit log')
    const rows = await world.deps.db.read.selectFrom('frozen_env').selectAll().execute()
    assert.equal(JSON.stringify(rows).includes(first), false)

    await world.call('PATCH', path, { revoke: { secret: first, regenerate: false }, generate: { secret: second } })
    await world.call('PATCH', path, { update: { secret: second, isEnvVar: true } })
    assert.equal((await chosen.again()).env[NAME], first, 'an older deployment keeps what it was created with')
    const said = { key: 'MINE', value: NAME, type: 'system', target: ['preview'] }
    await world.call('POST', '/v10/projects/web/env', said)
    await world.call('PATCH', '/v9/projects/web', { autoExposeSystemEnvs: false })
    const renamed = await given()
    for (const { env, masked } of [renamed.build, renamed.functions]) {
      assert.deepEqual([env.MINE, env[NAME]], [second, undefined])
      assert.deepEqual([masked.includes('MINE'), masked.includes(NAME)], [true, false])
    }
    await close()
    await runners.close()
  },
  { ...BUILDS, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' },
)

onBothEngines(
  'a variable reaches builds and functions of its environments and of its branch, whatever its type',
  async (world) => {
    await seedProject(world, 'web')
    const { body } = await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
    const add = async (key: string, value: string, said: object) =>
      world.call('POST', '/v10/projects/web/env', { key, value, type: 'encrypted', ...said })
    await add('WHERE', 'production', { target: ['production'] })
    await add('WHERE', 'preview', { target: ['preview'] })
    await add('WHERE', 'branch', { target: ['preview'], gitBranch: 'feature', type: 'sensitive' })
    await add('WHERE', 'staging', { target: [], customEnvironmentIds: [body.id], type: 'plain' })
    await add('LOCAL', 'never', { target: ['development'] })
    await add('NAMED', 'VERCEL_ENV', { ...TARGETS, type: 'system' })
    const runners = await openRunners(world)
    const instance = await openInstance(world)
    const given = async (said: object) => {
      const { id } = await createSource(world, { ...said })
      const lease = await runners.take()
      const runner = runners.of(lease)
      for (const content of Object.values(OUTPUT)) await runner.put(content)
      assert.equal((await runner.succeed()).status, 200)
      const functions = JSON.parse((await instance.ask(`/sites/v1/environments/${id}`)).text)
      assert.deepEqual(
        [functions.env.WHERE, functions.env.NAMED, functions.masked.includes('WHERE')],
        [lease.env.WHERE, lease.env.NAMED, lease.masked.includes('WHERE')],
        'functions have what their build had',
      )
      const { WHERE, NAMED, LOCAL } = lease.env
      return [WHERE, NAMED, LOCAL, lease.masked.includes('WHERE')]
    }
    assert.deepEqual(await given({ target: 'production' }), ['production', 'production', undefined, true])
    assert.deepEqual(await given({}), ['preview', 'preview', undefined, true])
    const feature = { gitMetadata: { commitRef: 'feature' } }
    assert.deepEqual(await given(feature), ['branch', 'preview', undefined, true])
    assert.deepEqual(await given({ ...feature, target: 'production' }), ['production', 'production', undefined, true])
    assert.deepEqual(await given({ target: 'staging' }), ['staging', undefined, undefined, false])
    await instance.close()
    await runners.close()
  },
  { ...BUILDS, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' },
)

onBothEngines(
  'with skew protection a build and functions get a variable that says so, as it was at the create',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { ask, close } = await openInstance(world)
    const functionsOf = async (id: string) =>
      JSON.parse((await ask(`/sites/v1/environments/${id}`)).text).env.VERCEL_SKEW_PROTECTION_ENABLED
    let serial = 0
    const given = async () => {
      const { id } = await deploy(world.call, SITE, { meta: { n: String(++serial) } })
      await createSource(world)
      const { env } = await runners.take()
      return { id, build: env.VERCEL_SKEW_PROTECTION_ENABLED, functions: await functionsOf(id) }
    }
    const before = await given()
    assert.deepEqual([before.build, before.functions], [undefined, undefined])
    await world.call('PATCH', '/v9/projects/web', { skewProtectionMaxAge: 3600 })
    const after = await given()
    assert.deepEqual([after.build, after.functions], ['1', '1'])
    await world.call('PATCH', '/v9/projects/web', { skewProtectionMaxAge: 0 })
    assert.deepEqual([await functionsOf(before.id), await functionsOf(after.id)], [undefined, '1'])
    await close()
    await runners.close()
  },
  { ...BUILDS, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' },
)

onBothEngines(
  'a project without variables leaves no line, and a removed build keeps none',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    await createSource(world, { env: { A: '1' } })
    await runners.take()
    assert.deepEqual(await linesOf(world), [])
    await world.call('POST', '/v10/projects/web/env', { key: 'A', value: 'secret', type: 'encrypted', ...TARGETS })
    const { id } = await createSource(world)
    assert.notEqual(await frozenOf(world, id), '[]')
    await world.call('DELETE', `/v13/deployments/${id}`)
    assert.equal(await frozenOf(world, id), undefined)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a build whose variables cannot be decrypted fails at its lease, and the runner gets the next one (logs an error)',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world, { env: { A: '1' } })
    await tamper(world, 'frozen_env', { sealed_env: 'v1.x.y' })
    const leased = runners.take()
    await eventually(async () => (await stateOf(world, id)).readyState === 'ERROR')
    const { errorCode, errorMessage } = await stateOf(world, id)
    assert.equal(errorCode, 'RUNNER_FAILED')
    assert.match(errorMessage, /cannot be decrypted: the keyring of this Berth lacks its key/)
    const next = await createSource(world)
    assert.equal((await leased).deploymentId, next.id)
    await runners.close()
  },
  BUILDS,
)
