/** The requests of a connection have their answers one after another, whatever is sent ahead. src/platform/server/one-at-a-time.ts; docs/limits.md: Connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerOneAtATime } from '../../../src/platform/server/one-at-a-time.ts'
import { PacedRequest } from '../../../src/platform/server/paced-request.ts'
import { eventually } from '../../support/eventually.ts'
import { openWorld } from '../../support/world.ts'

const ask = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`

/** Waits for the end of a connection; a reset is one. */
const isGone = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve))

/** A server that says nothing of itself: `begun` has the requests that it has begun and not answered. */
async function serve(t: TestContext, answer?: RequestListener) {
  const paths: string[] = []
  const begun: ServerResponse[] = []
  const server = createServer({ requireHostHeader: false, IncomingMessage: PacedRequest }, (request, response) => {
    paths.push(request.url!)
    if (answer !== undefined) return answer(request, response)
    begun.push(response)
  })
  server.maxHeadersCount = 2000
  answerOneAtATime(server)
  let parsed = 0
  server.on('request', () => parsed++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const open = () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    let text = ''
    socket.setEncoding('utf8').on('data', (piece) => {
      text += piece
    })
    return { socket, said: () => text }
  }
  return { paths, begun, open, parsed: () => parsed, end: () => begun.shift()!.end('done') }
}

test('a request begins when the one before it on its connection is answered; other connections do not wait', async (t) => {
  const { paths, begun, open, end } = await serve(t)
  const one = open()
  one.socket.write(ask('/1') + ask('/2') + ask('/3'))
  await eventually(async () => paths.length > 0)
  open().socket.write(ask('/other'))
  await eventually(async () => paths.length > 1)
  assert.deepEqual(paths, ['/1', '/other'])
  assert.equal(begun.length, 2)
  end()
  await eventually(async () => paths.length === 3)
  assert.deepEqual(paths, ['/1', '/other', '/2'])
  end()
  end()
  await eventually(async () => paths.length === 4)
  end()
  await eventually(async () => one.said().split('HTTP/1.1 200 OK').length === 4)
  one.socket.write(ask('/4'))
  await eventually(async () => paths.length === 5)
})

test('what waits on a connection that is closed is not begun', async (t) => {
  const { paths, open, end } = await serve(t)
  const { socket } = open()
  socket.write(ask('/1') + ask('/2'))
  await eventually(async () => paths.length === 1)
  socket.destroy()
  const other = open()
  other.socket.write(ask('/other'))
  await eventually(async () => paths.length === 2)
  end()
  end()
  await eventually(async () => other.said().includes('done'))
  assert.deepEqual(paths, ['/1', '/other'])
})

test('as many as are sent ahead are answered in their order, and none is parsed before its turn', async (t) => {
  const { paths, open, parsed, end } = await serve(t)
  const { socket, said } = open()
  socket.write(Array.from({ length: 40 }, (_, at) => ask(`/${at}`)).join(''))
  for (let at = 0; at < 40; at++) {
    await eventually(async () => paths.length === at + 1)
    assert.equal(parsed(), at + 1)
    end()
  }
  await eventually(async () => said().split('done').length === 41)
  assert.deepEqual(
    paths,
    Array.from({ length: 40 }, (_, at) => `/${at}`),
  )
})

test('wherever reads are cut, a request is parsed alone', async (t) => {
  const { paths, open, begun, end } = await serve(t, undefined)
  const chunked = `POST /1 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`
  const known = 'POST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nabcd'
  const text = `${ask('/0')}${chunked}${known}${ask('/3')}`
  for (let cut = 1; cut < text.length; cut++) {
    const { socket, said } = open()
    socket.setNoDelay(true).write(text.slice(0, cut))
    if (cut % 7 === 0) await once(socket, 'ready')
    setImmediate(() => socket.write(text.slice(cut)))
    for (let at = 0; at < 4; at++) {
      await eventually(async () => begun.length === 1)
      begun[0]!.req.resume()
      end()
    }
    await eventually(async () => said().split('done').length === 5)
    assert.deepEqual(paths.splice(0), ['/0', '/1', '/2', '/3'], `cut at ${cut}`)
    socket.destroy()
  }
})

