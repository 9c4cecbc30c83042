/** What visitors send, as it comes over a connection. docs/deploying-sites.md: Request processing order. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { openControlPlane, SITE } from './control-plane.ts'
import { openSitesServers, sendRaw, showSite } from './servers.ts'

const PAGES = { 'static/index.html': 'hello', 'static/a.txt': 'a' }
/** A manifest of which one file cannot be found. */
const WITHOUT_DIGEST = JSON.stringify({
  version: 1,
  phases: { none: [], filesystem: [], resource: [], miss: [], rewrite: [], hit: [], error: [] },
  ...{ wildcards: [], functions: [], functionPaths: [], crons: [] },
  files: [{ path: '/index.html', digest: '../../etc/passwd', size: 1, contentType: 'text/html' }],
})
const CLOSE = 'Connection: close\r\n'

async function openSite(t: TestContext) {
  const site = await showSite(t, { contents: PAGES })
  const raw = (bytes: string) => sendRaw(t, site.origin, bytes)
  /** The status of a request with these lines of headers. */
  const status = async (line: string, headers: string) =>
    Number(/^HTTP\/1\.1 (\d{3})/.exec(await raw(`${line}\r\n${headers}${CLOSE}\r\n`))?.[1])
  return { ...site, raw, status }
}

test('a request names one host, by its header or by the whole URL that it asks for', async (t) => {
  const { status, raw } = await openSite(t)
  const at = (host: string) => `Host: ${host}\r\n`
  for (const host of [SITE, `${SITE}:80`, `${SITE}.`, SITE.toUpperCase()])
    assert.equal(await status('GET /a.txt HTTP/1.1', at(host)), 200, host)
  for (const host of ['[::1]', '[::1]:3002', '127.0.0.1:3002', 'nobody.example'])
    assert.equal(await status('GET /a.txt HTTP/1.1', at(host)), 404, host)
  for (const host of [
    '',
    ' ',
    'a b',
    `${SITE}/`,
    `u@${SITE}`,
    `${SITE}:http`,
    'ex\u00e4mple',
    'a..b',
    `${'a'.repeat(64)}.b`,
  ])
    assert.equal(await status('GET /a.txt HTTP/1.1', at(host)), 400, host)
  assert.equal(await status('GET /a.txt HTTP/1.1', at(SITE) + at(SITE)), 400, 'two hosts')
  assert.equal(await status('GET /a.txt HTTP/1.1', ''), 400, 'no host')
  assert.equal(await status(`GET http://${SITE}/a.txt HTTP/1.1`, at('nobody.example')), 200, 'RFC 9112 3.2.2')
  assert.equal(await status(`GET http://${SITE}?x HTTP/1.1`, at('nobody.example')), 200)
  for (const target of [`http://u@${SITE}/`, `ftp://${SITE}/`, '*', 'a.txt', 'http:///a.txt'])
    assert.equal(await status(`GET ${target} HTTP/1.1`, at(SITE)), 400, target)
  const refused = await raw(`GET /a.txt HTTP/1.1\r\nHost: a b\r\n\r\n`)
  assert.match(refused, /x-vercel-error: BAD_REQUEST[\s\S]*The header Host should be the name of a site/)
})

test('of requests that are sent ahead, none is begun behind one without a Host', async (t) => {
  const { raw, visit, site } = await openSite(t)
  const heard = await raw(`GET /a.txt HTTP/1.1\r\n\r\nGET /behind HTTP/1.1\r\nHost: ${SITE}\r\n\r\n`)
  assert.deepEqual(heard.match(/^HTTP\/1\.1 \d+/gm), ['HTTP/1.1 400'])
  await visit(SITE, '/afterwards')
  await eventually(() => site.logged().includes('"/afterwards"'))
  assert.doesNotMatch(site.logged(), /"\/behind"/)
})

