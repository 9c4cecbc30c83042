/** Slow and stalled clients over real sockets: each is let go in its time, all of them together have a budget, and others are served. reliability.md T48. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BODY_BUDGET, openBodies } from '../src/http/bodies.ts'
import { Refusal } from '../src/refusal.ts'
import { credentialsOf, newHome, processOnBothEngines, type Running, start } from './process.ts'

const MIB = 1024 * 1024

type Line = { socket: Socket; heard(): string; closed: Promise<number> }

/** A connection that says these bytes, and then nothing. `closed`: after how many ms the other side let it go. */
function say(running: Running, bytes: string | Buffer): Line {
  const { hostname, port } = new URL(running.address)
  const began = performance.now()
  let heard = ''
  const socket = connect(Number(port), hostname, () => socket.write(bytes))
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.on('close', () => resolve(performance.now() - began)))
  return { socket, heard: () => heard, closed }
}

function bodyOf(length: number, token: string, path = '/v10/projects/web/env'): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
}

/** The most memory it ever had resident, in MiB. */
function memoryOf(running: Running): number {
  const text = readFileSync(`/proc/${running.child.pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(text)?.[1]) / 1024
}

processOnBothEngines(
  'headers and bodies that do not come are let go with 408; drips do not help; idle connections stay',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await start(t, home)
    const { token } = credentialsOf(home)
    const idle = say(running, `GET /v2/user HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    const headers = Array.from({ length: 20 }, () => say(running, 'GET /v2/user HTTP/1.1\r\nHost: x\r\nX-A: '))
    const bodies = Array.from({ length: 20 }, () => say(running, `${bodyOf(1000, token)}{`))
    const drips = Array.from({ length: 20 }, () => say(running, `${bodyOf(1000, token)}{`))
    const drip = setInterval(() => {
      for (const { socket } of drips) if (socket.writable) socket.write(' ')
    }, 500)
    t.after(() => clearInterval(drip))
    for (const line of headers) assert.ok((await line.closed) < 14_000)
    for (const line of [...bodies, ...drips]) assert.ok((await line.closed) < 20_000)
    for (const line of headers) assert.match(line.heard(), /^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/)
    for (const line of [...bodies, ...drips]) assert.match(line.heard(), /^HTTP\/1\.1 408 /)
    assert.match(idle.heard(), /^HTTP\/1\.1 200 /)
    idle.socket.write(`GET /v2/user HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    await idle.closed
    assert.equal(idle.heard().split('HTTP/1.1 200 ').length - 1, 2)
  },
)

processOnBothEngines(
  'a thousand stalled sockets and a thousand stalled bodies of a MiB: others are served at once, and memory is bounded',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await start(t, home)
    const { token } = credentialsOf(home)
    const call = (method: string, path: string, body?: object) =>
      fetch(`${running.address}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
    assert.equal((await call('POST', '/v10/projects', { name: 'web' })).status, 200)
    const slow = Array.from({ length: 1000 }, () => say(running, 'GET /v2/user HTTP/1.1\r\nHost: x\r\n'))
    const most = Buffer.concat([Buffer.from(bodyOf(MIB, token)), Buffer.alloc(MIB - 1, ' ')])
    const stalled = Array.from({ length: 1000 }, () => say(running, most))
    const cut = () => stalled.filter(({ heard }) => /^HTTP\/1\.1 503 [\s\S]*"code":"overloaded"/.test(heard()))
    const env = { key: 'K', value: 'x'.repeat(30_000), type: 'plain', target: ['production'], gitBranch: null }
    const write = async () => {
      const made = await call('POST', '/v10/projects/web/env?upsert=true', env)
      assert.equal(made.status, 201, await made.text())
    }
    // While they arrive this process is busy sending them: what is asked now is served, and not timed.
    const over = 1000 - BODY_BUDGET / MIB
    while (stalled.filter(({ socket }) => socket.destroyed).length < over) await write()
    const took: number[] = []
    for (let n = 0; n < 200; n++) {
      const began = performance.now()
      assert.equal((await call('GET', '/v9/projects/web')).status, 200)
      took.push(performance.now() - began)
      if (n % 10 === 0) await write()
      await sleep(20)
    }
    assert.ok(slow.every(({ socket }) => !socket.destroyed) && stalled.some(({ socket }) => !socket.destroyed))
    const p99 = took.sort((a, b) => a - b)[Math.floor(took.length * 0.99)]!
    const memory = memoryOf(running)
    t.diagnostic(
      `p99 ${p99.toFixed(1)} ms, ${Math.round(memory)} MiB at most, ${cut().length} of those let go were told`,
    )
    // Who is let go while it sends may lose the answer to the reset of its connection.
    assert.ok(cut().length > 0, 'nobody was told')
    assert.ok(p99 <= 50, `p99 ${p99} ms`)
    assert.ok(memory * MIB <= 512e6, `${Math.round(memory)} MiB`)
    for (const { socket } of [...slow, ...stalled]) socket.destroy()
    assert.equal((await call('GET', '/v9/projects/web')).status, 200)
  },
)

/** What reading a body ended with. */
type End = { error: Error | null; body: Buffer | undefined }

test('the body that has been arriving for longest gives way, what is whole does not, and all of it comes back', async () => {
  const bodies = openBodies(100)
  const begin = (limit = 90) => {
    const stream = new PassThrough()
    const end: Partial<End> = {}
    bodies.read(stream, limit, Number.NaN, (error, body) => Object.assign(end, { error, body }))
    return { stream, end }
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
    bodies.release(a.end.body!)
    bodies.release(c.end.body!)
  }
  const whole = begin(100)
  whole.stream.end('x'.repeat(100))
  await turn()
  assert.equal(whole.end.body?.length, 100, 'nothing is held any more')
})
