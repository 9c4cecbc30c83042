import { type Html, html } from '../platform/pages/html.ts'

/** TABLE Units in milliseconds, largest first. */
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** Stamps can be ahead of the clock by less; past events are never shown as future. */
const AHEAD_MS = 1000

/** Renders `3 hours ago`, `in 2 days`, `just now` or `in less than a minute`, with the exact time as a title. Never follows "since". */
export function relativeTime(time: number, now: number): Html {
  return timeOf(time, wordsOf(time, now))
}

function wordsOf(time: number, now: number): string {
  const unit = UNITS.find(([, ms]) => Math.abs(now - time) >= ms)
  if (unit === undefined) return time - now > AHEAD_MS ? 'in less than a minute' : 'just now'
  // A token of 90 days ends "in 3 months", also a second later.
  const passed = (now - time) / unit[1]
  return words.format(-(passed < 0 ? Math.round(passed) : Math.trunc(passed)), unit[0])
}

function timeOf(time: number, text: string, grain = ''): Html {
  const iso = new Date(time).toISOString()
  return html`<time datetime="${iso}" title="${iso}${grain}">${text}</time>`
}

/** Renders `3 hours ago` with the exact time below it, in UTC, for lists whose times are read out or compared. */
export function relativeAndExactTime(time: number, now: number): Html {
  return html`${relativeTime(time, now)}<br><span class="soft small">${exactTime(time)}</span>`
}

/** Returns a time in UTC, such as `2026-11-28 09:30:00 UTC`. */
export function exactTime(time: number): string {
  const [day, clock] = new Date(time).toISOString().split(/[T.]/)
  return `${day} ${clock} UTC`
}

/** Returns `48 s`, `3 min 5 s` or `2 h 4 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

/** The last use is stored by the hour. platform/access/last-seen.ts. */
const USE_GRAIN_MS = 3_600_000

/**
 * Renders when something was last used: `within the last hour`, `3 hours ago`, `never` (null). `at`: the start of the hour in ms. Never
 * earlier than `madeAt`.
 */
export function lastUsedLabel(at: number | null, madeAt: number, now: number): Html {
  if (at === null) return html`never`
  const earliest = Math.max(at, madeAt)
  if (now - earliest >= USE_GRAIN_MS) return timeOf(earliest, wordsOf(earliest, now), ' (to the hour)')
  return timeOf(earliest, 'within the last hour', ' (to the hour)')
}
