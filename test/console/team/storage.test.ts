/** What an account uses on the disks of the service, on its pages. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { deploySite } from '../../support/sample-requests.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const MIB = 1024 ** 2

onBothEngines(
  'the settings of a team say what its files and logs use and may use, and those of a user what theirs do',
  async (world) => {
    const client = await openSignedInClient(world)
    const before = await client.get('/console/t/team/settings')
    assert.match(before.text, /Deployment files<\/dt><dd>0 bytes of 3\.0 GiB</)
    assert.match(before.text, /Function logs<\/dt><dd>0 bytes of 32\.0 MiB</)

    const team = await world.token({ teamId: world.credentials.teamId })
    await team('POST', '/v10/projects', { name: 'web' })
    const { siteId } = await deploySite(team, 'x'.repeat(9000))
    await addLogs(world, siteId, [MIB, 2 * MIB])
    const { text } = await client.get('/console/t/team/settings')
    // A file counts in blocks of 4 KiB; so do the list of files and the variables of the deployment.
    const { bytes } = await world.deps.db.read
      .selectFrom('file_usage')
      .select('bytes')
      .where('account_id', '=', world.credentials.teamId)
      .executeTakeFirstOrThrow()
    assert.ok(bytes >= 16 * 1024, `${bytes}`)
    assert.ok(text.includes(`Deployment files</dt><dd>${(bytes / 1024).toFixed(1)} KiB of 3.0 GiB<`), text)
    assert.match(text, /Function logs<\/dt><dd>3\.0 MiB of 32\.0 MiB</)
    assert.match((await client.get('/console/account')).text, /Deployment files<\/dt><dd>0 bytes of 3\.0 GiB</)
  },
  { BERTH_FILES_PER_ACCOUNT: '3GiB' },
)

async function addLogs(world: World, deploymentId: string, sizes: readonly number[]): Promise<void> {
  const { account_id, project_id } = await world.deps.db.read
    .selectFrom('deployment')
    .select(['account_id', 'project_id'])
    .where('id', '=', deploymentId)
    .executeTakeFirstOrThrow()
  const row = { account_id, project_id, deployment_id: deploymentId, first_at: 1, last_at: 1, lines: 1, text: '' }
  await addRows(
    world,
    'runtime_log',
    sizes.map((bytes) => ({ ...row, bytes })),
  )
}
