import { icon } from '../platform/pages/face/icons.ts'
import { escapeText, type Html, html, markupOf } from '../platform/pages/html.ts'
import { type FieldOptions, fieldErrorNotice, labeledInput } from './action.ts'
import { copyButton } from './controls.ts'
import type { FormError } from './form-error.ts'

export type Choice = readonly [value: string, words: string]

type Options = Omit<FieldOptions, 'type'>

/** Renders a labeled textarea. */
export function textAreaField(name: string, label: string, options: Options = {}): Html {
  const { error, value = '', attributes, required } = options
  const typed = String(error?.typed[name] ?? value)
  // Browsers drop the first line break of a textarea.
  return labeledInput(
    name,
    label,
    options,
    (about) =>
      html`<textarea id="${name}" name="${name}" spellcheck="false" autocomplete="off"${required && html` required`}${about}${attributes}>
${typed}</textarea>`,
  )
}

/** Renders a labeled select. */
export function select(name: string, label: string, choices: readonly Choice[], options: Options = {}): Html {
  const chosen = String(options.error?.typed[name] ?? options.value ?? '')
  return labeledInput(name, label, options, (about) =>
    pick(
      html`<select id="${name}" name="${name}"${about}${options.attributes}>${choices.map(([value, words]) => html`<option value="${value}"${value === chosen && html` selected`}>${words}</option>`)}</select>`,
    ),
  )
}

/** Renders a select with the arrow of the face, in the place of that of the browser. */
export function pick(select: Html): Html {
  return html`<span class="pick">${select}${icon('chevron-down')}</span>`
}

type Checks = { chosen: readonly string[]; error?: FormError | undefined; hint?: string | undefined }
/** `key`: the value of the box for the whole group, where there is one. */
type Group = readonly [heading: string, choices: readonly Choice[], key?: string]

/** Renders checkboxes. `chosen`: the initially checked values. */
export function checkboxesField(name: string, legend: string, choices: readonly Choice[], options: Checks): Html {
  return groupedCheckboxesField(name, legend, [['', choices]], options)
}

/** Renders checkboxes in groups. An empty heading renders no group. `whole`: the field of the boxes that stand for a whole group. */
export function groupedCheckboxesField(
  name: string,
  legend: string,
  groups: readonly Group[],
  { chosen, error, hint, whole }: Checks & { whole?: string },
): Html {
  const on = error === undefined ? chosen : toStringList(error.typed[name])
  const box = (field: string, value: string, words: string, isOn: boolean) =>
    html`<label class="choice"><input type="checkbox" name="${field}" value="${value}"${isOn && html` checked`}> ${words}</label>`
  const boxes = (choices: readonly Choice[]) =>
    html`<div class="boxes">${choices.map(([value, words]) => box(name, value, words, on.includes(value)))}</div>`
  const wholes = whole === undefined ? [] : toStringList(error?.typed[whole])
  const wholeBox = (heading: string, key: string | undefined) =>
    whole !== undefined && key !== undefined && box(whole, key, `All of ${heading}`, wholes.includes(key))
  const shown = html`${groups.map(([heading, choices, key]) =>
    heading === ''
      ? boxes(choices)
      : html`<fieldset><legend>${heading}</legend>${wholeBox(heading, key)}${boxes(choices)}</fieldset>`,
  )}`
  return fieldsetOf(name, legend, shown, { error, hint })
}

/** Renders a group of boxes with its hint and its error, which marks the first box. Text in markup is escaped, so the match is a box. */
function fieldsetOf(name: string, legend: string, { markup }: Html, { error, hint }: Omit<Checks, 'chosen'>): Html {
  const wrong = error?.field === name
  const about = [hint && `${name}-hint`, wrong && `${name}-fault`].filter(Boolean).join(' ')
  return html`<fieldset class="stack tight" id="${name}"${about !== '' && html` aria-describedby="${about}"`}><legend>${legend}</legend>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${markupOf(wrong ? markup.replace('<input ', '<input aria-invalid="true" ') : markup)}
${wrong && fieldErrorNotice(name, legend, error)}
</fieldset>`
}

