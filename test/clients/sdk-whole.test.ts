/** Every answer, decoded by every version of the SDK: no field that it knows is lost but those of the table. test/sdk/whole-answers.ts. */
import { join } from 'node:path'
import { after } from 'node:test'
import { SDK_VERSIONS } from '../../scripts/clients.ts'
import { gatherAnswers } from '../sdk/gather-answers.ts'
import { losesNothing } from '../sdk/whole-answers.ts'
import { onBothEngines } from '../support/world.ts'
import { startGitHosts } from '../support/worlds/full-project.ts'
import { folderOf } from './ledger.ts'

const hosts = await startGitHosts()
after(() => hosts.close())

onBothEngines(
  'no version of the SDK loses a field that it declares of any answer',
  async (world) => {
    const sdks = SDK_VERSIONS.map((version) => ({
      version,
      folder: join(folderOf(`sdk-${version}`), '@vercel', 'sdk', 'esm'),
    }))
    await losesNothing(sdks, await gatherAnswers(world, hosts, SDK_VERSIONS))
  },
  { BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)
