/** Renders the Markdown of docs/: headings, paragraphs, lists, tables, code and links. docs/console.md: Help. */
import { type Html, html } from '../../platform/pages/html.ts'
import { shellCommand } from '../controls.ts'
import { dataTable } from '../fields.ts'

/** Returns the address of a link; undefined where the console has no such page. */
type LinkTo = (href: string) => string | undefined

/** `anchors`: of its heading and of those within it. */
type Chapter = { title: string; text: string; anchors: readonly string[] }
type Doc = { intro: Chapter; chapters: readonly Chapter[] }

const FENCE = '```'
const HEADING = /^(#{1,6}) (.+)$/
const ITEM = /^(?:-|\d+\.) /
const INLINE = /`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^[\]]+\]\([^()\s]+\)|\\[^\w\s]/g

/** Splits a page of docs/ at its headings of the second level. */
export function chaptersOf(markdown: string): Doc {
  const parts: { title: string; lines: string[]; anchors: string[] }[] = []
  let isCode = false
  for (const line of markdown.split('\n')) {
    if (line.startsWith(FENCE)) isCode = !isCode
    const [, level = '', title = ''] = (!isCode && HEADING.exec(line)) || []
    if (level === '#' || level === '##') parts.push({ title: plain(title), lines: [], anchors: [] })
    else parts.at(-1)?.lines.push(line)
    if (level !== '') parts.at(-1)?.anchors.push(anchorOf(title))
  }
  const [intro, ...chapters] = parts.map(({ lines, ...rest }) => ({ ...rest, text: lines.join('\n') }))
  return { intro: intro!, chapters }
}

function plain(title: string): string {
  return title.replaceAll('`', '')
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

/** Renders the text of a chapter. `title`: names its tables. */
export function renderMarkdown(title: string, text: string, to: LinkTo): Html {
  return html`<div class="doc stack">${blocksOf(text, { title, to })}</div>`
}

type Around = { title: string; to: LinkTo }

function blocksOf(text: string, around: Around): Html[] {
  const lines = text.split('\n')
  const blocks: Html[] = []
  while (lines.length > 0) {
    const first = lines.shift()!
    if (first.trim() !== '') blocks.push(blockOf(first, lines, around))
  }
  return blocks
}

/** Renders the block that begins with a line, and takes its other lines. */
function blockOf(first: string, rest: string[], around: Around): Html {
  if (first.startsWith(FENCE)) return codeBlock(first, rest)
  const [, level, words] = HEADING.exec(first) ?? []
  if (level !== undefined) return level.length < 4 ? html`<h2>${plain(words!)}</h2>` : html`<h3>${plain(words!)}</h3>`
  if (first.startsWith('|')) return table([first, ...takeWhile(rest, (line) => line.startsWith('|'))], around)
  if (ITEM.test(first))
    return list([first, ...takeWhile(rest, (line) => /^(?: |$)/.test(line) || ITEM.test(line))], around)
  const isText = (line: string) => line.trim() !== '' && !/^(?:```|\||#)/.test(line) && !ITEM.test(line)
  return html`<p>${inline([first, ...takeWhile(rest, isText)].join('\n'), around.to)}</p>`
}

function takeWhile(lines: string[], isPart: (line: string) => boolean): string[] {
  const end = lines.findIndex((line) => !isPart(line))
  return lines.splice(0, end === -1 ? lines.length : end)
}

function codeBlock(first: string, rest: string[]): Html {
  const code = takeWhile(rest, (line) => !line.startsWith(FENCE)).join('\n')
  rest.shift()
  return first.startsWith(`${FENCE}sh`) ? shellCommand(code) : html`<div class="code"><pre>${code}</pre></div>`
}

function table(lines: readonly string[], { title, to }: Around): Html {
  const cellsOf = (line: string) => line.split(/(?<!\\)\|/).slice(1, -1)
  const [headers = [], , ...rows] = lines.map((line) => cellsOf(line).map((cell) => cell.trim()))
  return dataTable(
    title,
    headers.map((header) => plain(header)),
    rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${inline(cell, to)}</td>`)}</tr>`),
  )
}

/** An item with code in it is made of blocks. */
function list(lines: readonly string[], around: Around): Html {
  const items: string[] = []
  let indent = 0
  for (const line of lines) {
    const [mark] = ITEM.exec(line) ?? []
    indent = mark?.length ?? indent
    if (mark === undefined) items.push(`${items.pop()}\n${line.slice(indent)}`)
    else items.push(line.slice(indent))
  }
  const shown = items.map((item) =>
    item.includes(`\n${FENCE}`) ? blocksOf(item, around) : [inline(item.trim(), around.to)],
  )
  const rows = shown.map((content) => html`<li>${content}</li>`)
  return lines[0]!.startsWith('-') ? html`<ul>${rows}</ul>` : html`<ol>${rows}</ol>`
}

function inline(text: string, to: LinkTo): Html {
  const pieces: Html[] = []
  let at = 0
  for (const { 0: mark, index } of text.matchAll(INLINE)) {
    pieces.push(html`${text.slice(at, index)}`, marked(mark, to))
    at = index + mark.length
  }
  return html`${pieces}${text.slice(at)}`
}

function marked(mark: string, to: LinkTo): Html {
  if (mark.startsWith('`')) return html`<code>${mark.slice(1, -1).replaceAll('\\|', '|')}</code>`
  if (mark.startsWith('**')) return html`<b>${inline(mark.slice(2, -2), to)}</b>`
  if (mark.startsWith('*')) return html`<i>${inline(mark.slice(1, -1), to)}</i>`
  if (mark.startsWith('\\')) return html`${mark.slice(1)}`
  const end = mark.indexOf('](')
  const words = inline(mark.slice(1, end), to)
  const path = to(mark.slice(end + 2, -1))
  return path === undefined ? words : html`<a href="${path}" rel="noreferrer">${words}</a>`
}
