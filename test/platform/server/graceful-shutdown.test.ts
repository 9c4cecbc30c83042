/** What a process does at a signal to end. src/platform/server/graceful-shutdown.ts; docs/operations.md: Start and stop. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { endAtSignals } from '../../../src/platform/server/graceful-shutdown.ts'

/** `happened`: lines of the log and the codes of exits, in their order. Time stands still but for `t.mock.timers.tick`. */
function listen(t: TestContext, close: () => Promise<void>) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const happened: (string | number)[] = []
  t.mock.method(process, 'exit', (code: number) => void happened.push(code))
  const log = pino({}, { write: (line: string) => void happened.push(JSON.parse(line).msg) })
  const signals = ['SIGTERM', 'SIGINT'] as const
  const before = signals.map((signal) => process.listeners(signal))
  const stop = endAtSignals(log, close)
  const added = signals.map((signal, at) => process.listeners(signal).filter((one) => !before[at]!.includes(one)))
  for (const [at, signal] of signals.entries()) for (const one of added[at]!) process.off(signal, one)
  return { stop, happened, heard: added.flat().filter((one) => one === stop).length }
}

test('a process that is to end closes once, and exits with 0 when that is done', async (t) => {
  let closed = 0
  const { stop, happened, heard } = listen(t, async () => void closed++)
  assert.equal(heard, 2, 'both signals')
  stop('SIGTERM')
  stop('SIGTERM')
  await nextTurn()
  assert.deepEqual([closed, happened], [1, ['stopping', 0]])
})

test('a process whose requests go on exits with 0 after 9 s, and the log says so', async (t) => {
  const { stop, happened } = listen(t, () => new Promise(() => {}))
  stop('SIGTERM')
  t.mock.timers.tick(8999)
  await nextTurn()
  assert.deepEqual(happened, ['stopping'])
  t.mock.timers.tick(1)
  assert.deepEqual(happened, ['stopping', 'requests in flight did not end in time', 0])
})

test('a process that cannot close exits with 1', async (t) => {
  const { stop, happened } = listen(t, () => Promise.reject(new Error('no')))
  stop('SIGTERM')
  await nextTurn()
  assert.deepEqual(happened, ['stopping', 'could not stop in order', 1])
})
