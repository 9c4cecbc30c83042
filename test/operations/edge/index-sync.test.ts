/** How the index of hosts follows what changes. docs/edge.md: Three look-ups. */
import assert from 'node:assert/strict'
import type { Deps } from '../../../src/context.ts'
import { startHostSync } from '../../../src/operations/edge/index-sync.ts'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const ONE = 'one.apps.example.net'

/** The same service with a reader that holds the next result about projects back once it is armed. */
function holdingReads(deps: Deps) {
  const [read, may] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isArmed = false
  const holding = deps.db.read.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (isArmed && result.rows.some((row) => 'paused_at' in row)) {
        isArmed = false
        read.resolve()
        await may.promise
      }
      return result
    },
  })
  const arm = () => {
    isArmed = true
  }
  return { deps: { ...deps, db: { ...deps.db, read: holding } }, arm, read: read.promise, release: may.resolve }
}

onBothEngines(
  'a change that comes while others are read is read after them, without waiting for the next look',
  async (world, t) => {
    const web = await seedWebProject(world, ['one'])
    await web.deploy()
    const { deps, arm, read, release } = holdingReads(world.deps)
    // Without the interval there is no poll: a change that is not read for its notification is never read.
    t.mock.timers.enable({ apis: ['setInterval'] })
    const followed = await startHostSync(deps)
    t.mock.timers.reset()
    let told = 0
    world.deps.db.changes.onChange((changed) => {
      if (changed === 'all' || changed.some((subject) => subject.startsWith('edge '))) told++
    })
    const shown = () => followed.hosts().find(ONE).serving.kind
    assert.equal(shown(), 'live')
    arm()
    try {
      const paused = await world.call('POST', `/v1/projects/${web.id}/pause`)
      assert.equal(paused.status, 200, paused.text)
      await read
      const before = told
      const removed = await world.call('DELETE', `/v9/projects/web/domains/${ONE}`)
      assert.equal(removed.status, 200, removed.text)
      await eventually(() => told > before)
      assert.equal(shown(), 'live')
      release()
      await eventually(() => shown() === 'unknown')
    } finally {
      release()
      await followed.stop()
    }
  },
  SETTINGS,
)

onBothEngines(
  'a change that comes while all is read is in the index once it is read',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    await web.deploy()
    const { deps, arm, read, release } = holdingReads(world.deps)
    arm()
    const following = startHostSync(deps)
    try {
      // The names have been read by now.
      await read
      const removed = await world.call('DELETE', `/v9/projects/web/domains/${ONE}`)
      assert.equal(removed.status, 200, removed.text)
      // The newest change is always looked at; the one before it only if it was noted where reading began.
      const other = await world.call('POST', '/v10/projects/web/domains', { name: 'other.apps.example.net' })
      assert.equal(other.status, 200, other.text)
      release()
      assert.equal((await following).hosts().find(ONE).serving.kind, 'unknown')
    } finally {
      release()
      await (await following).stop()
    }
  },
  SETTINGS,
)
