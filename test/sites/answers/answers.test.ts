/** Answers of functions that say that they may be kept. docs/prerendering.md: Answers of functions. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { addPurge } from '../../../src/platform/verdict/cache-purges.ts'
import { eventually } from '../../support/eventually.ts'
import { iterations } from '../../support/iterations.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { deployment, name, project } from '../snapshot/lines.ts'

/**
 * Answers with its number, and with the headers that a POST sets before. `hold` makes answers wait with their end, `go` ends that, `fail` answers 503,
 * and `sent` says which answers have left the process.
 */
const FUNCTION = `let count = 0, set = {}, mode = '', waiting = [], sent = []
export default async (req, res) => {
  if (req.headers['x-mode'] === 'sent') return res.end(JSON.stringify(sent))
  if (req.method === 'POST') {
    set = JSON.parse(req.headers['x-set'] ?? '{}'); mode = req.headers['x-mode'] ?? ''
    if (mode !== 'hold') waiting.splice(0).forEach((go) => go())
    return res.end(String(count))
  }
  const number = ++count
  if (mode === 'fail') return res.writeHead(503).end('own words')
  const { status = 200, tag, ...headers } = set
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (tag) globalThis[Symbol.for('@vercel/request-context')].get().addCacheTag(tag)
  res.statusCode = status
  res.flushHeaders()
  res.on('close', () => sent.push(number))
  res.write('answer ' + number + ' ')
  if (req.url.endsWith('big')) res.write('x'.repeat(8 * 1024 ** 2))
  if (mode === 'hold') await new Promise((go) => waiting.push(go))
  if (req.url.endsWith('huge')) res.write('x'.repeat(24 * 1024 ** 2))
  res.end(req.url + ' ' + req.headers.host + ' ' + (req.headers['x-a'] ?? '') + ' ' + (req.headers['x-set-by-rule'] ?? '') + ' ' + 'x'.repeat(2000))
}`
const SHARED = { 'cache-control': 's-maxage=600' }

async function show(t: TestContext, headers: object = SHARED, config: object = {}) {
  const contents = functionOf('api/it', FUNCTION, { shouldAddHelpers: false })
  const shown = await showFunctions(t, contents, { config })
  const post = async (set: object = SHARED, mode = '') => {
    const reply = await shown.visit('/api/it', { 'x-set': JSON.stringify(set), 'x-mode': mode }, 'POST')
    return Number(reply.text)
  }
  const see = async (sent: Record<string, string> = {}, path = '/api/it', method = 'GET', host = 'site.example') => {
    const { status, text, headers: answered } = await shown.site.visit(host, path, sent, method)
    return {
      status,
      text,
      answered,
      cached: answered['x-vercel-cache'],
      number: Number(/answer (\d+)/.exec(text)?.[1]),
    }
  }
  await post(headers)
  return { ...shown, post, see }
}

test('an answer with s-maxage is given to others, with conditions, parts and HEAD, without what is for caches', async (t) => {
  const { see } = await show(t, { 'cache-control': 'max-age=5, s-maxage=600', 'vercel-cache-tag': 'a', etag: '"own"' })
  const first = await see({ cookie: 'user=1' })
  assert.deepEqual([first.cached, first.number, first.answered['vercel-cache-tag']], ['MISS', 1, undefined])
  const again = await see({ cookie: 'user=2', 'user-agent': 'other' })
  assert.deepEqual([again.cached, again.number], ['HIT', 1])
  assert.match(String(again.answered.age), /^\d+$/)
  assert.deepEqual([again.answered['cache-control'], again.answered['vercel-cache-tag']], ['max-age=5', undefined])
  assert.match(String(again.answered['x-vercel-id']), /^ber1::/)
  assert.equal((await see({ 'if-none-match': String(again.answered.etag) })).status, 304)
  const head = await see({}, '/api/it', 'HEAD')
  assert.deepEqual([head.status, head.text, head.cached], [200, '', 'HIT'])
  assert.equal((await see({ range: 'bytes=0-5' })).text, 'answer')
  assert.equal((await see({ 'accept-encoding': 'br' })).cached, 'HIT')
})

