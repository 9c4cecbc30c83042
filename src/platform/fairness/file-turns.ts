/**
 * Files that callers send, read as they come, and deployments that are made of them. A client sends 50 files at once and gives up when one is answered
 * 429 or 503, so those that have no turn yet wait, for as long as it takes. docs/limits.md: Uploads.
 */
import { Refusal } from '../refusals/refusal.ts'
import { createSemaphore } from './semaphore.ts'

type Rules = { mostOfOne: number; mostOfAll: number; mostWaiting: number; what: string }

/**
 * TABLE how many of one owner, and of all, have a turn at once, and how many of one owner wait. An owner has never more turns than are left free, so a
 * newcomer finds one. Of files five clients at once wait; of deployments each holds its list of files.
 */
const RULES = {
  files: { mostOfOne: 8, mostOfAll: 128, mostWaiting: 256, what: 'files' },
  deployments: { mostOfOne: 2, mostOfAll: 12, mostWaiting: 32, what: 'deployments' },
} as const satisfies Record<string, Rules>

/** `bytes` must come within each `ms` in which the sender was waited for. */
type LeastSpeed = { bytes: number; ms: number }

/** 8 KiB a second: a line of 0.5 Mbit/s that sends eight files at once. */
const MIN_SPEED: LeastSpeed = { bytes: 80 * 1024, ms: 10_000 }

export type Turns = {
  /** Runs `work` when it is the owner's turn. Refuses: bad_request 400 (the sender left before, see `gone`), rate_limited 429 (too many of the owner wait). */
  inTurn<T>(owner: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T>
}

/** Turns that nobody has taken. */
export function openTurns(kind: keyof typeof RULES): Turns {
  const { mostOfOne, mostOfAll, mostWaiting, what } = RULES[kind]
  const semaphore = createSemaphore({
    slots: mostOfAll,
    canAcquire: (_, inUse, free) => inUse < mostOfOne && inUse < free,
  })
  return {
    async inTurn(owner, work, gone) {
      if (gone?.aborted) throw cutOff()
      if (semaphore.waiting(owner) >= mostWaiting)
        throw new Refusal('rate_limited', `${mostWaiting} ${what} of this account wait already. Try again later.`, {})
      if (!semaphore.tryAcquire(owner) && !(await semaphore.acquire(owner, undefined, gone))) throw cutOff()
      try {
        return await work()
      } finally {
        semaphore.release(owner)
      }
    },
  }
}

/** The refusal of a file whose sender left before its end: bad_request 400. Nobody reads it but the log. */
export function cutOff(): Refusal {
  return new Refusal('bad_request', 'The file did not arrive whole. Upload it again.', {})
}

/**
 * Hands on what a sender sends, at least as fast as `least` says. Only the time for which the sender is waited for counts: a slow disk of ours is
 * nobody's fault. Refuses: request_timeout 408.
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
      // It is awaited below, or nobody waits for it any more.
      next.catch(() => {})
      for (;;) {
        const began = performance.now()
        const came = await within(next, ms - waitedMs)
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
    // Not awaited: of a sender that says nothing it ends with the connection.
    reading.return?.(undefined).catch(() => {})
  }
}

/** Waits for something, and gives undefined when that takes longer. */
async function within<T>(awaited: Promise<T>, ms: number): Promise<true | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, ms))
  })
  try {
    return await Promise.race([awaited.then(() => true as const), late])
  } finally {
    clearTimeout(timer)
  }
}

function tooSlow(bytes: number, ms: number): Refusal {
  const message = `The file came too slowly: at least ${bytes / 1024} KiB must come in ${ms / 1000} seconds. Upload it again over a faster line, or fewer files at once.`
  return new Refusal('request_timeout', message, {})
}
