/** Bodies are read at a pace, so that many of them at once do not block the event loop. docs/limits.md: Sizes and timeouts. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PACE_BYTES, PacedRequest } from '../../../src/platform/server/paced-request.ts'
import { eventually } from '../../support/eventually.ts'

const MIB = 1024 * 1024
const CLIENTS = 24

/** A server that returns how many bytes it received, and the most in one iteration of the event loop. `reads`: whether it reads the body. */
async function startServer(t: TestContext, reads: boolean): Promise<{ port: number; most: () => number }> {
  let [inThis, most] = [0, 0]
  const push = PacedRequest.prototype.push
  t.mock.method(PacedRequest.prototype, 'push', function (this: PacedRequest, chunk: Buffer | null) {
    inThis += chunk?.length ?? 0
    most = Math.max(most, inThis)
    return push.call(this, chunk)
  })
  const server: Server = createServer({ IncomingMessage: PacedRequest }, (request, response) => {
    let bytes = 0
    if (!reads) {
      request.resume()
      return void request.on('end', () => response.end('unread'))
    }
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on('end', () => response.end(String(bytes)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  let ticks = true
  const tick = () => {
    inThis = 0
    if (ticks) setImmediate(tick)
  }
  tick()
  t.after(() => {
    ticks = false
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, most: () => most }
}

/** Sends bodies one after another on one connection; gives the answers. */
function send(port: number, bodies: number[], from = '127.0.0.1'): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from })
    let said = ''
    const answers = () => [...said.matchAll(/\r\n\r\n(\d+|unread)/g)].map(([, body]) => body!)
    socket.on('error', reject)
    socket.setEncoding('latin1').on('data', (text) => {
      said += text
      if (answers().length < bodies.length) return
      socket.destroy()
      resolve(answers())
    })
    for (const bytes of bodies) {
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`)
      socket.write(Buffer.alloc(bytes))
    }
  })
}

/** The pace, and the piece that each connection had already read when it was paused. */
const MAX_READ = PACE_BYTES + (CLIENTS + 1) * 64 * 1024

for (const reads of [true, false]) {
  test(`many long bodies arrive whole, some of each iteration, ${reads ? 'read' : 'also when they are not read'}`, async (t) => {
    const { port, most } = await startServer(t, reads)
    const all = await Promise.all(Array.from({ length: CLIENTS }, () => send(port, [3 * MIB])))
    for (const answers of all) assert.deepEqual(answers, [reads ? `${3 * MIB}` : 'unread'])
    assert.ok(most() <= MAX_READ, `${most()} bytes in one iteration`)
  })
}

test('bodies that follow each other on a connection arrive whole', async (t) => {
  const { port } = await startServer(t, true)
  const all = await Promise.all(Array.from({ length: CLIENTS }, () => send(port, [2 * MIB, MIB])))
  for (const answers of all) assert.deepEqual(answers, [`${2 * MIB}`, `${MIB}`])
})

test('a client of another address does not wait behind all bodies of one', async (t) => {
  const { port } = await startServer(t, true)
  const ended: string[] = []
  const crowd = Array.from({ length: CLIENTS }, () => send(port, [4 * MIB]).then(() => ended.push('crowd')))
  const alone = send(port, [2 * MIB], '127.0.0.2').then(() => ended.push('alone'))
  await Promise.all([...crowd, alone])
  assert.ok(ended.indexOf('alone') < CLIENTS / 2, ended.join(' '))
})

test('a client that leaves in the middle of its body delays no other', async (t) => {
  const { port } = await startServer(t, true)
  const leaves = Array.from({ length: CLIENTS }, () => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${8 * MIB}\r\n\r\n`)
    socket.write(Buffer.alloc(MIB), () => socket.destroy())
    return socket
  })
  assert.deepEqual(await send(port, [2 * MIB]), [`${2 * MIB}`])
  assert.equal(leaves.length, CLIENTS)
})

test('of a body that is held little waits, in whatever chunks it comes, and all of it is read once it is let go', async (t) => {
  const { promise: began, resolve } = Promise.withResolvers<PacedRequest>()
  const server: Server = createServer({ IncomingMessage: PacedRequest }, async (request, response) => {
    request.hold()
    resolve(request)
    let bytes = 0
    await letGo.promise
    request.letGo()
    for await (const chunk of request) bytes += chunk.length
    response.end(String(bytes))
  })
  const letGo = Promise.withResolvers<void>()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  const count = 20_000
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
  socket.write(`${`40\r\n${'x'.repeat(64)}\r\n`.repeat(count)}0\r\n\r\n`)
  const request = await began
  await eventually(() => request.socket.isPaused())
  // Time in which nothing more may be read.
  await sleep(100)
  assert.ok(request.readableLength > 0 && request.readableLength <= 128 * 1024, String(request.readableLength))
  letGo.resolve()
  const [answer] = (await once(socket, 'data')) as [Buffer]
  assert.match(String(answer), new RegExp(`^HTTP/1.1 200 .*${64 * count}`, 's'))
})

test('a file that comes in chunks of a few bytes is cut off, and one whose first chunks are short is not', async (t) => {
  let seen = 0
  const server: Server = createServer({ IncomingMessage: PacedRequest }, async (request, response) => {
    request.hold()
    request.letGo()
    const read = async () => {
      for await (const chunk of request) seen += chunk.length
    }
    await read().catch(() => {})
    if (request.complete) response.end(String(seen))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  const send = async (body: string) => {
    seen = 0
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    let said = ''
    socket.on('data', (piece) => {
      said += piece
      socket.end()
    })
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${body}0\r\n\r\n`)
    await new Promise((resolve) => socket.once('close', resolve))
    return said
  }
  const short = '1\r\nx\r\n'.repeat(4000)
  const long = `4000\r\n${'x'.repeat(0x4000)}\r\n`
  assert.match(await send(`${short}${long.repeat(100)}${'1\r\nx\r\n'.repeat(4000)}`), /^HTTP\/1\.1 200 /)
  assert.equal(await send(short.repeat(3)), '')
  assert.ok(seen <= 4096, String(seen))
})
