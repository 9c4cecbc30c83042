/** Markup for people: a template that escapes what is put into it, unless that is markup already. */

/** Markup that was made by `html`: safe to put into other markup as it is. */
export type Html = { readonly markup: string; toString(): never }

/** What a template takes: text and numbers are escaped, markup and lists of it are not; null, undefined and false are nothing. */
type Piece = Html | readonly Html[] | string | number | null | undefined | false

/** `html\`<p>${text}</p>\``: text and attribute values in double quotes are escaped alike. */
export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return markupOf(texts.reduce((all, text, at) => all + rendered(pieces[at - 1]) + text))
}

/** Markup that something else has made, or that was made of markup. Nothing in it is escaped. */
export function markupOf(markup: string): Html {
  return { markup, toString: noText }
}

/** In a plain string markup would read "[object Object]". */
function noText(): never {
  throw new Error('markup stands in a plain string: write html`…` there')
}

function rendered(piece: Piece): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'string' || typeof piece === 'number') return escapeText(String(piece))
  return 'markup' in piece ? piece.markup : piece.map((one) => one.markup).join('')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Text as it may stand in markup and in a quoted attribute. */
export function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
}

/** A moment as people read a day: 1 January 2026. */
export function day(moment: number): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(moment)
}
