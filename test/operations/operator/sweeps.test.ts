/** Sweeps of an instance take turns, and end at a stop. src/timers.ts. */
import assert from 'node:assert/strict'
import { runTimer, startTimers } from '../../../src/timers.ts'
import { eventually } from '../../support/eventually.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const SLICE = 1000
const LONG = 'old-usage-reports'
/** It comes after the long one in the table. */
const NEXT = 'reserved-slugs'

/** Gives a sweep slices of expired rows. */
async function expire(world: World, slices: number): Promise<number> {
  for (let slice = 0; slice < slices; slice++) {
    const rows = Array.from({ length: SLICE }, (_, at) => ({
      server: `server ${slice} ${at}`,
      sequence: 1,
      expires_at: 1,
    }))
    await addRows(world, 'usage_report', rows)
  }
  return slices * SLICE
}

onBothEngines(
  'a sweep with much to do takes turns with the others, so that no account keeps them waiting',
  async (world) => {
    const { deps } = world
    const all = await expire(world, 45)
    const swept = () => deps.metrics.counter('berth_timer_swept_total', LONG).value
    const isNextWhole = () => deps.metrics.gauge('berth_timer_last_run_timestamp_seconds', NEXT).value > 0
    let isBetween = false
    const write: typeof deps.db.write = (work, owner) => {
      isBetween ||= isNextWhole() && swept() < all
      return deps.db.write(work, owner)
    }
    const stop = startTimers({ ...deps, db: { ...deps.db, write } })
    await eventually(() => swept() === all && isNextWhole())
    await stop()
    assert.ok(isBetween, 'the next sweep ran before the long one was whole')
  },
)

onBothEngines('a stop ends a sweep after a slice, and the rest is left to the next start', async (world) => {
  const all = await expire(world, 3)
  const stopping = { ...world.deps, shutdownSignal: AbortSignal.abort() }
  const { deps } = world
  assert.equal(await runTimer(stopping, LONG, deps.clock.now()), SLICE)
  const stop = startTimers(stopping)
  deps.wakeups.timer(LONG)
  await stop()
  assert.equal(await runTimer(deps, LONG, deps.clock.now()), all - SLICE)
})
