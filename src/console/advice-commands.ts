import { type Html, html } from '../platform/pages/html.ts'
import { copyable } from './fields.ts'
import { helpPath, isHelpPage } from './help/paths.ts'

/** A command ends before the next word of the sentence. `chmod` and `chown` extend to the end. */
const COMMAND = /\bberth(?: (?!(?:each|again|or|and|then)\b)(?:--)?\w[\w.@-]*)+|\bch(?:mod|own) .+$/
const SETTING = /\b(?:BERTH_[A-Z0-9_]+|DATABASE_URL)\b/
/** What a sentence has in backticks is typed as it stands. */
const QUOTED = /`[^`]+`/
const DOC = /\bdocs\/[a-z-]+\.md\b/
const TYPED = new RegExp(`(${QUOTED.source}|${COMMAND.source}|${SETTING.source}|${DOC.source})`)
const BEGINS_AS_COMMAND = /^(?:berth|chmod|chown) /

/** Returns the commands that a sentence names, in order. */
export function commandsIn(sentence: string): string[] {
  return sentence
    .split(TYPED)
    .filter((_, at) => at % 2 === 1)
    .map(unquoted)
    .filter((typed) => BEGINS_AS_COMMAND.test(typed))
}

/** Renders a sentence with its commands below it, each with a copy button. A sentence that is only a command is rendered once. */
export function showAdvice(sentence: string): Html {
  const commands = commandsIn(sentence)
  return html`${commands[0] !== sentence && html`<p class="advice">${withInlineCode(sentence)}</p>`}${commands.map((command) => html`<p class="advice">${copyable(command, `command ${command}`)}</p>`)}`
}

/** Renders commands and settings in a sentence as code, and pages of docs/ as links. Setting names can wrap at underscores. */
export function withInlineCode(sentence: string): Html {
  return html`${sentence.split(TYPED).map((part, at) => (at % 2 === 0 ? html`${part}` : inlineCode(part)))}`
}

function inlineCode(part: string): Html {
  const page = DOC.test(part) && part.slice('docs/'.length, -'.md'.length)
  if (page !== false && isHelpPage(page)) return html`<a href="${helpPath(page)}" data-turbo-frame="_top">${part}</a>`
  return html`<code class="name">${SETTING.test(part) ? breakable(unquoted(part)) : unquoted(part)}</code>`
}

function unquoted(part: string): string {
  return part.startsWith('`') ? part.slice(1, -1) : part
}

function breakable(name: string): Html {
  return html`${name.split('_').map((word, at) => (at === 0 ? html`${word}` : html`_<wbr>${word}`))}`
}
