/** Functions of deployments answer visitors. docs/functions.md. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { sendRaw } from '../visitors/servers.ts'
import { functionOf, showFunctions } from './function-site.ts'

const ECHO = `export default function (req, res) {
  res.setHeader('x-own', 'yes')
  res.setHeader('cache-control', 's-maxage=60, stale-while-revalidate')
  res.status(201).json({ query: req.query, cookies: req.cookies, body: req.body ?? null, headers: req.headers, url: req.url,
    secret: process.env.SECRET, node: process.env.NODE_ENV, leaked: process.env.BERTH_TEST_ROUNDS ?? null, cwd: process.cwd() })
}`
const WEB = `export function GET(request) { return Response.json({ url: request.url, own: request.headers.get('x-a') }) }
export async function POST(request) { return new Response('got ' + (await request.text())) }`

test('a function of the form (req, res) gets query, cookies, body and variables, and answers', async (t) => {
  const { visit } = await showFunctions(t, functionOf('api/echo', ECHO), { env: { SECRET: 'of the project' } })
  const visitorsOwn = { 'x-vercel-id': 'forged', 'x-matched-path': '/forged', 'x-forwarded-for': '1.2.3.4' }
  const reply = await visit('/api/echo?a=1&a=2&b=3', {
    cookie: 'c=%C3%BC; \u00a0c=planted;\td=1\u00a0 ',
    ...visitorsOwn,
  })
  assert.equal(reply.status, 201, reply.text)
  const seen = JSON.parse(reply.text)
  assert.deepEqual(
    [seen.query, seen.cookies, seen.secret, seen.node, seen.url],
    [
      { a: ['1', '2'], b: '3' },
      { c: 'ü', '\u00a0c': 'planted', d: '1\u00a0' },
      'of the project',
      'production',
      '/api/echo?a=1&a=2&b=3',
    ],
  )
  assert.equal(seen.headers['x-matched-path'], '/api/echo')
  assert.equal(seen.headers['x-forwarded-for'], '127.0.0.1')
  assert.equal(seen.headers.host, 'site.example')
  assert.match(seen.headers['x-vercel-id'], /^ber1::[a-z0-9]{5}-\d+-[a-z0-9]{12}$/)
  assert.equal(reply.headers['x-vercel-id'], seen.headers['x-vercel-id'])
  assert.equal(reply.headers['x-own'], 'yes')
  assert.equal(reply.headers['cache-control'], 'public, max-age=0, must-revalidate')
  assert.equal(reply.headers['x-vercel-cache'], 'MISS')
})

test('only the request for a prerendered page says in a header what rules made of its path', async (t) => {
  const config = {
    routes: [{ handle: 'filesystem' }, { src: '^/(live|page)/(?<id>[^/]+)$', dest: '/$1?nxtPid=$id' }],
  }
  const prerender = { type: 'Prerender', expiration: 600, allowQuery: ['nxtPid'] }
  const contents = {
    ...functionOf('live', ECHO),
    ...functionOf('page', ECHO),
    'functions/page.prerender-config.json': JSON.stringify(prerender),
  }
  const { visit } = await showFunctions(t, contents, { config })
  const seen = async (path: string) => {
    const { query, headers } = JSON.parse((await visit(path, { rsc: '1' })).text)
    return [query.nxtPid, headers['x-now-route-matches'], headers.rsc]
  }
  assert.deepEqual(await seen('/live/7'), ['7', undefined, '1'])
  assert.deepEqual((await seen('/page/7')).slice(0, 2), ['7', 'nxtPid=7'])
})

test('functions named by method, a fetch export and a server answer too, each by its own process', async (t) => {
  const { visit } = await showFunctions(t, {
    ...functionOf('api/web', WEB),
    ...functionOf(
      'api/fetch',
      `export default { fetch: (request) => new Response('fetched ' + new URL(request.url).pathname) }`,
    ),
    ...functionOf('api/one', `export default (request) => new Response(request.method)`),
    ...functionOf(
      'api/server',
      `import { createServer } from 'node:http'
const server = createServer((req, res) => res.end('listens at ' + server.address().port))
server.listen(4000, () => console.log('listening'))`,
    ),
    ...functionOf('api/common', `module.exports = (req, res) => res.send('common')`, { handler: 'index.cjs' }),
  })
  const web = await visit('/api/web?x=1', { 'x-a': 'b' })
  assert.deepEqual([web.status, JSON.parse(web.text)], [200, { url: 'http://site.example/api/web?x=1', own: 'b' }])
  assert.equal((await visit('/api/web', {}, 'DELETE')).status, 405)
  for (const [path, body] of [
    ['/api/fetch', 'fetched /api/fetch'],
    ['/api/one', 'GET'],
    ['/api/server', 'listens at 4000'],
    ['/api/common', 'common'],
  ]) {
    const reply = await visit(path!)
    assert.deepEqual([reply.status, reply.text], [200, body])
  }
})

test('a body is passed on, and one that is not JSON is a mistake of the visitor', async (t) => {
  const { origin } = await showFunctions(t, { ...functionOf('api/echo', ECHO), ...functionOf('api/web', WEB) })
  const post = (path: string, body: string, type = 'application/json') =>
    sendRaw(
      t,
      origin,
      `POST ${path} HTTP/1.1\r\nhost: site.example\r\nconnection: close\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  assert.match(await post('/api/echo', '{"a":[1]}'), /"body":\{"a":\[1\]\}/)
  assert.match(await post('/api/echo', 'a=1&b=2', 'application/x-www-form-urlencoded'), /"body":\{"a":"1","b":"2"\}/)
  assert.match(await post('/api/echo', '{'), /^HTTP\/1.1 400 /)
  assert.match(await post('/api/web', 'text'), /\r\n\r\n(?:8\r\n)?got text/)
})

test('a request without a type has a text as its body, and texts are sent as UTF-8 whatever type was set', async (t) => {
  const type = (name: string, value: string, send: string) =>
    functionOf(`api/${name}`, `export default (req, res) => { res.setHeader('content-type', '${value}'); ${send} }`)
  const { visit } = await showFunctions(t, {
    ...functionOf('api/body', `export default (req, res) => res.json([req.body, req.body.name ?? 'none'])`),
    ...type('html', 'text/html', "res.send('für')"),
    ...type('other', 'text/plain; charset=latin1; format=flowed', "res.send('für')"),
    ...type('json', 'application/problem+json', "res.json({ a: 'ü' })"),
    ...type('bytes', 'image/png', "res.send(Buffer.from('für'))"),
    ...type('head', 'text/plain', "res.writeHead(201); res.send('for')"),
    ...type('begun', 'text/plain', "res.write('begun, '); res.send('ended')"),
  })
  for (const method of ['GET', 'DELETE']) assert.equal((await visit('/api/body', {}, method)).text, '["","none"]')
  const seen = await Promise.all(
    ['html', 'other', 'json', 'bytes'].map(async (name) => (await visit(`/api/${name}`)).headers['content-type']),
  )
  assert.deepEqual(seen, [
    'text/html; charset=utf-8',
    'text/plain; format=flowed; charset=utf-8',
    'application/problem+json; charset=utf-8',
    'image/png',
  ])
  // The head of these has gone before.
  const [head, begun] = [await visit('/api/head'), await visit('/api/begun')]
  assert.deepEqual([head.status, head.text, begun.status, begun.text], [201, 'for', 200, 'begun, ended'])
})

test('a redirect is a temporary one unless it names a status, and a status needs an address', async (t) => {
  const redirect = (name: string, call: string) =>
    functionOf(`api/${name}`, `export default (req, res) => res.redirect(${call})`)
  const { visit, logged } = await showFunctions(t, {
    ...redirect('plain', "'/there'"),
    ...redirect('status', "301, '/there'"),
    ...redirect('nowhere', '301'),
  })
  const seen = await Promise.all(['plain', 'status', 'nowhere'].map((name) => visit(`/api/${name}`)))
  assert.deepEqual(
    seen.map(({ status, headers }) => [status, headers.location]),
    [
      [307, '/there'],
      [301, '/there'],
      [500, undefined],
    ],
  )
  await eventually(() => logged().includes('redirect(status, url) needs a url'))
})

test('a stream reaches the visitor while the function still writes', async (t) => {
  const { origin } = await showFunctions(
    t,
    functionOf(
      'api/stream',
      `let go
export const GET = () => new Response(new ReadableStream({ async start(c) { c.enqueue(new TextEncoder().encode('first')); await new Promise((r) => { go = r }); c.enqueue(new TextEncoder().encode('second')); c.close() } }))
export const POST = () => { go(); return new Response('went') }`,
    ),
  )
  const streaming = await fetch(`${origin}/api/stream`, { headers: { host: 'site.example' } }).catch(() => undefined)
  assert.equal(streaming?.status, 404, 'fetch sets the host itself')
  const reading = sendRaw(t, origin, 'GET /api/stream HTTP/1.1\r\nhost: site.example\r\nconnection: close\r\n\r\n')
  let heard = ''
  void reading.then((text) => {
    heard = text
  })
  await eventually(async () => {
    const reply = await sendRaw(
      t,
      origin,
      'POST /api/stream HTTP/1.1\r\nhost: site.example\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
    )
    return reply.includes('went') && heard !== ''
  })
  assert.match(heard, /first[\s\S]*second/)
})

test('a visitor who leaves an endless stream ends it, and the process answers the next one', async (t) => {
  const module = `let ended = 0
export const GET = (request) => request.url.endsWith('ended') ? new Response(String(ended)) :
  new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1000)) }, cancel() { ended++ } }))`
  const { visit, origin } = await showFunctions(t, functionOf('api/endless', module))
  assert.equal((await visit('/api/endless?ended')).text, '0')
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  socket.write('GET /api/endless HTTP/1.1\r\nhost: site.example\r\n\r\n')
  await once(socket, 'data')
  socket.destroy()
  await eventually(async () => (await visit('/api/endless?ended')).text === '1')
})

/** TABLE what a function does → the error of its visitor. */
const FAILURES: readonly [what: string, module: string, status: number, code: string][] = [
  ['throws', `export default () => { throw new Error('own words') }`, 500, 'FUNCTION_INVOCATION_FAILED'],
  [
    'throws later',
    `export default (req, res) => { setTimeout(() => { throw new Error('late') }) }`,
    500,
    'FUNCTION_INVOCATION_FAILED',
  ],
  ['ends its process', `export default (req, res) => process.exit(3)`, 500, 'FUNCTION_INVOCATION_FAILED'],
  ['returns nothing', `export const GET = () => undefined`, 500, 'FUNCTION_INVOCATION_FAILED'],
  ['does not load', `import './missing.mjs'`, 500, 'FUNCTION_INVOCATION_FAILED'],
  ['exports nothing', `export const a = 1`, 500, 'FUNCTION_INVOCATION_FAILED'],
  ['closes its connections', `export default (req, res) => req.socket.destroy()`, 502, 'NO_RESPONSE_FROM_FUNCTION'],
]

