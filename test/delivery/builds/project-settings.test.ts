/** Settings of a project in its builds. docs/effects.md. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { BUILDS, createSource, openRunners } from './building.ts'

const SETTINGS = {
  framework: 'vite',
  buildCommand: 'make site',
  devCommand: 'make watch',
  installCommand: 'make tools',
  outputDirectory: 'public',
  rootDirectory: 'apps/web',
  commandForIgnoringBuildStep: 'exit 1',
  nodeVersion: '24.x',
  sourceFilesOutsideRootDirectory: false,
} as const

onBothEngines(
  'a build gets the settings that its project had at the create',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    await world.call('PATCH', '/v9/projects/web', SETTINGS)
    await createSource(world)
    await world.call('PATCH', '/v9/projects/web', { buildCommand: null, rootDirectory: null, nodeVersion: '22.x' })
    const { skipsCache: _, ...settings } = (await runners.take()).settings
    assert.deepEqual(settings, SETTINGS)
    await createSource(world)
    const { buildCommand, rootDirectory, nodeVersion } = (await runners.take()).settings
    assert.deepEqual([buildCommand, rootDirectory, nodeVersion], [null, null, '22.x'])
    await runners.close()
  },
  BUILDS,
)