test('a status of a rule is answered without a body, and its connection goes on; redirects are asked for again', async (t) => {
  const routes = [
    { src: '/.*', headers: { 'access-control-allow-origin': '*' }, continue: true },
    { src: '/.*', status: 204, methods: ['OPTIONS'] },
    { src: '/fine', status: 200 },
    { src: '/old', status: 308, headers: { location: '/new' } },
    { src: '/kept', status: 301, headers: { location: '/new', 'cache-control': 'max-age=60' } },
  ]
  const { origin, visit } = await showSite(t, { contents: PAGES, config: { routes } })
  const lines = (method: string, path: string, more = '') =>
    `${method} ${path} HTTP/1.1\r\nHost: ${SITE}\r\n${more}\r\n`
  const heard = await sendRaw(t, origin, lines('OPTIONS', '/api/x') + lines('GET', '/a.txt', CLOSE))
  const [preflight = '', file = ''] = heard.split(/(?=HTTP\/1\.1 200 )/)
  assert.match(preflight, /^HTTP\/1\.1 204 [\s\S]*access-control-allow-origin: \*/)
  assert.doesNotMatch(preflight, /content-length|transfer-encoding/i)
  assert.match(file, /\r\n\r\na$/)
  const fine = await visit(SITE, '/fine')
  assert.deepEqual([fine.status, fine.text, fine.headers['content-length']], [200, '', '0'])
  assert.equal((await visit(SITE, '/old')).headers['cache-control'], 'public, max-age=0, must-revalidate')
  assert.equal((await visit(SITE, '/kept')).headers['cache-control'], 'max-age=60')
})

