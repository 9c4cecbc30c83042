/** Static files from a cache to real visitors. docs/deploying-sites.md: Static files. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliDecompressSync, zstdDecompressSync } from 'node:zlib'
import type { ContentCache, ContentFile } from '../../../src/sites/content/content-cache.ts'
import { answerFile } from '../../../src/sites/static/answer.ts'
import { eventually } from '../../support/eventually.ts'
import { newFolder, openCache, openOrigin } from '../content/caches.ts'
import { listen, partsOf, say } from './visitors.ts'

const PAGE = '<p>hello, visitor</p>\n'.repeat(500)

/** Serves one file, and gives a function that asks for it by a raw request. */
async function serve(t: TestContext, cache: ContentCache, { sha256, size }: ContentFile) {
  const file = { path: '/index.html', digest: sha256, size, contentType: 'text/html', status: 200 }
  const rules = { headers: [], cookies: [], responseTransforms: [] }
  const port = await listen(t, (request, response) => {
    const headers = new Map(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const asked = { method: request.method!, headers }
    answerFile(cache, response, { account: 'acc_1', request: asked, file, rules }).catch((error) => {
      response.writeHead(503).end(String(error.why))
    })
  })
  return async (headers: Record<string, string> = {}, method = 'GET') => {
    const lines = Object.entries(headers).map(([name, value]) => `\r\n${name}: ${value}`)
    const { head, body } = partsOf(await say(t, port, `${method} / HTTP/1.1${lines.join('')}`).end)
    const encoding = /\r\ncontent-encoding: (\w+)/.exec(head)?.[1] ?? 'plain'
    const etag = /\r\netag: (\S+)/.exec(head)?.[1]
    return { status: Number(head.slice(9, 12)), encoding, etag, body: Buffer.from(body, 'latin1') }
  }
}

test('the first visitor gets the plain form without waiting for another, later ones the encoded one', async (t) => {
  const origin = openOrigin()
  const cache = await openCache(t, { fetch: origin.fetch })
  const file = origin.add(PAGE)
  const ask = await serve(t, cache, file)
  for (const [encoding, decode] of [
    ['br', brotliDecompressSync],
    ['zstd', zstdDecompressSync],
  ] as const) {
    const first = await ask({ 'accept-encoding': encoding })
    assert.deepEqual([first.status, first.encoding, first.body.toString()], [200, 'plain', PAGE])
    await eventually(() => cache.formsOf('acc_1', file.sha256).some((form) => form.encoding === encoding))
    const second = await ask({ 'accept-encoding': encoding })
    assert.deepEqual([second.encoding, decode(second.body).toString()], [encoding, PAGE])
    const known = { 'accept-encoding': encoding, 'if-none-match': first.etag! }
    for (const etag of [first.etag!, second.etag!]) {
      const third = await ask({ ...known, 'if-none-match': etag })
      assert.deepEqual([third.status, third.etag, third.body.length], [304, etag, 0])
    }
  }
  assert.deepEqual(origin.fetches, ['acc_1'])
})

test('the last bytes are the last bytes, and what needs none fetches none', async (t) => {
  const origin = openOrigin()
  const cache = await openCache(t, { fetch: origin.fetch })
  const file = origin.add(PAGE)
  const ask = await serve(t, cache, file)
  const none = [
    await ask({}, 'HEAD'),
    await ask({ 'if-none-match': `"${file.sha256}"` }),
    await ask({ range: `bytes=${file.size}-` }),
    await ask({}, 'POST'),
  ]
  assert.deepEqual(
    none.map(({ status }) => status),
    [200, 304, 416, 405],
  )
  assert.deepEqual(origin.fetches, [])
  const last = await ask({ range: 'bytes=-500', 'accept-encoding': 'br' })
  assert.deepEqual([last.status, last.body.toString()], [206, PAGE.slice(-500)])
  const middle = await ask({ range: 'bytes=100-199', 'if-range': last.etag! })
  assert.deepEqual([middle.status, middle.body.toString()], [206, PAGE.slice(100, 200)])
})

test('a form that is gone from the disk is the plain one, with the headers of that', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch })
  const file = origin.add(PAGE)
  const ask = await serve(t, cache, file)
  await ask({ 'accept-encoding': 'br' })
  await eventually(() => cache.formsOf('acc_1', file.sha256).length === 1)
  const { size } = cache.formsOf('acc_1', file.sha256)[0]!
  rmSync(join(folder, 'objects/acc_1', `${file.sha256}.${size}.br`))
  const answer = await ask({ 'accept-encoding': 'br' })
  assert.deepEqual([answer.encoding, answer.body.toString(), answer.etag], ['plain', PAGE, `"${file.sha256}"`])
})

test('a file that cannot be read is reported to the caller, and nothing was sent', async (t) => {
  const cache = await openCache(t, {})
  const ask = await serve(t, cache, { sha256: 'a'.repeat(64), size: 10 })
  const answer = await ask()
  assert.equal(answer.status, 503)
  assert.match(answer.body.toString(), /fetch/)
})

test('a storm of visitors for a new file fetches it once, and those who leave keep nothing open', async (t) => {
  const origin = openOrigin()
  const budgetBytes = 16 * 4096
  const cache = await openCache(t, { fetch: origin.fetch, budgetBytes })
  const file = origin.add('x'.repeat(15 * 4096))
  const ask = await serve(t, cache, file)
  const answers = await Promise.all(Array.from({ length: 40 }, () => ask()))
  assert.ok(answers.every(({ status, body }) => status === 200 && body.length === file.size))
  assert.equal(origin.fetches.length, 1)
  // Nothing is open any more, so this one finds room.
  const other = origin.add('y'.repeat(15 * 4096))
  await eventually(async () => (await cache.open('acc_1', other).catch(() => undefined))?.close() === undefined)
  assert.equal(cache.used().files, 1)
})
