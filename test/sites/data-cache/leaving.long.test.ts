/** Processes that ask the data cache and leave before the answer. docs/data-cache.md: Protocol. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frameBytes } from '../../../src/launcher/frames.ts'
import { MIB, serve } from './serving.ts'

test('an account that leaves after each request is answered no more often than one that waits', async (t) => {
  let answered = 0
  const { dial } = await serve(t, async () => {
    answered++
    return { head: { found: true }, body: Buffer.alloc(MIB) }
  })
  const end = performance.now() + 2000
  const leave = async () => {
    while (performance.now() < end) {
      const before = answered
      const socket = await dial(frameBytes({ op: 'get' }))
      while (answered === before && performance.now() < end) await new Promise((go) => setTimeout(go, 2))
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: 4 }, leave))
  // 2,000 units at once and 2,000 in each second: 92 answers of 65. Four connections overrun at each turn. Uncounted they would be a thousand.
  assert.ok(answered < 250, `${answered} answers`)
})