/** TABLE what the function sets → whether it is kept */
const ANSWERS: readonly [headers: object, isKept: boolean][] = [
  [SHARED, true],
  [{ 'cdn-cache-control': 'max-age=60' }, true],
  [{ 'cache-control': 'private', 'vercel-cdn-cache-control': 'max-age=60' }, false],
  [{ 'vercel-cdn-cache-control': 'no-store', ...SHARED }, false],
  [{ ...SHARED, status: 404 }, true],
  [{ ...SHARED, status: 500 }, false],
  [{ ...SHARED, status: 206 }, false],
  [{ ...SHARED, 'set-cookie': 'a=b' }, false],
  [{ 'cache-control': 's-maxage=600, private' }, false],
  [{ 'cache-control': 's-maxage=600, no-store' }, false],
  [{ 'cache-control': 's-maxage=600, no-cache' }, false],
  [{ 'cache-control': 'public, max-age=600' }, false],
  [{ 'cache-control': 's-maxage=0' }, false],
  [{ 'cache-control': 's-maxage=0, stale-while-revalidate=60' }, true],
  [{ ...SHARED, vary: '*' }, false],
  [{ ...SHARED, vary: Array.from({ length: 17 }, (_, at) => `x-${at}`).join() }, false],
  [{ ...SHARED, vary: Array.from({ length: 8 }, (_, at) => `x-${at}`.padEnd(200, 'x')).join() }, false],
  [{ ...SHARED, 'content-type': 'text/event-stream; charset=utf-8' }, false],
  [{ ...SHARED, 'x-long': 'x'.repeat(15_000), 'x-longer': 'x'.repeat(5000) }, false],
]

test('what may be for one visitor, is an error or says nothing is not kept', async (t) => {
  const { see, post } = await show(t)
  for (const [at, [headers, isKept]] of ANSWERS.entries()) {
    await post(headers)
    const path = `/api/it?${at}`
    const first = await see({}, path)
    assert.equal(first.cached, 'MISS')
    const second = await see({}, path)
    assert.equal(second.cached !== 'MISS', isKept, JSON.stringify(headers).slice(0, 100))
    assert.equal(second.number === first.number, isKept)
  }
})

test('requests for one visitor neither get a kept answer nor make one', async (t) => {
  const { see, post, visit } = await show(t)
  const own: Record<string, string>[] = [
    { authorization: 'Bearer a' },
    { cookie: 'a=b; __prerender_bypass=x' },
    { cookie: '\u00a0__prerender_bypass\u00a0=x' },
    { 'x-prerender-revalidate': 'x' },
    { 'if-none-match': '"a"' },
    { range: 'bytes=0-1' },
  ]
  const before = await post()
  for (const headers of own) assert.equal((await see(headers)).cached, 'MISS')
  for (const path of ['/api/it?x-vercel-protection-bypass=secret', '/api/it?a=b&x-vercel-protection-bypass=secret'])
    for (let round = 0; round < 2; round++) assert.equal((await see({}, path)).cached, 'MISS')
  assert.equal((await visit('/api/it', {}, 'HEAD')).headers['x-vercel-cache'], 'MISS')
  assert.equal((await see()).cached, 'MISS')
  assert.equal((await see()).cached, 'HIT')
  assert.ok((await post()) > before)
  for (const headers of own.slice(0, 4)) assert.equal((await see(headers)).cached, 'MISS')
})

