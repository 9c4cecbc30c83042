/** The error above a form, as its field says it. docs/console.md: Forms. */
import { type Html, html, markupOf } from '../html.ts'

/** Text in markup is escaped, so a match is always an element. */
const FIELD_ERROR = /<p class="fault" id="([\w.-]+)-fault">/
const WORDS = ['<span>', '</span></p>'] as const
const NOTICE = '<div class="note bad" role="alert" id="fault">'
const MESSAGE = ['<div class="grow">', '</div>'] as const

/** Replaces the message above a form by that of its wrong field, with its label in place of its name, as a link to the field. */
export function withErrorLink(page: Html): Html {
  const { markup } = page
  const field = FIELD_ERROR.exec(markup)
  const notice = markup.indexOf(NOTICE)
  if (field === null || notice === -1) return page
  const [from, to] = between(markup, notice, MESSAGE)
  const words = markup.slice(...between(markup, field.index, WORDS))
  const link = html`<a href="#${field[1]}">${markupOf(words)}</a>`
  return markupOf(`${markup.slice(0, from)}${link.markup}${markup.slice(to)}`)
}

function between(markup: string, after: number, [begin, end]: readonly [string, string]): [number, number] {
  const from = markup.indexOf(begin, after) + begin.length
  return [from, markup.indexOf(end, from)]
}
