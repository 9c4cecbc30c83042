/** Functions that answer with what they fetched. docs/functions.md: Forms. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { functionOf, showFunctions } from './function-site.ts'

const TEXT = 'the words of the other server. '.repeat(40)

/** TABLE codings → what the other server sends. The last three are decoded by no `fetch`. */
const CODED: Readonly<Record<string, Buffer>> = {
  gzip: gzipSync(TEXT),
  br: brotliCompressSync(TEXT),
  deflate: deflateSync(TEXT),
  'deflate, gzip': gzipSync(deflateSync(TEXT)),
  'X-GZIP': gzipSync(TEXT),
  identity: Buffer.from(TEXT),
  'x-own': Buffer.from('as it is'),
  'x-own, gzip': Buffer.from('as it is'),
}

/** TABLE ways to answer with a response of `fetch`. */
const WAYS: Readonly<Record<string, string>> = {
  itself: 'answer',
  body: 'new Response(answer.body, answer)',
  headers: 'new Response(answer.body, { status: answer.status, headers: answer.headers })',
  clone: 'answer.clone()',
}

const PROXY = `const WAYS = { ${Object.entries(WAYS).map(([way, code]) => `${way}: (answer) => ${code}`)} }
const ask = async ({ headers }, method) => {
  const answer = await fetch(process.env.OTHER, { method, headers: { 'x-coding': headers.get('x-coding') } })
  return WAYS[headers.get('x-way')](answer)
}
export const GET = (request) => ask(request, request.headers.get('x-method') ?? 'GET')
export const HEAD = (request) => ask(request, 'HEAD')`

async function openOther(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    const coding = String(request.headers['x-coding'])
    const body = CODED[coding] ?? zstdCompressSync(TEXT)
    const named = { 'content-encoding': coding, 'content-length': body.length }
    response.writeHead(200, { ...named, connection: 'keep-alive, x-hop', 'x-hop': '1', 'x-from': 'other' })
    response.end(request.method === 'HEAD' ? undefined : body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a response of fetch reaches the visitor with the headers of the body that is sent', async (t) => {
  const { visit } = await showFunctions(t, functionOf('api/proxy', PROXY), { env: { OTHER: await openOther(t) } })
  const ask = async (way: string, coding: string, headers: object = {}, method = 'GET') => {
    const reply = await visit('/api/proxy', { 'x-way': way, 'x-coding': coding, ...headers }, method)
    const { 'content-encoding': said, 'content-length': length } = reply.headers
    assert.deepEqual([reply.headers['x-from'], reply.headers['x-hop']], ['other', undefined], `${way} ${coding}`)
    return [reply.status, reply.text, said, length]
  }
  for (const way of Object.keys(WAYS)) {
    for (const coding of ['gzip', 'br', 'deflate', 'deflate, gzip', 'X-GZIP'])
      assert.deepEqual(await ask(way, coding), [200, TEXT, undefined, undefined], `${way} ${coding}`)
    for (const coding of ['identity', 'x-own', 'x-own, gzip']) {
      const { length } = CODED[coding]!
      const whole = [200, String(CODED[coding]), coding, String(length)]
      assert.deepEqual(await ask(way, coding), whole, `${way} ${coding}`)
    }
    // Not each Node.js decodes it.
    const [status, text, said] = await ask(way, 'zstd')
    const isDecoded = text === TEXT
    assert.deepEqual([status, said], [200, isDecoded ? undefined : 'zstd'], way)
    const length = String(CODED.gzip!.length)
    assert.deepEqual(await ask(way, 'gzip', {}, 'HEAD'), [200, '', 'gzip', length], 'what a GET would get is said')
    const [, empty, , none] = await ask(way, 'gzip', { 'x-method': 'HEAD' })
    assert.deepEqual([empty, none], ['', '0'], 'a length without a body is not waited for')
  }
})

test('what a function compressed itself keeps its coding, without what it says of a connection', async (t) => {
  const module = `import { gzipSync } from 'node:zlib'
const headers = { 'content-encoding': 'gzip', 'transfer-encoding': 'identity', connection: 'upgrade', upgrade: 'h2c' }
const body = () => new Response('${TEXT}').body.pipeThrough(new CompressionStream('gzip'))
export const GET = (request) => new Response(request.url.endsWith('stream') ? body() : gzipSync('${TEXT}'), { headers })`
  const { visit } = await showFunctions(t, functionOf('api/own', module))
  for (const path of ['/api/own', '/api/own?stream']) {
    const { headers, text } = await visit(path)
    assert.deepEqual([headers['content-encoding'], headers.upgrade, text.slice(0, 1)], ['gzip', undefined, '\u001f'])
    assert.notEqual(text, TEXT)
  }
})
