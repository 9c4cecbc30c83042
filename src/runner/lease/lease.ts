/** When a lease is renewed, and when a runner gives it up. docs/runner.md: Lease. */
import { LEASE_TIMES } from '../../delivery/protocol/runner-protocol.ts'

/** Times are monotonic, in ms. `renewedAt`: when the last answered beat was sent, so the control plane counts from later. */
export type LeaseClock = { renewedAt: number; leaseMs: number; failures: number; triedAt: number }

/** `timeoutMs`: how long the beat may take. */
export type Renewal = { kind: 'renew'; at: number; timeoutMs: number } | { kind: 'abandon' }

/** The sandbox ends this long before the lease, so that no two runners build at once. */
export const ABANDON_BEFORE_MS = 5000
/** After a failed beat. */
const RETRY_MS = 1000

/** Returns the clock of a lease that was requested at `now`. */
export function createLeaseClock(now: number, leaseMs: number = LEASE_TIMES.leaseMs): LeaseClock {
  return { renewedAt: now, leaseMs, failures: 0, triedAt: now }
}

/** Returns when to send the next beat, or that the lease must be given up at `now`. Pure. */
export function nextRenewal({ renewedAt, leaseMs, failures, triedAt }: LeaseClock, now: number): Renewal {
  const endsAt = renewedAt + leaseMs - ABANDON_BEFORE_MS
  if (now >= endsAt) return { kind: 'abandon' }
  const planned = failures === 0 ? renewedAt + LEASE_TIMES.beatMs : triedAt + RETRY_MS
  const at = Math.min(Math.max(planned, now), endsAt)
  // A timer takes whole milliseconds, and the clock gives fractions.
  return { kind: 'renew', at, timeoutMs: Math.max(1, Math.ceil(Math.min(LEASE_TIMES.beatMs, endsAt - at))) }
}

/** Returns the clock after the answer to a beat that was sent at `sentAt`. `leaseMs` undefined: there was no answer. Pure. */
export function afterBeat(clock: LeaseClock, sentAt: number, answeredAt: number, leaseMs?: number): LeaseClock {
  if (leaseMs === undefined) return { ...clock, failures: clock.failures + 1, triedAt: answeredAt }
  return { renewedAt: sentAt, leaseMs, failures: 0, triedAt: sentAt }
}
