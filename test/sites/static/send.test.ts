/** Sending over real sockets. docs/deploying-sites.md: Static files. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { ResponsePlan } from '../../../src/sites/static/response-plan.ts'
import { sendPlan } from '../../../src/sites/static/send.ts'
import { eventually } from '../../support/eventually.ts'
import { listen, overHttp2, partsOf, planOf, say, type WatchedFile, watchedFile } from './visitors.ts'

const MIB = 1024 ** 2
const BYTES = Buffer.alloc(3 * MIB + 17, 'abcdefghijklmnopqrstuvwxy')

/** What became of sending: undefined where it ended well. */
type Ends = { sent: Promise<unknown>[] }

function sending(plan: ResponsePlan, file: WatchedFile | undefined, ends: Ends, timeoutMs?: number) {
  return (_: unknown, response: ServerResponse) => {
    ends.sent.push(sendPlan(plan, response, file, timeoutMs).catch((error) => error))
  }
}

test('a slice is sent byte for byte, with its headers, and the file is let go', async (t) => {
  for (const [first, length] of [
    [0, BYTES.length],
    [100, 1],
    [65_535, 2],
    [MIB, 65_536],
    [5, 65_537],
  ] as const) {
    const file = watchedFile(BYTES)
    const ends: Ends = { sent: [] }
    const port = await listen(t, sending(planOf(first, length), file, ends))
    const { head, body } = partsOf(await say(t, port, 'GET / HTTP/1.1').end)
    assert.ok(body === BYTES.subarray(first, first + length).toString('latin1'), `${first}+${length}`)
    assert.match(head, /^HTTP\/1\.1 206 /)
    assert.match(head, /set-cookie: a=1\r\nset-cookie: b=2/)
    assert.ok(!/transfer-encoding/i.test(head))
    assert.deepEqual(await Promise.all(ends.sent), [undefined])
    assert.deepEqual([file.bytesRead(), file.closes()], [length, 1])
  }
})

test('the same goes over HTTP/2', async (t) => {
  const file = watchedFile(BYTES)
  const ends: Ends = { sent: [] }
  const answer = await overHttp2(t, (response) => ends.sent.push(sendPlan(planOf(10, 2 * MIB), response, file)))
  assert.deepEqual([answer.status, answer.headers['x-own'], answer.code], [206, 'yes', 0])
  assert.ok(answer.body.equals(BYTES.subarray(10, 10 + 2 * MIB)))
  await Promise.all(ends.sent)
  assert.equal(file.closes(), 1)
})

test('what has no body has none, on a connection that goes on', async (t) => {
  const plans: Record<string, ResponsePlan> = {
    '/head': { status: 200, headers: { 'content-length': '5000' }, body: { kind: 'none' } },
    '/304': { status: 304, headers: { etag: '"a"' }, body: { kind: 'none' } },
    '/416': { status: 416, headers: { 'content-length': '3' }, body: { kind: 'text', text: 'no\n' } },
    '/empty': { ...planOf(0, 0), status: 200 },
  }
  const ends: Ends = { sent: [] }
  const port = await listen(t, (request, response) => sending(plans[request.url!]!, undefined, ends)(request, response))
  const first = ['HEAD /head', 'GET /304', 'GET /empty'].map((line) => `${line} HTTP/1.1\r\nHost: x\r\n\r\n`).join('')
  const answers = (await say(t, port, `${first}GET /416 HTTP/1.1`).end).split(/(?=HTTP\/1\.1 )/).map(partsOf)
  assert.deepEqual(
    answers.map(({ head, body }) => `${head.slice(9, 12)} ${body}`),
    ['200 ', '304 ', '200 ', '416 no\n'],
  )
  assert.match(answers[0]!.head, /content-length: 5000/)
  for (const status of [304, 416]) {
    const plan = Object.values(plans).find((one) => one.status === status)!
    const { status: answered, body } = await overHttp2(t, (response) => void sendPlan(plan, response, undefined))
    assert.deepEqual([answered, body.toString()], [status, status === 304 ? '' : 'no\n'])
  }
  assert.deepEqual(await Promise.all(ends.sent), [undefined, undefined, undefined, undefined])
})

