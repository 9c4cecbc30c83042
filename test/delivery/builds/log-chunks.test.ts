/** Many small batches of a log become few rows, and a concurrent reader misses no line and sees none twice. docs/building.md: Logs. */
import assert from 'node:assert/strict'
import { readLog } from '../../../src/delivery/builds/log.ts'
import { MERGE } from '../../../src/delivery/builds/log-chunks.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { mustCountRight } from '../deploys/deploying.ts'
import { BUILDS, createSource, openRunners } from './building.ts'

async function rowsOf({ deps }: World, id: string) {
  const rows = deps.db.read.selectFrom('build_log').select(['first_serial', 'lines']).where('deployment_id', '=', id)
  return (await rows.orderBy('first_serial').execute()).map((row) => [Number(row.first_serial), Number(row.lines)])
}

onBothEngines(
  'batches of a line each become few chunks, which a reader gets completely from any line on',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    const count = 3 * MERGE.chunks
    const followed: number[] = []
    for (let serial = 0; serial < count; serial++) {
      assert.equal((await runner.log(serial, `line ${serial}`)).body.acknowledged, serial + 1)
      const from = followed.length
      // A follower reads now and then.
      if (serial % 7 === 0)
        for await (const lines of readLog(world.deps, id, { from })) followed.push(...lines.map((line) => line.serial))
      assert.ok((await rowsOf(world, id)).length < MERGE.chunks)
    }
    assert.deepEqual(followed, [...followed.keys()])
    const rows = await rowsOf(world, id)
    assert.equal(
      rows.reduce((next, [first, lines]) => (first === next ? next + lines! : Number.NaN), 0),
      count,
    )
    for (const from of [0, 1, MERGE.chunks - 1, MERGE.chunks, count - 1, count]) {
      const read: string[] = []
      for await (const lines of readLog(world.deps, id, { from })) read.push(...lines.map(({ text }) => text))
      assert.deepEqual(
        read,
        Array.from({ length: count - from }, (_, at) => `line ${from + at}`),
      )
    }
    await mustCountRight(world)
    await world.call('DELETE', `/v13/deployments/${id}`)
    assert.deepEqual(await rowsOf(world, id), [])
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'large chunks stay as they are',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    const batch = Array.from({ length: MERGE.lines / 4 }, (_, at) => `line ${at}`)
    for (let at = 0; at < MERGE.chunks + 2; at++) await runner.log(at * batch.length, ...batch)
    assert.equal((await rowsOf(world, id)).length, MERGE.chunks + 2)
    await runners.close()
  },
  BUILDS,
)
