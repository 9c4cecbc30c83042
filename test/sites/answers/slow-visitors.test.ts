/** Visitors who do not read an answer that is collected. docs/prerendering.md: Answers of functions. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { finished } from 'node:stream/promises'
import { type TestContext, test } from 'node:test'
import { TeedAnswer } from '../../../src/sites/answers/teed-answer.ts'
import type { FunctionCall } from '../../../src/sites/functions/invoke.ts'
import { createRenderBudget } from '../../../src/sites/prerender/render-budget.ts'
import { eventually } from '../../support/eventually.ts'

const MIB = 1024 ** 2

/** Answers 8 MiB to each visitor. */
async function open(t: TestContext, patienceMs: number) {
  const budget = createRenderBudget(64 * MIB, 16 * MIB)
  let answered = 0
  const server = createServer(async (_, visitor) => {
    const rules = { headers: [], cookies: [], responseTransforms: [] }
    const call = { rules, status: undefined, invocation: { matchedPath: '' } } as unknown as FunctionCall
    const teed = new TeedAnswer({
      account: 'a',
      call,
      visitor,
      budget,
      isKept: () => true,
      onOverflow: () => {},
      patienceMs,
    })
    teed.writeHead(200, { 'content-type': 'text/plain' })
    for (let piece = 0; piece < 8; piece++) teed.write(Buffer.alloc(MIB))
    teed.end()
    await finished(teed)
    teed.collected()!.release()
    answered++
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const visit = () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    socket.on('error', () => {}).write('GET / HTTP/1.1\r\nhost: site.example\r\n\r\n')
    return socket
  }
  return { visit, budget, answered: () => answered }
}

test('what a visitor has not read counts in the budget until they leave or have it', async (t) => {
  const { visit, budget, answered } = await open(t, 60_000)
  const isFree = () => {
    const isTaken = budget.take('a', 15 * MIB)
    if (isTaken) budget.giveBack('a', 15 * MIB)
    return isTaken
  }
  const lazy = visit()
  await eventually(() => answered() === 1)
  assert.equal(isFree(), false)
  lazy.destroy()
  await eventually(isFree)
  visit().resume()
  await eventually(() => answered() === 2)
  await eventually(isFree)
})

test('a visitor who reads nothing of a whole answer is disconnected', async (t) => {
  const { visit, budget, answered } = await open(t, 200)
  visit()
  await eventually(() => answered() === 1)
  await eventually(() => budget.take('a', 16 * MIB))
})
