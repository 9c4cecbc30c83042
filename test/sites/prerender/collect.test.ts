/** The answer of a function that is collected for a page. docs/prerendering.md: Rendering. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { CollectedAnswer } from '../../../src/sites/prerender/collect.ts'
import { createRenderBudget } from '../../../src/sites/prerender/render-budget.ts'

const MIB = 1024 ** 2

/** An answer of `account_1`, and how many MiB of 32 are free for its account. */
function open() {
  const budget = createRenderBudget(128 * MIB, 32 * MIB)
  const free = () => {
    let taken = 0
    while (taken < 100 && budget.take('account_1', MIB)) taken++
    budget.giveBack('account_1', taken * MIB)
    return taken
  }
  return { budget, free, collect: () => new CollectedAnswer('account_1', budget) }
}

/** Returns the failure of an answer that is written piece by piece. */
async function failureOf(answer: CollectedAnswer, pieces: Buffer[]): Promise<unknown> {
  answer.writeHead(200, {})
  for (const piece of pieces) answer.write(piece)
  answer.end()
  await new Promise((resolve) => void answer.once('close', resolve))
  try {
    answer.whole()
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return [code, answer.statusCode, message]
  }
  return 'whole'
}

test('an answer is the head and every piece, in lower case, without what has no value', async () => {
  const answer = open().collect()
  assert.deepEqual([answer.headersSent, answer.statusCode, answer.getHeader()], [false, 0, undefined])
  answer.writeHead(404, { 'X-Own': 7, 'set-cookie': ['a=1', 'b=2'], gone: undefined })
  assert.deepEqual([answer.headersSent, answer.statusCode], [true, 404])
  answer.flushHeaders()
  answer.write('one ')
  answer.end('two')
  await once(answer, 'finish')
  const { status, headers, body } = answer.whole()
  assert.deepEqual([status, headers, body.toString()], [404, { 'x-own': '7', 'set-cookie': ['a=1', 'b=2'] }, 'one two'])
})

test('an answer that broke off, or that has no head, did not come whole', async () => {
  const { collect } = open()
  const early = collect()
  early.writeHead(200, {})
  early.write('one')
  assert.throws(() => early.whole(), { code: 'FUNCTION_INVOCATION_TIMEOUT' })
  const headless = collect()
  headless.end('one')
  await once(headless, 'finish')
  assert.throws(() => headless.whole(), { code: 'FUNCTION_INVOCATION_TIMEOUT' })
})

test('a page has up to 10 MiB, and an account up to 32 MiB of pages at a time', async () => {
  const { free, collect } = open()
  const most = collect()
  assert.equal(await failureOf(most, [Buffer.alloc(4 * MIB), Buffer.alloc(6 * MIB)]), 'whole')
  const more = collect()
  assert.deepEqual(await failureOf(more, [Buffer.alloc(10 * MIB), Buffer.alloc(1)]), [
    'FUNCTION_RESPONSE_PAYLOAD_TOO_LARGE',
    500,
    'a prerendered page has at most 10 MiB',
  ])
  const last = collect()
  assert.equal(await failureOf(last, [Buffer.alloc(10 * MIB)]), 'whole')
  const throttled = collect()
  assert.deepEqual(await failureOf(throttled, [Buffer.alloc(2 * MIB), Buffer.alloc(MIB)]), [
    'FUNCTION_THROTTLED',
    503,
    'too many large pages are rendered at the same time',
  ])
  assert.equal(free(), 0)
  for (const answer of [most, more, last, throttled]) answer.release()
  assert.equal(free(), 32)
})

test('a release refunds the bytes once, and ends the answer', () => {
  const { budget, free, collect } = open()
  assert.equal(budget.take('account_1', 10 * MIB), true)
  const [answer, empty] = [collect(), collect()]
  answer.writeHead(200, {})
  answer.write(Buffer.alloc(2 * MIB))
  assert.equal(free(), 20)
  for (let round = 0; round < 2; round++) {
    answer.release()
    empty.release()
    assert.deepEqual([free(), answer.destroyed, empty.destroyed], [22, true, true])
  }
})