/** Renders radio buttons, each with a hint. */
export function radios(
  name: string,
  legend: string,
  choices: readonly (readonly [value: string, words: string, hint: string])[],
  { value, error }: Pick<Options, 'value' | 'error'>,
): Html {
  const chosen = String(error?.typed[name] ?? value ?? '')
  const shown = choices.map(
    ([option, words, hint]) =>
      html`<label class="choice"><input type="radio" name="${name}" value="${option}" required${option === chosen && html` checked`}> <span>${words}<br><span class="soft small">${hint}</span></span></label>`,
  )
  return fieldsetOf(name, legend, html`${shown}`, { error })
}

/** Renders fields side by side where the width allows. */
export function fieldRow(...fields: readonly Html[]): Html {
  return html`<div class="pair">${fields.map((field) => html`<div>${field}</div>`)}</div>`
}

/** Renders a single checkbox, which is sent as `on` or not at all. */
export function checkboxField(name: string, words: string, on: boolean, error?: FormError): Html {
  const checked = error === undefined ? on : error.typed[name] !== undefined
  return html`<label class="choice"><input type="checkbox" name="${name}"${checked && html` checked`}> ${words}</label>`
}

/** Returns the values of a field that can occur several times. */
export function toStringList(value: unknown): string[] {
  return value === undefined ? [] : [value].flat().map(String)
}

/** Replaces the CR LF that browsers send for line breaks. */
export function normalizeLineEnds(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

/**
 * Renders a table. Wide tables scroll, and narrow screens show each row as a card. `false` headers are omitted. `none`: the text without rows;
 * `numbers`: right-aligned columns.
 */
export function dataTable(
  caption: string,
  headers: readonly (string | false)[],
  rows: readonly Html[],
  { none, numbers = [] }: { none?: string; numbers?: readonly string[] } = {},
): Html {
  if (rows.length === 0 && none !== undefined) return html`<p class="card empty">${none}</p>`
  const shown = headers.filter((header) => header !== false)
  return html`<div class="card"><table class="table fold" aria-label="${caption}"><thead><tr>${shown.map((column) => html`<th scope="col"${column === 'Actions' && html` class="act"`}${numbers.includes(column) && html` class="num"`}>${column}</th>`)}</tr></thead><tbody>
${rows.map((row) => labelCells(linkedRow(row), shown))}
</tbody></table></div>`
}

/** What a row begins with, such as an avatar or the box that chooses it, up to the attributes of a link into the console. */
const FIRST_LINK =
  /^<tr>(<td[^>]*>(?:<div[^>]*>|<label class="choose">.*?<\/label>|<span class="av[^>]*>[^<]*<\/span>|<svg[\s\S]*?<\/svg> )*<a )(?:class="([^"]*)" )?(?=href="\/console)/

/** Makes a row that begins with a link that link as a whole. Its other controls stay above it. docs/console.md: Page layout. */
function linkedRow({ markup }: Html): Html {
  return markupOf(
    markup.replace(FIRST_LINK, (_, before: string, looks = '') => {
      return `<tr class="hit">${before}class="${`to ${looks}`.trim()}" `
    }),
  )
}

/** Adds the column names to the cells of a row. Text in markup is escaped, so a match is always a cell. */
function labelCells({ markup }: Html, headers: readonly string[]): Html {
  let at = 0
  return markupOf(
    markup.replaceAll(/<t[dh](?=[ >])/g, (cell) => `${cell} data-label="${escapeText(headers[at++] ?? '')}"`),
  )
}

/** Renders a text with a copy button. `what` completes the accessible name of the button. */
export function copyable(text: string, what: string): Html {
  return html`<span class="copyable"><code class="copy">${text}</code> ${copyButton(what)}</span>`
}
