/** Processes that ask the data cache and leave before the answer. docs/data-cache.md: Protocol. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { frameBytes } from '../../../src/launcher/frames.ts'
import { type AnswerFrame, createDataServing } from '../../../src/sites/data-cache/serve.ts'
import { createRenderBudget } from '../../../src/sites/prerender/render-budget.ts'
import { eventually } from '../../support/eventually.ts'

const OWNER = { account: 'team_1', projectId: 'p1', environment: 'production' }
const MIB = 1024 ** 2

async function serve(t: TestContext, answer: AnswerFrame) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-left-'))
  const budget = createRenderBudget(64 * MIB, 16 * MIB)
  const take = createDataServing(answer, budget, () => performance.now())
  const server = createServer((socket) => take(socket, OWNER)).listen(join(folder, 's'))
  await once(server, 'listening')
  const sockets = new Set<Socket>()
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const dial = async (bytes: Buffer[]) => {
    const socket = connect(join(folder, 's')).on('error', () => {})
    sockets.add(socket)
    await once(socket, 'connect')
    await new Promise((resolve) => socket.write(Buffer.concat(bytes), resolve))
    return socket
  }
  return { dial, budget }
}

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
  // 2,000 units at once and 2,000 in each second, of which each answer is 65.
  assert.ok(answered < 150, `${answered} answers`)
})
