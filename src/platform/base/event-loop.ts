/**
 * How requests share the one event loop of this process. An iteration of the loop accepts one new connection and reads what has
 * arrived on the others, so whatever takes long in one iteration makes every client wait. docs/limits.md.
 */

let iteration: { began: number; end: Promise<void> } | undefined

function thisIteration(): { began: number; end: Promise<void> } {
  iteration ??= {
    began: performance.now(),
    end: new Promise((resolve) => {
      setImmediate(() => {
        iteration = undefined
        resolve()
      })
    }),
  }
  return iteration
}

/** Resolves at the end of this iteration. Answers that are sent together there wake a waiting client once, which costs more than an answer. */
export function endOfIteration(): Promise<void> {
  return thisIteration().end
}

/** For how many ms this iteration has been busy with requests. */
export function iterationMs(): number {
  return performance.now() - thisIteration().began
}

/** Resolves once all that can run now has run: what was begun has ended, or waits for the network, the disk or a timer. */
export function afterNextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

/** Short requests that wait for their answer, and connections accepted since the start. */
let shortRequests = 0
let connections = 0

/** Counts a request that makes no long list: until it has its answer, long lists pause for it. */
export function beginShortRequest(): void {
  shortRequests++
}

/** Says that such a request has its answer. */
export function endShortRequest(): void {
  shortRequests--
}

/** Says that a connection was accepted: others may wait behind it to be accepted too, so long lists pause. */
export function countConnection(): void {
  connections++
}

/** A long list works for so long at a time. */
const PIECE_MS = 3
/** Then it pauses for a moment, and longer while others are busy, up to the most. */
const MIN_PAUSE_MS = 1
const MAX_PAUSE_MS = 25

/**
 * Makes something of each, one after another. Work that takes long pauses every 3 ms, so that short requests and new connections
 * wait for one piece of it and not for all. Each step should take a few milliseconds at the most.
 */
export async function mapInSlices<T, R>(all: readonly T[], make: (one: T) => R | Promise<R>): Promise<R[]> {
  const results: R[] = []
  let began = performance.now()
  for (const one of all) {
    results.push(await make(one))
    if (performance.now() - began < PIECE_MS) continue
    await pause()
    began = performance.now()
  }
  return results
}

/** Pauses, as `mapInSlices` does, once this iteration has been busy for 3 ms. Long work that is no list awaits it between its steps. */
export async function pauseWhenBusy(): Promise<void> {
  if (iterationMs() >= PIECE_MS) await pause()
}

/** Waits until no short request is left, no connection has come and no other list works in this iteration, or for as long as a pause may last. */
async function pause(): Promise<void> {
  const end = performance.now() + MAX_PAUSE_MS
  let lastTurn: number
  do {
    lastTurn = connections
    await new Promise((resolve) => setTimeout(resolve, MIN_PAUSE_MS))
  } while ((shortRequests > 0 || connections > lastTurn || iterationMs() >= PIECE_MS) && performance.now() < end)
}
