/** Middleware decides about requests before they are routed on. docs/functions.md: Middleware. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { sendRaw } from '../visitors/servers.ts'

const EDGE = { runtime: 'edge', handler: 'index.js', entrypoint: 'index.js' }

/** What the tests ask of it, by the parameter `do`. */
const MIDDLEWARE = `
const go = (headers) => new Response(null, { headers: { 'x-middleware-next': '1', ...headers } })
const ACTIONS = {
  next: () => go({ 'x-added': 'yes', 'set-cookie': 'a=1' }),
  rewrite: () => new Response(null, { headers: { 'x-middleware-rewrite': '/api/echo?rewritten=1' } }),
  again: (url) => new Response(null, { headers: { 'x-middleware-rewrite': url.href } }),
  redirect: () => Response.redirect('https://elsewhere.example/', 307),
  answer: () => new Response('stop here', { status: 401, headers: { 'x-own': 'a', 'content-type': 'text/own', 'set-cookie': 'b=2' } }),
  headers: (_, request) => go({ 'x-middleware-override-headers': 'x-kept,x-new,host', 'x-middleware-request-x-new': 'new', 'x-middleware-request-x-kept': request.headers.get('x-kept') ?? '' }),
  body: () => new Response('x'.repeat(300_000), { headers: { 'x-middleware-next': '1' } }),
  nothing: () => undefined,
  throws: () => { throw new Error('own words') },
  stay: () => new Promise(() => {}),
  seen: (url, request) => Response.json({ url: url.href, method: request.method, length: request.headers.get('content-length'), next: request.headers.get('x-middleware-next'), own: [typeof EdgeRuntime, typeof self, typeof AsyncLocalStorage] }),
}
export default function middleware(request, context) {
  const url = new URL(request.url)
  return ACTIONS[url.searchParams.get('do') ?? 'next'](url, request, context)
}`
const ECHO = `export default (req, res) => { let text = ''; req.on('data', (piece) => { text += piece }).on('end', () => { res.setHeader('x-of-function', '1'); res.end(JSON.stringify({ url: req.url, headers: req.headers, body: text })) }) }`
const CONFIG = {
  routes: [
    { src: '^/(?!open).*$', middlewarePath: '_middleware', middlewareRawSrc: ['/((?!open).*)'], continue: true },
    { handle: 'filesystem' },
  ],
}

/** TABLE forms of a middleware → its configuration. */
const FORMS = {
  edge: EDGE,
  'Node.js': { handler: 'index.js', shouldAddHelpers: false },
}

