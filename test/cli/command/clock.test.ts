/** Clocks in `berth doctor`: a difference of five seconds is an error. docs/operations.md. */
import assert from 'node:assert/strict'
import { checkClock } from '../../../src/operations/doctor/store.ts'
import { stampToMs } from '../../../src/platform/base/clock.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** The greatest difference that is well. */
const LIMIT_MS = 5000

/** Writes an event whose time is this many seconds ahead of the machine, and returns what the doctor says then. */
async function checkAhead(world: World, seconds: number): Promise<string[]> {
  world.deps.clock.set(Date.now() + seconds * 1000)
  await seedProject(world, `ahead-${seconds}`)
  return (await checkClock(world.deps.config)).map(({ is }) => is)
}

onBothEngines(
  'a store that was written a little ahead of this clock is well, and one by half a minute is not',
  async (world) => {
    assert.deepEqual(await checkAhead(world, 0), ['well'])
    assert.deepEqual(await checkAhead(world, 4), ['well'])
    assert.deepEqual(await checkAhead(world, 40), ['wrong'])
  },
)

onBothEngines(
  'a store that was written five seconds ahead of a clock is well, and one by a millisecond more is not',
  async (world) => {
    await seedProject(world, 'ahead')
    const newest = await world.deps.db.read
      .selectFrom('event')
      .select('stamp')
      .orderBy('stamp', 'desc')
      .executeTakeFirstOrThrow()
    const check = async (aheadMs: number) => {
      const [finding] = await checkClock(world.deps.config, stampToMs(newest.stamp) - aheadMs)
      return finding!.found
    }
    assert.match(await check(LIMIT_MS + 1), /the database was last written at/)
    assert.doesNotMatch(await check(LIMIT_MS), /the database was last written at/)
  },
)
