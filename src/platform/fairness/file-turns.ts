/**
 * Turns of file uploads and of deployments made from them. A client sends 50 files at once and gives up on a 429 or 503, so files wait for a turn
 * without a timeout. docs/limits.md: Uploads.
 */
import { Refusal } from '../refusals/refusal.ts'
import { createSemaphore } from './semaphore.ts'
import { withTimeLimit } from './time-limit.ts'

type Rules = { maxPerOwner: number; maxTotal: number; maxWaiting: number; what: string }

/**
 * TABLE Turns of one owner and of all, and waiting requests of one owner. An owner never has more turns than are free, so a newcomer finds one. Five
 * file clients can wait at once; each deployment holds its list of files.
 */
const RULES = {
  files: { maxPerOwner: 8, maxTotal: 128, maxWaiting: 256, what: 'files' },
  deployments: { maxPerOwner: 2, maxTotal: 12, maxWaiting: 32, what: 'deployments' },
} as const satisfies Record<string, Rules>

/** `bytes` must arrive within each `ms` of waiting. */
type LeastSpeed = { bytes: number; ms: number }

/** 8 KiB/s: a line of 0.5 Mbit/s that sends eight files at once. */
const MIN_SPEED: LeastSpeed = { bytes: 80 * 1024, ms: 10_000 }

export type Turns = {
  /** Runs `work` when it is the owner's turn. Refuses: bad_request 400 (the sender left before, see `signal`), rate_limited 429 (too many of the owner wait). */
  inTurn<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Creates the turns of a kind. */
export function createTurns(kind: keyof typeof RULES): Turns {
  const { maxPerOwner, maxTotal, maxWaiting, what } = RULES[kind]
  const semaphore = createSemaphore({
    slots: maxTotal,
    canAcquire: (_, inUse, free) => inUse < maxPerOwner && inUse < free,
  })
  return {
    async inTurn(owner, work, signal) {
      if (signal?.aborted) throw cutOff()
      if (semaphore.waiting(owner) >= maxWaiting)
        throw new Refusal('rate_limited', `${maxWaiting} ${what} of this account wait already. Try again later.`, {})
      if (!semaphore.tryAcquire(owner) && !(await semaphore.acquire(owner, undefined, signal))) throw cutOff()
      try {
        return await work()
      } finally {
        semaphore.release(owner)
      }
    },
  }
}

/** Returns the error of a file whose sender disconnected early: bad_request 400. Only the log shows it. */
export function cutOff(): Refusal {
  return new Refusal('bad_request', 'The upload was interrupted. Upload the file again.', {})
}

/**
 * Yields the chunks of a sender that is at least as fast as `least`. Counts only the time spent waiting for the sender, not for the disk. Refuses:
 * request_timeout 408.
 */
export async function* atLeastSpeed(
  pieces: AsyncIterable<Buffer>,
  { bytes, ms }: LeastSpeed = MIN_SPEED,
): AsyncGenerator<Buffer> {
  const reading = pieces[Symbol.asyncIterator]()
  let [cameBytes, waitedMs] = [0, 0]
  const endSpan = () => {
    if (cameBytes < bytes) throw tooSlow(bytes, ms)
    cameBytes = 0
    waitedMs = 0
  }
  try {
    for (;;) {
      const next = reading.next()
      // It is awaited below, or not needed any more.
      next.catch(() => {})
      for (;;) {
        const began = performance.now()
        const came = await withTimeLimit(next, Math.max(0, ms - waitedMs), undefined)
        waitedMs += performance.now() - began
        if (came !== undefined) break
        waitedMs = ms
        endSpan()
      }
      const { done, value } = await next
      if (done) return
      cameBytes += value.length
      if (waitedMs >= ms) endSpan()
      yield value
    }
  } finally {
    // Not awaited: with a silent sender it ends with the connection.
    reading.return?.(undefined).catch(() => {})
  }
}

function tooSlow(bytes: number, ms: number): Refusal {
  const message = `The file came too slowly: at least ${bytes / 1024} KiB must come in ${ms / 1000} seconds. Upload it again over a faster line, or fewer files at once.`
  return new Refusal('request_timeout', message, {})
}
