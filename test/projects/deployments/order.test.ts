/** Deployments are in the order of their creation, whatever the clocks say. docs/deployments.md. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'
import { readDomainAssignments, SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const ONE = 'one.apps.example.net'
const TWO = 'two.apps.example.net'

onBothEngines(
  'a deployment is newer than those before it, also where the clock was ahead for them',
  async (world) => {
    const web = await seedWebProject(world)
    await world.call('PATCH', `/v9/projects/web/domains/${TWO}`, { gitBranch: 'dev' })
    const { clock } = world.deps
    // As an instance does whose clock is ahead, or one whose clock was set back since.
    clock.set(clock.now() + 3_600_000)
    const ahead = [await web.deploy(), await web.deploy({ target: 'preview', gitBranch: 'dev' })]
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: ahead[0], [TWO]: ahead[1] })
    clock.set(undefined)
    for (let round = 0; round < 3; round++) {
      const live = await web.deploy()
      const preview = await web.deploy({ target: 'preview', gitBranch: 'dev' })
      assert.deepEqual(await readDomainAssignments(world), { [ONE]: live, [TWO]: preview })
      const project = await web.read()
      assert.equal(project.targets.production.id, live)
      const { deployments } = (await world.call('GET', `/v6/deployments?projectId=${web.id}&limit=2`)).body
      assert.deepEqual(
        deployments.map(({ uid }: { uid: string }) => uid),
        [preview, live],
      )
    }
  },
  SETTINGS,
)
