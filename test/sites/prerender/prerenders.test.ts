/** Prerendered pages before visitors: a sites server whose functions run. docs/prerendering.md. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { addPurge } from '../../../src/platform/verdict/cache-purges.ts'
import { eventually } from '../../support/eventually.ts'
import { iterations } from '../../support/iterations.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { project } from '../snapshot/lines.ts'
import { sendRaw } from '../visitors/servers.ts'

const TOKEN = 'a-token-that-nobody-can-guess-0001'

/**
 * A page that says how often it was rendered. A POST goes past the kept page to the same process: `hold` makes renderings wait, `go` ends that,
 * `fail`, `reset` and `cookie` change what they answer.
 */
const PAGE = `let count = 0, mode = '', waiting = []
export default async function (req, res) {
  if (req.method === 'POST') {
    mode = req.headers['x-mode']
    if (mode !== 'hold') waiting.splice(0).forEach((go) => go())
    return res.end(String(count))
  }
  const number = ++count
  res.setHeader('x-next-cache-tags', 'a,b')
  res.setHeader('cache-control', req.headers['x-prerender-revalidate'] ? 's-maxage=600' : process.env.CACHING)
  if (mode === 'fail') return res.status(503).end('own words')
  if (mode === 'reset') return res.status(205).end('own words')
  if (mode === 'cookie') res.setHeader('set-cookie', 'session=' + number)
  if (mode === 'hold') await new Promise((go) => waiting.push(go))
  res.setHeader('content-type', 'text/html; charset=utf-8')
  res.end('page ' + number + ' cookie ' + (req.headers.cookie ?? 'none') + ' ' + req.url + ' ' + 'x'.repeat(2000))
}`

async function show(t: TestContext, prerender: object, caching = 's-maxage=600', more: Record<string, string> = {}) {
  const config = { type: 'Prerender', expiration: 600, allowQuery: [], bypassToken: TOKEN, ...prerender }
  const contents = {
    ...functionOf('page', PAGE),
    'functions/page.prerender-config.json': JSON.stringify(config),
    ...more,
  }
  const shown = await showFunctions(t, contents, { env: { CACHING: caching } })
  const post = (mode: string) => shown.visit('/page', { 'x-mode': mode }, 'POST')
  const see = async (headers: Record<string, string> = {}, path = '/page') => {
    const { status, text, headers: answered } = await shown.visit(path, headers)
    return { status, page: /page \d+/.exec(text)?.[0] ?? text, cached: answered['x-vercel-cache'], text, answered }
  }
  return { ...shown, post, see }
}

test('a page is rendered once, without anything of its visitor, and then shown to all', async (t) => {
  const { see, visit } = await show(t, {})
  const first = await see({ cookie: 'user=1', rsc: '1', 'x-forwarded-host': 'evil.example' })
  assert.deepEqual([first.cached, first.page], ['MISS', 'page 1'])
  assert.match(first.text, /cookie none \/page x/)
  const again = await see({ cookie: 'user=2' }, '/page?utm=1')
  assert.deepEqual([again.cached, again.page], ['HIT', 'page 1'])
  assert.match(String(again.answered.age), /^\d+$/)
  assert.equal(again.answered['x-next-cache-tags'], undefined)
  assert.equal(again.answered['cache-control'], 'public, max-age=0, must-revalidate')
  assert.match(String(again.answered['x-vercel-id']), /^ber1::/)
  const etag = String(again.answered.etag)
  assert.equal((await visit('/page', { 'if-none-match': etag })).status, 304)
  const head = await visit('/page', {}, 'HEAD')
  assert.deepEqual([head.status, head.text, head.headers['x-vercel-cache']], [200, '', 'HIT'])
})

test('a page whose path has a space and letters of any script is rendered by its function', async (t) => {
  const name = '日本 a'
  const config = { type: 'Prerender', expiration: 600, allowQuery: [], bypassToken: TOKEN }
  const contents = {
    ...functionOf(name, PAGE),
    [`functions/${name}.prerender-config.json`]: JSON.stringify(config),
  }
  const { visit } = await showFunctions(t, contents, { env: { CACHING: 's-maxage=600' } })
  const page = await visit(encodeURI(`/${name}`))
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /^page 1 cookie none \/%E6%97%A5%E6%9C%AC%20a x/)
  assert.deepEqual(
    [page.headers['x-matched-path'], page.headers['x-vercel-cache']],
    ['/%E6%97%A5%E6%9C%AC%20a', 'MISS'],
  )
})

