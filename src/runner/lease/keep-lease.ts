/** Renews a lease by beats until the build ends. docs/runner.md: Lease. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Beat } from '../../delivery/protocol/runner-protocol.ts'
import type { LeaseChannel } from './control-plane.ts'
import { afterBeat, type LeaseClock, nextRenewal } from './lease.ts'

export type LeaseEvents = {
  step(): Beat['step']
  onAcknowledge(serial: number): void
  onCancel(): void
  /** Another attempt has the build, or the control plane did not answer in time: the sandbox must end now. */
  onLost(): void
}

/** Sends beats until `ended` aborts or the lease is lost. The first one is sent at once. */
export async function keepLease(
  channel: Pick<LeaseChannel, 'beat'>,
  opened: LeaseClock,
  events: LeaseEvents,
  ended: AbortSignal,
): Promise<void> {
  let clock = opened
  for (let isFirst = true; !ended.aborted; isFirst = false) {
    const next = nextRenewal(clock, performance.now())
    if (next.kind === 'abandon') return events.onLost()
    const delayMs = isFirst ? 0 : next.at - performance.now()
    if (delayMs > 0) await sleep(delayMs, undefined, { signal: ended }).catch(() => {})
    if (ended.aborted) return
    const sentAt = performance.now()
    const answer = await channel.beat(events.step(), next.timeoutMs)
    if (ended.aborted) return
    if (answer.outcome === 'lease_lost' || answer.outcome === 'fatal') return events.onLost()
    const state = answer.outcome === 'done' ? answer.value : undefined
    clock = afterBeat(clock, sentAt, performance.now(), state?.leaseMs)
    if (state === undefined) continue
    events.onAcknowledge(state.acknowledged)
    if (state.cancel) events.onCancel()
  }
}
