/** Work of many rows: cut into statements of few, and paused so that others run in between. docs/limits.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunks, openPace } from '../../src/db/chunks.ts'

test('rows are cut into statements of at most 100, in their order, and none is lost', () => {
  for (const count of [0, 1, 99, 100, 101, 250, 1000]) {
    const rows = Array.from({ length: count }, (_, at) => at)
    const cut = chunks(rows)
    assert.deepEqual(cut.flat(), rows)
    assert.equal(cut.length, Math.ceil(count / 100))
    assert.ok(cut.every((one) => one.length > 0 && one.length <= 100))
  }
})

/** Keeps the event loop busy. */
function work(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('long work lets others run once it has been busy for some ms, and short work does not wait', async () => {
  const pace = openPace()
  // It counts from the begin of the iteration of the event loop that it is asked in.
  await new Promise((resolve) => setTimeout(resolve, 10))
  let others = 0
  const next = () => {
    others++
    if (others < 5) setImmediate(next)
  }
  setImmediate(next)
  for (let step = 1; step <= 3; step++) {
    assert.equal(pace(), undefined, 'nothing was done since the pause')
    work(20)
    const pause = pace()
    assert.ok(pause !== undefined, 'it was busy for 20 ms')
    await pause
    assert.ok(others >= step, 'others ran in between')
  }
})
