/** Tenants' patterns run in workers, within a budget of processor time for each account. docs/deploying-sites.md: Patterns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { Decision } from '../../../src/sites/router/decision.ts'
import { createDecisionCache } from '../../../src/sites/routing-pool/decision-cache.ts'
import { openRoutingPool, type RoutingPool } from '../../../src/sites/routing-pool/pool.ts'
import { createProcessorBudget } from '../../../src/sites/routing-pool/processor-budget.ts'
import { validOutput } from '../../delivery/outputs/upload.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { lineOf, requestOf } from '../router/sites.ts'

const spawn = () => new Worker(new URL('routing-worker.ts', import.meta.url))
const HONEST = await manifestOf(
  { routes: [{ src: '/(.*)\\.html', status: 308, headers: { location: '/$1' } }] },
  { 'static/a': '' },
)
/** A pattern of 12 characters that takes longer than the age of the world on `PATH`. */
const EVIL = await manifestOf({ routes: [{ src: '^/(?!x)(a+)+$', dest: '/b' }] })
/** The same in a value that visitors choose. */
const EVIL_HEADER = await manifestOf({
  routes: [{ src: '/.*', has: [{ type: 'header', key: 'x', value: '(a+)+' }], dest: '/b' }],
})
const PATH = `/${'a'.repeat(60)}!`

async function manifestOf(config: object, contents = {}): Promise<string> {
  return JSON.stringify((await validOutput(config, contents)).manifest)
}

/** Each question is of another visitor where none is said. */
function asker(pool: RoutingPool, visitor?: string) {
  let visitors = 0
  return async (account: string, manifest: string, line: string, headers = {}) => {
    const question = { kind: 'resolve' as const, request: requestOf(line, headers) }
    const network = visitor ?? `${visitors++}`
    return lineOf(await pool.ask({ account, network, site: manifest, manifest, question }))
  }
}

async function withPool(work: (pool: RoutingPool) => Promise<void>, now = Date.now): Promise<void> {
  const pool = openRoutingPool({ spawn, now })
  try {
    await work(pool)
  } finally {
    await pool.close()
  }
}

test('questions are answered, from whichever worker, and a middleware state goes through', async () => {
  const withMiddleware = await manifestOf(
    { routes: [{ src: '/.*', middlewarePath: 'm', continue: true }] },
    {
      'static/a': '',
      'functions/m.func/.vc-config.json': '{"runtime":"edge","entrypoint":"m.js"}',
      'functions/m.func/m.js': '',
    },
  )
  await withPool(async (pool) => {
    const ask = asker(pool)
    const lines = await Promise.all(
      Array.from({ length: 20 }, (_, at) => ask('one', HONEST, at % 2 ? 'GET /a' : 'GET /b.html')),
    )
    assert.deepEqual(new Set(lines), new Set(['file 200 /a', 'redirect 308 /b']))
    const job = { account: 'one', network: 'v', site: 'm', manifest: withMiddleware }
    const asked = await pool.ask({ ...job, question: { kind: 'resolve', request: requestOf('GET /a') } })
    assert.ok(asked.kind === 'middleware')
    const answer = { status: 200, headers: [['x-middleware-next', '1'] as const] }
    const question = { kind: 'resume' as const, state: asked.state, answer }
    assert.equal(lineOf(await pool.ask({ ...job, question })), 'file 200 /a')
    const error = { kind: 'error' as const, request: requestOf('GET /a'), status: 500 }
    assert.equal(lineOf(await pool.ask({ ...job, question: error })), 'error 500 STATUS')
  })
})

test('a pattern that does not end costs its own account the answer, and holds neither the event loop nor others (a bound on time)', async () => {
  await withPool(async (pool) => {
    const ask = asker(pool)
    const began = process.threadCpuUsage()
    const evil = [ask('evil', EVIL, `GET ${PATH}`), ask('evil', EVIL, `GET ${PATH}`)]
    const others = Promise.all(Array.from({ length: 50 }, () => ask('good', HONEST, 'GET /a')))
    assert.deepEqual(await Promise.all(evil), ['error 508 ROUTING_TIMEOUT', 'error 508 ROUTING_TIMEOUT'])
    assert.deepEqual(new Set(await others), new Set(['file 200 /a']))
    const { user, system } = process.threadCpuUsage(began)
    assertWithin((user + system) / 1000, 1000)
    assert.equal(pool.ended(), 2)
  })
})

