/** Moments as people say them, with the moment itself in a title. */
import { type Html, html } from '../platform/pages/html.ts'

/** TABLE the units, the largest first, in milliseconds. */
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** Stamps run ahead of the clock by less: what has happened is no future. */
const AHEAD_MS = 1000

/** `3 hours ago`, `in 2 days`, `just now`, `in less than a minute`: when something began or happened, or will. It never stands behind "since". */
export function relativeTime(moment: number, now: number): Html {
  return timeOf(moment, wordsOf(moment, now))
}

function wordsOf(moment: number, now: number): string {
  const unit = UNITS.find(([, ms]) => Math.abs(now - moment) >= ms)
  if (unit === undefined) return moment - now > AHEAD_MS ? 'in less than a minute' : 'just now'
  return words.format(-Math.trunc((now - moment) / unit[1]), unit[0])
}

function timeOf(moment: number, text: string, grain = ''): Html {
  const iso = new Date(moment).toISOString()
  return html`<time datetime="${iso}" title="${iso}${grain}">${text}</time>`
}

/** Of a last use the store keeps the hour in which it was. platform/access/last-seen.ts. */
const USE_GRAIN_MS = 3_600_000

/**
 * When something was last used, or somebody last seen: `within the last hour`, `3 hours ago`, `never` (null). `at`: the beginning of the hour, in ms;
 * `madeAt`: when it was made. It is never said to be earlier than that.
 */
export function lastUsedLabel(at: number | null, madeAt: number, now: number): Html {
  if (at === null) return html`never`
  const earliest = Math.max(at, madeAt)
  if (now - earliest >= USE_GRAIN_MS) return timeOf(earliest, wordsOf(earliest, now), ' (to the hour)')
  return timeOf(earliest, 'within the last hour', ' (to the hour)')
}