for (const [what, module, status, code] of FAILURES)
  test(`a function that ${what}: its visitor gets ${code}, and the next visitor is answered`, async (t) => {
    const contents = { ...functionOf('api/bad', module), ...functionOf('api/echo', ECHO) }
    const { visit, logged } = await showFunctions(t, contents)
    const reply = await visit('/api/bad')
    assert.deepEqual([reply.status, reply.headers['x-vercel-error']], [status, code])
    assert.match(String(reply.headers['x-vercel-id']), /^ber1::/)
    assert.match(reply.text, /The site could not answer/)
    assert.doesNotMatch(reply.text, /own words/)
    assert.equal((await visit('/api/echo')).status, 201)
    if (what === 'throws') await eventually(async () => logged().includes('own words'))
  })

test('a function that takes too long is 504, and its process gets no further request', async (t) => {
  const module = `let calls = 0
export default (req, res) => { if (req.url.endsWith('stay')) return; res.send(String(++calls)) }`
  const { visit } = await showFunctions(t, functionOf('api/slow', module, { maxDuration: 1 }))
  const isFirstCall = async () => (await visit('/api/slow')).text === '1'
  await eventually(isFirstCall)
  const late = await visit('/api/slow?stay')
  assert.deepEqual([late.status, late.headers['x-vercel-error']], [504, 'FUNCTION_INVOCATION_TIMEOUT'])
  await eventually(isFirstCall)
})