for (const [form, settings] of Object.entries(FORMS))
  test(`a middleware of the form ${form} lets requests pass, rewrites, redirects, answers and changes headers`, async (t) => {
    const contents = {
      ...functionOf('_middleware', MIDDLEWARE, settings),
      ...functionOf('api/echo', ECHO, { shouldAddHelpers: false }),
      'static/page.txt': 'the page',
      'static/open.txt': 'open',
    }
    const { visit, origin } = await showFunctions(t, contents, { config: CONFIG })
    const ask = (path: string, headers: Record<string, string> = {}) => visit(path, headers)

    const page = await ask('/page.txt')
    assert.deepEqual(
      [page.status, page.text, page.headers['x-added'], page.headers['set-cookie'], page.headers['x-middleware-next']],
      [200, 'the page', 'yes', ['a=1'], undefined],
    )
    assert.equal((await ask('/page.txt?do=nothing')).text, 'the page')
    assert.equal((await ask('/page.txt?do=body')).text, 'the page')

    const rewritten = await ask('/page.txt?do=rewrite')
    assert.equal(JSON.parse(rewritten.text).url, '/page.txt?rewritten=1')
    assert.equal(rewritten.headers['x-vercel-id'], JSON.parse(rewritten.text).headers['x-vercel-id'])

    const redirect = await ask('/page.txt?do=redirect')
    assert.deepEqual([redirect.status, redirect.headers.location], [307, 'https://elsewhere.example/'])

    const answer = await ask('/page.txt?do=answer')
    assert.deepEqual(
      [
        answer.status,
        answer.text,
        answer.headers['x-own'],
        answer.headers['content-type'],
        answer.headers['set-cookie'],
      ],
      [401, 'stop here', 'a', 'text/own', ['b=2']],
    )

    const changed = JSON.parse((await ask('/api/echo?do=headers', { 'x-kept': 'k', 'x-gone': 'g' })).text).headers
    assert.deepEqual([changed['x-kept'], changed['x-new'], changed['x-gone']], ['k', 'new', undefined])
    assert.equal(changed.host, 'site.example')
    assert.equal(changed['x-forwarded-for'], '127.0.0.1')

    const forged = { 'x-middleware-next': '1', 'x-middleware-rewrite': '/api/echo' }
    const seen = JSON.parse((await ask('/page.txt?do=seen', forged)).text)
    const { own, ...rest } = seen
    assert.deepEqual(rest, { url: 'http://site.example/page.txt?do=seen', method: 'GET', length: null, next: null })
    if (form === 'edge') assert.deepEqual(own, ['string', 'object', 'function'])
    assert.equal((await ask('/open.txt?do=throws')).text, 'open')

    // It has no body of the visitor; the function has it whole, and the connection goes on.
    const post = (path: string, body: string) =>
      `POST ${path} HTTP/1.1\r\nhost: site.example\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const bytes = `${post('/api/echo?do=next', 'the body')}${post('/x?do=seen', 'unread')}GET /open.txt HTTP/1.1\r\nhost: site.example\r\nconnection: close\r\n\r\n`
    const heard = await sendRaw(t, origin, bytes)
    assert.match(heard, /"body":"the body"[\s\S]*"method":"POST","length":"0"[\s\S]*\r\n\r\nopen$/)
  })

test('a middleware that rewrites to its own path is asked once', async (t) => {
  const contents = { ...functionOf('_middleware', MIDDLEWARE, EDGE), 'static/page.txt': 'the page' }
  const { visit } = await showFunctions(t, contents, { config: CONFIG })
  assert.deepEqual([(await visit('/page.txt?do=again')).text], ['the page'])
})

test('a middleware that fails or takes too long: its visitor gets the error of a middleware, and the next one is answered', async (t) => {
  const contents = { ...functionOf('_middleware', MIDDLEWARE, { ...EDGE, maxDuration: 1 }), 'static/page.txt': 'page' }
  const { visit, logged } = await showFunctions(t, contents, { config: CONFIG })
  await eventually(async () => (await visit('/page.txt')).text === 'page')
  const failed = await visit('/page.txt?do=throws')
  assert.deepEqual([failed.status, failed.headers['x-vercel-error']], [500, 'MIDDLEWARE_INVOCATION_FAILED'])
  assert.doesNotMatch(failed.text, /own words/)
  assert.match(logged(), /own words/)
  const late = await visit('/page.txt?do=stay')
  assert.deepEqual([late.status, late.headers['x-vercel-error']], [504, 'MIDDLEWARE_INVOCATION_TIMEOUT'])
  await eventually(async () => (await visit('/page.txt')).text === 'page')
})

test('more middleware than one request may ask ends in 508', async (t) => {
  const names = Array.from({ length: 9 }, (_, at) => `m${at}`)
  const routes = names.map((middlewarePath) => ({ src: '^/.*$', middlewarePath, continue: true }))
  const go = `export default () => new Response(null, { headers: { 'x-middleware-next': '1' } })`
  const contents = Object.assign({}, ...names.map((name) => functionOf(name, go, EDGE)))
  const own = { processes: 20 }
  const { visit } = await showFunctions(t, contents, { config: { routes }, own, limits: { ofAccount: 20 } })
  const reply = await visit('/')
  assert.deepEqual([reply.status, reply.headers['x-vercel-error']], [508, 'INFINITE_LOOP_DETECTED'])
})

test('edge functions of both forms of modules answer, import WebAssembly, and have errors of their own', async (t) => {
  const module = `import twice from './twice.wasm?module'
const { exports } = await WebAssembly.instantiate(twice)
export default async (request, { waitUntil }) => {
  if (request.url.endsWith('throws')) throw new Error('own words')
  waitUntil(Promise.resolve())
  return Response.json({ twice: exports.twice(21), runtime: EdgeRuntime, body: await request.text(), pattern: typeof URLPattern })
}`
  // (module (func (export "twice") (param i32) (result i32) (i32.add (local.get 0) (local.get 0))))
  const wasm = '0061736d0100000001060160017f017f03020100070901057477696365000' + '00a09010700200020006a0b'
  const contents = {
    ...functionOf('api/edge', module, EDGE),
    'functions/api/edge.func/package.json': '{"type":"commonjs"}',
    ...functionOf(
      'api/common',
      `module.exports.default = () => new Response(typeof require('node:buffer').Buffer)`,
      EDGE,
    ),
  }
  const binary = { 'functions/api/edge.func/twice.wasm': Buffer.from(wasm, 'hex').toString('latin1') }
  const { visit } = await showFunctions(t, { ...contents, ...binary })
  const reply = await visit('/api/edge', {}, 'POST')
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(JSON.parse(reply.text), { twice: 42, runtime: 'edge-runtime', body: '', pattern: 'function' })
  assert.equal((await visit('/api/common')).text, 'function')
  const failed = await visit('/api/edge?throws')
  assert.deepEqual([failed.status, failed.headers['x-vercel-error']], [500, 'EDGE_FUNCTION_INVOCATION_FAILED'])
})
