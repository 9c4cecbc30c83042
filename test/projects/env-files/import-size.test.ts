/** A `.env` text is refused by what it holds before anything of it is planned. docs/limits.md: Request scheduling. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PATH = '/v1/projects/web/env?target=production' as const
/** The clock of some machines has steps of 4 ms: what takes less is nothing to it. */
const STEP_MS = 4
const TEXT = { 'content-type': 'text/plain' }

function keys(count: number): string {
  return Array.from({ length: count }, (_, at) => `K${at.toString(36)}=`).join('\n')
}

/** Processor time of the one thread for an import, in ms: the median of five. */
async function costOf(world: World, path: typeof PATH, text: string, status: number): Promise<number> {
  const costs: number[] = []
  for (let round = 0; round < 5; round++) {
    const began = process.threadCpuUsage()
    const answer = await world.call.try('PUT', path, text, TEXT)
    const { user, system } = process.threadCpuUsage(began)
    assert.equal(answer.status, status, answer.text.slice(0, 300))
    costs.push((user + system) / 1000)
  }
  return costs.sort((a, b) => a - b)[2]!
}

onBothEngines(
  'a text of 120,000 variables is refused for the price of one of 1,001, dry or not (a bound on time)',
  async (world) => {
    await seedProject(world, 'web')
    for (const path of [PATH, `${PATH}&dryRun=true` as typeof PATH]) {
      const few = await costOf(world, path, keys(1001), 400)
      const many = await costOf(world, path, keys(120_000), 400)
      // A longer body is read and copied; nothing more is done with it. Planned, it cost some hundred times as much.
      assertWithin(many, 15 * Math.max(few, STEP_MS))
      const answer = await world.call.try('PUT', path, keys(120_000), TEXT)
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'TOO_MANY_KEYS'])
    }
    assert.equal((await world.call('PUT', `${PATH}&dryRun=true`, keys(1000), TEXT)).status, 200)
    assert.deepEqual(await world.deps.db.read.selectFrom('env_var').select('id').execute(), [])
  },
)
