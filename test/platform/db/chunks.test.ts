/** Work of many rows: cut into statements of few, and paused so that others run in between. docs/limits.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeInSteps, chunks, createYielder } from '../../../src/platform/db/chunks.ts'

test('rows are cut into statements of at most 100, in their order, and none is lost', () => {
  for (const count of [0, 1, 99, 100, 101, 250, 1000]) {
    const rows = Array.from({ length: count }, (_, at) => at)
    const cut = chunks(rows)
    assert.deepEqual(cut.flat(), rows)
    assert.equal(cut.length, Math.ceil(count / 100))
    assert.ok(cut.every((one) => one.length > 0 && one.length <= 100))
  }
})

test('long work lets others run once it has been busy for some ms, and short work does not wait', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  let others = 0
  const pace = createYielder()
  for (let step = 1; step <= 3; step++) {
    setImmediate(() => others++)
    assert.equal(pace(), undefined, 'nothing was done since the pause')
    now += 7
    assert.equal(pace(), undefined, 'short work goes on')
    now += 2
    const pause = pace()
    assert.ok(pause !== undefined, 'it was busy for 9 ms')
    await pause
    assert.equal(others, step, 'others ran in between')
  }
})

test('a change in steps has each row once, also where rows have the same stamp', async () => {
  for (const stamps of [[], [0], [1, 2, 3, 4, 5], [1, 1, 1, 1, 2], [1, 2, 2, 2, 2, 2, 3, 4]]) {
    const changed: number[] = []
    await changeInSteps(
      async (after) => stamps.filter((stamp) => stamp > after)[1],
      async ({ after, end = Number.MAX_SAFE_INTEGER }) =>
        void changed.push(...stamps.filter((stamp) => stamp > after && stamp <= end)),
    )
    assert.deepEqual(changed, stamps)
  }
})
