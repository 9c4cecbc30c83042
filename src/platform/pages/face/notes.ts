import { type Html, html } from '../html.ts'
import { type Glyph, glyph, type Mood } from './states.ts'

type NoteMood = 'info' | Exclude<Mood, 'idle' | 'busy'>
type NoteOptions = {
  role?: 'alert' | 'status'
  id?: string
  /** Buttons at the end. */
  actions?: Html | undefined
}

/** TABLE Colors and shapes of notes. */
const LOOKS: Record<NoteMood, readonly [mood: Mood, name: Glyph]> = {
  info: ['busy', 'idle'],
  good: ['good', 'ready'],
  warn: ['warn', 'warning'],
  bad: ['bad', 'failed'],
}

/** Renders a full-width note: background, border and icon. */
export function note(mood: NoteMood, content: Html | string, { role, id, actions }: NoteOptions = {}): Html {
  const [look, name] = LOOKS[mood]
  return html`<div class="note ${mood}"${role && html` role="${role}"`}${id && html` id="${id}"`}>${glyph(look, name)}<div class="grow">${content}</div>${actions && html`<div class="line">${actions}</div>`}</div>`
}
