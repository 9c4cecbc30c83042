import { type Html, html } from '../platform/pages/html.ts'
import { copyable } from './fields.ts'

/** A command ends before the next word of the sentence. `chmod` and `chown` extend to the end. */
const COMMAND = /\bberth(?: (?!(?:each|again|or|and|then)\b)(?:--)?\w[\w.@-]*)+|\bch(?:mod|own) .+$/
const SETTING = /\b(?:BERTH_[A-Z0-9_]+|DATABASE_URL)\b/
const TYPED = new RegExp(`(${COMMAND.source}|${SETTING.source})`)

/** Returns the commands that a sentence names, in order. */
export function commandsIn(sentence: string): string[] {
  return sentence.split(TYPED).filter((part, at) => at % 2 === 1 && !SETTING.test(part))
}

/** Renders a sentence with its commands below it, each with a copy button. A sentence that is only a command is rendered once. */
export function showAdvice(sentence: string): Html {
  const commands = commandsIn(sentence)
  return html`${commands[0] !== sentence && html`<p class="advice">${withInlineCode(sentence)}</p>`}${commands.map((command) => html`<p class="advice">${copyable(command, `command ${command}`)}</p>`)}`
}

/** Renders commands and settings in a sentence as code. Setting names can wrap at underscores. */
export function withInlineCode(sentence: string): Html {
  return html`${sentence.split(TYPED).map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code class="name">${SETTING.test(part) ? breakable(part) : part}</code>`))}`
}

function breakable(name: string): Html {
  return html`${name.split('_').map((word, at) => (at === 0 ? html`${word}` : html`_<wbr>${word}`))}`
}
