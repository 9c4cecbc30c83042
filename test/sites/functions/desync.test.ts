/** No request or answer crosses into another's, whatever the bytes of a visitor or of a function. docs/functions.md: Requests. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { sendRaw } from '../visitors/servers.ts'
import { functionOf, showFunctions } from './function-site.ts'

const ECHO = `export default (req, res) => { let text = ''; req.on('data', (piece) => { text += piece }).on('end', () => res.end('[' + req.method + ' ' + req.url + ' ' + text + ']')) }`
/** What a hostile function writes to its connection, by the query. */
const HOSTILE = `const raw = {
  two: 'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nokHTTP/1.1 200 OK\\r\\ncontent-length: 6\\r\\n\\r\\nforged',
  lengths: 'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\ncontent-length: 30\\r\\n\\r\\nok',
  both: 'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n2\\r\\nok\\r\\n0\\r\\n\\r\\nforged',
  short: 'HTTP/1.1 200 OK\\r\\ncontent-length: 200\\r\\n\\r\\nok',
  none: 'forged\\r\\n\\r\\n',
}
export default (req, res) => {
  const what = req.url.split('?')[1]
  if (what === 'early') return res.end('early')
  if (what === 'mine') return res.end('mine')
  req.socket.write(raw[what])
  if (what === 'short') req.socket.end()
}`

const open = (t: TestContext) =>
  showFunctions(t, {
    ...functionOf('api/echo', ECHO, { shouldAddHelpers: false }),
    ...functionOf('api/hostile', HOSTILE, { shouldAddHelpers: false, maxDuration: 2 }),
  })
const LAST = 'GET /api/echo?last HTTP/1.1\r\nhost: site.example\r\nconnection: close\r\n\r\n'
const SMUGGLED = 'GET /api/echo?smuggled HTTP/1.1\r\nhost: site.example\r\n\r\n'
const post = (headers: string, body: string) =>
  `POST /api/echo?first HTTP/1.1\r\nhost: site.example\r\n${headers}\r\n\r\n${body}`

/** TABLE what a visitor sends → what must be in the answers, in order, and what must not. */
const VISITORS: readonly [what: string, bytes: string, RegExp, RegExp][] = [
  [
    'a length and a coding',
    post(`content-length: ${SMUGGLED.length + 5}\r\ntransfer-encoding: chunked`, `0\r\n\r\n${SMUGGLED}`),
    /^HTTP\/1\.1 400 /,
    /smuggled|first/,
  ],
  ['two lengths', post('content-length: 5\r\ncontent-length: 0', SMUGGLED), /^HTTP\/1\.1 400 /, /smuggled|first/],
  [
    'a folded header',
    post(`x-a: b\r\n transfer-encoding: chunked\r\ncontent-length: ${SMUGGLED.length}`, SMUGGLED) + LAST,
    /^HTTP\/1\.1 (?:400 |200 [\s\S]*\[POST \/api\/echo\?first GET[\s\S]*\[GET \/api\/echo\?last \]$)/,
    /\[GET \/api\/echo\?smuggled/,
  ],
  [
    'a coding that is spelled otherwise',
    post('transfer-encoding: xchunked', `0\r\n\r\n${SMUGGLED}`),
    /^HTTP\/1\.1 400 /,
    /smuggled|first/,
  ],
  [
    'extensions of chunks and a trailer',
    `${post('transfer-encoding: chunked', '3;a=b;c="\\";d"\r\nabc\r\n0;e\r\nx-trailer: 1\r\n\r\n')}${LAST}`,
    /\[POST \/api\/echo\?first abc\][\s\S]*\[GET \/api\/echo\?last \]/,
    /^HTTP\/1\.1 400 /,
  ],
  [
    'a length in a trailer',
    post('transfer-encoding: chunked', `0\r\ncontent-length: 50\r\n\r\n${SMUGGLED}`),
    /^HTTP\/1\.1 400 /,
    /smuggled/,
  ],
  [
    'a body that is refused',
    `${post(`content-length: ${200 * 1024 ** 2}`, 'a'.repeat(1000))}`,
    /^HTTP\/1\.1 413 [\s\S]*connection: close/i,
    /first/,
  ],
  [
    'a body that the function does not read',
    `POST /api/hostile?early HTTP/1.1\r\nhost: site.example\r\ncontent-length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}${LAST}`,
    /early[\s\S]*\[GET \/api\/echo\?last \]/,
    /smuggled/,
  ],
  [
    'a body of a method without one',
    `GET /api/echo?first HTTP/1.1\r\nhost: site.example\r\ncontent-length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}${LAST}`,
    /\[GET \/api\/echo\?first GET \/api\/echo\?smuggled[\s\S]*\[GET \/api\/echo\?last \]/,
    /\[GET \/api\/echo\?smuggled/,
  ],
]

test('whatever a visitor sends, nothing in a body becomes a request, and the next request has its own answer', async (t) => {
  const { origin, visit } = await open(t)
  for (const [what, bytes, wanted, unwanted] of VISITORS) {
    const heard = await sendRaw(t, origin, bytes)
    assert.match(heard, wanted, what)
    assert.doesNotMatch(heard, unwanted, what)
    assert.equal((await visit('/api/echo?after')).text, '[GET /api/echo?after ]', what)
  }
})

test('a visitor who leaves in the middle of a body leaves no rest for the next one', async (t) => {
  const { origin, visit } = await open(t)
  await visit('/api/echo')
  for (let round = 0; round < 5; round++) {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(post('content-length: 100000', 'rest'), () => socket.destroy())
    const replies = await Promise.all(['a', 'b', 'c'].map((name) => visit(`/api/echo?${name}`)))
    assert.deepEqual(
      replies.map(({ text }) => text),
      ['[GET /api/echo?a ]', '[GET /api/echo?b ]', '[GET /api/echo?c ]'],
    )
  }
})

test('whatever a function writes to its connection, the next visitor gets no part of it', async (t) => {
  const { visit } = await open(t)
  for (const what of ['two', 'lengths', 'both', 'short', 'none']) {
    const first = await visit(`/api/hostile?${what}`).catch(() => ({ text: 'broken off' }))
    assert.doesNotMatch(first.text, /forged/, what)
    const next = await Promise.all(['mine', 'mine', 'mine'].map((name) => visit(`/api/hostile?${name}`)))
    assert.deepEqual(
      next.map(({ text }) => text),
      ['mine', 'mine', 'mine'],
      what,
    )
  }
})
