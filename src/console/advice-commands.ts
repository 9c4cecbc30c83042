/** What to do, as checks and reports say it: a sentence, and its commands to copy. */
import { type Html, html } from '../platform/pages/html.ts'
import { copyable } from './fields.ts'

/** A command ends before the word that goes on with the sentence. One that changes the rights of a file ends its sentence. */
const COMMAND = /\bberth(?: (?!(?:each|again|or|and|then)\b)(?:--)?\w[\w.@-]*)+|\bch(?:mod|own) .+$/
const SETTING = /\b(?:BERTH_[A-Z0-9_]+|DATABASE_URL)\b/
const TYPED = new RegExp(`(${COMMAND.source}|${SETTING.source})`)

/** The commands that a sentence names, in its order. */
export function commandsIn(sentence: string): string[] {
  return sentence.split(TYPED).filter((part, at) => at % 2 === 1 && !SETTING.test(part))
}

/** The sentence, with its commands below it, each with a button that copies it. One that is a command and no more is not said twice. */
export function showAdvice(sentence: string): Html {
  const commands = commandsIn(sentence)
  return html`${commands[0] !== sentence && html`<p class="advice">${withInlineCode(sentence)}</p>`}${commands.map((one) => html`<p class="advice">${copyable(one, `command ${one}`)}</p>`)}`
}

/** The sentence with what is typed as code. The long name of a setting may break at an underscore. */
export function withInlineCode(sentence: string): Html {
  return html`${sentence.split(TYPED).map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code class="name">${SETTING.test(part) ? breakable(part) : part}</code>`))}`
}

function breakable(name: string): Html {
  return html`${name.split('_').map((word, at) => (at === 0 ? html`${word}` : html`_<wbr>${word}`))}`
}
