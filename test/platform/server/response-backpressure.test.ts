/** Pending responses: the account with most gives way, a stalled connection is closed, and all that was held is released. docs/limits.md. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createResponseBuffers,
  type ResponseBufferOptions,
} from '../../../src/platform/fairness/response-backpressure.ts'
import { eventually } from '../../support/eventually.ts'

const MIB = 1024 * 1024

/** A server that answers `/<owner>/<bytes>` with this many bytes of that owner; `/<owner>/<bytes>/<ms>` only after this delay. */
async function openServer(t: TestContext, rules: ResponseBufferOptions) {
  let ended = 0
  let left = 0
  const unsent = createResponseBuffers({ ...rules, onStalled: () => void ended++, onDrained: () => void left++ })
  const server = createServer(async (request, response) => {
    const [, owner, bytes, ms] = request.url!.split('/')
    // The test asks for a slow answer.
    if (ms !== undefined) await sleep(Number(ms))
    response.setHeader('content-length', bytes!)
    const body = unsent.track(request, response, owner!, Buffer.alloc(Number(bytes), 'x'))
    if (body instanceof Readable) body.pipe(response)
    else response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, unsent, ended: () => ended, left: () => left }
}

/** Sends these, one after another on one connection, and reads nothing of the responses until it is resumed. */
function askAndWait(server: Server, ...paths: string[]): Socket {
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  })
  socket.on('error', () => {})
  return socket.pause()
}

async function readAll(socket: Socket, bytes: number): Promise<void> {
  let read = 0
  socket.on('data', (chunk) => {
    read += chunk.length
  })
  socket.resume()
  await eventually(() => read >= bytes || socket.destroyed)
  assert.ok(read >= bytes, `${read} of ${bytes} bytes came`)
}

const isEnded = (socket: Socket) => {
  socket.resume()
  return eventually(() => socket.destroyed)
}

test('over the budget the account with most unsent bytes loses a connection: the one that has waited for longest', async (t) => {
  const { server, unsent, ended } = await openServer(t, { budget: 100 * MIB })
  const small = askAndWait(server, `/small/${20 * MIB}`)
  await eventually(() => unsent.bytes() === 20 * MIB)
  const first = askAndWait(server, `/great/${30 * MIB}`)
  await eventually(() => unsent.bytes() === 50 * MIB)
  // So that it has clearly waited for longer than the next one.
  await sleep(50)
  const second = askAndWait(server, `/great/${30 * MIB}`)
  await eventually(() => unsent.bytes() === 80 * MIB)
  const third = askAndWait(server, `/great/${30 * MIB}`)
  await eventually(() => ended() === 1)
  assert.equal(unsent.bytes(), 80 * MIB)
  await isEnded(first)
  await Promise.all([readAll(small, 20 * MIB), readAll(second, 30 * MIB), readAll(third, 30 * MIB)])
  await eventually(() => unsent.bytes() === 0)
  assert.equal(ended(), 1)
})

test('a response larger than the budget is still sent', async (t) => {
  const { server, unsent } = await openServer(t, { budget: MIB })
  await readAll(askAndWait(server, `/one/${20 * MIB}`), 20 * MIB)
  await eventually(() => unsent.bytes() === 0)
})

test('a connection that takes nothing is ended, one that takes slowly is not', async (t) => {
  const { server, unsent, ended } = await openServer(t, { maxStallMs: 2000 })
  const stalled = askAndWait(server, `/a/${30 * MIB}`)
  // Enough to last until the other one has ended, also where a read takes far more than is waited for.
  const whole = 120 * MIB
  const slow = askAndWait(server, `/b/${whole}`)
  let read = 0
  slow.on('data', (chunk) => {
    read += chunk.length
  })
  // A few MiB each time: the buffers of the system are that great.
  while (ended() === 0) {
    const before = read
    slow.resume()
    await eventually(() => read > before + 2 * MIB || read >= whole)
    slow.pause()
    // A tenth of the allowed time.
    await sleep(200)
  }
  assert.ok(read < whole, 'bytes were pending until then')
  await isEnded(stalled)
  assert.equal(slow.destroyed, false)
  slow.resume()
  await eventually(() => read > whole && unsent.bytes() === 0)
  slow.destroy()
})

test('pending bytes of many requests on one connection are held, and released when they or the connection leave', async (t) => {
  const { server, unsent, left } = await openServer(t, {})
  const paths = Array.from({ length: 20 }, () => `/a/${10_000}`)
  const asked = askAndWait(server, `/a/${30 * MIB}`, ...paths)
  await eventually(() => unsent.bytes() === 30 * MIB + 20 * 10_000)
  assert.equal(unsent.hasCapacity('a'), false)
  assert.equal(unsent.hasCapacity('b'), true)
  asked.destroy()
  await eventually(() => unsent.bytes() === 0)
  assert.deepEqual([unsent.hasCapacity('a'), left()], [true, 21])
  const read = askAndWait(server, `/a/${5 * MIB}`, ...paths)
  await readAll(read, 5 * MIB + 20 * 10_000)
  await eventually(() => unsent.bytes() === 0)
  read.destroy()
})

test('a short answer on a connection that waits for it is not counted', async (t) => {
  const { server, left } = await openServer(t, {})
  const socket = askAndWait(server, '/a/100')
  await once(socket, 'readable')
  assert.equal(left(), 0)
  socket.destroy()
})

test('the account with most unsent bytes loses a connection, also where the newest answer is of another', async (t) => {
  const { server, unsent, ended } = await openServer(t, { budget: 60 * MIB })
  const small = askAndWait(server, `/small/${5 * MIB}`)
  await eventually(() => unsent.bytes() === 5 * MIB)
  const great = askAndWait(server, `/great/${40 * MIB}`)
  await eventually(() => unsent.bytes() === 45 * MIB)
  const second = askAndWait(server, `/small/${20 * MIB}`)
  await isEnded(great)
  assert.equal(ended(), 1)
  await Promise.all([readAll(small, 5 * MIB), readAll(second, 20 * MIB)])
})

test('an answer that waits for an earlier one of its connection waits as long as answers leave', async (t) => {
  const { server, ended } = await openServer(t, { maxStallMs: 1600 })
  // The last is ready at once; those before it take 400 ms each, one after another.
  const late = [400, 800, 1200, 1600, 2000].map((ms) => `/a/20000/${ms}`)
  const socket = askAndWait(server, ...late, '/a/20000')
  await readAll(socket, 120_000)
  assert.equal(ended(), 0)
  socket.destroy()
})
