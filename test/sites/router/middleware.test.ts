/** Middleware is a decision with a state: the sites server asks it, and routing goes on with its answer. docs/deploying-sites.md: Router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Decision, Pair } from '../../../src/sites/router/decision.ts'
import { resolve, resume } from '../../../src/sites/router/resolve.ts'
import type { Site } from '../../../src/sites/router/site.ts'
import { headersOf, lineOf, requestOf, siteOf } from './sites.ts'

const CONFIG = {
  routes: [
    { src: '/(.*)', headers: { 'x-before': '1' }, continue: true },
    { src: '/(guarded|other)(/.*)?', middlewarePath: 'middleware', continue: true, override: true },
    { src: '/(guarded|other)(/.*)?', middlewarePath: 'middleware', continue: true },
    { handle: 'filesystem' },
    { src: '/guarded/(?<id>\\d+)', dest: '/page?id=$id' },
  ],
}
const open = () =>
  siteOf(CONFIG, { files: ['guarded/a', 'public', 'other/index.html'], functions: ['middleware', 'page'] })

/** Asks, lets the middleware answer, and goes on from a copy of the state, as from another worker. */
function ask(
  site: Site,
  line: string,
  answer: { status?: number; headers: Pair[] },
  headers: Record<string, string> = {},
): Decision {
  const asked = resolve(site, requestOf(line, headers))
  assert.ok(asked.kind === 'middleware', lineOf(asked))
  return resume(site, structuredClone(asked.state), { status: answer.status ?? 200, headers: answer.headers })
}
const NEXT: Pair = ['x-middleware-next', '1']

test('a middleware is asked once, with the request as it came, and only for the paths of its rule', async () => {
  const site = await open()
  const asked = resolve(site, requestOf('GET /guarded/a?x=1'))
  assert.ok(asked.kind === 'middleware')
  assert.deepEqual(
    [asked.name, asked.bundle?.entrypoint, asked.request],
    ['middleware', 'index.js', { path: '/guarded/a', search: '?x=1' }],
  )
  assert.equal(lineOf(resolve(site, requestOf('GET /public'))), 'file 200 /public')
  assert.equal(lineOf(ask(site, 'GET /guarded/a', { headers: [NEXT] })), 'file 200 /guarded/a')
})

test('after `next` the rules go on, with the headers and cookies of the answer and without those of its body', async () => {
  const answer: Pair[] = [
    NEXT,
    ['x-of-it', 'v'],
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b=2'],
    ['content-type', 'text/plain'],
    ['content-length', '9'],
  ]
  const decision = ask(await open(), 'GET /guarded/7?id=1', { headers: answer })
  assert.equal(lineOf(decision), 'function page ?id=7')
  assert.deepEqual(headersOf(decision), { 'x-before': '1', 'x-of-it': 'v' })
  assert.deepEqual(decision.cookies, ['a=1', 'b=2'])
  assert.equal(decision.reusable, false)
})

test('an answer without `next` and `rewrite` is what the visitor gets', async () => {
  const decision = ask(await open(), 'GET /guarded/a', { status: 401, headers: [['www-authenticate', 'Basic']] })
  assert.deepEqual([decision.kind, lineOf(decision)], ['answer', 'answer 401'])
  assert.deepEqual(headersOf(decision), { 'x-before': '1', 'www-authenticate': 'Basic' })
})

test('a rewrite replaces path and query; to another host it is a proxy; to no address it is 502', async () => {
  const site = await open()
  const rewrite = (to: string) => lineOf(ask(site, 'GET /other?q=1', { headers: [['x-middleware-rewrite', to]] }))
  assert.equal(rewrite('/guarded/9?r=2'), 'function page ?r=2&id=9')
  assert.equal(rewrite('https://site.example/public'), 'file 200 /public')
  assert.equal(rewrite('https://other.example/x?y=1'), 'proxy https://other.example/x?y=1')
  assert.equal(rewrite('javascript:alert(1)'), 'error 502 ROUTER_EXTERNAL_TARGET_ERROR')
  assert.equal(rewrite('http://['), 'error 502 ROUTER_EXTERNAL_TARGET_ERROR')
})

test('behind a rewrite a function is asked with the path of the visitor, and with the query of the rewrite alone', async () => {
  const site = await open()
  const rewritten = ask(site, 'GET /other?q=1', { headers: [['x-middleware-rewrite', '/guarded/9?r=2']] })
  assert.ok(rewritten.kind === 'function')
  const { path, matchedPath, search } = rewritten.invocation
  assert.deepEqual([path, matchedPath, search], ['/other', '/page', '?r=2&id=9'])
  const away = ask(site, 'GET /other?q=1', { headers: [['x-middleware-rewrite', 'https://other.example/x?y=1']] })
  assert.ok(away.kind === 'proxy')
  assert.deepEqual([away.url, away.request.search], ['https://other.example/x?y=1', ''])
})

test('an error status of a rewrite is that of what is found there; others do not count', async () => {
  const site = await open()
  const rewrite = (to: string, status: number) =>
    ask(site, 'GET /other', { status, headers: [['x-middleware-rewrite', to]] })
  assert.equal(lineOf(rewrite('/public', 503)), 'file 503 /public')
  assert.equal(lineOf(rewrite('/guarded/9', 404)), 'function 404 page ?id=9')
  assert.equal(lineOf(rewrite('/nowhere', 503)), 'error 404 NOT_FOUND')
  for (const status of [200, 204, 307]) assert.equal(lineOf(rewrite('/public', status)), 'file 200 /public')
  const away = rewrite('https://other.example/', 451)
  assert.ok(away.kind === 'proxy')
  assert.equal(away.status, 451)
})

test('overridden request headers: the list counts, and none of the message or of the platform can be changed', async () => {
  const headers: Pair[] = [
    NEXT,
    ['x-middleware-override-headers', 'x-new, accept, host, content-length, x-forwarded-for'],
    ['x-middleware-request-x-new', '1'],
    ['x-middleware-request-host', 'evil.example'],
    ['x-middleware-request-content-length', '0'],
    ['x-middleware-request-x-forwarded-for', '10.0.0.1'],
  ]
  const visitor = {
    accept: 'a/b',
    'x-old': '1',
    host: 'site.example',
    'x-forwarded-for': '192.0.2.1',
    'content-length': '5',
  }
  const decision = ask(await open(), 'GET /guarded/7', { headers }, visitor)
  assert.ok(decision.kind === 'function')
  assert.deepEqual(Object.fromEntries(decision.invocation.headers ?? []), {
    accept: 'a/b',
    host: 'site.example',
    'x-forwarded-for': '192.0.2.1',
    'content-length': '5',
    'x-new': '1',
  })
})