test('what is not HTTP, or has too long headers, is answered and ends the connection', async (t) => {
  const { raw, visit } = await openSite(t)
  assert.match(await raw('NOT HTTP\r\n\r\n'), /^HTTP\/1\.1 400 /)
  assert.match(await raw(`GET / HTTP/1.1\r\nHost: ${SITE}\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
  assert.equal((await visit(SITE)).status, 200)
})

test('a WebSocket is 501 with a sentence, and any other upgrade is passed over', async (t) => {
  const { raw } = await openSite(t)
  const upgrade = (to: string) =>
    `GET / HTTP/1.1\r\nHost: ${SITE}\r\nConnection: Upgrade, close\r\nUpgrade: ${to}\r\n\r\n`
  const refused = await raw(upgrade('websocket'))
  assert.match(refused, /^HTTP\/1\.1 501 [\s\S]*This server has no WebSocket connections yet/)
  assert.match(await raw(upgrade('h2c, WebSocket , other')), /^HTTP\/1\.1 501 /)
  assert.match(await raw(upgrade('old-websocket, websocket-two')), /^HTTP\/1\.1 200 /)
  assert.match(await raw(upgrade('h2c')), /^HTTP\/1\.1 200 [\s\S]*hello$/)
})

test('a body that is not needed is read up to a bound; one that waits for 100 is not asked for', async (t) => {
  const { raw } = await openSite(t)
  const head = (length: number, more = '') =>
    `GET / HTTP/1.1\r\nHost: ${SITE}\r\nContent-Length: ${length}\r\n${more}\r\n`
  const next = `GET /a.txt HTTP/1.1\r\nHost: ${SITE}\r\n${CLOSE}\r\n`
  const two = await raw(head(100_000) + 'x'.repeat(100_000) + next)
  assert.equal(two.match(/HTTP\/1\.1 200 /g)?.length, 2, 'the connection went on')
  const long = await raw(head(300_000) + 'x'.repeat(300_000) + next)
  assert.match(long, /^HTTP\/1\.1 200 /)
  assert.match(long, /connection: close/i)
  assert.equal(long.match(/HTTP\/1\.1/g)?.length, 1)
  const chunked = `GET / HTTP/1.1\r\nHost: ${SITE}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  assert.equal(
    (await raw(chunked + chunk.repeat(6) + next)).match(/HTTP\/1\.1/g)?.length,
    1,
    'without an announced length',
  )
  const waiting = await raw(head(10, 'Expect: 100-continue\r\n'))
  assert.match(waiting, /^HTTP\/1\.1 200 /)
  assert.doesNotMatch(waiting, /100 Continue/)
})

test('what only the platform may set is replaced before rules see it', async (t) => {
  const has = (key: string, value: string) => [{ type: 'header', key, value }]
  const routes = [
    { src: '/.*', has: has('x-matched-path', '.*'), status: 418 },
    { src: '/.*', has: has('x-vercel-ip-country', '.*'), status: 418 },
    { src: '/.*', has: has('x-forwarded-for', '127\\.0\\.0\\.1'), headers: { 'x-seen-for': 'yes' }, continue: true },
    { src: '/.*', has: has('x-forwarded-host', 'site\\.example'), headers: { 'x-seen-host': 'yes' }, continue: true },
    { src: '/.*', has: has('x-forwarded-proto', 'http'), headers: { 'x-seen-proto': 'yes' }, continue: true },
    { handle: 'filesystem' },
  ]
  const { visit } = await showSite(t, { contents: PAGES, config: { routes } })
  const answer = await visit(SITE, '/', {
    'x-matched-path': '/secret',
    'x-vercel-ip-country': 'XX',
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-host': 'other.example',
    'x-forwarded-proto': 'https',
  })
  const { 'x-seen-for': seenFor, 'x-seen-host': seenHost, 'x-seen-proto': seenProto } = answer.headers
  assert.deepEqual([answer.status, seenFor, seenHost, seenProto], [200, 'yes', 'yes', 'yes'])
})

test('functions are 501 with a page, and a line of the log has no query', async (t) => {
  const contents = {
    ...PAGES,
    'functions/api.func/.vc-config.json': JSON.stringify({
      runtime: 'nodejs24.x',
      handler: 'index.js',
      launcherType: 'Nodejs',
    }),
    'functions/api.func/index.js': '//',
  }
  const { visit, logged } = await showSite(t, { contents })
  const answer = await visit(SITE, '/api?secret=hunter2')
  assert.deepEqual([answer.status, answer.headers['x-vercel-error']], [501, 'FUNCTIONS_NOT_RUN'])
  assert.match(answer.text, /It is made by a function of the site/)
  await eventually(() => /"path":"\/api","status":501/.test(logged()))
  assert.doesNotMatch(logged(), /hunter2/)
})

test('a manifest that is none, or of another version, is an error on our side, and the next site is shown', async (t) => {
  for (const manifest of ['no json', '{"version":2}', '{"version":1}', '[]', 'null', WITHOUT_DIGEST]) {
    const { visit, logged } = await showSite(t, { manifest })
    const answer = await visit(SITE)
    assert.deepEqual([answer.status, answer.headers['x-vercel-error']], [500, 'INTERNAL_SERVER_ERROR'], manifest)
    assert.match(logged(), /The routing manifest (is not JSON|has the version|is wrong at)/)
  }
})

test('a pattern that never ends is 508, and others are answered meanwhile', async (t) => {
  const routes = [{ src: '/(a+)+$', status: 200 }, { handle: 'filesystem' }]
  const { visit } = await showSite(t, { contents: PAGES, config: { routes } })
  const [slow, quick] = await Promise.all([visit(SITE, `/${'a'.repeat(40)}!`), visit(SITE, '/a.txt')])
  assert.deepEqual([slow.status, slow.headers['x-vercel-error']], [508, 'ROUTING_TIMEOUT'])
  assert.equal(quick.status, 200)
})

test('an address has 1,000 connections at once, and each is answered', async (t) => {
  const { origin } = await openSite(t)
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  let answers = 0
  for (let at = 0; at < 1000; at++) {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.once('data', () => answers++)
    sockets.push(socket)
    if (at % 50 === 49) await new Promise((resolve) => setImmediate(resolve))
  }
  await eventually(() => sockets.every(({ readyState }) => readyState === 'open'))
  for (const socket of sockets) socket.write(`GET / HTTP/1.1\r\nHost: ${SITE}\r\n\r\n`)
  await eventually(
    () => answers === 1000,
    () => `${answers} answers`,
  )
})

test('a request that is on its way is answered while the server stops, and no further one is taken', async (t) => {
  const control = await openControlPlane(t, { contents: { 'static/index.html': 'x'.repeat(5_000_000) } })
  const site = await openSitesServers(t).start(control.origin)
  await eventually(async () => (await site.visit(SITE, '/')).status === 200)
  const before = Array.from({ length: 10 }, () => site.visit(SITE, '/'))
  await eventually(() => site.logged().includes('answered'))
  const stopped = site.stop()
  for (const { status, text } of await Promise.all(before)) assert.deepEqual([status, text.length], [200, 5_000_000])
  await stopped
  await assert.rejects(site.visit(SITE, '/'), /ECONNREFUSED/)
})

test('the log names a proxy with TLS in front that no setting names, once', async (t) => {
  const { visit, logged } = await openSite(t)
  const lines = () => logged().match(/"address":"127\.0\.0\.1","msg":"requests come by a proxy/g)?.length ?? 0
  assert.equal((await visit(SITE, '/a.txt')).status, 200)
  assert.equal(lines(), 0)
  for (const path of ['/', '/a.txt']) await visit(SITE, path, { 'x-forwarded-proto': 'https' })
  assert.equal(lines(), 1)
})
