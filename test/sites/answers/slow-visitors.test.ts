/** Visitors who do not read an answer that is collected. docs/prerendering.md: Answers of functions. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { finished } from 'node:stream/promises'
import { type TestContext, test } from 'node:test'
import { TeedAnswer } from '../../../src/sites/answers/teed-answer.ts'
import { onceRead } from '../../../src/sites/answers/unread.ts'
import type { FunctionCall } from '../../../src/sites/functions/invoke.ts'
import { createInnerRequests } from '../../../src/sites/pictures/inner-request.ts'
import { createRenderBudget } from '../../../src/sites/prerender/render-budget.ts'
import { eventually } from '../../support/eventually.ts'

const MIB = 1024 ** 2

/** Answers as many MiB as the path says. `answered`: how many are collected or, above 10 MiB, are not collected any more. */
async function open(t: TestContext, timeoutMs: number) {
  const budget = createRenderBudget(64 * MIB, 16 * MIB)
  let answered = 0
  const onOverflow = () => void answered++
  const server = createServer(async ({ url }, visitor) => {
    const rules = { headers: [], cookies: [], responseTransforms: [] }
    const call = { rules, status: undefined, invocation: { matchedPath: '' } } as unknown as FunctionCall
    const options = { account: 'a', call, visitor, budget, isKept: () => true, onOverflow, timeoutMs }
    const teed = new TeedAnswer(options)
    teed.writeHead(200, { 'content-type': 'text/plain' })
    for (let left = Number(url!.slice(1)); left > 0; left--) teed.write(Buffer.alloc(MIB))
    teed.end()
    await finished(teed)
    const collected = teed.collected()
    if (collected === undefined) return
    collected.release()
    answered++
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const visit = (mib: number) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    socket.on('error', () => {}).write(`GET /${mib} HTTP/1.1\r\nhost: site.example\r\n\r\n`)
    return socket
  }
  return { visit, budget, answered: () => answered }
}

test('what a visitor has not read counts in the budget until they leave or have it', async (t) => {
  const { visit, budget, answered } = await open(t, 60_000)
  let expected = 0
  const isFree = () => {
    const isTaken = budget.take('a', 15 * MIB)
    if (isTaken) budget.giveBack('a', 15 * MIB)
    return isTaken
  }
  for (const mib of [8, 24]) {
    const lazy = visit(mib)
    expected++
    await eventually(() => answered() === expected)
    assert.equal(isFree(), false, `${mib} MiB`)
    lazy.destroy()
    await eventually(isFree)
    visit(mib).resume()
    expected++
    await eventually(() => answered() === expected)
    await eventually(isFree)
  }
})

test('a visitor who reads nothing of what was collected is disconnected', async (t) => {
  for (const mib of [8, 24]) {
    const { visit, budget, answered } = await open(t, 200)
    visit(mib)
    await eventually(() => answered() === 1)
    await eventually(() => budget.take('a', 16 * MIB))
  }
})

test('an answer whose head cannot be sent is collected no further, and ends with its visitor', async (t) => {
  const budget = createRenderBudget(64 * MIB, 16 * MIB)
  const responseTransforms = [{ op: 'set', match: { eq: 'x-long' }, value: 'x'.repeat(MIB) }]
  const rules = { headers: [], cookies: [], responseTransforms }
  const call = { rules, status: undefined, invocation: { matchedPath: '' } } as unknown as FunctionCall
  const ended: string[] = []
  const server = createServer((_, visitor) => {
    const options = { account: 'a', call, visitor, budget, isKept: () => true, onOverflow: () => {} }
    const teed = new TeedAnswer(options).once('close', () => ended.push(`teed ${visitor.statusCode}`))
    assert.throws(() => teed.writeHead(200, {}), { code: 'ROUTING_TOO_LARGE' })
    visitor.writeHead(508).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 508)
  await eventually(() => ended.join() === 'teed 508')
})

test('an answer to a request of this server itself counts until it is read, without a time limit', async () => {
  let released = 0
  const ask = createInnerRequests((_, response) => {
    for (let left = 64; left > 0; left--) response.write(Buffer.alloc(MIB / 64))
    onceRead(response, () => {
      released++
      response.end()
    })
  })
  const bytes = await ask(
    { isSecure: false, host: 'site.example', path: '/', headers: {} },
    AbortSignal.timeout(30_000),
    async ({ body }) => {
      assert.equal(released, 0)
      let read = 0
      for await (const piece of body) read += piece.length
      return read
    },
  )
  assert.deepEqual([bytes, released], [MIB, 1])
})
