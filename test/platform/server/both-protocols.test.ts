/** TLS and plain HTTP on one port. src/platform/server/both-protocols.ts; docs/tls.md: Local use. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request as plainRequest, type Server } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, connect, createServer as createPlainServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectSecurely, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { takeBothProtocols } from '../../../src/platform/server/both-protocols.ts'
import { boundConnections } from '../../../src/platform/server/connections.ts'
import { HTTP_LIMITS } from '../../../src/platform/server/http-limits.ts'
import { answerOneAtATime } from '../../../src/platform/server/one-at-a-time.ts'
import { type LocalCertificate, localNames, openLocalCertificate } from '../../../src/platform/tls/local-certificate.ts'
import { eventually } from '../../support/eventually.ts'
import { assertWithin } from '../../support/time-limits.ts'

const AT = '127.0.0.1'
type How = { timeoutMs?: number; perAddress?: number; certificate?: () => Promise<LocalCertificate> }

/** A server that says by what it was asked; `/slow` waits for `answer`. */
async function openServer(t: TestContext, { timeoutMs = 10_000, perAddress = 1000, certificate }: How = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-both-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const kept = openLocalCertificate(
    { dataDirectory: folder },
    localNames({ host: AT, tls: undefined, publicUrl: undefined })!,
  )
  const slow: (() => void)[] = []
  const server = createServer(HTTP_LIMITS, (asked, answer) => {
    const end = () => answer.end('encrypted' in asked.socket ? 'TLS' : 'plain')
    if (asked.url === '/slow') slow.push(end)
    else end()
  })
  server.on('clientError', (error: Error & { code?: string }, socket) => {
    socket.end(`HTTP/1.1 ${error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400} No\r\nconnection: close\r\n\r\n`)
  })
  const stopping = new AbortController()
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  answerOneAtATime(server)
  takeBothProtocols(server, { log, shutdownSignal: stopping.signal, certificate: certificate ?? kept, timeoutMs })
  boundConnections(server, { perAddress, trustedProxies: undefined })
  await new Promise<void>((resolve) => server.listen(0, AT, resolve))
  t.after(() => {
    stopping.abort()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { server, port, kept, slow, stopping, lines }
}

async function textOf(asked: ReturnType<typeof request>): Promise<string> {
  const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage]
  return (await answer.toArray()).join('')
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
}

const askPlainly = (port: number) => textOf(plainRequest({ host: AT, port, agent: false }))
const askSecurely = (port: number, ca: string, host = AT) =>
  textOf(request({ host: AT, port, ca, agent: false, servername: host === AT ? '' : host }))

/** What a socket is sent until it is closed. */
function heard(socket: Socket): { text: () => string; closed: Promise<unknown> } {
  let text = ''
  socket
    .on('error', () => {})
    .on('data', (bytes) => {
      text += bytes
    })
  return { text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) }
}

async function open(t: TestContext, port: number, bytes?: string | Buffer): Promise<Socket> {
  const socket = connect(port, AT).on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  if (bytes !== undefined) socket.write(bytes)
  return socket
}

async function secure(t: TestContext, port: number, options: object = {}): Promise<TLSSocket> {
  const socket = connectSecurely({ port, host: AT, rejectUnauthorized: false, ...options })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket.on('error', () => {})
}

/** The first message of a client, as Node sends it. */
async function clientHello(t: TestContext): Promise<Buffer> {
  const server = createPlainServer().listen(0, AT)
  t.after(() => server.close())
  await once(server, 'listening')
  const client = connectSecurely((server.address() as AddressInfo).port, AT).on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [hello] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  return hello
}