test('the file of the output is the first page, and is renewed behind its visitor', async (t) => {
  const { see } = await show(
    t,
    {
      fallback: 'page.prerender-fallback.html',
      initialStatus: 200,
      initialHeaders: { 'x-first': '1', 'x-next-cache-tags': 'a' },
    },
    's-maxage=600',
    { 'functions/page.prerender-fallback.html': 'page 0 of the build' },
  )
  const first = await see()
  assert.deepEqual([first.cached, first.page, first.answered['x-first']], ['PRERENDER', 'page 0', '1'])
  assert.equal(first.answered['content-type'], 'text/html; charset=utf-8')
  assert.equal(first.answered['x-next-cache-tags'], undefined)
  await eventually(async () => (await see()).cached === 'HIT')
  assert.equal((await see()).page, 'page 1')
})

test('a page without an end is that of the output until it is renewed by its token', async (t) => {
  const { see } = await show(t, { expiration: false, fallback: 'page.prerender-fallback.html' }, '', {
    'functions/page.prerender-fallback.html': 'page 0 of the build',
  })
  assert.deepEqual([(await see()).cached, (await see()).cached, (await see()).page], ['PRERENDER', 'HIT', 'page 0'])
  const forged = await see({ 'x-prerender-revalidate': `${TOKEN.slice(0, -1)}2` })
  assert.deepEqual([forged.cached, forged.page], ['HIT', 'page 0'])
  const renewed = await see({ 'x-prerender-revalidate': TOKEN })
  assert.deepEqual([renewed.cached, renewed.page], ['REVALIDATED', 'page 1'])
  assert.deepEqual([(await see()).cached, (await see()).page], ['HIT', 'page 1'])
})

test('a page that only exists once it was visited is a shell first, or is not renewed before', async (t) => {
  const { see } = await show(t, { allowQuery: ['id'], fallback: 'page.prerender-fallback.html' }, 's-maxage=600', {
    'functions/page.prerender-fallback.html': 'page 0 is loading',
  })
  const shell = await see({}, '/page?id=7')
  assert.deepEqual([shell.cached, shell.page], ['PRERENDER', 'page 0'])
  await eventually(async () => (await see({}, '/page?id=7')).cached === 'HIT')
  assert.match((await see({}, '/page?id=7')).text, /page 1 .* \/page\?id=7/)
  const onlyIfThere = { 'x-prerender-revalidate': TOKEN, 'x-prerender-revalidate-if-generated': '1' }
  assert.equal((await see(onlyIfThere, '/page?id=8')).status, 404)
  assert.equal((await see(onlyIfThere, '/page?id=7')).cached, 'REVALIDATED')
})

test('many visitors of a page that was not rendered, and of one that is stale, cause one rendering each', async (t) => {
  const { see, post } = await show(t, {}, 's-maxage=0')
  const crowd = () => Promise.all(Array.from({ length: iterations(200, 1000) }, () => see()))
  assert.equal((await post('hold')).text, '0')
  const waiting = crowd()
  await eventually(async () => (await post('hold')).text === '1')
  await post('go')
  const seen = await waiting
  const shown = new Set(seen.map(({ page }) => page))
  assert.ok(shown.has('page 1') && shown.size <= 2, [...shown].join())
  const before = Number((await post('hold')).text)
  const stale = await crowd()
  assert.ok(stale.every(({ cached, status }) => cached === 'STALE' && status === 200))
  assert.equal(Number((await post('hold')).text), before + 1, 'one renewal runs')
  await post('go')
})

