/** The field in which a page begins. docs/console.md: Forms. */
import { type Html, markupOf } from '../html.ts'

/** Text in markup is escaped, so a match is always an element. */
const FORM = /<form\b[^>]*method="post"[^>]*>[\s\S]*?<\/form>/g
const FIELD = /<(?:input(?! type="(?:hidden|checkbox|radio)"|[^>]* hidden>)|select|textarea)\b[^>]*(?=>)/
/** Removes something, or is below what is to be read first. */
const NOT_FIRST = /<button class="btn danger|<form[^>]* data-review[ >]/
/** What a user came to read: a list, or a card that ends above the form. */
const READ_FIRST = /<table\b|<\/(?:section|ol|dl)>/
const CRUMBS = /<nav class="crumbs"[\s\S]*?<\/nav>/
const WRONG_FIELD = /<(?:input|select|textarea)\b[^>]*aria-invalid="true"[^>]*(?=>)/

/** Focuses the first wrong field; else the first field of a page that has one form with fields, unless the form removes something, or has a review, a list or a card above it. Other pages begin at their top. */
export function withFocus({ markup }: Html): Html {
  const wrong = WRONG_FIELD.exec(markup)
  if (wrong !== null) return focused(markup, wrong.index + wrong[0].length)
  const [form, ...others] = [...markup.matchAll(FORM)].filter(([text]) => FIELD.test(text))
  if (form === undefined || others.length > 0 || NOT_FIRST.test(form[0])) return markupOf(markup)
  if (READ_FIRST.test(markup.slice(0, form.index).replace(CRUMBS, ''))) return markupOf(markup)
  const { 0: field, index } = FIELD.exec(form[0])!
  return focused(markup, form.index + index + field.length)
}

function focused(markup: string, at: number): Html {
  return markupOf(`${markup.slice(0, at)} autofocus${markup.slice(at)}`)
}
