/** A queue is read when something is queued, and not only once a second. src/platform/outbox/lease-loop.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { createClock } from '../../../src/platform/base/clock.ts'
import { startLeaseWorker } from '../../../src/platform/outbox/lease-loop.ts'
import { eventually } from '../../support/eventually.ts'

test('a wakeup reads the queue at once, without the regular reading', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const clock = createClock()
  const queue = ['one', 'two']
  const done: string[] = []
  const lease = async () => queue.splice(0)
  const run = async (piece: string) => void done.push(piece)
  const loop = startLeaseWorker({ clock, log: pino({ level: 'silent' }) }, { name: 'a test', lease, run })
  t.after(loop.stop)
  loop.wake()
  await eventually(() => done.length === 2)
  assert.deepEqual(done, ['one', 'two'])
})