test('patterns over headers are limited like those over paths', async () => {
  await withPool(async (pool) => {
    const line = await asker(pool)('evil', EVIL_HEADER, 'GET /x', { x: `${'a'.repeat(40)}!` })
    assert.equal(line, 'error 508 ROUTING_TIMEOUT')
    assert.equal(await asker(pool)('good', HONEST, 'GET /a'), 'file 200 /a')
  })
})

test('one question that is ended spends the budget: the account is answered 508 at once for 10 seconds, and its good sites too; no other account is', async () => {
  let at = 0
  await withPool(
    async (pool) => {
      const ask = asker(pool)
      assert.equal(await ask('evil', EVIL, `GET ${PATH}`), 'error 508 ROUTING_TIMEOUT')
      // Three a second, whenever a second begins.
      for (; at < 10_000; at += 333) {
        assert.equal(await ask('evil', EVIL, `GET ${PATH}`), 'error 508 ROUTING_BUDGET_SPENT', `after ${at} ms`)
      }
      assert.equal(pool.ended(), 1)
      at = 9999
      assert.equal(await ask('evil', HONEST, 'GET /a'), 'error 508 ROUTING_BUDGET_SPENT')
      assert.equal(await ask('good', HONEST, 'GET /a'), 'file 200 /a')
      at = 10_001
      assert.equal(await ask('evil', HONEST, 'GET /a'), 'file 200 /a')
    },
    () => at,
  )
})

test('after an ending no request waits for the start of a worker: there is one more than may work', async () => {
  const late = Promise.withResolvers<never>()
  let isOpen = false
  const pool = openRoutingPool({
    spawn() {
      const worker = spawn()
      if (isOpen) worker.postMessage = () => late.reject(new Error('a question was given to a worker that starts'))
      return worker
    },
    size: 1,
  })
  isOpen = true
  const ask = asker(pool)
  try {
    const asked = Promise.all([ask('evil', EVIL, `GET ${PATH}`), ask('good', HONEST, 'GET /a')])
    const lines = await Promise.race([asked, late.promise])
    assert.deepEqual(lines, ['error 508 ROUTING_TIMEOUT', 'file 200 /a'])
  } finally {
    await pool.close()
  }
})

test('the spare worker does not work next to the others', async () => {
  const spawned: Worker[] = []
  const pool = openRoutingPool({
    spawn() {
      spawned.push(spawn())
      return spawned.at(-1)!
    },
  })
  const posted = new Set<Worker>()
  for (const worker of spawned) worker.postMessage = () => void posted.add(worker)
  for (let at = 0; at < 10; at++) void asker(pool)(`a${at}`, HONEST, 'GET /a')
  assert.deepEqual(posted, new Set(spawned.slice(0, 2)))
  assert.equal(spawned.length, 3)
  await pool.close()
})

test('questions of one account that wait are counted, and others are not behind them', async () => {
  await withPool(async (pool) => {
    const ask = asker(pool)
    const flood = Promise.all(Array.from({ length: 300 }, () => ask('flood', HONEST, 'GET /a')))
    const order: string[] = []
    void flood.then(() => order.push('flood'))
    await ask('good', HONEST, 'GET /a').then(() => order.push('good'))
    const lines = Map.groupBy(await flood, (line) => line)
    assert.deepEqual(
      [...lines].map(([line, { length }]) => [line, length]),
      [
        ['file 200 /a', 202],
        ['error 503 ROUTING_BUSY', 98],
      ],
    )
    assert.deepEqual(order, ['good', 'flood'])
  })
})

test('questions of one visitor that wait leave room for other visitors of the account, who are not behind them', async () => {
  await withPool(async (pool) => {
    const [flood, order]: [Promise<string>[], string[]] = [[], []]
    for (let at = 0; at < 300; at++) flood.push(asker(pool, 'flood')('one', HONEST, 'GET /a'))
    void Promise.all(flood).then(() => order.push('flood'))
    const other = await asker(pool, 'other')('one', HONEST, 'GET /a')
    order.push('other')
    const lines = await Promise.all(flood)
    assert.equal(other, 'file 200 /a')
    assert.equal(lines.filter((line) => line === 'file 200 /a').length, 102)
    assert.deepEqual(order, ['other', 'flood'])
  })
})

