/** Which sites a routing worker has loaded: the oldest go. src/sites/routing-pool/thread.ts; docs/deploying-sites.md: Patterns. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openThread } from '../../../src/sites/routing-pool/thread.ts'

const MI = 1024 ** 2

/** A worker that answers each question by what it was sent since the question before. */
const RECORDING = `const { parentPort } = require('node:worker_threads')
let sent = []
parentPort.on('message', (message) => {
  sent.push(message.type + ' ' + message.site)
  if (message.type === 'load') parentPort.postMessage({ loaded: true, micros: 7 })
  if (message.type === 'ask') parentPort.postMessage({ decision: sent.splice(0), micros: 1 })
})`

/** Returns a function that asks about a site, and gives what the worker was sent for it. */
function open(t: TestContext) {
  const worker = new Worker(RECORDING, { eval: true })
  let answered: (sent: unknown) => void
  const loads: number[] = []
  const thread = openThread(worker, {
    loaded: (micros) => void loads.push(micros),
    answered: (answer) => answered('decision' in answer && answer.decision),
    ended: () => {},
  })
  t.after(() => thread.terminate())
  const ask = (site: string, characters = 1) =>
    new Promise((resolve) => {
      answered = resolve
      assert.equal(thread.isBusy(), false)
      thread.begin({ site, manifest: 'x'.repeat(characters), question: { kind: 'error' } as never })
      assert.equal(thread.isBusy(), true)
    })
  return { ask, loads }
}

test('a site is loaded once, and asked about at each question', async (t) => {
  const { ask, loads } = open(t)
  assert.deepEqual(await ask('a'), ['load a', 'ask a'])
  assert.deepEqual(await ask('a'), ['ask a'])
  assert.deepEqual(await ask('b'), ['load b', 'ask b'])
  assert.deepEqual(await ask('a'), ['ask a'])
  assert.deepEqual(loads, [7, 7])
})

test('above 64 Mi characters the sites that were asked about longest ago go, and the newest one stays', async (t) => {
  const { ask } = open(t)
  for (const site of ['a', 'b', 'c', 'd']) await ask(site, 16 * MI)
  await ask('a', 16 * MI)
  assert.deepEqual(await ask('e'), ['drop b', 'load e', 'ask e'])
  assert.deepEqual(await ask('b', 16 * MI), ['drop c', 'load b', 'ask b'])
  assert.deepEqual(await ask('large', 65 * MI), ['drop d', 'drop a', 'drop e', 'drop b', 'load large', 'ask large'])
  assert.deepEqual(await ask('large', 65 * MI), ['ask large'])
  assert.deepEqual(await ask('a'), ['drop large', 'load a', 'ask a'])
})

test('above 500 sites the one that was asked about longest ago goes', async (t) => {
  const { ask } = open(t)
  for (let at = 0; at < 500; at++) assert.deepEqual(await ask(`s${at}`), [`load s${at}`, `ask s${at}`])
  assert.deepEqual(await ask('s0'), ['ask s0'])
  assert.deepEqual(await ask('new'), ['drop s1', 'load new', 'ask new'])
})

test('a worker that throws or exits has ended', async () => {
  for (const end of ['throw new Error()', 'process.exit()']) {
    const worker = new Worker(`require('node:worker_threads').parentPort.once('message', () => { ${end} })`, {
      eval: true,
    })
    const { promise, resolve: ended } = Promise.withResolvers<void>()
    const thread = openThread(worker, { loaded: () => {}, answered: () => {}, ended })
    thread.begin({ site: 'a', manifest: '', question: { kind: 'error' } as never })
    await promise
    await thread.terminate()
  }
})