test('what cannot be read behind a whole request is answered behind its answer', async (t) => {
  const { begun, paths, open, end } = await serve(t)
  const { socket, said } = open()
  const closed = isGone(socket)
  socket.write(`${ask('/1')}POST /2 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nZZZ\r\n`)
  await eventually(async () => begun.length === 1)
  assert.deepEqual([paths, said()], [['/1'], ''])
  end()
  await closed
  assert.match(said(), /^HTTP\/1\.1 200 OK[\s\S]*done[\s\S]*HTTP\/1\.1 400 /)
})

test('the service answers pipelined requests in their order', async (t) => {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  const { hostname, port } = new URL(await world.listen())
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  let text = ''
  socket.setEncoding('latin1').on('data', (piece) => {
    text += piece
  })
  socket.write(ask('/nowhere') + ask('/') + ask('/v2/user'))
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  await eventually(async () => statuses().length === 3)
  assert.deepEqual(statuses(), ['404', '200', '401'])
})

test('what comes while answers wait to be read is kept until they are, and the process lives', async (t) => {
  const long = 'x'.repeat(400_000)
  const { paths, open } = await serve(t, (_, response) => void response.end(long))
  const { socket, said } = open()
  socket.pause()
  socket.write(`${ask('/long').repeat(10)}GET /last HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(6000)}\r\n\r\n`)
  await eventually(async () => paths.length > 0)
  for (let at = 0; at < 3; at++) socket.write(ask('/more'))
  socket.resume()
  await eventually(async () => said().split('HTTP/1.1 200 OK').length === 15)
  assert.deepEqual(paths, [...Array(10).fill('/long'), '/last', '/more', '/more', '/more'])
})

test('requests without a Host are counted and answered with 400, and nothing behind them is begun', async (t) => {
  const { paths, open } = await serve(t)
  const { socket, said } = open()
  const closed = isGone(socket)
  socket.write(`GET /1 HTTP/1.1\r\n\r\n${ask('/2')}`)
  await closed
  assert.match(said(), /^HTTP\/1\.1 400 /)
  assert.equal(said().split('HTTP/1.1').length, 2)
  const many = open().socket
  const gone = isGone(many)
  many.write('GET / HTTP/1.1\r\n\r\n'.repeat(2000))
  await gone
  const old = open()
  old.socket.write('GET /old HTTP/1.0\r\n\r\n')
  await eventually(async () => paths.length === 1)
})

test('nothing is begun behind an answer that closes its connection', async (t) => {
  const { paths, begun, open } = await serve(t)
  const { socket, said } = open()
  const closed = isGone(socket)
  socket.write(ask('/1') + ask('/2'))
  await eventually(async () => paths.length === 1)
  begun[0]!.setHeader('connection', 'close')
  begun[0]!.end('done')
  await closed
  assert.deepEqual(paths, ['/1'])
  assert.equal(said().split('HTTP/1.1').length, 2)
})

test('behind a body that is not counted, requests are parsed one by one too', async (t) => {
  const { paths, open, parsed, begun } = await serve(t, (request, response) => {
    if (request.url === '/body') response.end('done')
    else begun.push(response)
  })
  const { socket, said } = open()
  socket.write('POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 65000\r\n\r\n')
  await eventually(async () => said().includes('done'))
  socket.write('x'.repeat(64_000))
  socket.write('x'.repeat(1000) + ask('/').repeat(2400))
  await eventually(async () => begun.length === 1)
  assert.deepEqual([paths, parsed()], [['/body', '/'], 2])
})

test('behind a body that is not read, however it is cut, the next request has its answer', async (t) => {
  let round = 0
  const { open } = await serve(t, (_, response) => void setTimeout(() => response.end('done'), round % 12))
  const body = ask('/within').repeat(1300)
  const text = `POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}${ask('/2')}${ask('/3')}`
  for (; round < 120; round++) {
    const { socket, said } = open()
    const length = 700 + (round % 60) * 97
    for (let at = 0; at < text.length; at += length) {
      socket.write(text.slice(at, at + length))
      if ((at / length) % 3 === round % 3) await new Promise((resolve) => setImmediate(resolve))
    }
    await eventually(async () => said().split('done').length === 4)
    socket.destroy()
  }
})

