/** Times of pages. They are rendered in UTC, and `inTimeZone` changes the exact ones at the end. docs/console.md: Page layout. */
import { LAST_DATE_MS } from '../platform/base/clock.ts'
import { type Html, html, markupOf } from '../platform/pages/html.ts'

/** TABLE Units in milliseconds, largest first. */
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]
/** Not "yesterday": 47 hours ago may be the day before. */
const words = new Intl.RelativeTimeFormat('en', { numeric: 'always' })

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
  const iso = isoOf(time)
  return html`<time datetime="${iso}" title="${iso}${grain}">${text}</time>`
}

/** An expiry from before the limit of its field may be later than any date. */
function isoOf(time: number): string {
  return new Date(Math.min(time, LAST_DATE_MS)).toISOString()
}

/** Renders `3 hours ago` with the exact time below it, for lists whose times are read out or compared. */
export function relativeAndExactTime(time: number, now: number): Html {
  return html`${relativeTime(time, now)}<br><span class="soft small">${exactTime(time)}</span>`
}

/** Renders an exact time, `2026-11-28 09:30:00 UTC`. */
export function exactTime(time: number): Html {
  const [day, clock] = isoOf(time).split(/[T.]/)
  return timeOf(time, `${day} ${clock} UTC`)
}

/** Renders the time of a log line, `20:08:49`. */
export function clockTime(time: number): Html {
  return timeOf(time, isoOf(time).slice(11, 19))
}

/** Matches what `timeOf` renders. Text in markup is escaped, so a match is always an element. */
const TIME = /<time datetime="([^"]+)" title="([^"]*)">([^<]*)/g
const CLOCK = /^\d\d:\d\d:\d\d$/
const EXACT = /^\d{4}-.* UTC$/

/** Returns markup with its exact times in a time zone: titles, clocks of logs, dates. `datetime` stays in UTC. `zone`: undefined for UTC. */
export function inTimeZone({ markup }: Html, zone: string | undefined): Html {
  if (zone === undefined || zone === 'UTC') return markupOf(markup)
  const format = new Intl.DateTimeFormat('en-CA', { ...PARTS, timeZone: zone })
  return markupOf(
    markup.replaceAll(TIME, (_, iso: string, title: string, text: string) => {
      // 2026-11-28 21:08:49 GMT+01:00
      const exact = format.format(new Date(iso)).replace(', ', ' ')
      const shown = CLOCK.test(text) ? exact.slice(11, 19) : EXACT.test(text) ? exact : text
      return `<time datetime="${iso}" title="${exact}${title.slice(iso.length)}">${shown}`
    }),
  )
}

const PARTS = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'longOffset',
} as const

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
