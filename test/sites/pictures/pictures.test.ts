/** Pictures as visitors get them where nothing resizes them: sources, headers, refusals and what is kept. docs/pictures.md. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type Offered, SITE } from '../visitors/control-plane.ts'
import { showSite } from '../visitors/servers.ts'
import { get, imagePath, pngOf, SVG } from './png.ts'

const PNG = pngOf(100, 50)
const POLICY = "script-src 'none'; frame-src 'none'; sandbox;"

/** Another server of the test, and the host that the deployment allows. */
async function openOther(t: TestContext, answer: RequestListener, host = '127.0.0.1') {
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    answer(request, response)
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `http://${host}:${(server.address() as AddressInfo).port}`, asked: () => asked }
}

const onlyOne = (address: string) => address === '127.0.0.1'

async function show(t: TestContext, images: object = {}, offered: Offered = {}) {
  const config = { images: { sizes: [64, 640], domains: ['127.0.0.1'], ...images }, ...offered.config }
  const contents = {
    'static/a.png': PNG,
    'static/a.svg': SVG,
    'static/page.html': '<html></html>',
    ...offered.contents,
  }
  const { origin, control, ...rest } = await showSite(t, { ...offered, config, contents }, {}, onlyOne)
  const picture = (url: string, headers: Record<string, string> = {}, width: number | string = 64) =>
    get(origin, imagePath(url, width), { host: SITE, ...headers })
  return { origin, control, picture, ...rest }
}

test('without sharp a file of the deployment is sent as it is, with headers that say so and that keep it harmless', async (t) => {
  const routes = [
    { src: '/a.png', headers: { 'cache-control': 'public, max-age=31536000, immutable' }, continue: true },
  ]
  const { picture, origin } = await show(t, {}, { config: { routes } })
  const { status, headers, bytes } = await picture('/a.png')
  assert.deepEqual([status, bytes.equals(PNG), headers['content-type']], [200, true, 'image/png'])
  assert.deepEqual(
    [headers['x-berth-picture'], headers.vary, headers['content-security-policy'], headers['x-content-type-options']],
    ['original', 'Accept', POLICY, 'nosniff'],
  )
  assert.equal(headers['content-disposition'], 'inline; filename="a.png"')
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(headers['x-vercel-cache'], 'MISS')
  const again = await picture('/a.png', { 'if-none-match': headers.etag! })
  assert.deepEqual([again.status, again.headers['x-vercel-cache'], again.bytes.length], [304, 'HIT', 0])
  const older = await get(origin, '/_next/image?url=%2Fa.png&w=640&q=1', { host: SITE })
  assert.equal(older.status, 200)
})

