/** An HTML template that escapes text but not markup. */

/** Markup from `html`, safe to insert. */
export type Html = { readonly markup: string; toString(): never }

/** Template values: text and numbers are escaped, markup and lists of it are not; null, undefined and false are empty. */
type Piece = Html | readonly Html[] | string | number | null | undefined | false

/**
 * Renders a template such as `html\`<p>${text}</p>\``. Escapes text and quoted attributes. Isolates right-to-left text and direction controls
 * (`<bdi>`) from the text around it. docs/console.md: Page layout.
 */
export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return markupOf(texts.reduce((all, text, at) => all + rendered(pieces[at - 1], texts, at) + text))
}

/** Marks existing markup as safe. Nothing is escaped. */
export function markupOf(markup: string): Html {
  return { markup, toString: noText }
}

/** Prevents "[object Object]" for markup in a plain string. */
function noText(): never {
  throw new Error('markup stands in a plain string: write html`…` there')
}

/** `at`: number of template texts before the piece. */
function rendered(piece: Piece, texts: readonly string[], at: number): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'number') return String(piece)
  if (typeof piece !== 'string') return 'markup' in piece ? piece.markup : piece.map((part) => part.markup).join('')
  if (!TURNS.test(piece) || NO_MARKUP.test(texts.slice(0, at).join(''))) return escapeText(piece)
  return `<bdi>${escapeText(piece)}</bdi>`
}

/** Right-to-left letters, by their high surrogate if they have one, and all direction controls. Unicode Standard Annex 9. */
const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ud802\ud803\ud83a\ud83b\ufb1d-\ufdff\ufe70-\ufefc]/
/** Text before a quoted value or inside an element without markup, where values are isolated by characters. */
const NO_MARKUP = /="[^"<>]*$|<(?:option|textarea|title|text)\b[^<]*$/
/** Controls that change the direction until they are closed. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g

/** Isolates a name in plain text with characters, where it would change the direction of its surroundings. Removes direction controls. */
export function bidiIsolated(name: string): string {
  return TURNS.test(name) ? `\u2068${stripBidiControls(name)}\u2069` : name
}

/** Removes direction controls, for text that cannot be isolated. */
export function stripBidiControls(text: string): string {
  return text.replaceAll(TURNING, '')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const CHARACTERS = Object.fromEntries(Object.entries(ENTITIES).map(([character, entity]) => [entity, character]))

/** Escapes text for markup and quoted attributes. */
export function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
}

/** Reverses `escapeText`. */
export function unescapeText(markup: string): string {
  return markup.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => CHARACTERS[entity]!)
}

/** Formats a day: 1 January 2026. */
export function day(moment: number): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(moment)
}