test('decisions that depend on the path alone are kept, also while the account waits for its budget', async () => {
  const spawned: Worker[] = []
  const pool = openRoutingPool({
    spawn() {
      spawned.push(spawn())
      return spawned.at(-1)!
    },
  })
  const ask = asker(pool)
  const plain = await manifestOf(
    {},
    {
      'static/a': '',
      'functions/f.func/.vc-config.json': '{"runtime":"edge","entrypoint":"f.js"}',
      'functions/f.func/f.js': '',
    },
  )
  assert.equal(await ask('one', plain, 'GET /a?x=1'), 'file 200 /a')
  assert.equal(await ask('one', plain, 'GET /f?x=1'), 'function f ?x=1')
  const conditional = await manifestOf(
    { routes: [{ src: '/a', has: [{ type: 'query', key: 'x' }], status: 404 }] },
    { 'static/a': '' },
  )
  assert.equal(await ask('one', conditional, 'GET /a'), 'file 200 /a')
  const posted: unknown[] = []
  for (const worker of spawned) worker.postMessage = (message: unknown) => void posted.push(message)
  assert.equal(await ask('one', plain, 'GET /a?y=2'), 'file 200 /a')
  assert.equal(await ask('one', plain, 'GET /f?y=2'), 'function f ?y=2', 'a function has the query of its request')
  assert.deepEqual(posted, [])
  void ask('one', conditional, 'GET /a?x=1')
  assert.ok(posted.length > 0)
  await pool.close()
})

test('a site that is asked for many paths, or with many headers, evicts its own decisions, and the cache stays within its size', () => {
  const cache = createDecisionCache()
  const get = (path: string) => requestOf(`GET ${path}`)
  const decision = (value: string): Decision => ({
    kind: 'error',
    status: 404,
    code: 'NOT_FOUND',
    headers: [{ name: 'x', value }],
    cookies: [],
    responseTransforms: [],
    rules: [],
    reusable: true,
    looked: new Map(),
  })
  cache.set('good', get('/a'), decision(''))
  for (let at = 0; at < 20_000; at++) cache.set('flood', get(`/${at}`), decision('x'.repeat(100)))
  assert.ok(cache.get('good', get('/a')) !== undefined)
  assert.equal(cache.get('flood', get('/0')), undefined)
  assert.ok(cache.get('flood', get('/19999')) !== undefined)
  cache.set('flood', get('/large'), decision('x'.repeat(5000)))
  assert.equal(cache.get('flood', get('/large')), undefined)
  cache.set('flood', get('/mine'), { ...decision(''), reusable: false })
  assert.equal(cache.get('flood', get('/mine')), undefined)
  // So do visitors who send many values of a header, or long ones.
  const varied = { ...decision('x'), looked: new Map([['header h', { type: 'header' as const, key: 'h' }]]) }
  const sent = (value: string) => requestOf('GET /varied', { h: value })
  for (let at = 0; at < 20_000; at++) cache.set('flood', sent(`${at}`), varied)
  cache.set('flood', sent('h'.repeat(5000)), varied)
  assert.deepEqual(
    ['0', '19999', 'other', 'h'.repeat(5000)].map((value) => cache.get('flood', sent(value)) !== undefined),
    [false, true, false, false],
  )
  assert.ok(cache.get('good', get('/a')) !== undefined)
  // Sites go as a whole, the one that was used longest ago first.
  for (let site = 0; site < 20; site++) {
    for (let at = 0; at < 3000; at++) cache.set(`s${site}`, get(`/${at}`), decision('x'.repeat(100)))
  }
  assert.equal(cache.get('good', get('/a')), undefined)
  assert.ok(cache.get('s19', get('/2999')) !== undefined)
})

test('what an account owes leaks by 200 ms a second, whenever a second begins, and accounts that owe nothing are not kept', () => {
  let at = 0
  const budget = createProcessorBudget(() => at)
  budget.charge('a', 1)
  at = 950
  budget.charge('a', 150_000)
  at = 1050
  assert.equal(budget.isSpent('a'), false)
  budget.charge('a', 69_000)
  assert.equal(budget.isSpent('a'), false, 'owes 199 ms')
  budget.charge('a', 2000)
  assert.equal(budget.isSpent('a'), true, 'owes 201 ms')
  for (let other = 0; other < 20_000; other++) budget.charge(`b${other}`, 1)
  at = 5000
  budget.charge('a', 1)
  assert.equal(budget.isSpent('a'), true, 'a charge of what was in progress does not end the pause')
  at = 11_051
  assert.equal(budget.isSpent('a'), false)
  budget.charge('a', 3_000_000)
  at += 14_999
  assert.equal(budget.isSpent('a'), true, 'who owes 3 s waits until they have leaked')
  at += 1
  assert.equal(budget.isSpent('a'), false)
})

test('a pool that closes answers what waits', async () => {
  const pool = openRoutingPool({ spawn })
  const asked = Array.from({ length: 5 }, () => asker(pool)('evil', EVIL, `GET ${PATH}`))
  await pool.close()
  assert.deepEqual(new Set(await Promise.all(asked)), new Set(['error 503 ROUTING_BUSY']))
})
