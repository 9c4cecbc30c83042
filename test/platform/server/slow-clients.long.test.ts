/** Slow and stalled clients over real sockets: each times out, all have one budget, and others are served. docs/spec/reliability.md T48. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { BODY_BUDGET, createBodyBudget } from '../../../src/platform/fairness/body-budget.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'
import { bodyOf, MIB, memoryOf, sendRaw } from '../../support/clients/raw-connection.ts'
import {
  credentialsOf,
  newHome,
  processOnBothEngines,
  type RunningService,
  sendRequest,
  startService,
} from '../../support/process.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { ENGINES, type Engine } from '../../support/world.ts'

test('headers and bodies that do not come end with 408; drips do not help; idle connections stay (a bound on time)', {
  timeout: 300_000,
}, async (t) => {
  // The engines side by side: what takes long is to wait.
  await Promise.all(ENGINES.map((engine) => beSlow(t, engine)))
})

async function beSlow(t: TestContext, engine: Engine): Promise<void> {
  const home = await newHome(t, engine)
  const running = await startService(t, home)
  const { token } = credentialsOf(home)
  const idle = sendRaw(running, `GET /v2/user HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  const headers = Array.from({ length: 20 }, () => sendRaw(running, 'GET /v2/user HTTP/1.1\r\nHost: x\r\nX-A: '))
  const bodies = Array.from({ length: 20 }, () => sendRaw(running, `${bodyOf(1000, token)}{`))
  const drips = Array.from({ length: 20 }, () => sendRaw(running, `${bodyOf(1000, token)}{`))
  const drip = setInterval(() => {
    for (const { socket } of drips) if (socket.writable) socket.write(' ')
  }, 500)
  t.after(() => clearInterval(drip))
  for (const line of headers) assertWithin(await line.closed, 14_000)
  for (const line of [...bodies, ...drips]) assertWithin(await line.closed, 20_000)
  for (const line of headers) assert.match(line.heard(), /^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/)
  for (const line of [...bodies, ...drips]) assert.match(line.heard(), /^HTTP\/1\.1 408 /)
  assert.match(idle.heard(), /^HTTP\/1\.1 200 /)
  idle.socket.write(`GET /v2/user HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  await idle.closed
  assert.equal(idle.heard().split('HTTP/1.1 200 ').length - 1, 2)
}

processOnBothEngines(
  'stalled bodies above the budget: the oldest are refused, and other requests are served',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await startService(t, home)
    const { token } = credentialsOf(home)
    const slow = Array.from({ length: 50 }, () => sendRaw(running, 'GET /v2/user HTTP/1.1\r\nHost: x\r\n'))
    const FORM = MIB / 4
    const head = `POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${FORM}\r\n\r\n`
    const most = Buffer.concat([Buffer.from(head), Buffer.alloc(FORM - 1, ' ')])
    const over = 20
    // Long bodies of the API wait for a turn; forms of unauthenticated clients are read as they come.
    const stalled = Array.from({ length: BODY_BUDGET / FORM + over }, () => sendRaw(running, most))
    const gone = () => stalled.filter(({ socket }) => socket.destroyed).length
    while (gone() < over) await create(running, token, 200)
    const told = stalled.filter(({ heard }) => /^HTTP\/1\.1 503 /.test(heard()))
    // A client that is disconnected while it sends may lose the response to the reset of its connection.
    assert.ok(told.length > 0, 'no client got the 503')
    assert.ok(slow.every(({ socket }) => !socket.destroyed) && stalled.some(({ socket }) => !socket.destroyed))
    await create(running, token, 200)
    const cache = memoryOf(running)
    assert.ok(cache * MIB <= 512e6, `${Math.round(cache)} MiB`)
    for (const { socket } of [...slow, ...stalled]) socket.destroy()
    await create(running, token, 200)
  },
)

let made = 0

async function create(running: RunningService, token: string, status: number): Promise<void> {
  const answer = await sendRequest(running, token, 'POST', '/v10/projects', { name: `web-${made++}` })
  assert.equal(answer?.status, status)
}

/** What reading a body ended with. */
type End = { error: Error | null; body: Buffer | undefined }

test('the body that has been arriving for longest is refused, whole bodies are not, and the budget comes back', async () => {
  const bodies = createBodyBudget(100)
  const begin = (limit = 90) => {
    const stream = new PassThrough()
    const end: Partial<End> = {}
    const release = bodies.read(stream, limit, Number.NaN, (error, body) => Object.assign(end, { error, body }))
    return { stream, end, release }
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const key = (end: Partial<End>) => (end.error instanceof Refusal ? end.error.key : end.error)
  for (let round = 0; round < 3; round++) {
    const [a, b, c, d] = [begin(), begin(), begin(), begin()]
    a.stream.end('a'.repeat(50))
    await turn()
    assert.equal(String(a.end.body), 'a'.repeat(50))
    b.stream.write('b'.repeat(30))
    await turn()
    c.stream.write('c'.repeat(15))
    await turn()
    assert.deepEqual([b.end, c.end], [{}, {}])
    c.stream.write('c'.repeat(15))
    await turn()
    assert.equal(key(b.end), 'overloaded')
    c.stream.end()
    await turn()
    assert.equal(c.end.body?.length, 30)
    // All of the rest is whole and waits for its answer: the newcomer is the oldest that can go.
    d.stream.write('d'.repeat(30))
    await turn()
    assert.equal(key(d.end), 'overloaded')
    const e = begin(10)
    e.stream.write('e'.repeat(11))
    await turn()
    assert.equal(key(e.end), 'payload_too_large')
    const f = begin()
    f.stream.write('f'.repeat(5))
    await turn()
    f.stream.destroy()
    await turn()
    assert.equal(key(f.end), 'bad_request')
    a.release()
    c.release()
  }
  const whole = begin(100)
  whole.stream.end('x'.repeat(100))
  await turn()
  assert.equal(whole.end.body?.length, 100, 'nothing is held any more')
})