test('a page that is renewed while it is rendered is never the older one afterwards', async (t) => {
  const { see, post } = await show(t, {})
  await post('hold')
  const early = see()
  await eventually(async () => (await post('hold')).text === '1')
  const renewing = see({ 'x-prerender-revalidate': TOKEN })
  await eventually(async () => (await post('hold')).text === '2')
  await post('go')
  assert.deepEqual([(await early).page, (await renewing).page], ['page 1', 'page 2'])
  for (let round = 0; round < 3; round++)
    assert.deepEqual([(await see()).page, (await see()).cached], ['page 2', 'HIT'])
})

test('an answer with a cookie is for one visitor, and is never shown to another', async (t) => {
  const { see, post } = await show(t, {})
  await post('cookie')
  const seen = await Promise.all([see(), see(), see()])
  const cookies = seen.map(({ answered }) => String(answered['set-cookie']))
  assert.equal(new Set(cookies).size, 3, cookies.join())
  assert.ok(seen.every(({ cached }) => cached === 'MISS'))
  await post('go')
  const alone = await see()
  assert.deepEqual([alone.cached, alone.answered['set-cookie']], ['MISS', undefined])
  assert.deepEqual([(await see()).cached, (await see()).page], ['HIT', alone.page], 'one without a cookie is kept')
})

test('a page stays while its renewal fails, and the words of an error are not shown', async (t) => {
  const { see, post } = await show(t, {}, 's-maxage=0')
  await post('fail')
  const failed = await see()
  assert.deepEqual([failed.status, failed.answered['x-vercel-error']], [500, 'FUNCTION_INVOCATION_FAILED'])
  assert.doesNotMatch(failed.text, /own words/)
  await post('go')
  await see()
  await post('fail')
  for (let round = 0; round < 5; round++) assert.deepEqual([(await see()).cached, (await see()).status], ['STALE', 200])
  const demanded = await see({ 'x-prerender-revalidate': TOKEN })
  assert.equal(demanded.status, 500)
  assert.equal((await see()).status, 200)
})

test('a page and an answer that cannot be renewed are in the log of their function, with the status of the failure', async (t) => {
  const module = (caching: string) => `let count = 0
export const GET = () => {
  if (count++ > 0) throw new Error('own words')
  return new Response('fine', { headers: { 'cache-control': '${caching}' } })
}`
  const { visit, control } = await showFunctions(t, {
    ...functionOf('page', module('s-maxage=0')),
    'functions/page.prerender-config.json': JSON.stringify({ type: 'Prerender', expiration: 600, allowQuery: [] }),
    ...functionOf('api/answer', module('s-maxage=0, stale-while-revalidate=600')),
    ...functionOf('bad', `export const GET = () => undefined`),
    'functions/bad.prerender-config.json': JSON.stringify({ type: 'Prerender', expiration: 600, allowQuery: [] }),
    ...functionOf('large', `export const GET = () => new Response('x'.repeat(11 * 1024 ** 2))`),
    'functions/large.prerender-config.json': JSON.stringify({ type: 'Prerender', expiration: 600, allowQuery: [] }),
  })
  for (const path of ['/page', '/api/answer'])
    for (const cached of ['MISS', 'STALE']) assert.equal((await visit(path)).headers['x-vercel-cache'], cached)
  assert.equal((await visit('/bad')).status, 500)
  assert.equal((await visit('/large')).headers['x-vercel-error'], 'FUNCTION_RESPONSE_PAYLOAD_TOO_LARGE')
  const logged = ['/api/answer 200', '/api/answer 500', '/bad 500', '/large 500', '/page 200', '/page 500']
  const statuses = () => new Set(control.lines.map(({ path, status }) => `${path} ${status}`))
  await eventually(
    () => logged.every((one) => statuses().has(one)),
    () => [...statuses()].join(),
  )
})

test('a page that exposes its errors stays while its renewal fails, which is not tried again at once', async (t) => {
  const now = Date.now()
  // On a busy machine the time until the next renewal would pass meanwhile.
  t.mock.method(Date, 'now', () => now)
  const { see, post } = await show(t, { exposeErrBody: true }, 's-maxage=0')
  assert.equal((await see()).page, 'page 1')
  await post('fail')
  await eventually(async () => (await see()).cached === 'STALE' && (await post('fail')).text === '2')
  for (let round = 0; round < 5; round++)
    assert.deepEqual([(await see()).cached, (await see()).page], ['STALE', 'page 1'])
  assert.equal((await post('fail')).text, '2')
  const demanded = await see({ 'x-prerender-revalidate': TOKEN })
  assert.deepEqual([demanded.status, demanded.text], [503, 'own words'])
  await eventually(async () => (await see()).cached === 'STALE' && (await post('fail')).text === '4')
  assert.deepEqual([(await see()).cached, (await see()).page], ['STALE', 'page 1'])
})

