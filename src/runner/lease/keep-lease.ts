/** Renews a lease by beats until the build ends. docs/runner.md: Lease. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Beat } from '../../delivery/protocol/runner-protocol.ts'
import type { LeaseChannel } from './control-plane.ts'
import { afterBeat, type LeaseClock, nextRenewal } from './lease.ts'

export type LeaseEvents = {
  step(): Beat['step']
  /** Aborts when the step changes. */
  stepChange(): AbortSignal
  onAcknowledge(serial: number): void
  onCancel(): void
  /** Another attempt has the build, or the control plane did not answer in time: the sandbox must end now. */
  onLost(): void
}

/** Sends beats until `ended` aborts or the lease is lost. The first one, and each with another step, is sent at once. */
export async function keepLease(
  channel: Pick<LeaseChannel, 'beat'>,
  opened: LeaseClock,
  events: LeaseEvents,
  ended: AbortSignal,
): Promise<void> {
  let clock = opened
  let said: Beat['step'] | undefined
  while (!ended.aborted) {
    const next = nextRenewal(clock, performance.now())
    if (next.kind === 'abandon') return events.onLost()
    const delayMs = events.step() === said ? next.at - performance.now() : 0
    const signal = AbortSignal.any([ended, events.stepChange()])
    if (delayMs > 0) await sleep(delayMs, undefined, { signal }).catch(() => {})
    if (ended.aborted) return
    const sentAt = performance.now()
    said = events.step()
    const answer = await channel.beat(said, next.timeoutMs)
    if (ended.aborted) return
    if (answer.outcome === 'lease_lost' || answer.outcome === 'fatal') return events.onLost()
    const state = answer.outcome === 'done' ? answer.value : undefined
    clock = afterBeat(clock, sentAt, performance.now(), state?.leaseMs)
    if (state === undefined) continue
    events.onAcknowledge(state.acknowledged)
    if (state.cancel) events.onCancel()
  }
}
