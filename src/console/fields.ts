/** What forms of the console have beside `field`: texts of several lines, choices, tables, and a text to copy. */
import { escapeText, type Html, html, markupOf } from '../platform/pages/html.ts'
import { type FieldOptions, fieldErrorNotice, labeledInput } from './action.ts'
import type { Refused } from './refused.ts'

/** A value that a form sends, and the words for it. */
export type Choice = readonly [value: string, words: string]

type Options = Omit<FieldOptions, 'type'>

/** A text of several lines. */
export function textAreaField(name: string, label: string, options: Options = {}): Html {
  const { refused, value = '', attributes, required } = options
  const typed = String(refused?.typed[name] ?? value)
  // A browser leaves out the first line break of what stands in there.
  return labeledInput(
    name,
    label,
    options,
    (about) =>
      html`<textarea id="${name}" name="${name}" spellcheck="false" autocomplete="off"${required && html` required`}${about}${attributes}>
${typed}</textarea>`,
  )
}

/** One of several. */
export function select(name: string, label: string, choices: readonly Choice[], options: Options = {}): Html {
  const chosen = String(options.refused?.typed[name] ?? options.value ?? '')
  return labeledInput(
    name,
    label,
    options,
    (about) =>
      html`<select id="${name}" name="${name}"${about}${options.attributes}>${choices.map(([value, words]) => html`<option value="${value}"${value === chosen && html` selected`}>${words}</option>`)}</select>`,
  )
}

type Checks = { chosen: readonly string[]; refused?: Refused | undefined; hint?: string }

/** Any of several. `chosen`: those that are on before something was typed. */
export function checkboxesField(name: string, legend: string, choices: readonly Choice[], options: Checks): Html {
  return groupedCheckboxesField(name, legend, [['', choices]], options)
}

/** Any of many, in groups with headings of their own. A group without a heading stands by itself. */
export function groupedCheckboxesField(
  name: string,
  legend: string,
  groups: readonly (readonly [heading: string, choices: readonly Choice[]])[],
  { chosen, refused, hint }: Checks,
): Html {
  const on = refused === undefined ? chosen : toStringList(refused.typed[name])
  const wrong = refused?.field === name
  const about = [hint && `${name}-hint`, wrong && `${name}-fault`].filter(Boolean).join(' ')
  const boxes = (choices: readonly Choice[]) =>
    html`<div class="boxes">${choices.map(
      ([value, words]) =>
        html`<label class="choice"><input type="checkbox" name="${name}" value="${value}"${on.includes(value) && html` checked`}> ${words}</label>`,
    )}</div>`
  return html`<fieldset id="${name}"${about !== '' && html` aria-describedby="${about}"`}><legend>${legend}</legend>
${hint && html`<p class="soft small" id="${name}-hint">${hint}</p>`}
${groups.map(([heading, choices]) =>
  heading === '' ? boxes(choices) : html`<fieldset><legend>${heading}</legend>${boxes(choices)}</fieldset>`,
)}
${wrong && fieldErrorNotice(name, legend, refused)}
</fieldset>`
}

/** One of a few, all of which are seen, with what each means. */
export function radios(
  name: string,
  legend: string,
  choices: readonly (readonly [value: string, words: string, hint: string])[],
  { value, refused }: Pick<Options, 'value' | 'refused'>,
): Html {
  const chosen = String(refused?.typed[name] ?? value ?? '')
  const wrong = refused?.field === name
  return html`<fieldset id="${name}"${wrong && html` aria-describedby="${name}-fault"`}><legend>${legend}</legend>
${choices.map(
  ([one, words, hint]) =>
    html`<label class="choice"><input type="radio" name="${name}" value="${one}" required${one === chosen && html` checked`}> <span>${words}<br><span class="soft small">${hint}</span></span></label>`,
)}
${wrong && fieldErrorNotice(name, legend, refused)}
</fieldset>`
}

/** Short fields that belong together, beside each other where there is room. */
export function fieldRow(...fields: readonly Html[]): Html {
  return html`<div class="pair">${fields.map((one) => html`<div>${one}</div>`)}</div>`
}

/** A switch by itself: `on` where it is on, nothing where it is off. */
export function checkboxField(name: string, words: string, on: boolean, refused?: Refused): Html {
  const checked = refused === undefined ? on : refused.typed[name] !== undefined
  return html`<label class="choice"><input type="checkbox" name="${name}"${checked && html` checked`}> ${words}</label>`
}

/** What a form sent of a field that may come once or several times. */
export function toStringList(value: unknown): string[] {
  return value === undefined ? [] : [value].flat().map(String)
}

/** What people typed into a text of several lines: browsers send CR LF for each of its line ends. */
export function normalizeLineEnds(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

/**
 * A table. One that is wider than the window is scrolled by itself, by keyboard too. On a telephone each row is a card, and each cell says its
 * column. Of `headers`, `false` is left out. `none`: what is said where there is no row.
 * `numbers`: the columns that stand at the right.
 */
export function dataTable(
  caption: string,
  headers: readonly (string | false)[],
  rows: readonly Html[],
  { none, numbers = [] }: { none?: string; numbers?: readonly string[] } = {},
): Html {
  if (rows.length === 0 && none !== undefined) return html`<p class="card empty">${none}</p>`
  const shown = headers.filter((one) => one !== false)
  return html`<div class="sheet" role="region" aria-label="${caption}" tabindex="0"><table><thead><tr>${shown.map((one) => html`<th scope="col"${one === 'Actions' && html` class="act"`}${numbers.includes(one) && html` class="number"`}>${one}</th>`)}</tr></thead><tbody>
${rows.map((row) => labelCells(row, shown))}
</tbody></table></div>`
}

/** A row whose cells carry the names of their columns. Text in markup is escaped, so what looks like a cell is one. */
function labelCells({ markup }: Html, headers: readonly string[]): Html {
  let at = 0
  return markupOf(
    markup.replaceAll(/<t[dh](?=[ >])/g, (cell) => `${cell} data-label="${escapeText(headers[at++] ?? '')}"`),
  )
}

/** A text to be copied: one click or tap chooses all of it. With script a button beside it copies. `what`: what the button says that it copies. */
export function copyable(text: string, what: string): Html {
  return html`<span class="copyable"><code class="copy">${text}</code> ${copyButton(what)}</span>`
}

/** The button that copies the text of the element before it, where there is script. `what`: what it says that it copies. */
export function copyButton(what: string): Html {
  return html`<button type="button" class="quiet small copies" data-copy aria-label="Copy the ${what}">Copy</button>`
}