const REFUSED: [url: string, status: number, code: string, sentence: RegExp][] = [
  ['/none.png', 400, 'INVALID_IMAGE_OPTIMIZE_REQUEST', /the site has no picture there/],
  ['/page.html', 400, 'INVALID_IMAGE_OPTIMIZE_REQUEST', /isn't a valid image/],
  ['/a.svg', 400, 'INVALID_IMAGE_OPTIMIZE_REQUEST', /image type is not allowed/],
  ['https://other.example/a.png', 400, 'INVALID_IMAGE_OPTIMIZE_REQUEST', /"url" parameter is not allowed/],
  ['http://127.0.0.1:1/a.png', 502, 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_FAILED', /did not answer/],
]

test('what is not a picture is refused with a code and a sentence', async (t) => {
  const { picture, origin } = await show(t)
  for (const [url, status, code, sentence] of REFUSED) {
    const answer = await picture(url)
    assert.deepEqual([answer.status, answer.headers['x-vercel-error']], [status, code], url)
    assert.match(answer.bytes.toString(), sentence)
    assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
  }
  const wide = await picture('/a.png', {}, 65)
  assert.equal(wide.bytes.toString(), '"w" parameter (width) of 65 is not allowed\n')
  const loop = await picture('/a.png', { via: Array.from({ length: 4 }, () => '1.1 berth').join(', ') })
  assert.deepEqual([loop.status, loop.headers['x-vercel-error']], [508, 'INFINITE_LOOP_DETECTED'])
  const plain = await get(origin, '/_next/image', { host: SITE })
  assert.equal(plain.bytes.toString(), '"url" parameter is required\n')
})

test('an SVG that the deployment allows cannot run what is in it', async (t) => {
  const { picture } = await show(t, { dangerouslyAllowSVG: true, contentDispositionType: 'attachment' })
  const { status, headers, bytes } = await picture('/a.svg')
  assert.deepEqual([status, bytes.toString(), headers['content-type']], [200, SVG, 'image/svg+xml'])
  assert.equal(headers['content-security-policy'], POLICY)
  assert.equal(headers['content-disposition'], 'attachment; filename="a.svg"')
})

test('a picture of another server is asked for without anything of the visitor, once for all', async (t) => {
  const seen: (string | undefined)[][] = []
  const other = await openOther(t, ({ headers, url }, response) => {
    seen.push([url, headers.cookie, headers.authorization, headers.via])
    response
      .writeHead(200, { 'content-type': 'text/html', 'cache-control': 'public, max-age=7, s-maxage=120' })
      .end(PNG)
  })
  const { picture } = await show(t)
  const url = `${other.origin}/a.png?v=1`
  const visitors = Array.from({ length: 20 }, (_, at) => picture(url, { cookie: `a=${at}`, authorization: 'Bearer x' }))
  const answers = await Promise.all(visitors)
  assert.ok(answers.every(({ status, bytes }) => status === 200 && bytes.equals(PNG)))
  assert.deepEqual(seen, [['/a.png?v=1', undefined, undefined, '1.1 berth']])
  assert.equal(answers[0]!.headers['cache-control'], 'public, max-age=7')
  assert.equal(answers[0]!.headers['content-type'], 'image/png')
  assert.equal((await picture(url)).headers['x-vercel-cache'], 'HIT')
  assert.equal(other.asked(), 1)
})

test('a server that redirects to an address that is not public, redirects for ever, refuses, or never ends gives no picture', async (t) => {
  const inside = await openOther(t, (_, response) => response.end(PNG), '127.0.0.2')
  const other = await openOther(t, ({ url }, response) => {
    if (url === '/inside') return response.writeHead(302, { location: `${inside.origin}/secret` }).end()
    if (url === '/ok') return response.writeHead(307, { location: '/picture' }).end()
    if (url === '/picture') return response.end(PNG)
    if (url === '/file') return response.writeHead(302, { location: 'file:///etc/passwd' }).end()
    if (url === '/nowhere') return response.writeHead(302).end()
    if (url === '/unclear') return response.writeHead(302, { location: 'http://' }).end()
    if (url === '/secret') return response.writeHead(401).end()
    if (url === '/broken') return response.writeHead(500).end()
    if (url?.startsWith('/far/')) {
      const left = Number(url.slice('/far/'.length))
      return left === 0 ? response.end(PNG) : response.writeHead(308, { location: `/far/${left - 1}` }).end()
    }
    if (url === '/circle') return response.writeHead(301, { location: '/circle' }).end()
    if (url === '/closed') return response.writeHead(403).end()
    if (url === '/gone') return response.writeHead(404).end()
    if (url === '/huge') return response.writeHead(200, { 'content-length': 33 * 1024 ** 2 }).flushHeaders()
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1024 ** 2)));
    }
    response.on('drain', more)
    more()
  })
  const { picture } = await show(t)
  for (const path of ['ok', 'far/3']) assert.equal((await picture(`${other.origin}/${path}`)).status, 200, path)
  const codes: Record<string, string> = {
    inside: 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_FAILED',
    file: 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_FAILED',
    circle: 'OPTIMIZED_EXTERNAL_IMAGE_TOO_MANY_REDIRECTS',
    closed: 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_UNAUTHORIZED',
    gone: 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_INVALID',
    nowhere: 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_INVALID',
    unclear: 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_INVALID',
    'far/4': 'OPTIMIZED_EXTERNAL_IMAGE_TOO_MANY_REDIRECTS',
    secret: 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_UNAUTHORIZED',
    broken: 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_FAILED',
    huge: 'INVALID_IMAGE_OPTIMIZE_REQUEST',
    endless: 'INVALID_IMAGE_OPTIMIZE_REQUEST',
  }
  for (const [path, code] of Object.entries(codes)) {
    const answer = await picture(`${other.origin}/${path}`)
    assert.equal(answer.headers['x-vercel-error'], code, path)
    assert.doesNotMatch(answer.bytes.toString(), /127\.0\.0/)
  }
  assert.equal(inside.asked(), 0)
  const before = other.asked()
  await picture(`${other.origin}/gone`)
  assert.equal(other.asked(), before, 'a failure is remembered for some seconds')
})

test('rules of the deployment answer a source without anything of the visitor', async (t) => {
  const other = await openOther(t, ({ headers }, response) => {
    response.writeHead(headers.cookie === undefined ? 200 : 500, { 'cache-control': 'max-age=5' }).end(PNG)
  })
  const routes = [{ src: '/made/(.*)', dest: `${other.origin}/$1` }]
  const { picture } = await show(t, {}, { config: { routes } })
  const made = await picture('/made/a.png', { cookie: 'session=1' })
  assert.deepEqual([made.status, made.bytes.equals(PNG)], [200, true])
  assert.equal(made.headers['cache-control'], 'max-age=5')
  assert.equal((await picture('/made/a.png')).headers['x-vercel-cache'], 'HIT')
  assert.equal(other.asked(), 1)
})

test('methods other than GET and HEAD make no picture', async (t) => {
  const { visit } = await show(t)
  const posted = await visit(SITE, imagePath('/a.png'), {}, 'POST')
  assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD'])
  const asked = await visit(SITE, imagePath('/a.png'), {}, 'HEAD')
  assert.deepEqual([asked.status, asked.headers['content-length'], asked.text], [200, String(PNG.length), ''])
})
