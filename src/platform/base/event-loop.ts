/**
 * How requests share the one event loop. An iteration accepts one new connection and reads what arrived on the others, so long work in one iteration
 * delays every client. docs/limits.md.
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

/** Resolves at the end of this iteration. Responses sent together there wake a waiting client once; a wake-up costs more than a response. */
export function endOfIteration(): Promise<void> {
  return thisIteration().end
}

/** Returns for how many ms this iteration has been busy with requests. */
export function iterationMs(): number {
  return performance.now() - thisIteration().began
}

/** Resolves after all work that can run now: the rest waits for the network, the disk or a timer. */
export function afterNextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

/** Pending short requests, and connections accepted since the start. */
let shortRequests = 0
let connections = 0

/** Counts a short request: until it is answered, long lists pause for it. */
export function beginShortRequest(): void {
  shortRequests++
}

/** Counts a short request as answered. */
export function endShortRequest(): void {
  shortRequests--
}

/** Counts an accepted connection. Others may be queued behind it, so long lists pause. */
export function countConnection(): void {
  connections++
}

const PIECE_MS = 3
/** Pause between slices; longer while others are busy, up to the maximum. */
const MIN_PAUSE_MS = 1
const MAX_PAUSE_MS = 25

/**
 * Maps items in order. Long work pauses every 3 ms, so that short requests and new connections wait for one slice only. Each step should take a few
 * milliseconds at most.
 */
export async function mapInSlices<T, R>(all: readonly T[], make: (item: T) => R | Promise<R>): Promise<R[]> {
  const results: R[] = []
  let began = performance.now()
  for (const item of all) {
    results.push(await make(item))
    if (performance.now() - began < PIECE_MS) continue
    await pause()
    began = performance.now()
  }
  return results
}

/** Pauses as `mapInSlices` does once this iteration has been busy for 3 ms. For long work that is not a list. */
export async function pauseWhenBusy(): Promise<void> {
  if (iterationMs() >= PIECE_MS) await pause()
}

/** Pauses as `mapInSlices` does while short requests are pending. For long work that cannot pause once it runs, such as parsing a large body. */
export async function pauseForShortRequests(): Promise<void> {
  if (shortRequests > 0 || iterationMs() >= PIECE_MS) await pause()
}

/** Waits until no short request, new connection or other list is pending in this iteration, up to the longest pause. */
async function pause(): Promise<void> {
  const end = performance.now() + MAX_PAUSE_MS
  let lastTurn: number
  do {
    lastTurn = connections
    await new Promise((resolve) => setTimeout(resolve, MIN_PAUSE_MS))
  } while ((shortRequests > 0 || connections > lastTurn || iterationMs() >= PIECE_MS) && performance.now() < end)
}
