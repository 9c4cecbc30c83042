/** When a runner renews its lease, gives it up, and requests the next build. docs/runner.md: Lease. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { LEASE_TIMES } from '../../src/delivery/protocol/runner-protocol.ts'
import { openControlPlane, outcomeOf } from '../../src/runner/lease/control-plane.ts'
import { keepLease } from '../../src/runner/lease/keep-lease.ts'
import { ABANDON_BEFORE_MS, afterBeat, createLeaseClock, nextRenewal } from '../../src/runner/lease/lease.ts'
import { retryPauseMs } from '../../src/runner/log/log-upload.ts'
import { pollPauseMs } from '../../src/runner/poll.ts'
import { leaseOf, RUNNER_TOKEN, startProtocolServer } from './protocol-server.ts'

async function iterations(): Promise<void> {
  for (let n = 0; n < 5; n++) await nextIteration()
}

test('a lease is renewed every 5 s, each second after a failure, and given up 5 s before it ends', () => {
  let clock = createLeaseClock(0)
  assert.deepEqual(nextRenewal(clock, 0), { kind: 'renew', at: LEASE_TIMES.beatMs, timeoutMs: LEASE_TIMES.beatMs })
  clock = afterBeat(clock, 5000, 5100)
  assert.equal((nextRenewal(clock, 5100) as { at: number }).at, 6100)
  const end = LEASE_TIMES.leaseMs - ABANDON_BEFORE_MS
  for (let now = 5100; now < end; now += 100) {
    const next = nextRenewal(clock, now)
    assert.ok(next.kind === 'renew' && next.at + next.timeoutMs <= end + 1, `${now}`)
  }
  assert.deepEqual(nextRenewal(clock, end), { kind: 'abandon' })
})

test('a lease that is got at the end of a held request has time for its first beats', () => {
  const first = nextRenewal(createLeaseClock(0), LEASE_TIMES.pollMs)
  assert.deepEqual(first, { kind: 'renew', at: LEASE_TIMES.pollMs, timeoutMs: LEASE_TIMES.beatMs })
  const left = LEASE_TIMES.leaseMs - ABANDON_BEFORE_MS - LEASE_TIMES.pollMs
  assert.ok(left >= 2 * LEASE_TIMES.beatMs)
})

test('the time of a beat is one that a timer takes, however little is left of the lease', () => {
  const clock = afterBeat(createLeaseClock(0.25), 6000.5, 6000.75)
  const end = 0.25 + LEASE_TIMES.leaseMs - ABANDON_BEFORE_MS
  for (const left of [9000.3, 4999.9, 1349.0851, 1000.1, 0.4]) {
    const next = nextRenewal({ ...clock, triedAt: end - left - 1000 }, end - left)
    assert.ok(next.kind === 'renew', `${left}`)
    assert.doesNotThrow(() => AbortSignal.timeout(next.timeoutMs), `${left}`)
  }
})

test('an answer counts from when the beat was sent, not from when it arrived', () => {
  const clock = afterBeat(createLeaseClock(0), 6000, 10_000, 30_000)
  assert.deepEqual(nextRenewal(clock, 6000 + 30_000 - ABANDON_BEFORE_MS), { kind: 'abandon' })
  assert.equal((nextRenewal(clock, 10_000) as { at: number }).at, 11_000)
})

test('a step that begins is reported at once, without waiting for the time of the next beat', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  t.mock.method(performance, 'now', () => 0)
  const said: string[] = []
  const build = { step: 'preparing' as 'preparing' | 'building', change: new AbortController() }
  const ended = new AbortController()
  const beats = keepLease(
    {
      async beat(step) {
        said.push(step)
        return { outcome: 'done', value: { leaseMs: LEASE_TIMES.leaseMs, acknowledged: -1, cancel: false } }
      },
    },
    createLeaseClock(0),
    {
      ...{ step: () => build.step, stepChange: () => build.change.signal },
      ...{ onAcknowledge() {}, onCancel: assert.fail, onLost: assert.fail },
    },
    ended.signal,
  )
  await iterations()
  assert.deepEqual(said, ['preparing'])
  const { change } = build
  Object.assign(build, { step: 'building', change: new AbortController() })
  change.abort()
  await iterations()
  assert.deepEqual(said, ['preparing', 'building'])
  ended.abort()
  await beats
})

test('a beat waits for no other request, however many are held open or carry files', {
  timeout: 300_000,
}, async (t) => {
  const server = await startProtocolServer(t)
  const controlPlane = openControlPlane(server.url, RUNNER_TOKEN)
  t.after(() => controlPlane.close())
  const request = { runner: 'a'.repeat(16), hostname: 'test', version: '1.0.0' }
  server.waiting.push({ lease: leaseOf(), source: {} })
  await controlPlane.lease(request, t.signal)
  server.fault = (_, path) => (path.endsWith('/beat') ? undefined : 'hang')
  const channel = controlPlane.below(leaseOf())
  const held = Array.from({ length: 100 }, () => controlPlane.lease(request, t.signal))
  const files = Array.from({ length: 100 }, (_, at) => channel.sourceFile(String(at), t.signal))
  assert.equal((await channel.beat('building', LEASE_TIMES.beatMs)).outcome, 'done')
  await server.close()
  await Promise.all([...held, ...files])
})

test('answers of the control plane', () => {
  const statuses = [200, 204, 400, 401, 404, 408, 409, 413, 425, 429, 500, 503]
  assert.deepEqual(statuses.map(outcomeOf), [
    ...['done', 'done', 'fatal', 'fatal', 'fatal', 'retry', 'lease_lost', 'fatal', 'retry', 'retry', 'retry', 'retry'],
  ])
})

test('requests for a build back off after failures, and never spin', () => {
  const pause = (outcome: 'idle' | 'retry' | 'fatal', tookMs: number, failures: number) =>
    pollPauseMs({ outcome, tookMs, failures }, 1)
  assert.equal(pause('idle', 25_000, 0), 0)
  assert.equal(pause('idle', 3, 0), 997)
  assert.deepEqual(
    [1, 2, 3, 20].map((failures) => pause('retry', 0, failures)),
    [1000, 2000, 4000, 15_000],
  )
  assert.equal(pause('fatal', 0, 1), 15_000)
  assert.deepEqual([0, 1, 2, 50].map(retryPauseMs), [500, 1000, 2000, 5000])
})
