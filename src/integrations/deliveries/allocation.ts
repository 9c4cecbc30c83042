/**
 * Limits on deliveries in flight: per endpoint, per account and per instance. Slots are allocated round-robin by account, and no account gets all
 * free slots, so its hanging receivers leave room for others.
 */
import type { Queue } from './queue.ts'

const PER_ENDPOINT = 4
/** An endpoint that fails gets one delivery at a time. */
const PER_FAILING_ENDPOINT = 1
const PER_ACCOUNT = 48
const IN_ALL = 256
const FAILING_IN_ALL = IN_ALL / 2
/** An account gets at most a quarter of the free slots, but at least one. */
const OF_FREE = 4

export type RunningDelivery = { accountId: string; endpointId: string; failing: boolean }

/** Returns the deliveries to lease per queue. Starts with a random queue, so that no account is always last. */
export function allocateSlots(due: readonly Queue[], running: readonly RunningDelivery[]): Map<Queue, number> {
  const tally = tallyOf(running)
  const shares = new Map<Queue, number>()
  const start = Math.floor(Math.random() * due.length)
  const rotated = [...due.slice(start), ...due.slice(0, start)]
  let turns = [...Map.groupBy(rotated, (queue) => queue.account_id).values()]
  while (turns.length > 0) {
    for (const queues of turns) {
      const queue = queues.shift()!
      if (!tally.take(queue)) continue
      shares.set(queue, (shares.get(queue) ?? 0) + 1)
      queues.push(queue)
    }
    turns = turns.filter((queues) => queues.length > 0)
  }
  return shares
}

function tallyOf(running: readonly RunningDelivery[]) {
  const counts = new Map<string, number>()
  const of = (key: string) => counts.get(key) ?? 0
  const add = ({ accountId, endpointId, failing }: RunningDelivery) => {
    for (const key of ['all', endpointId, accountId, ...(failing ? ['failing', `failing ${accountId}`] : [])])
      counts.set(key, of(key) + 1)
  }
  for (const entry of running) add(entry)
  const shareIn = (free: number) => Math.min(PER_ACCOUNT, Math.max(1, Math.floor(free / OF_FREE)))
  return {
    /** Allocates a slot to the queue if one is free, and returns whether it did. */
    take({ account_id: accountId, endpoint_id: endpointId, failing_since }: Queue): boolean {
      const failing = failing_since !== null
      const free = IN_ALL - of('all')
      const freeFailing = FAILING_IN_ALL - of('failing')
      if (free <= 0 || of(endpointId) >= (failing ? PER_FAILING_ENDPOINT : PER_ENDPOINT)) return false
      if (of(accountId) >= shareIn(free)) return false
      if (failing && (freeFailing <= 0 || of(`failing ${accountId}`) >= shareIn(freeFailing))) return false
      add({ accountId, endpointId, failing })
      return true
    },
  }
}
