/** Markup for people: a template that escapes what is put into it, unless that is markup already. */

/** Markup that was made by `html`: safe to put into other markup as it is. */
export type Html = { readonly markup: string; toString(): never }

/** What a template takes: text and numbers are escaped, markup and lists of it are not; null, undefined and false are nothing. */
type Piece = Html | readonly Html[] | string | number | null | undefined | false

/**
 * `html\`<p>${text}</p>\``: text and attribute values in double quotes are escaped alike. Text that is read from right to left, or that turns the
 * direction, is isolated (`<bdi>`), so that it leaves what stands beside it as it is. docs/console.md: How a page looks.
 */
export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return markupOf(texts.reduce((all, text, at) => all + rendered(pieces[at - 1], texts, at) + text))
}

/** Markup that something else has made, or that was made of markup. Nothing in it is escaped. */
export function markupOf(markup: string): Html {
  return { markup, toString: noText }
}

/** In a plain string markup would read "[object Object]". */
function noText(): never {
  throw new Error('markup stands in a plain string: write html`…` there')
}

/** `at`: how many of the texts stand before the piece. */
function rendered(piece: Piece, texts: readonly string[], at: number): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'number') return String(piece)
  if (typeof piece !== 'string') return 'markup' in piece ? piece.markup : piece.map((one) => one.markup).join('')
  if (!TURNS.test(piece) || NO_MARKUP.test(texts.slice(0, at).join(''))) return escapeText(piece)
  return `<bdi>${escapeText(piece)}</bdi>`
}

/** Letters that are read from right to left, by their first half where they have two, and every character that turns the direction. Unicode Standard Annex 9. */
const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ud802\ud803\ud83a\ud83b\ufb1d-\ufdff\ufe70-\ufefc]/
/** What stands before a value in quotes, and before the text of an element that holds no markup. Each of these is isolated by itself. */
const NO_MARKUP = /="[^"<>]*$|<(?:option|textarea|title|text)\b[^<]*$/
/** The characters that turn the direction of what follows, until they are ended. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g

/** A name as part of a plain string, such as a choice or a sentence: isolated by characters where it would turn what stands beside it. Without those that turn. */
export function bidiIsolated(name: string): string {
  return TURNS.test(name) ? `\u2068${stripBidiControls(name)}\u2069` : name
}

/** A text for where nothing isolates: without the characters that turn the direction. */
export function stripBidiControls(text: string): string {
  return text.replaceAll(TURNING, '')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const CHARACTERS = Object.fromEntries(Object.entries(ENTITIES).map(([character, entity]) => [entity, character]))

/** Text as it may stand in markup and in a quoted attribute. */
export function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
}

/** The text that stands in markup: `escapeText` the other way. */
export function unescapeText(markup: string): string {
  return markup.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => CHARACTERS[entity]!)
}

/** A moment as people read a day: 1 January 2026. */
export function day(moment: number): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(moment)
}
