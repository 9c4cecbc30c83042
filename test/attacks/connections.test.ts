/** One party holds as many connections as it gets: whether a newcomer is answered. docs/limits.md: Connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { newHome, processOnBothEngines, type RunningService, startService } from '../support/process.ts'

const SOCKETS = 11_000
const NEWCOMERS = 40
/** A newcomer may meet the burst in which the attacker connects, on a machine that others use. */
const MAX_MS = 2000
const BATCH = 500
const MAX_WAITS = 200
const ATTACKS: readonly [name: string, addressOf: (at: number) => string][] = [
  ['one address', () => '127.0.0.66'],
  ['thousands of addresses', (at) => `127.1.${at >> 7}.${(at % 128) + 1}`],
]
/** Most are kept alive, which costs the attacker nothing. Every hundredth says nothing, half a request, or stalls in its body. */
const KEPT = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
const STALLED = [
  '',
  'GET /v2/user HTTP/1.1\r\nHost: localhost\r\n',
  'POST /v10/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{',
]

for (const [name, addressOf] of ATTACKS)
  processOnBothEngines(`${SOCKETS} connections of ${name}: every newcomer is answered`, async (t, engine) => {
    const running = await startService(t, await newHome(t, engine))
    const edge = /Proxies ask (http:\S+)/.exec(running.out())?.[1] ?? ''
    assert.notEqual(edge, '', running.out())
    for (const [port, path] of [
      [new URL(running.address).port, '/healthz'],
      [new URL(edge).port, '/edge/v1/ready'],
    ] as const) {
      const held = await hold(Number(port), addressOf)
      const took: number[] = []
      // From an address of their own, and from one of the attacker's: behind it may be others.
      for (let n = 0; n < NEWCOMERS; n++)
        took.push(await visit(Number(port), path, n % 2 === 0 ? '127.0.0.77' : addressOf(n)))
      t.diagnostic(`${path}: ${held.filter(({ destroyed }) => !destroyed).length} held, worst ${max(took)} ms`)
      assert.ok(max(took) <= MAX_MS, `${path}: ${max(took)} ms`)
      for (const socket of held) socket.destroy()
    }
    assert.ok(isUp(running))
  })

/** Opens all connections, and leaves them as they are. Gives them once each has its answer or was closed: the burst is over then. */
async function hold(port: number, addressOf: (at: number) => string): Promise<Socket[]> {
  const held: Socket[] = []
  let answered = 0
  for (let at = 0; at < SOCKETS; at++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(at) })
    const stalls = at % 100 < STALLED.length
    let isAnswered = false
    const note = () => {
      if (!isAnswered) answered++
      isAnswered = true
    }
    socket.on('error', () => {})
    socket.on('connect', () => socket.write(stalls ? STALLED[at % 100]! : KEPT))
    socket
      .on(stalls ? 'connect' : 'data', note)
      .on('close', note)
      .resume()
    held.push(socket)
    if (at % BATCH === 0) await sleep(1)
  }
  // Without room for them some are never accepted.
  for (let waits = 0; answered < SOCKETS && waits < MAX_WAITS; waits++) await sleep(100)
  return held
}

/** How many ms a newcomer waits for the first byte of the answer. */
async function visit(port: number, path: string, localAddress: string): Promise<number> {
  const began = performance.now()
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  const heard = await Promise.race([
    once(socket, 'data').then(([data]) => String(data)),
    once(socket, 'close').then(() => 'closed'),
    sleep(2 * MAX_MS).then(() => 'silence'),
  ])
  socket.destroy()
  assert.match(heard, /^HTTP\/1\.1 200 /, `a newcomer from ${localAddress} at ${path}`)
  return Math.round(performance.now() - began)
}

function max(all: number[]): number {
  return Math.max(...all)
}

function isUp({ child }: RunningService): boolean {
  return child.exitCode === null
}