test('of what arrives together, what comes behind 25 ms of work is left for the next iteration', async (t) => {
  let [handled, over, together] = [0, 0, 0]
  const { open } = await serve(t, (request, response) => {
    if (request.url === '/long') {
      if (handled++ > over) together++
      setImmediate(() => over++)
      for (const until = performance.now() + 30; performance.now() < until; );
    }
    response.end('done')
  })
  const lines = Array.from({ length: 10 }, () => open())
  const askAll = async (path: string, answers: number) => {
    for (const { socket } of lines) socket.write(ask(path))
    await eventually(async () => lines.every(({ said }) => said().split('done').length === answers + 1))
  }
  // Accepted one in an iteration.
  await askAll('/', 1)
  await askAll('/long', 2)
  assert.deepEqual([handled, together], [10, 0])
})

test('in an iteration that is not busy, a request is begun as it arrives', async (t) => {
  let socket: Socket | undefined
  const { open, paths } = await serve(t, (request, response) => {
    socket = request.socket
    response.end('done')
  })
  const { socket: client, said } = open()
  client.write(ask('/first'))
  await eventually(() => said().includes('done'))
  // Another iteration where this one was busy.
  await eventually(() => {
    const before = paths.length
    socket!.emit('data', Buffer.from(ask('/next')))
    return paths.length > before
  })
})

test('of what many sent ahead, an iteration begins one request', async (t) => {
  const [lines, each] = [10, 12]
  let [handled, now, most] = [0, 0, 0]
  const { open } = await serve(t, (request, response) => {
    // The first of each is not behind another.
    if (request.url === '/') {
      handled++
      if (++now === 1) setImmediate(() => ([most, now] = [Math.max(most, now), 0]))
    }
    response.end('done')
  })
  const opened = Array.from({ length: lines }, () => open())
  for (const { socket } of opened) socket.write(ask('/first') + ask('/').repeat(each))
  await eventually(async () => opened.every(({ said }) => said().split('done').length === each + 2))
  assert.deepEqual([handled, most], [lines * each, 1])
})

test('of a connection that waits for its turn, what arrives meanwhile begins nothing', async (t) => {
  const { paths, begun, open } = await serve(t)
  const { socket } = open()
  socket.write(ask('/1') + ask('/2'))
  await eventually(() => begun.length === 1)
  const response = begun.shift()!
  const server = response.req.socket
  const seen = new Promise<string[]>((resolve) => {
    response.once('close', () => {
      server.emit('data', Buffer.from(ask('/3')))
      resolve([...paths])
    })
  })
  response.end('done')
  assert.deepEqual(await seen, ['/1'])
  for (const after of [2, 3]) {
    await eventually(() => begun.length === 1)
    assert.equal(paths.length, after)
    begun.shift()!.end('done')
  }
  assert.deepEqual(paths, ['/1', '/2', '/3'])
})

test('of a body that is held nothing more is parsed, in whatever chunks it comes, and all of it once it is let go', async (t) => {
  let held: PacedRequest | undefined
  const { open } = await serve(t, async (request, response) => {
    held = request as PacedRequest
    held.hold()
    let bytes = 0
    held.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    held.pause()
    held.on('end', () => response.end(`read ${bytes}`))
  })
  const { socket, said } = open()
  const count = 30_000
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
  socket.write(`${`40\r\n${'x'.repeat(64)}\r\n`.repeat(count)}0\r\n\r\n`)
  await eventually(() => held?.socket.isPaused() === true)
  // Time in which nothing more may be read than what was on its way.
  await sleep(200)
  assert.ok(held!.readableLength <= 2048, String(held!.readableLength))
  assert.ok(held!.socket.bytesRead <= 256 * 1024, String(held!.socket.bytesRead))
  held!.resume()
  held!.letGo()
  await eventually(() => said().includes(`read ${64 * count}`))
})