test('one port speaks plain HTTP and TLS, to several requests of a connection, with bodies', async (t) => {
  const { port, kept } = await openServer(t)
  assert.equal(await askPlainly(port), 'plain')
  const { authority } = await kept()
  for (const name of [AT, 'localhost', 'web.berth.localhost'])
    assert.equal(await askSecurely(port, authority, name), 'TLS')
  await assert.rejects(askSecurely(port, authority, 'example.com'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  for (const socket of [await open(t, port), await secure(t, port)]) {
    const { text } = heard(socket)
    const one = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc'
    // In pieces, and two at once.
    for (const piece of ['PO', 'ST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab', `c${one}`]) {
      socket.write(piece)
      // No state shows that the server has read a piece.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await eventually(() => text().match(/HTTP\/1\.1 200/g)?.length === 2)
  }
})

test('inside TLS it is HTTP/1.1, and TLS is 1.2 or 1.3', async (t) => {
  const { port } = await openServer(t)
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await secure(t, port, { maxVersion: version, ALPNProtocols: ['h2', 'http/1.1'] })
    assert.deepEqual([socket.getProtocol(), socket.alpnProtocol], [version, 'http/1.1'])
  }
  await assert.rejects(secure(t, port, { ALPNProtocols: ['h2'] }))
  await assert.rejects(secure(t, port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))
  assert.equal(await askPlainly(port), 'plain')
})

test('any other protocol is refused, and half of a first message ends after 5 s, while others are answered (a bound on time)', async (t) => {
  const { port, kept } = await openServer(t)
  const hello = await clientHello(t)
  const since = performance.now()
  const stalled = await Promise.all([hello.subarray(0, 1), hello.subarray(0, 100)].map((bytes) => open(t, port, bytes)))
  const ends = stalled.map((socket) => heard(socket).closed)
  for (const bytes of ['\x15\x03\x01\x00\x02\x01\x00', '\0'.repeat(5000), '\x80\x2e\x01']) {
    const socket = await open(t, port, bytes)
    const { text, closed } = heard(socket)
    socket.end()
    await closed
    assert.match(text(), /^HTTP\/1\.1 400 /)
  }
  const broken = heard(await open(t, port, '\x16\x03\x01\x00\x05\x01\x02\x03\x04\x05'))
  await broken.closed
  assert.doesNotMatch(broken.text(), /HTTP/)
  const gone = await open(t, port)
  gone.end()
  await heard(gone).closed
  assert.deepEqual([await askPlainly(port), await askSecurely(port, (await kept()).authority)], ['plain', 'TLS'])
  assert.deepEqual(
    stalled.map(({ destroyed }) => destroyed),
    [false, false],
  )
  await Promise.all(ends)
  assertWithin(performance.now() - since, 15_000)
})

test('connections that say nothing, or no whole head, are answered 408 in time, and others are answered meanwhile', async (t) => {
  const { port, kept, server } = await openServer(t, { timeoutMs: 2000 })
  const silent = await Promise.all(Array.from({ length: 200 }, () => open(t, port)))
  const half = await open(t, port, 'GET / HTTP/1.1\r\nHo')
  const asked = await open(t, port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const ends = [...silent, half].map(heard)
  assert.equal(await askPlainly(port), 'plain')
  assert.equal(await askSecurely(port, (await kept()).authority), 'TLS')
  await Promise.all(ends.map(({ closed }) => closed))
  assert.deepEqual(new Set(ends.map(({ text }) => text().slice(0, 12))), new Set(['HTTP/1.1 408']))
  // One that has asked is kept alive as ever.
  assert.equal(asked.destroyed, false)
  await eventually(async () => (await connectionsOf(server)) === 1)
})

test('an address has its connections of both kinds together, and one that waits for its answer is known over TLS', async (t) => {
  const { port, slow } = await openServer(t, { perAddress: 3 })
  const busy = await secure(t, port)
  busy.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => slow.length === 1)
  const idle = await secure(t, port)
  const closed = once(idle.resume(), 'close')
  const silent = await open(t, port)
  await open(t, port)
  await closed
  assert.deepEqual([busy.destroyed, silent.destroyed], [false, false])
  const { text } = heard(busy)
  slow[0]!()
  await eventually(() => text().includes('TLS'))
})

test('a burst of handshakes makes a request wait for a few of them', async (t) => {
  const { port, kept, server } = await openServer(t)
  await kept()
  const hello = await clientHello(t)
  let begun = 0
  const strangers = await Promise.all(Array.from({ length: 100 }, () => open(t, port)))
  // The platform accepts one in each iteration; a request would wait for that too.
  await eventually(async () => (await connectionsOf(server)) === strangers.length)
  for (const socket of strangers)
    socket.once('data', () => {
      begun++
    })
  for (const socket of strangers) socket.write(hello)
  assert.equal(await askPlainly(port), 'plain')
  assert.ok(begun < 30, `${begun} handshakes went before the request`)
  await eventually(() => begun === 100)
})

test('of too many handshakes that do not end, the oldest is cut off', async (t) => {
  const { port, kept } = await openServer(t)
  const strangers: Socket[] = []
  for (let n = 0; n < 130; n++) strangers.push(await open(t, port, '\x16'))
  await eventually(() => strangers.filter((socket) => heard(socket) && socket.destroyed).length >= 2)
  assert.equal(await askSecurely(port, (await kept()).authority), 'TLS')
})

test('a stop ends connections without a request, and leaves answers of both kinds their time (a bound on time)', async (t) => {
  const { server, port, slow, stopping } = await openServer(t, { timeoutMs: 10_000_000 })
  const without = await Promise.all([open(t, port), open(t, port, '\x16\x03\x01')])
  const ends = without.map((socket) => heard(socket).closed)
  const asking = [await open(t, port), await secure(t, port)]
  const heardThere = asking.map(heard)
  for (const socket of asking) socket.write('GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await eventually(() => slow.length === 2)
  const closed = once(server, 'close')
  server.close()
  stopping.abort()
  const since = performance.now()
  await Promise.all(ends)
  // Before the handshake has had its 5 s.
  assertWithin(performance.now() - since, 3500)
  for (const answer of slow) answer()
  await closed
  assert.deepEqual(
    heardThere.map(({ text }) => /plain|TLS/.exec(text())?.[0]),
    ['plain', 'TLS'],
  )
})

test('a renewed certificate is for new connections, and open ones go on', async (t) => {
  const newOne = () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-both-'))
    t.after(() => rmSync(folder, { recursive: true }))
    return openLocalCertificate({ dataDirectory: folder }, ['localhost'])()
  }
  const [first, second] = await Promise.all([newOne(), newOne()])
  let current = first
  const { port } = await openServer(t, { certificate: async () => current })
  const shown = (socket: TLSSocket) => socket.getPeerX509Certificate()!.toString().trim()
  const before = await secure(t, port)
  current = second
  const after = await secure(t, port)
  assert.deepEqual([shown(before), shown(after)], [first.cert, second.cert])
  const { text } = heard(before)
  before.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => text().includes('TLS'))
})

test('where the certificate cannot be kept, the log says why once, and plain HTTP goes on', async (t) => {
  const certificate = () => Promise.reject(new Error('the disk is full'))
  const { port, lines } = await openServer(t, { certificate })
  for (let n = 0; n < 2; n++) await assert.rejects(secure(t, port))
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /no TLS on this port.*the disk is full/)
  assert.equal(await askPlainly(port), 'plain')
})