test('a function that does not become ready in time is 504, and its log says so', async (t) => {
  const contents = functionOf('api/stuck', 'setInterval(() => {}, 60_000); await new Promise(() => {})')
  const { visit, control } = await showFunctions(t, contents, { limits: { startMs: 1 } })
  const reply = await visit('/api/stuck')
  assert.deepEqual([reply.status, reply.headers['x-vercel-error']], [504, 'FUNCTION_INVOCATION_TIMEOUT'])
  await eventually(() => control.lines.length === 2)
  assert.deepEqual(
    control.lines.map(({ level, text, path }) => [level, text, path]),
    [
      ['error', 'The function was not ready in time.', ''],
      ['error', 'FUNCTION_INVOCATION_TIMEOUT: the function was not ready in time', '/api/stuck'],
    ],
  )
})

test('the page of the deployment for the status is shown, with the error in a header', async (t) => {
  const contents = { ...functionOf('api/bad', `export default () => { throw 1 }`), 'static/500.html': 'our own 500' }
  const { visit } = await showFunctions(t, contents, { config: { overrides: { '500.html': { path: '500' } } } })
  const reply = await visit('/api/bad')
  assert.deepEqual(
    [reply.status, reply.text, reply.headers['x-vercel-error']],
    [500, 'our own 500', 'FUNCTION_INVOCATION_FAILED'],
  )
})

