/** How long lists share the event loop with short requests and new connections. docs/limits.md. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { countConnection, endOfIteration, iterationMs, mapInSlices } from '../../../src/platform/base/event-loop.ts'
import { createGates, runWhenAdmitted } from '../../../src/platform/fairness/gate.ts'
import type { Route } from '../../../src/platform/http/route.ts'

const gates = createGates('sqlite', () => true)
/** A request that makes no long list. */
const askShort = (work: () => Promise<void>) => runWhenAdmitted(gates, {} as Route, 'account', 0, work)

/** A clock that is set by hand, and a list whose steps take 4 ms each, longer than a piece, or as long as is said. */
function openList(t: TestContext, steps: number, stepMs = 4) {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const made: number[] = []
  const list = mapInSlices(Array.from({ length: steps }).keys().toArray(), (step) => {
    now += stepMs
    made.push(step)
    return step * 2
  })
  const pass = async (ms: number) => {
    for (let n = 0; n < ms; n++) {
      now++
      t.mock.timers.tick(1)
      await nextIteration()
      // Behind whatever was to happen at the end of that one.
      await nextIteration()
    }
  }
  return { list, made, pass }
}

test('a long list makes one piece after another, and pauses for a millisecond between them', async (t) => {
  const { list, made, pass } = openList(t, 3)
  await nextIteration()
  assert.deepEqual(made, [0])
  await pass(1)
  assert.deepEqual(made, [0, 1])
  await pass(2)
  assert.deepEqual(await list, [0, 2, 4])
})

test('a large body is parsed when no short request is pending, and after 25 ms at the latest', async (t) => {
  const { pass } = openList(t, 0)
  const one = Promise.withResolvers<void>()
  const parsed: string[] = []
  const send = (name: string) => runWhenAdmitted(gates, {} as Route, name, 8193, async () => void parsed.push(name))
  const asked = askShort(() => one.promise)
  const first = send('at the latest')
  await pass(24)
  assert.deepEqual(parsed, [])
  await pass(2)
  await first
  const second = send('at once')
  await pass(2)
  assert.deepEqual(parsed, ['at the latest'])
  one.resolve()
  await asked
  await pass(2)
  await second
  assert.deepEqual(parsed, ['at the latest', 'at once'])
})

test('an account begins its next large body after a rest, as long as the last one took and for its bytes', async (t) => {
  const { pass } = openList(t, 0)
  const begun: string[] = []
  const send = (account: string, bytes: number, work: () => unknown) =>
    runWhenAdmitted(gates, {} as Route, account, bytes, async () => {
      begun.push(account)
      await work()
    })
  for (const [bytes, workMs, restMs] of [
    [9000, 7, 7],
    [1024 ** 2, 7, 25],
    [9000, 400, 250],
  ] as const) {
    begun.length = 0
    await send('a', bytes, () => pass(workMs))
    const next = send('a', 9000, () => {})
    const other = send('b', 9000, () => {})
    await pass(restMs - 2)
    assert.deepEqual(begun, ['a', 'b'], `${bytes} bytes, ${workMs} ms`)
    await pass(4)
    assert.deepEqual(begun, ['a', 'b', 'a'], `${bytes} bytes, ${workMs} ms`)
    await Promise.all([next, other])
    await pass(2)
  }
})

test('short steps are made in one piece of 3 ms', async (t) => {
  const { list, made, pass } = openList(t, 7, 1)
  await nextIteration()
  assert.deepEqual(made, [0, 1, 2])
  await pass(1)
  assert.deepEqual(made, [0, 1, 2, 3, 4, 5])
  await pass(1)
  await list
})

test('a long list pauses until short requests have their answers, also those that fail', async (t) => {
  const { list, made, pass } = openList(t, 2)
  const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const asked = [askShort(() => one.promise), askShort(() => other.promise)]
  await pass(10)
  one.resolve()
  await pass(10)
  assert.deepEqual(made, [0])
  other.reject(new Error('failed'))
  await assert.rejects(Promise.all(asked))
  await pass(2)
  assert.deepEqual(made, [0, 1])
  await pass(1)
  await list
})

test('a long list pauses while connections come', async (t) => {
  const { list, made, pass } = openList(t, 2)
  await nextIteration()
  for (let n = 0; n < 20; n++) {
    countConnection()
    await pass(1)
  }
  assert.deepEqual(made, [0])
  await pass(1)
  assert.deepEqual(made, [0, 1])
  await pass(1)
  await list
})

test('a pause ends after 25 ms, also while other requests are busy', async (t) => {
  const { list, made, pass } = openList(t, 3)
  const { promise, resolve } = Promise.withResolvers<void>()
  const busy = askShort(() => promise)
  await nextIteration()
  await pass(24)
  assert.deepEqual(made, [0])
  await pass(1)
  assert.deepEqual(made, [0, 1])
  await pass(50)
  assert.deepEqual(await list, [0, 2, 4])
  resolve()
  await busy
})

test('an iteration ends after all that is ready, and the next one starts from zero', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  // What other tests began is over.
  await nextIteration()
  await nextIteration()
  assert.equal(iterationMs(), 0)
  now = 5
  assert.equal(iterationMs(), 5)
  let ended = false
  const end = endOfIteration().then(() => {
    ended = true
  })
  for (let step = 0; step < 10; step++) await new Promise<void>((resolve) => process.nextTick(resolve))
  assert.equal(ended, false)
  await nextIteration()
  assert.equal(ended, true)
  await end
  now = 9
  assert.equal(iterationMs(), 0)
  now = 10
  assert.equal(iterationMs(), 1)
})