test('a page that exposes its errors shows them, and does not keep them', async (t) => {
  const { see, post } = await show(t, { exposeErrBody: true })
  await post('fail')
  const failed = await see()
  assert.deepEqual([failed.status, failed.text, failed.cached], [503, 'own words', 'MISS'])
  await post('go')
  assert.equal((await see()).page, 'page 2')
})

test('a page whose status has no body is sent without one', async (t) => {
  const { see, post } = await show(t, {})
  await post('reset')
  const { status, text, answered } = await see()
  assert.deepEqual([status, text, answered['content-length']], [205, '', undefined])
})

test('draft mode, other methods and conditions of the page go past it, and leave it as it is', async (t) => {
  const { see, post } = await show(t, { experimentalBypassFor: [{ type: 'header', key: 'next-action' }] })
  await see()
  const draft = await see({ cookie: `a=b; __prerender_bypass=${TOKEN}` })
  assert.deepEqual([draft.cached, draft.page], ['BYPASS', 'page 2'])
  assert.match(draft.text, /cookie a=b/)
  for (const cookie of [
    '__prerender_bypass=guess',
    `\u00a0__prerender_bypass=${TOKEN}`,
    `__prerender_bypass=${TOKEN}\u00a0`,
  ])
    assert.equal((await see({ cookie })).cached, 'HIT', cookie)
  assert.deepEqual(
    [(await see({ 'next-action': '1' })).cached, (await post('x')).headers['x-vercel-cache']],
    ['BYPASS', 'BYPASS'],
  )
  assert.deepEqual([(await see()).page, (await see()).cached], ['page 1', 'HIT'])
})

test('a body that a visitor sends to a page is not waited for', async (t) => {
  const { origin } = await show(t, {})
  const reply = await sendRaw(
    t,
    origin,
    'GET /page HTTP/1.1\r\nhost: site.example\r\nconnection: close\r\ncontent-length: 100000000\r\n\r\n',
  )
  assert.match(reply, /^HTTP\/1.1 200 [\s\S]*x-vercel-cache: MISS/)
})

test('a page is purged by its tags or with all, also the file of the output, and what is being rendered then', async (t) => {
  const { see, post, control } = await show(
    t,
    { expiration: false, fallback: 'page.prerender-fallback.html', initialHeaders: { 'x-next-cache-tags': 'a' } },
    's-maxage=600',
    {
      'functions/page.prerender-fallback.html': 'page 0 of the build',
    },
  )
  let purges = addPurge(undefined, 'stale', ['other'])
  const purge = async (kind: 'stale' | 'gone', tags?: string[]) => {
    purges = addPurge(purges, kind, tags)
    control.change([project('p1', { purges })])
  }
  assert.equal((await see()).page, 'page 0')
  await purge('stale', ['a'])
  await eventually(async () => (await see()).page === 'page 1')
  assert.equal((await see()).cached, 'HIT')
  await post('hold')
  const early = see({ 'x-prerender-revalidate': TOKEN })
  await eventually(async () => (await post('hold')).text === '2')
  await purge('gone', ['b'])
  // The page of before goes once the sites server has the purge; a new rendering begins, whose number is 3.
  const late: Promise<{ page: string }>[] = []
  await eventually(async () => {
    late.push(see())
    return (await post('hold')).text === '3'
  })
  await post('go')
  assert.equal((await early).page, 'page 2')
  assert.equal((await late.at(-1)!).page, 'page 3')
  assert.deepEqual([(await see()).page, (await see()).cached], ['page 3', 'HIT'])
  await purge('gone')
  await eventually(async () => (await see()).page === 'page 4')
})