test('a process serves many requests, ends after it was idle for long, and starts again', async (t) => {
  const module = `let calls = 0
export default (req, res) => res.send(process.pid + ' ' + ++calls)`
  const { visit } = await showFunctions(t, functionOf('api/count', module), { limits: { idleMs: 0, drainMs: 0 } })
  const replies = await Promise.all(Array.from({ length: 20 }, () => visit('/api/count')))
  const pids = new Set(replies.map(({ text }) => text.split(' ')[0]))
  assert.equal(pids.size, 1)
  assert.equal(new Set(replies.map(({ text }) => text)).size, 20)
  await eventually(async () => {
    const { status, text } = await visit('/api/count')
    return status === 200 && !pids.has(text.split(' ')[0]!)
  })
})

test('promises of waitUntil go on after the answer', async (t) => {
  const module = `export const GET = (request, { waitUntil }) => { waitUntil(new Promise((go) => setTimeout(go, 50)).then(() => console.log('went on'))); return new Response('now') }`
  const { visit, logged } = await showFunctions(t, functionOf('api/later', module))
  assert.equal((await visit('/api/later')).text, 'now')
  await eventually(async () => logged().includes('went on'))
})

test('stack traces name the places of the sources where the output says so', async (t) => {
  // The first line of the module is line 4 of its source.
  const map = { version: 3, sources: ['origin.ts'], names: [], mappings: 'AAGA' }
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`
  const module = `export default (req, res) => res.end(new Error('here').stack)\n//# sourceMappingURL=${url}\n`
  const { visit } = await showFunctions(t, {
    ...functionOf('api/mapped', module, { shouldAddSourcemapSupport: true }),
    ...functionOf('api/plain', module),
  })
  assert.match((await visit('/api/mapped')).text, /origin\.ts:4/)
  assert.match((await visit('/api/plain')).text, /index\.mjs:1/)
  const own = await showFunctions(t, functionOf('api/plain', module), { env: { NODE_OPTIONS: '--enable-source-maps' } })
  assert.match((await own.visit('/api/plain')).text, /origin\.ts:4/, 'where a variable of the project says so too')
})

test('a line of the log has the id of its request', async (t) => {
  const { visit, logged } = await showFunctions(
    t,
    functionOf('api/say', `export default (req, res) => { console.log('said'); res.end() }`),
  )
  const { headers } = await visit('/api/say')
  await eventually(async () => logged().includes(`"requestId":"${headers['x-vercel-id']}","text":"said"`))
})

test('a directory of functions that cannot be removed keeps the sites server from nothing else of its stop', async (t) => {
  const { site } = await showFunctions(t, functionOf('api/web', WEB))
  const { PATH } = process.env
  // Nothing removes it then.
  process.env.PATH = '/nowhere'
  await site.stop().finally(() => {
    process.env.PATH = PATH
  })
})