test('of a file that is sent to a client that reads slowly little is in memory', async (t) => {
  const file = watchedFile(Buffer.alloc(32 * MIB, 'x'))
  const ends: Ends = { sent: [] }
  const port = await listen(t, sending(planOf(0, 32 * MIB), file, ends))
  const { socket, end } = say(t, port, 'GET / HTTP/1.1')
  socket.pause()
  // The buffers of both sockets are full when nothing more is read for a while.
  let before = -1
  await eventually(async () => {
    // No event says that nothing more is read.
    await new Promise((resolve) => setTimeout(resolve, 50))
    const isStill = file.bytesRead() === before && before > 0
    before = file.bytesRead()
    return isStill
  })
  assert.ok(file.bytesRead() < 16 * MIB, `${file.bytesRead()} bytes were read ahead`)
  assert.equal(file.closes(), 0)
  socket.resume()
  const { body } = partsOf(await end)
  assert.equal(body.length, 32 * MIB)
  assert.deepEqual([await Promise.all(ends.sent), file.closes()], [[undefined], 1])
})

test('when a visitor leaves the file is let go at once, wherever the sending was', async (t) => {
  for (const isPaused of [true, false]) {
    const file = watchedFile(Buffer.alloc(32 * MIB, 'x'))
    const ends: Ends = { sent: [] }
    const port = await listen(t, sending(planOf(0, 32 * MIB), file, ends))
    const { socket } = say(t, port, 'GET / HTTP/1.1')
    if (isPaused) socket.pause()
    await eventually(() => file.bytesRead() > 0)
    socket.destroy()
    await eventually(() => file.closes() === 1)
    assert.deepEqual(await Promise.all(ends.sent), [undefined])
    assert.ok(file.bytesRead() < 32 * MIB)
  }
})

test('a visitor who left before the answer gets none, and the file is let go', async (t) => {
  const file = watchedFile(BYTES)
  const left = Promise.withResolvers<ServerResponse>()
  const port = await listen(t, (_, response) => response.on('close', () => left.resolve(response)))
  const { socket } = say(t, port, 'GET / HTTP/1.1')
  await eventually(() => socket.bytesWritten > 0)
  socket.destroy()
  const response = await left.promise
  for (const plan of [planOf(0, 100), { ...planOf(0, 0), status: 200 }]) await sendPlan(plan, response, file)
  assert.deepEqual([response.headersSent, file.closes()], [false, 2])
})

test('a visitor who leaves in the middle of HTTP/2 lets the file go', async (t) => {
  const file = watchedFile(Buffer.alloc(32 * MIB, 'x'))
  const ends: Ends = { sent: [] }
  const answer = await overHttp2(t, (response) => {
    ends.sent.push(sendPlan(planOf(0, 32 * MIB), response, file))
    setImmediate(() => response.stream.once('drain', () => response.stream.close(8)))
  })
  assert.equal(answer.code, 8)
  await Promise.all(ends.sent)
  assert.equal(file.closes(), 1)
  assert.ok(file.bytesRead() < 32 * MIB)
})

test('a visitor who takes nothing is cut off', async (t) => {
  const file = watchedFile(Buffer.alloc(32 * MIB, 'x'))
  const ends: Ends = { sent: [] }
  const port = await listen(t, sending(planOf(0, 32 * MIB), file, ends, 100))
  const { socket, end } = say(t, port, 'GET / HTTP/1.1')
  socket.pause()
  await eventually(() => file.closes() === 1)
  socket.resume()
  assert.ok((await end).length < 32 * MIB)
  assert.deepEqual(await Promise.all(ends.sent), [undefined])
  const other = watchedFile(Buffer.alloc(MIB, 'x'))
  const silent = await overHttp2(t, (response) => ends.sent.push(sendPlan(planOf(0, MIB), response, other, 100)), false)
  assert.deepEqual([silent.code, await ends.sent[1], other.closes()], [2, undefined, 1])
})

test('a file that cannot be read is reported before anything is sent, and afterwards ends the connection', async (t) => {
  for (const [cutAt, isTold] of [
    [0, true],
    [2 * MIB, false],
  ] as const) {
    const file = watchedFile(BYTES, cutAt)
    const errors: unknown[] = []
    const port = await listen(t, (_, response) => {
      sendPlan(planOf(0, BYTES.length), response, file).catch((error) => {
        errors.push(error)
        if (!response.headersSent) response.writeHead(503).end('later')
      })
    })
    const { head, body } = partsOf(await say(t, port, 'GET / HTTP/1.1').end)
    assert.equal(head.slice(9, 12), isTold ? '503' : '206')
    assert.ok(isTold ? body.endsWith('later\r\n0\r\n\r\n') : body.length <= 2 * MIB, head)
    assert.deepEqual([String(errors[0]), file.closes()], ['Error: the file was cut', 1])
  }
  const file = watchedFile(BYTES, 2 * MIB)
  const errors: unknown[] = []
  const { code } = await overHttp2(t, (response) => {
    sendPlan(planOf(0, BYTES.length), response, file).catch((error) => errors.push(error))
  })
  assert.deepEqual([code, String(errors), file.closes()], [2, 'Error: the file was cut', 1])
})
