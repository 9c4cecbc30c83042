/** Processes that ask the data cache and leave before the answer. docs/data-cache.md: Protocol. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { frameBytes } from '../../../src/launcher/frames.ts'
import { eventually } from '../../support/eventually.ts'
import { MIB, OWNER, serve } from './serving.ts'

test('what is asked counts in the budget until it is answered, also when the other side has left', async (t) => {
  const held: (() => void)[] = []
  const { dial, budget } = await serve(t, () => new Promise((go) => held.push(() => go({ head: { ok: true } }))))
  for (let at = 1; at <= 7; at++) {
    const socket = await dial(frameBytes({ op: 'set' }, Buffer.alloc(2 * MIB)))
    await eventually(() => held.length === at)
    socket.end().destroy()
  }
  const last = await dial(frameBytes({ op: 'set' }, Buffer.alloc(2 * MIB)))
  await once(last.resume(), 'close')
  assert.equal(held.length, 7, 'of 16 MiB, seven have room')
  for (const go of held) go()
  await eventually(() => budget.take(OWNER.account, 15 * MIB))
})

test('pieces of a request count, however short they are, and their account waits for what it owes', async (t) => {
  const units: number[] = []
  let owed = 0
  const pace = (_: string, more: number) => {
    if (more > 0) units.push(more)
    return owed
  }
  const { dial, served } = await serve(t, async () => ({ head: { ok: true } }), pace)
  const bytes = Buffer.concat(frameBytes({ op: 'number' }))
  const socket = await dial([bytes.subarray(0, 1)])
  await eventually(() => units.length === 1)
  owed = 60_000
  socket.write(bytes.subarray(1, 2))
  await eventually(() => units.length === 2 && served[0]!.isPaused())
  assert.deepEqual(units, [1 / 25, 1 / 25])
  owed = 0
  const other = await dial([bytes])
  await once(other, 'data')
})
