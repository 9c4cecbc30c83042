/** Delivers what is due, in parallel within the limits of allocation.ts, so that a slow endpoint delays no other. docs/webhooks.md. */
import { setImmediate as breathe } from 'node:timers/promises'
import type { Deps } from '../../context.ts'
import type { OutgoingResult } from '../../platform/adapters/egress.ts'
import { drainLeaseQueue, type LeaseQueue, startLeaseWorker } from '../../platform/outbox/lease-loop.ts'
import type { DeliveryOutcome } from '../../platform/tracing/traces.ts'
import { allocateSlots } from './allocation.ts'
import { decideDelivery } from './endpoint.ts'
import { recordOutcome } from './outcome.ts'
import {
  dropDelivery,
  dueQueues,
  type EndpointRef,
  holdDelivery,
  type LeasedDelivery,
  lease,
  releaseHeld,
  releaseLease,
} from './queue.ts'

/** `failing`: whether its endpoint failed the last time. */
type Piece = { delivery: LeasedDelivery; failing: boolean }

/** Delivers everything due at `now`. Returns the number of deliveries attempted, held or dropped. */
export function deliverDue(deps: Deps, now: number): Promise<number> {
  return drainLeaseQueue(deliveryWork(deps), now, new AbortController().signal)
}

/** Starts the loop, which wake-ups trigger early. Returns a function that stops it: attempts in flight finish, or their leases are released. */
export function startDeliveries(deps: Deps): () => Promise<void> {
  const { wake, stop } = startLeaseWorker(deps, deliveryWork(deps))
  deps.wakeups.deliveries = wake
  return () => {
    deps.wakeups.deliveries = () => {}
    return stop()
  }
}

function deliveryWork(deps: Deps): LeaseQueue<Piece> {
  /** Where the last scan stopped. */
  let place: EndpointRef | undefined
  return {
    name: 'deliveries',
    async lease(now, pieces) {
      await releaseHeld(deps, now)
      const running = pieces.map(({ delivery: { account_id: accountId, endpoint_id: endpointId }, failing }) => {
        return { accountId, endpointId, failing }
      })
      // Each pass scans every queue once: from the last position to the end, then from the start.
      for (let atStart = place === undefined; ; ) {
        const { due, next } = await dueQueues(deps.db.read, now, place)
        const failing = new Set(
          due.filter((delivery) => delivery.failing_since !== null).map((delivery) => delivery.endpoint_id),
        )
        const shares = allocateSlots(due, running)
        const deliveries = shares.size === 0 ? [] : await lease(deps, shares, now)
        place = next
        if (deliveries.length > 0 || (next === undefined && atStart))
          return deliveries.map((delivery) => ({ delivery, failing: failing.has(delivery.endpoint_id) }))
        if (next === undefined) atStart = true
        await breathe()
      }
    },
    async run(piece, now, stop) {
      const { id, type } = piece.delivery
      const work = () => attempt(deps, piece, now, stop)
      await (deps.traces === undefined ? work() : deps.traces.delivery(id, type, work))
    },
  }
}

/** Makes one attempt and returns its outcome. Never throws: if the outcome cannot be written, the delivery is retried when its lease expires. */
async function attempt(deps: Deps, { delivery }: Piece, nowOf: () => number, stop: AbortSignal) {
  try {
    const decision = await decideDelivery(deps, delivery)
    const counted = (outcome: DeliveryOutcome) => {
      deps.metrics.counter('berth_deliveries_total', outcome).value++
      return outcome
    }
    if (decision === 'hold') {
      await holdDelivery(deps, delivery, nowOf())
      return counted('held')
    }
    if (decision === 'drop' || decision === 'gone') {
      await dropDelivery(deps, delivery, nowOf(), decision === 'gone')
      return counted('dropped')
    }
    const before = performance.now()
    const posted: OutgoingResult =
      decision === 'unreadable'
        ? { error: 'the secret does not open' }
        : await deps.adapters.egress.post(decision.send, stop)
    if ('error' in posted && stop.aborted) {
      await releaseLease(deps, delivery, nowOf())
      return undefined
    }
    const durationMs = performance.now() - before
    const url = decision === 'unreadable' ? undefined : decision.send.url
    return counted(await recordOutcome(deps, { delivery, url, posted, durationMs, now: nowOf() }))
  } catch (error) {
    deps.log.warn(
      { err: error, deliveryId: delivery.id },
      'the outcome of a delivery could not be written; the delivery is attempted again',
    )
    return undefined
  }
}
