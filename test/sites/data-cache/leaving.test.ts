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
