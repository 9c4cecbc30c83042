/** A create says whether its build may use what earlier ones left. docs/runner.md: Build cache. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'
import { BUILDS, openRunners, SOURCE } from './building.ts'

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
