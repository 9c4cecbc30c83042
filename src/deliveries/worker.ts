/** Delivers what is due, as many at once as `share.ts` says. So whoever is slow is slow alone. docs/webhooks.md. */
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises'
import type { Posted } from '../adapters/egress.ts'
import type { Deps } from '../context.ts'
import { decide } from './endpoint.ts'
import { recordOutcome } from './outcome.ts'
import { drop, dueQueues, giveBack, hold, type Leased, lease, type Place, releaseHeld } from './queue.ts'
import { type Running, shareOut } from './share.ts'

/** Other instances write too, and what was put off comes due: the queue is looked at this often. */
const POLL_MS = 1000
/** After a write said so: shortly, when it is committed; and once more, should it have taken longer. */
const SOON_MS = [15, 150]
/** How long attempts in flight may go on once the service stops; then they are given back. */
const STOP_MS = 3000

type Rounds = {
  /** Takes what is due and there is room for, and begins to deliver it. Gives how many it took. */
  begin(now: number): Promise<number>
  /** How many have ended so far: one that ends while it is looked for what is due may have made the next one due. */
  ended(): number
  /** Resolves when one of those in flight has ended; at once when there is none. */
  oneEnded(): Promise<unknown>
  allEnded(): Promise<unknown>
}

/** Delivers all that is due as of `now`, to the end. Gives the number of attempts and decisions made. */
export async function deliverDue(deps: Deps, now: number): Promise<number> {
  const rounds = openRounds(deps, () => now, new AbortController().signal)
  for (let done = 0; ; ) {
    const ended = rounds.ended()
    const begun = await rounds.begin(now)
    done += begun
    if (begun === 0 && rounds.ended() === ended && (await rounds.oneEnded()) === undefined) return done
  }
}

/** Starts the loop, which a nudge makes look soon. The answer stops it: what is in flight ends, or is given back. */
export function startDeliveries(deps: Deps): () => Promise<void> {
  const giveUp = new AbortController()
  const rounds = openRounds(deps, deps.clock.now, giveUp.signal, () => look(0))
  const timers = new Set<NodeJS.Timeout>()
  let stopping = false
  let looking: Promise<void> | undefined
  let again = false

  const look = (afterMs: number) => {
    if (stopping) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      again = looking !== undefined
      looking ??= round()
    }, afterMs)
    timers.add(timer)
  }
  const round = async () => {
    try {
      await rounds.begin(deps.clock.now())
    } catch (error) {
      deps.log.warn({ err: error }, 'deliveries could not be looked for; they are again in a second')
    }
    looking = undefined
    if (again) look(0)
    again = false
  }
  const poll = setInterval(() => look(0), POLL_MS)
  deps.wakeups.deliveries = () => {
    if (timers.size < 2 * SOON_MS.length) for (const afterMs of SOON_MS) look(afterMs)
  }
  return async () => {
    stopping = true
    deps.wakeups.deliveries = () => {}
    clearInterval(poll)
    for (const timer of timers) clearTimeout(timer)
    await looking
    await Promise.race([rounds.allEnded(), sleep(STOP_MS, undefined, { ref: false })])
    giveUp.abort()
    await rounds.allEnded()
  }
}

function openRounds(deps: Deps, nowOf: () => number, stop: AbortSignal, onEnd = () => {}): Rounds {
  const running = new Map<Promise<boolean>, Running>()
  let ended = 0
  /** Where the last look stopped. */
  let place: Place | undefined

  const begin = (delivery: Leased, failing: boolean) => {
    const run: Promise<boolean> = attempt(deps, delivery, nowOf, stop).then(() => {
      running.delete(run)
      ended++
      onEnd()
      return true
    })
    running.set(run, { accountId: delivery.account_id, endpointId: delivery.endpoint_id, failing })
  }
  return {
    async begin(now) {
      await releaseHeld(deps, now)
      // Round once: from where the last look stopped to there again.
      for (let atStart = place === undefined; ; ) {
        const { due, next } = await dueQueues(deps.db.read, now, place)
        const failing = new Set(due.filter((one) => one.failing_since !== null).map((one) => one.endpoint_id))
        const wanted = shareOut(due, [...running.values()])
        const taken = wanted.size === 0 ? [] : await lease(deps, wanted, now)
        for (const delivery of taken) begin(delivery, failing.has(delivery.endpoint_id))
        place = next
        if (taken.length > 0 || (next === undefined && atStart)) return taken.length
        if (next === undefined) atStart = true
        await breathe()
      }
    },
    ended: () => ended,
    oneEnded: () => Promise.race([...running.keys(), ...(running.size === 0 ? [Promise.resolve(undefined)] : [])]),
    allEnded: () => Promise.all(running.keys()),
  }
}

/** One attempt. Never throws: what could not be written down is attempted again when its lease ends. */
async function attempt(deps: Deps, delivery: Leased, nowOf: () => number, stop: AbortSignal): Promise<void> {
  try {
    const decision = await decide(deps, delivery)
    const count = (outcome: string) => void deps.metrics.counter('berth_deliveries_total', outcome).value++
    if (decision === 'hold') {
      await hold(deps, delivery, nowOf())
      return count('held')
    }
    if (decision === 'drop' || decision === 'gone') {
      await drop(deps, delivery, nowOf(), decision === 'gone')
      return count('dropped')
    }
    const before = performance.now()
    const posted: Posted =
      decision === 'unreadable'
        ? { error: 'the secret does not open' }
        : await deps.adapters.egress.post(decision.send, stop)
    if ('error' in posted && stop.aborted) return await giveBack(deps, delivery, nowOf())
    const durationMs = performance.now() - before
    const url = decision === 'unreadable' ? undefined : decision.send.url
    count(await recordOutcome(deps, { delivery, url, posted, durationMs, now: nowOf() }))
  } catch (error) {
    deps.log.warn({ err: error, deliveryId: delivery.id }, 'a delivery could not be written down; it is made again')
  }
}
