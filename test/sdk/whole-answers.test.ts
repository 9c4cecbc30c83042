/** Every answer, decoded by each SDK that is installed: no field that the SDK knows is lost. `npm run test:clients` does it with all versions. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { root } from '../support/root.ts'
import { onBothEngines } from '../support/world.ts'
import { startGitHosts } from '../support/worlds/full-project.ts'
import { gatherAnswers } from './gather-answers.ts'
import { KEPT, losesNothing } from './whole-answers.ts'

const packages = join(root, 'node_modules')
const hosts = await startGitHosts()
after(() => hosts.close())
/** Needed by versions that are not installed here. */
const OF_OTHERS = ['getAlias']

onBothEngines(
  'no SDK that is installed loses a field that it knows of any answer',
  async (world) => {
    const versions = readdirSync(packages).flatMap((name) => /^sdk-([\d.]+)$/.exec(name)?.[1] ?? [])
    assert.ok(versions.length >= 3, versions.join())
    const sdks = versions.map((version) => ({ version, folder: join(packages, `sdk-${version}`, 'esm') }))
    const rows = KEPT.filter(({ operations }) => !operations.some((one) => OF_OTHERS.includes(one)))
    await losesNothing(sdks, await gatherAnswers(world, hosts, versions), rows)
  },
  { BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)
