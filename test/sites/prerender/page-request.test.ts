/** Poisoning: whatever a visitor sends is in the key of the page, or the function does not see it. docs/threats.md T490. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PageRequest, PrerenderDecision } from '../../../src/sites/prerender/page-request.ts'
import { pageRequestOf } from '../../../src/sites/prerender/page-request.ts'
import { resolve } from '../../../src/sites/router/resolve.ts'
import { createDecisionCache } from '../../../src/sites/routing-pool/decision-cache.ts'
import { requestOf, siteOf } from '../router/sites.ts'

const CONFIG = {
  routes: [
    { src: '/', has: [{ type: 'header', key: 'rsc' }], dest: '/index.rsc', continue: true },
    { handle: 'filesystem' },
    { handle: 'rewrite' },
    { src: '/post/(?<slug>[^/]+)', dest: '/post/[slug]?nxtPslug=$slug', check: true },
  ],
}
const OUTPUTS = {
  index: { type: 'Prerender', expiration: 5, allowQuery: [], allowHeader: ['host', 'x-prerender-revalidate'] },
  'index.rsc': { type: 'Prerender', expiration: 5, allowQuery: [] },
  'post/[slug]': { type: 'Prerender', expiration: 5, allowQuery: ['nxtPslug'] },
  open: { expiration: 5 },
  colored: { expiration: 5, allowQuery: [], allowHeader: ['x-color'] },
}

const VISITOR = { host: 'site.example', 'x-forwarded-host': 'site.example', 'x-forwarded-proto': 'https' }

/** Decisions are kept as in the pool. */
async function asker(): Promise<(line: string, headers?: Record<string, string>, id?: string) => PageRequest> {
  const site = await siteOf(CONFIG, { prerenders: OUTPUTS })
  const cache = createDecisionCache()
  return (line, headers = {}, id = 'd1') => {
    const request = requestOf(line, { ...VISITOR, ...headers })
    const decision = cache.get('site', request) ?? resolve(site, request)
    cache.set('site', request, decision)
    assert.equal(decision.kind, 'prerender', line)
    return pageRequestOf(id, decision as PrerenderDecision, request)
  }
}

/** TABLE what differs → whether it is another page. */
const PARTS: readonly [what: string, line: string, headers: Record<string, string>, isOther: boolean][] = [
  ['nothing', 'GET /', {}, false],
  ['the host', 'GET /', { host: 'other.example', 'x-forwarded-host': 'other.example' }, true],
  ['the protocol', 'GET /', { 'x-forwarded-proto': 'http' }, true],
  ['RSC', 'GET /', { rsc: '1' }, true],
  ['x-nextjs-data', 'GET /', { 'x-nextjs-data': '1' }, false],
  ['a cookie', 'GET /', { cookie: 'user=admin' }, false],
  ['a language', 'GET /', { 'accept-language': 'de' }, false],
  ['an authorization', 'GET /', { authorization: 'Bearer x' }, false],
  ['a forwarded path', 'GET /', { 'x-original-url': '/admin', 'x-rewrite-url': '/admin' }, false],
  ['a query that is not allowed', 'GET /?utm=1&_rsc=abc', {}, false],
  ['the method', 'HEAD /', {}, false],
]

for (const [what, line, headers, isOther] of PARTS)
  test(`a page of a visitor who sends ${what} differently is ${isOther ? 'another' : 'the same'} page`, async () => {
    const ask = await asker()
    const [one, other] = [ask('GET /'), ask(line, headers)]
    assert.equal(one.key !== other.key, isOther)
    if (!isOther) assert.deepEqual(other, one, 'the function sees the same request')
  })

test('of a query only what is allowed counts, in any order, and rules come before the visitor', async () => {
  const ask = await asker()
  const page = ask('GET /post/a?nxtPslug=evil&x=1')
  assert.deepEqual([page.path, page.search, page.routeMatches], ['/post/a', '?nxtPslug=a', 'nxtPslug=a'])
  assert.equal(ask('GET /post/a').key, page.key)
  assert.notEqual(ask('GET /post/b').key, page.key)
  assert.equal(ask('GET /open?a=1&b=2').key, ask('GET /open?b=2&a=1').key)
  assert.notEqual(ask('GET /open?a=1&a=2').key, ask('GET /open?a=2&a=1').key)
  assert.equal(ask('GET /open?x-vercel-protection-bypass=secret').search, '')
})

test('an allowed header is part of the key, and no other reaches the function', async () => {
  const ask = await asker()
  const [plain, red, blue] = [
    ask('GET /colored'),
    ask('GET /colored', { 'x-color': 'red', 'x-b': '1' }),
    ask('GET /colored', { 'x-color': 'blue' }),
  ]
  assert.equal(new Set([plain.key, red.key, blue.key]).size, 3)
  assert.deepEqual([...red.headers.keys()], ['host', 'x-forwarded-host', 'x-forwarded-proto', 'x-color'])
  assert.deepEqual([...ask('GET /', { 'x-prerender-revalidate': 'guess' }).headers.keys()], Object.keys(VISITOR))
})

test('pages of different deployments and groups are apart', async () => {
  const ask = await asker()
  assert.notEqual(ask('GET /', {}, 'd2').key, ask('GET /').key)
  assert.equal(ask('GET /').group, undefined)
})

test('the names of a query are looked up in the list once each, not compared with each of it', async () => {
  let reads = 0
  const names = new Proxy(
    Array.from({ length: 1000 }, (_, at) => `allowed-${at}`),
    {
      get(list, name, self) {
        reads++
        return Reflect.get(list, name, self)
      },
    },
  )
  const site = await siteOf(CONFIG, { prerenders: OUTPUTS })
  const request = requestOf(
    `GET /open?${Array.from({ length: 2000 }, (_, at) => `x${at}`).join('&')}&allowed-999=1`,
    VISITOR,
  )
  const decision = resolve(site, request) as PrerenderDecision
  const page = pageRequestOf('d1', { ...decision, prerender: { ...decision.prerender, allowQuery: names } }, request)
  assert.equal(page.search, '?allowed-999=1')
  assert.ok(reads < 10_000, `${reads} reads`)
})
