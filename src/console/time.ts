/** Moments as people say them, with the moment itself in a title. */
import { type Html, html } from '../pages/html.ts'

/** TABLE the units, the largest first, in milliseconds. */
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** `3 hours ago`, `in 2 days`, `just now`. */
export function ago(moment: number, now: number): Html {
  const iso = new Date(moment).toISOString()
  const unit = UNITS.find(([, ms]) => Math.abs(now - moment) >= ms)
  const text = unit === undefined ? 'just now' : words.format(-Math.trunc((now - moment) / unit[1]), unit[0])
  return html`<time datetime="${iso}" title="${iso}">${text}</time>`
}
