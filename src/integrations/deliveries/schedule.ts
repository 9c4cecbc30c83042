/** The retry schedule of Standard Webhooks, 75 h 35 min in all. */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const WAITS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]
/** Up to this share is added, so that deliveries that failed together do not retry together. */
const JITTER = 0.02
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS

/** Returns the time of the attempt after `attempt`; undefined after the last one. `Retry-After` can delay it. */
export function nextAttemptAt(attempt: number, now: number, retryAfter: string | undefined): number | undefined {
  const wait = WAITS_MS[attempt - 1]
  if (wait === undefined) return undefined
  const delay = Math.min(retryAfterMs(retryAfter, now), MAX_RETRY_AFTER_MS)
  return now + Math.max(Math.floor(wait * (1 + Math.random() * JITTER)), delay)
}

/** `Retry-After` is a number of seconds or a date. Anything else counts as no delay. */
function retryAfterMs(text: string | undefined, now: number): number {
  if (text === undefined) return 0
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND_MS
  const moment = Date.parse(text)
  return Number.isNaN(moment) ? 0 : Math.max(0, moment - now)
}