/** TABLE another request → whether it gets another answer */
const OTHERS: readonly [what: string, headers: Record<string, string>, path: string, host: string, isOther: boolean][] =
  [
    ['the same', {}, '/api/it?q=1', 'site.example', false],
    ['another query', {}, '/api/it?q=2', 'site.example', true],
    ['a longer query', {}, '/api/it?q=1&q=1', 'site.example', true],
    ['another path to the function', {}, '/other?q=1', 'site.example', true],
    ['another host', {}, '/api/it?q=1', 'preview.example', true],
    ['a port', { host: 'site.example:8080' }, '/api/it?q=1', 'site.example', true],
    [
      'a forged host',
      { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
      '/api/it?q=1',
      'site.example',
      false,
    ],
    [
      'a forged path',
      { 'x-matched-path': '/evil', 'x-now-route-matches': 'a=b' },
      '/api/it?q=1',
      'site.example',
      false,
    ],
    ['a header that it varies by', { 'x-a': 'other' }, '/api/it?q=1', 'site.example', true],
    ['a header that a rule makes another of', { 'x-b': 'other' }, '/api/it?q=1', 'site.example', true],
    ['a cookie', { cookie: 'a=b' }, '/api/it?q=1', 'site.example', false],
    ['another method', { 'x-http-method-override': 'POST' }, '/api/it?q=1', 'site.example', false],
  ]

test('no visitor chooses the answer of others: each part of the key', async (t) => {
  const rules = {
    routes: [
      { src: '/other', dest: '/api/it' },
      {
        ...{ src: '/api/it', continue: true, has: [{ type: 'header', key: 'x-b', value: '(?<b>.*)' }] },
        transforms: [{ type: 'request.headers', op: 'set', target: { key: 'x-set-by-rule' }, args: '$b' }],
      },
    ],
  }
  const { see, control, site } = await show(t, { ...SHARED, vary: 'X-A' }, rules)
  const { output } = control
  control.change([name('preview.example', 'd1'), deployment('d1', { output }), project('p1')])
  await eventually(
    async () => (await site.visit('preview.example', '/nothing')).headers['x-vercel-error'] === 'NOT_FOUND',
  )
  const first = await see({}, '/api/it?q=1')
  for (const [what, headers, path, host, isOther] of OTHERS) {
    const seen = await see(headers, path, 'GET', host)
    assert.equal(seen.number !== first.number, isOther, `${what}: ${seen.text.slice(0, 80)}`)
    const again = await see(headers, path, 'GET', host)
    assert.deepEqual([again.number, again.cached], [seen.number, 'HIT'], what)
  }
  assert.equal((await see({}, '/api/it?q=1')).number, first.number)
})

test('of the encodings that a visitor accepts, only which they are makes another answer', async (t) => {
  const { see } = await show(t, { ...SHARED, vary: 'accept-encoding' })
  await see({ 'accept-encoding': 'gzip, br' })
  for (const [encodings, cached] of [
    ['br,gzip', 'HIT'],
    ['BR;q=0.5 , gzip;q=1, zstd;q=0', 'HIT'],
    ['gzip', 'MISS'],
    ['gzip, br;q=0.0', 'HIT'],
    ['gzip, br, zstd', 'MISS'],
  ] as const)
    assert.equal((await see({ 'accept-encoding': encodings })).cached, cached, encodings)
})

test('many visitors at once cause one answer, and each gets their own where it is not kept', async (t) => {
  const { see, post } = await show(t)
  const crowd = () => Promise.all(Array.from({ length: iterations(100, 500) }, () => see()))
  await post(SHARED, 'hold')
  const waiting = crowd()
  await eventually(async () => (await post(SHARED, 'hold')) >= 1)
  await post()
  const seen = await waiting
  assert.deepEqual([...new Set(seen.map(({ number }) => number))], [1])
  assert.equal(seen.filter(({ cached }) => cached === 'MISS').length, 1)
  const before = await post({ 'cache-control': 'no-store' })
  await see({}, '/api/it?personal')
  const own = await Promise.all(Array.from({ length: 20 }, () => see({}, '/api/it?personal')))
  assert.equal(new Set(own.map(({ number }) => number)).size, 20)
  assert.equal(await post(), before + 21)
})

test('a stale answer is shown at once, renewed once behind its visitors, and stays while that fails', async (t) => {
  const stale = { 'cache-control': 's-maxage=0, stale-while-revalidate=600' }
  const { see, post } = await show(t, stale)
  const first = await see()
  await post(stale, 'hold')
  const crowd = await Promise.all(Array.from({ length: 50 }, () => see()))
  assert.ok(crowd.every(({ cached, number }) => cached === 'STALE' && number === first.number))
  assert.equal(await post(stale, 'hold'), first.number + 1, 'one renewal runs')
  await post(stale)
  await eventually(async () => (await see()).number > first.number)
  const other = await see({}, '/api/it?other')
  const before = await post(stale, 'fail')
  for (let round = 0; round < 5; round++) {
    const { cached, number } = await see({}, '/api/it?other')
    assert.deepEqual([cached, number], ['STALE', other.number])
  }
  await eventually(async () => (await post(stale, 'fail')) > before)
})

test('an answer is purged by its tags and by its path, in its environment, and one on its way too', async (t) => {
  const { see, post, control } = await show(t, { ...SHARED, tag: 'a', 'vercel-cache-tag': 'b,c' })
  const keep = async () => {
    const { number } = await see()
    assert.deepEqual([(await see()).number, (await see()).cached], [number, 'HIT'])
    return number
  }
  let purges = addPurge(undefined, 'gone', ['other'])
  for (const tag of ['a', 'b', 'c', '_N_T_/api/it']) {
    const number = await keep()
    purges = addPurge(addPurge(purges, 'gone', [tag], 'preview'), 'gone', [tag], 'production')
    control.change([project('p1', { purges })])
    await eventually(async () => (await see()).number > number)
  }
  const number = await keep()
  purges = addPurge(purges, 'stale', ['a'])
  control.change([project('p1', { purges })])
  await eventually(async () => (await see()).number > number)
  purges = addPurge(purges, 'gone', ['a'], 'preview')
  control.change([project('p1', { purges }), name('late.example', 'd1')])
  await eventually(async () => (await see({}, '/nothing', 'GET', 'late.example')).status === 404)
  assert.equal((await see()).cached, 'HIT')
  await post()
})

test('a visitor who leaves or does not read keeps no other waiting', async (t) => {
  const { see, post, origin } = await show(t, { ...SHARED })
  await post(SHARED, 'hold')
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  socket.write('GET /api/it?left HTTP/1.1\r\nhost: site.example\r\n\r\n')
  await once(socket, 'data')
  socket.destroy()
  const other = see({}, '/api/it?left')
  await eventually(async () => (await post(SHARED, 'hold')) === 1)
  await post()
  const seen = await other
  assert.deepEqual([seen.status, seen.number, seen.cached], [200, 1, 'HIT'])
  const lazy = connect(Number(new URL(origin).port), '127.0.0.1')
  t.after(() => lazy.destroy())
  lazy.pause().write('GET /api/it?big HTTP/1.1\r\nhost: site.example\r\n\r\n')
  await eventually(async () => (await post()) === 2)
  const big = await see({}, '/api/it?big')
  assert.deepEqual([big.number, big.cached], [2, 'HIT'])
})

test('an answer that becomes too large to be kept keeps no other waiting, also for a visitor who does not read it', async (t) => {
  const { see, post, visit, origin } = await show(t)
  const lazy = connect(Number(new URL(origin).port), '127.0.0.1')
  t.after(() => lazy.destroy())
  await post(SHARED, 'hold')
  lazy.pause().write('GET /api/it?huge HTTP/1.1\r\nhost: site.example\r\n\r\n')
  await eventually(async () => (await post(SHARED, 'hold')) === 1)
  const other = see({}, '/api/it?huge')
  await post()
  const seen = await other
  assert.deepEqual([seen.number, seen.cached, seen.text.length > 24 * 1024 ** 2], [2, 'MISS', true])
  const sent = JSON.parse((await visit('/api/it', { 'x-mode': 'sent' })).text)
  assert.ok(!sent.includes(1), 'the first visitor does not have it yet')
  await post(SHARED, 'hold')
  const later: ReturnType<typeof see>[] = []
  for (const number of [3, 4]) {
    later.push(see({}, '/api/it?huge'))
    await eventually(async () => (await post(SHARED, 'hold')) === number)
  }
  await post()
  assert.deepEqual(new Set((await Promise.all(later)).map(({ number }) => number)), new Set([3, 4]))
  lazy.destroy()
})
