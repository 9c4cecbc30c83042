/** Rules and visitors that mean harm: routing ends, stays small, and gives no header that splits a message or leads away. docs/deploying-sites.md: Patterns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { ERROR_CODES } from '../../../src/sites/router/decision.ts'
import { partsOf, visitorHeaders } from '../../../src/sites/router/request.ts'
import { resolve, resolveError } from '../../../src/sites/router/resolve.ts'
import { openSite } from '../../../src/sites/router/site.ts'
import { validOutput } from '../../delivery/outputs/upload.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { headersOf, lineOf, requestOf, siteOf } from './sites.ts'

test('a redirect whose template begins with one slash stays on its host', async () => {
  const config = {
    routes: [
      { src: '/go/(.*)', status: 307, headers: { location: '/$1' } },
      { src: '/(.*)/', status: 308, headers: { location: '/$1' } },
      { src: '/', status: 307, headers: { location: '/$to' }, has: [{ type: 'query', key: 'to', value: '(?<to>.*)' }] },
      { src: '/out', status: 307, headers: { location: '//cdn.example/' } },
    ],
  }
  const site = await siteOf(config)
  const location = (target: string) => {
    const decision = resolve(site, requestOf(`GET ${target}`))
    return decision.kind === 'redirect' ? decision.location : decision.kind
  }
  assert.equal(location('/go//evil.example'), '/go/evil.example')
  assert.equal(location('//evil.example/'), '/evil.example/')
  assert.equal(location('/go/\\evil.example'), '/evil.example')
  assert.equal(location('/?to=/%5Cevil.example').split('?')[0], '/evil.example')
  assert.equal(location('/out'), '//cdn.example/')
  for (const between of ['%09', '%09%09/', '%09%5C', '%0d%0a', '%0a%09'])
    assert.equal(location(`/?to=${between}/evil.example`).split('?')[0]?.startsWith('//'), false, between)
  assert.equal(location('/?to=%09/evil.example').split('?')[0], '/evil.example')
  assert.equal(location('/?to=/%09/evil.example').split('?')[0], '/evil.example')
})

test('a redirect to another host does not take along what opens a protected site, and one on this host does', async () => {
  const config = {
    routes: [
      { src: '/away', status: 308, headers: { location: 'https://other.example/a' } },
      { src: '/cdn', status: 307, headers: { location: '//other.example/a' } },
      { src: '/here', status: 307, headers: { location: '/there' } },
    ],
  }
  const site = await siteOf(config)
  const away = (target: string) => {
    const decision = resolve(site, requestOf(`GET ${target}`))
    assert.ok(decision.kind === 'redirect')
    return `${decision.location} ${headersOf(decision).refresh ?? ''}`
  }
  for (const secret of [
    'x-vercel-protection-bypass=s3cret',
    'x%2Dvercel-protection-bypas%73=s3cret',
    '?x-vercel-protection-bypass=s3cret',
    'x-vercel-set-bypass-cookie=true',
  ])
    for (const query of [`${secret}&a=%7e+1&b`, `a=%7e+1&${secret}&b`, `a=%7e+1&b&${secret}`]) {
      const to = 'https://other.example/a?a=%7e+1&b'
      assert.equal(away(`/away?${query}`), `${to} 0;url=${to}`)
      assert.equal(away(`/cdn?${query}`), '//other.example/a?a=%7e+1&b ')
      assert.equal(away(`/here?${query}`), `/there?${query} `)
    }
  assert.equal(away('/cdn?x-vercel-protection-bypass=s3cret'), '//other.example/a ')
})

test('no capture breaks a header into two', async () => {
  const config = {
    routes: [
      {
        src: '/.*',
        has: [{ type: 'query', key: 'q', value: '(?<v>[\\s\\S]*)' }],
        headers: { 'x-echo': '$v' },
        transforms: [
          { type: 'response.headers', op: 'set', target: { key: 'x-r' }, args: '$v' },
          { type: 'request.headers', op: 'set', target: { key: 'x-f' }, args: '$v' },
        ],
        dest: '/f',
      },
    ],
  }
  const site = await siteOf(config, { functions: ['f'] })
  const decision = resolve(site, requestOf('GET /?q=a%0d%0aset-cookie:%20x=1%00%E2%82%AC'))
  assert.ok(decision.kind === 'function')
  const expected = 'a%0D%0Aset-cookie: x=1%00%E2%82%AC'
  assert.equal(headersOf(decision)['x-echo'], expected)
  assert.equal(decision.responseTransforms[0]?.value, expected)
  assert.equal(new Map(decision.invocation.headers).get('x-f'), expected)
})

test('headers that functions trust are not taken from visitors', () => {
  const headers = visitorHeaders([
    ['X-Matched-Path', '/admin'],
    ['x-now-route-matches', 'id=1'],
    ['X-Middleware-Subrequest', 'middleware'],
    ['x-vercel-ip-country', 'CH'],
    ['X-Forwarded-For', '10.0.0.1'],
    ['forwarded', 'for=10.0.0.1'],
    ['x-real-ip', '10.0.0.1'],
    ['Next-Resume', '1'],
    ['x-next-resume-state-length', '9'],
    ['X-Nextjs-Data', '1'],
    ['accept', 'a/b'],
    ['Accept', 'c/d'],
    ['cookie', 'a=1'],
    ['cookie', 'b=2'],
  ])
  assert.deepEqual(Object.fromEntries(headers), { 'x-nextjs-data': '1', accept: 'a/b, c/d', cookie: 'a=1; b=2' })
})

test('rules that double a path, a query or a header with each step end with 508, and soon', async () => {
  const grow = (rule: object) => ({
    routes: Array.from({ length: 200 }, () => ({ src: '/(.*)', continue: true, ...rule })),
  })
  const rules = [
    { dest: '/$1$1' },
    { dest: '/a?b=$1$1$1', headers: { 'x-a': '$1'.repeat(1000) } },
    { headers: { 'x-a': '$1'.repeat(1000) } },
    { transforms: [{ type: 'request.query', op: 'append', target: { key: 'a' }, args: '$1'.repeat(500) }] },
    { transforms: [{ type: 'request.path', op: 'set', args: '$1'.repeat(500) }] },
  ]
  for (const rule of rules) {
    const site = await siteOf(grow(rule))
    const decision = resolve(site, requestOf(`GET /${'x'.repeat(2000)}`))
    assert.equal(lineOf(decision), 'error 508 ROUTING_TOO_LARGE', JSON.stringify(rule))
    assert.ok(JSON.stringify(decision).length < 1024 * 1024)
  }
})

test('a query that rules make has at most 32 KiB, and the largest of a visitor passes', async () => {
  const grown = '$1'.repeat(10)
  const parts = Array.from({ length: 8000 }, (_, at) => (at % 10).toString()).join('&')
  const rules = [
    { dest: `/f?${grown}` },
    { dest: '/f', transforms: [{ type: 'request.query', op: 'append', target: { key: 'a' }, args: grown }] },
    { dest: '/f', transforms: [{ type: 'request.query', op: 'set', target: { key: { neq: 'z' } }, args: '$1' }] },
  ]
  for (const rule of rules) {
    const site = await siteOf({ routes: [{ src: '/(.*)', ...rule }] }, { functions: ['f'] })
    const found = resolve(site, requestOf(`GET /${'a=1&'.repeat(1000)}?b&c&d&e&f&g&h&i&j`))
    assert.equal(lineOf(found), 'error 508 ROUTING_TOO_LARGE', JSON.stringify(rule))
  }
  const plain = await siteOf({ routes: [{ src: '/(.*)', dest: '/f?a=$1' }] }, { functions: ['f'] })
  const passed = resolve(plain, requestOf(`GET /1?${parts}`))
  assert.ok(passed.kind === 'function' && passed.invocation.search.length > 16_000)
})

test('rules that look again and again end with 508', async () => {
  const routes = Array.from({ length: 100 }, (_, at) => ({ src: `/${at}`, dest: `/${at + 1}`, check: true }))
  const site = await siteOf({ routes: [{ handle: 'filesystem' }, ...routes, { handle: 'rewrite' }, ...routes] })
  assert.equal(lineOf(resolve(site, requestOf('GET /0'))), 'error 508 INFINITE_LOOP_DETECTED')
})

const segment = fc.constantFrom(
  'a',
  'b',
  'c',
  '..',
  '%2e%2e',
  '%2f',
  '%00',
  'é',
  '%E0%A4%A',
  '',
  'index',
  '__proto__',
  '$1',
  '404',
)
const path = fc.array(segment, { maxLength: 6 }).map((parts) => `/${parts.join('/')}`)
const source = fc.constantFrom('/a', '/(.*)', '/(a|b)/(.*)', '/.*', '/(?<x>[^/]*)/?(.*)', '^/b', '.*')
const dest = fc.constantFrom(
  '/a',
  '/b/$1',
  '/$x',
  '/c?q=$1&q=$x',
  'd',
  '/404',
  'https://o.example/$1',
  '/$1/$1',
  '$0',
  '/..',
  '/../../x',
)
const header = fc.constantFrom({ location: '/$1' }, { 'x-a': '$1' }, { Location: 'https://o.example/' }, { 'x-b': 'v' })
const rule = fc.record(
  {
    src: source,
    dest,
    headers: header,
    status: fc.constantFrom(200, 307, 308, 404, 500),
    continue: fc.boolean(),
    check: fc.boolean(),
    override: fc.boolean(),
    important: fc.boolean(),
    methods: fc.constantFrom(['GET'], ['POST']),
    has: fc.constantFrom([{ type: 'query', key: 'q' }], [{ type: 'header', key: 'h', value: '(?<x>.*)' }]),
    locale: fc.constantFrom({ redirect: { de: '/b', fr: '/c/$1' }, cookie: 'l' }),
  },
  { requiredKeys: ['src'] },
)
const tables = fc.tuple(
  fc.array(rule, { maxLength: 6 }),
  ...['filesystem', 'resource', 'miss', 'rewrite', 'error'].map((handle) =>
    fc.array(rule, { maxLength: 4 }).map((rules) => [{ handle }, ...rules]),
  ),
)
const FILES = ['a', 'b/a', 'c', '404', 'index.html', 'b/index.html']
const FUNCTIONS = ['d', 'b/c']

test('whatever the rules and the request are: routing ends, throws nothing, and serves only what the deployment has', async () => {
  const contents = Object.fromEntries(FILES.map((file) => [`static/${file}`, file]))
  await fc.assert(
    fc.asyncProperty(
      tables,
      path,
      fc.constantFrom('', '?q=1', '?q=%0a&q=2', '?'),
      fc.constantFrom('de', 'fr;q=0.1,de', '*'),
      async (table, target, search, language) => {
        const { manifest } = await validOutput({ routes: table.flat() }, contents)
        const functions = FUNCTIONS.map((name) => ({
          name,
          kind: 'node' as const,
          runtime: '',
          entrypoint: '',
          streaming: false,
          webApi: false,
          helpers: false,
        }))
        const functionPaths = FUNCTIONS.map((name, bundle) => ({ path: `/${name}`, bundle }))
        const site = openSite({ ...manifest, functions, functionPaths })
        const request = requestOf(`GET ${target}${search}`, { h: 'x', 'accept-language': language })
        for (const decision of [resolve(site, request), resolveError(site, request, 500)]) {
          if (decision.kind === 'file') assert.ok(FILES.includes(decision.file.path.slice(1)), decision.file.path)
          if (decision.kind === 'error') assert.ok(Object.hasOwn(ERROR_CODES, decision.code), decision.code)
          if (decision.kind === 'function') assert.ok(FUNCTIONS.includes(decision.bundle.name))
          if (decision.kind === 'redirect') assert.doesNotMatch(decision.location, /[\r\n]|^\/[/\\]/)
          assert.ok(decision.rules.length <= 16 * 24 + 24)
          for (const { value } of decision.headers) assert.doesNotMatch(value, /[\r\n\0]/)
        }
      },
    ),
    { numRuns: 150 },
  )
})

const visitors = fc.record({
  search: fc.constantFrom('', '?q=1', '?q=2&z=2'),
  headers: fc.record(
    { h: fc.constantFrom('', 'x'), cookie: fc.constant('l=de'), 'accept-language': fc.constant('fr') },
    { requiredKeys: [] },
  ),
  host: fc.constantFrom('site.example', 'other.example'),
})

test('a decision that may be used again is that of every request that is equal in what its rules looked at', async () => {
  const contents = Object.fromEntries(FILES.map((file) => [`static/${file}`, file]))
  await fc.assert(
    fc.asyncProperty(tables, path, fc.tuple(visitors, visitors), async (table, target, both) => {
      const { manifest } = await validOutput({ routes: table.flat() }, contents)
      const site = openSite(manifest)
      const [one, other] = both.map(({ search, headers, host }) => requestOf(`GET ${target}${search}`, headers, host))
      const decision = resolve(site, one!)
      const subjects = [...decision.looked.values()]
      if (!decision.reusable || !isDeepStrictEqual(partsOf(one!, subjects), partsOf(other!, subjects))) return
      assert.deepEqual(resolve(site, other!), decision)
    }),
    { numRuns: 150 },
  )
})

test('the time of a request grows with the number of rules, not with its square (a bound on time)', async () => {
  // The worst kinds: rules of each phase that match, check, and find nothing.
  const table = (count: number) => [
    ...Array.from({ length: count }, () => ({ src: '/(.*)', headers: { 'x-a': '1' }, continue: true })),
    { handle: 'filesystem' },
    ...Array.from({ length: count }, () => ({ src: '/none(.*)', dest: '/$1', check: true })),
    { src: '/(.*)', dest: '/$1', check: true },
    { handle: 'rewrite' },
    ...Array.from({ length: count }, () => ({ src: '/(.*)', headers: { 'x-b': '$1' }, continue: true })),
    { handle: 'miss' },
    ...Array.from({ length: count }, () => ({ src: '/(.*)', headers: { 'x-c': '1' }, continue: true })),
  ]
  const sites = await Promise.all([50, 500].map((count) => siteOf({ routes: table(count) })))
  const cost = (at: number, times: number) => {
    const began = process.cpuUsage()
    for (let time = 0; time < times; time++) resolve(sites[at]!, requestOf('GET /a/b'))
    const { user, system } = process.cpuUsage(began)
    return (user + system) / times
  }
  for (const at of [0, 1]) cost(at, 20)
  const rounds = Array.from({ length: 5 }, () => cost(1, 40) / cost(0, 400))
  const ratio = rounds.sort((a, b) => a - b)[2]!
  // Ten times the rules.
  assertWithin(ratio, 40)
})
