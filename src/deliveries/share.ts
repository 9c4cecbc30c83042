/**
 * How many deliveries may be under way at once on an instance: for an endpoint, for an account, and in all. Accounts take turns, one
 * delivery each, and none ever has all the places that are free: so what hangs for one account leaves room for every other.
 */
import type { Queue } from './queue.ts'

const PER_ENDPOINT = 4
/** An endpoint that fails is asked by one delivery at a time. */
const PER_FAILING_ENDPOINT = 1
const PER_ACCOUNT = 48
const IN_ALL = 256
const FAILING_IN_ALL = IN_ALL / 2
/** An account may have as many as a quarter of the places that are free, and always one. */
const OF_FREE = 4

export type Running = { accountId: string; endpointId: string; failing: boolean }

/** How many of each queue are taken now. Where it begins is left to chance, so that nobody is always last. */
export function shareOut(due: readonly Queue[], running: readonly Running[]): Map<Queue, number> {
  const tally = tallyOf(running)
  const wanted = new Map<Queue, number>()
  const start = Math.floor(Math.random() * due.length)
  const rotated = [...due.slice(start), ...due.slice(0, start)]
  let turns = [...Map.groupBy(rotated, (queue) => queue.account_id).values()]
  while (turns.length > 0) {
    for (const queues of turns) {
      const queue = queues.shift()!
      if (!tally.take(queue)) continue
      wanted.set(queue, (wanted.get(queue) ?? 0) + 1)
      queues.push(queue)
    }
    turns = turns.filter((queues) => queues.length > 0)
  }
  return wanted
}

function tallyOf(running: readonly Running[]) {
  const counts = new Map<string, number>()
  const of = (key: string) => counts.get(key) ?? 0
  const add = ({ accountId, endpointId, failing }: Running) => {
    for (const key of ['all', endpointId, accountId, ...(failing ? ['failing', `failing ${accountId}`] : [])])
      counts.set(key, of(key) + 1)
  }
  for (const one of running) add(one)
  const shareIn = (free: number) => Math.min(PER_ACCOUNT, Math.max(1, Math.floor(free / OF_FREE)))
  return {
    /** Counts one more of the queue, when there is room for it. */
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
