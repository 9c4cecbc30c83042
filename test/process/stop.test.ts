/** How the real program stops: what it answers, and what it lets go. docs/operations.md: Start and stop. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { credentialsOf, newHome, processOnBothEngines, sendRequest, startService } from '../support/process.ts'
import { assertWithin, BOUNDS_HOLD } from '../support/time-limits.ts'

/** Each hashes a password. Many more would not end within the 10 s on a busy machine. */
const IN_FLIGHT = 16
/** What a stop takes at least if something was cut off. */
const CUTS_OFF_MS = 8900

processOnBothEngines(
  'SIGTERM answers what is in flight, lets idle connections go, and ends with 0 in 10 s (a bound on time)',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await startService(t, home)
    const { token, operatorToken, userId } = credentialsOf(home)
    await sendRequest(running, operatorToken, 'PATCH', `/operator/v1/accounts/${userId}`, { plan: 'enterprise' })
    await sendRequest(running, token, 'POST', '/v10/projects', { name: 'web' })
    const { hostname, port } = new URL(running.address)
    // One connection that never says a word, one that stays open after an answer.
    const silent = connect(Number(port), hostname)
    silent.on('error', () => {})
    await sendRequest(running, token, 'GET', '/v9/projects')
    const body = JSON.stringify({ passwordProtection: { deploymentType: 'all', password: 'slow on purpose' } })
    const head = `PATCH /v9/projects/web HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\nconnection: close`
    const request = `${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const sockets = Array.from({ length: IN_FLIGHT }, () => connect(Number(port), hostname))
    // All are connected before the stop, so none is refused.
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    let answered = 0
    const flight = sockets.map(async (socket) => {
      socket.write(request)
      let answer = ''
      for await (const chunk of socket) answer += chunk
      answered++
      return answer.slice(0, 'HTTP/1.1 200'.length)
    })
    // What came after them is answered, so all of them were read: what is not read 300 ms after the stop is cut off. A kept connection would overtake them.
    const last = connect(Number(port), hostname)
    last.write(`GET /healthz HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`)
    last.resume()
    await once(last, 'close')
    const before = Date.now()
    const inFlight = IN_FLIGHT - answered
    const code = await running.kill('SIGTERM')
    assert.equal(code, 0)
    const tookMs = Date.now() - before
    assertWithin(tookMs, 10_000)
    assert.ok(inFlight > 5, `only ${inFlight} were in flight`)
    const answers = await Promise.all(flight)
    // On a machine that does much else the hashing takes longer than a stop may: what was not answered by then is cut off.
    const whole = BOUNDS_HOLD || tookMs < CUTS_OFF_MS ? answers : answers.filter((answer) => answer !== '')
    assert.ok(whole.length > 5, `${whole.length} were answered`)
    assert.deepEqual(whole, Array(whole.length).fill('HTTP/1.1 200'))
    silent.destroy()
  },
)

test('after the listener is closed, an open connection gets its first request answered', {
  timeout: 300_000,
}, async (t) => {
  let said: string | undefined
  while (said === undefined) said = await askOnceClosed(t)
  assert.match(said, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(said, /\r\nconnection: close\r\n/i)
})

/** Asks on an open connection when the listener is closed. Undefined where this machine was too busy for it: such a request has 300 ms. */
async function askOnceClosed(t: TestContext): Promise<string | undefined> {
  const home = await newHome(t, 'sqlite')
  const running = await startService(t, home)
  const { hostname, port } = new URL(running.address)
  const { token } = credentialsOf(home)
  const inside = connect(Number(port), hostname)
  await once(inside, 'connect')
  // Answered after it came in, so it was admitted.
  await sendRequest(running, token, 'GET', '/v9/projects')
  const ended = running.kill('SIGTERM')
  const isOpen = () =>
    new Promise<boolean>((resolve) => {
      const knocking = connect(Number(port), hostname, () => resolve(knocking.destroy().destroyed))
      knocking.on('error', () => resolve(false))
    })
  let openAt = performance.now()
  for (let at = openAt; await isOpen(); at = performance.now()) openAt = at
  inside.write(`GET /v9/projects HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n\r\n`)
  let answer = ''
  for await (const chunk of inside) answer += chunk
  const tookMs = performance.now() - openAt
  assert.equal(await ended, 0)
  return answer === '' && tookMs > 250 ? undefined : answer
}
