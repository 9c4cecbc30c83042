/** States: a shape, a word and a color, so that each reads without the others. docs/console.md: Page layout. */
import { type Html, html, markupOf } from '../html.ts'

/** TABLE Shapes on a grid of 16. */
const GLYPHS = {
  live: '<circle cx="8" cy="8" r="6.2"/><circle class="full" cx="8" cy="8" r="3"/>',
  ready: '<circle class="full" cx="8" cy="8" r="7"/><path class="gap" d="m5 8.2 2.1 2.1L11 6"/>',
  building: '<circle cx="8" cy="8" r="6.2" opacity=".28"/><path class="turn" d="M8 1.8A6.2 6.2 0 0 1 14.2 8"/>',
  queued: '<circle cx="8" cy="8" r="6.2" stroke-dasharray="2.4 2.47"/>',
  failed:
    '<path class="full" d="M7.2.9a1.15 1.15 0 0 1 1.6 0l6.3 6.3a1.15 1.15 0 0 1 0 1.6l-6.3 6.3a1.15 1.15 0 0 1-1.6 0L.9 8.8a1.15 1.15 0 0 1 0-1.6z"/><path class="gap" d="m5.9 5.9 4.2 4.2m0-4.2-4.2 4.2"/>',
  canceled: '<circle cx="8" cy="8" r="6.2"/><path d="m4.4 11.6 7.2-7.2"/>',
  paused: '<rect x="1.8" y="1.8" width="12.4" height="12.4" rx="3.2"/><path d="M6.2 5.6v4.8M9.8 5.6v4.8"/>',
  waiting: '<circle cx="8" cy="8" r="6.2"/><path d="M8 4.6V8l2.2 1.6"/>',
  pending: '<circle cx="8" cy="8" r="6.2"/><path class="full" d="M8 1.8a6.2 6.2 0 0 1 0 12.4z"/>',
  warning: '<path d="M8 2 14.6 13.6H1.4z"/><path d="M8 6.6v3.2M8 11.7v.01"/>',
  idle: '<circle cx="8" cy="8" r="6.2"/>',
} as const

export type Glyph = keyof typeof GLYPHS
/** The color of a state: in order, in progress, needs something, wrong, or neither. */
export type Mood = 'good' | 'busy' | 'warn' | 'bad' | 'idle'

const GLYPH_OF: Record<Mood, Glyph> = { good: 'ready', busy: 'building', warn: 'waiting', bad: 'failed', idle: 'idle' }

/** Renders the shape of a state for eyes only, or with `words` as its name. */
export function glyph(mood: Mood, name: Glyph = GLYPH_OF[mood], words?: string): Html {
  const about = words === undefined ? html` aria-hidden="true"` : html` role="img" aria-label="${words}"`
  return html`<svg class="st ${mood}" viewBox="0 0 16 16"${about}>${markupOf(GLYPHS[name])}</svg>`
}

/** Renders a state: its shape and its words. */
export function state(mood: Mood, words: Html | string, name?: Glyph): Html {
  return html`<span class="state ${mood}">${glyph(mood, name)}${words}</span>`
}
