/** A create says whether its build may use what earlier ones left. docs/runner.md: Build cache. */
import assert from 'node:assert/strict'
import { cacheKeysOf } from '../../../src/runner/cache/cache-key.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { BUILDS, createSource, openRunners, SOURCE } from './building.ts'

onBothEngines(
  'a build uses the build cache unless the create forces a new one without it',
  async (world) => {
    const runners = await openRunners(world)
    const skips = async (query: string) => {
      await world.call('POST', `/v13/deployments?skipAutoDetectionConfirmation=1${query}`, {
        ...{ name: 'web', target: 'production', files: SOURCE, meta: { query } },
      })
      const lease = await runners.take()
      await runners.of(lease).fail('BUILD_FAILED', 'seen')
      return lease.settings.skipsCache
    }
    assert.equal(await skips(''), false)
    assert.equal(await skips('&forceNew=1'), true)
    assert.equal(await skips('&forceNew=1&withCache=1'), false)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'previews of two branches have two build caches, also where builds get no system variables',
  async (world) => {
    await seedProject(world, 'web')
    await world.call('PATCH', '/v9/projects/web', { autoExposeSystemEnvs: false })
    const runners = await openRunners(world)
    const leaseOf = async (githubCommitRef: string | undefined) => {
      const env = { VERCEL_GIT_COMMIT_REF: 'main' }
      await createSource(world, { meta: githubCommitRef === undefined ? {} : { githubCommitRef }, build: { env } })
      const lease = await runners.take()
      await runners.of(lease).fail('BUILD_FAILED', 'seen')
      return lease
    }
    const leases = [await leaseOf('main'), await leaseOf('feature'), await leaseOf(undefined)]
    assert.deepEqual(
      leases.map(({ branch, env }) => [branch, env.VERCEL_GIT_COMMIT_REF]),
      [
        ['main', 'main'],
        ['feature', 'main'],
        [null, 'main'],
      ],
    )
    assert.equal(new Set(leases.map((lease) => cacheKeysOf(lease, 22).own)).size, 3)
    await runners.close()
  },
  BUILDS,
)
