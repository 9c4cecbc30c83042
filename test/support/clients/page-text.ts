/** What a user reads on a page: its lines, with links, buttons, fields, states and marked lines. So one assertion holds all of a row. */
import assert from 'node:assert/strict'
import { CSRF_FIELD, SUBMISSION_FIELD } from '../../../src/platform/pages/cookies.ts'
import { unescapeText } from '../../../src/platform/pages/html.ts'

type Attributes = Record<string, string>
type Element = { tag: string; attributes: Attributes; children: (Element | string)[] }

const VOID = ['br', 'hr', 'input', 'img', 'meta', 'link', 'wbr']
/** Elements that are a line, or several. */
const BLOCKS =
  /^(?:h\d|p|li|tr|dl|pre|form|div|section|header|details|legend|fieldset|label|ul|ol|table|nav|summary|select|datalist)$/
/** Elements whose parts are one line. */
const ROWS = ['li', 'tr']
const LOOKS = ['error', 'step', 'bad', 'warn', 'good', 'busy', 'idle', 'info']
/** Choices of a list that are shown. */
const MAX_CHOICES = 12

/** Returns the lines of the main part of a page, or of its section with this heading. A section that is not there has none. */
export function readPage(text: string, heading?: string): string[] {
  const [main] = find(parse(text), ({ tag }) => tag === 'main')
  assert.ok(main, text)
  if (heading === undefined) return linesOf(main)
  const sections = find(main, ({ tag }) => tag === 'section')
  const section = sections.find((one) => find(one, ({ tag }) => tag === 'h2').map(textOf)[0] === heading)
  return section === undefined ? [] : linesOf(section)
}

function find(root: Element, matches: (one: Element) => boolean): Element[] {
  return root.children.flatMap((child) =>
    typeof child === 'string' ? [] : [...(matches(child) ? [child] : []), ...find(child, matches)],
  )
}

/** Berth closes every element but the empty ones, and quotes every value. */
function parse(text: string): Element {
  const root: Element = { tag: '', attributes: {}, children: [] }
  const open = [root]
  for (const [, end, tag, attributes = '', words] of text.matchAll(/<(\/?)([a-z][\w-]*)([^>]*)>|([^<]+)/g)) {
    const { children } = open.at(-1)!
    if (words !== undefined) children.push(unescapeText(words))
    else if (end)
      open.length = Math.max(
        1,
        open.findLastIndex((one) => one.tag === tag),
      )
    else {
      const pairs = attributes.matchAll(/([\w-]+)(?:="([^"]*)")?/g)
      const named = Object.fromEntries([...pairs].map(([, name, value = '']) => [name!, unescapeText(value)]))
      const element = { tag: tag!, attributes: named, children: [] }
      children.push(element)
      if (!VOID.includes(tag!)) open.push(element)
    }
  }
  return root
}

function textOf(element: Element): string {
  return element.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('')
}

/** Each line without spaces around it, and none that is empty. */
function linesOf(element: Element): string[] {
  return wordsOf(element)
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/ (?=[.,](?: |$))/g, '')
        .trim(),
    )
    .filter((line) => line !== '')
}

function wordsOf(element: Element | string, isWhole = false): string {
  if (typeof element === 'string') return isWhole ? element : element.replaceAll('\n', ' ')
  const { tag, attributes, children } = element
  const own = OWN[tag]?.(attributes, element)
  if (own !== undefined) return own
  const inside = children.map((child) => wordsOf(child, isWhole || tag === 'pre')).join('')
  const words = AROUND[tag]?.(inside.trim() || (attributes['aria-label'] ?? ''), attributes) ?? inside
  const isMarked = ROWS.includes(tag) || attributes.class?.startsWith('badge')
  const marked = isMarked ? lookOf(attributes) + words : words
  if (!BLOCKS.test(tag)) return marked
  return `\n${ROWS.includes(tag) ? marked.replaceAll('\n', ' ') : marked}\n`
}

function lookOf({ class: classes = '' }: Attributes): string {
  const look = classes.split(' ').find((one) => LOOKS.includes(one))
  return look === undefined ? '' : `(${look}) `
}

/** TABLE elements that are read without what is in them. */
const OWN: Readonly<Record<string, (attributes: Attributes, element: Element) => string | undefined>> = {
  svg: (said) => ` ${said.class?.startsWith('st ') ? lookOf(said) : ''}${said['aria-label'] ?? ''} `,
  br: () => ' ',
  script: () => '',
  input: inputOf,
  select: ({ name }, element) => `\n${name}=${choicesOf(element)}\n`,
  datalist: (_, element) => `\nof ${choicesOf(element)}\n`,
}

function inputOf({ type, name = '', value = '', checked, 'aria-label': label = '' }: Attributes): string {
  if (name === CSRF_FIELD || name === SUBMISSION_FIELD) return ''
  if (type !== 'checkbox' && type !== 'radio') return ` ${name || label}=${value} `
  const sent = name === '' ? '' : `${value === '' ? name : `${name}=${value}`}: `
  return ` [${checked === undefined ? ' ' : 'x'}] ${sent}${label}`
}

function choicesOf(element: Element): string {
  const options = find(element, ({ tag }) => tag === 'option')
  const shown = options.filter(({ attributes }, at) => at < MAX_CHOICES || attributes.selected !== undefined)
  const words = shown.map(
    (option) =>
      `${textOf(option) || option.attributes.value}${option.attributes.selected === undefined ? '' : ' (selected)'}`,
  )
  return [...words, ...(shown.length < options.length ? ['…'] : [])].join(', ')
}

/** TABLE what is around the words of other elements. */
const AROUND: Readonly<Record<string, (words: string, attributes: Attributes) => string>> = {
  h1: (words) => `# ${words}`,
  h2: (words) => `## ${words}`,
  h3: (words) => `### ${words}`,
  form: (words, { method, action }) => (method === 'post' ? `→ ${action}\n${words}` : words),
  a: (words, { href = '', 'aria-current': current }) =>
    ` [${words}](${href})${current === undefined ? '' : ' (current)'} `,
  button: (words) => ` [${words}] `,
  summary: (words) => `[${words}]`,
  time: (words) => ` ${words} `,
  td: (words) => ` ${words} |`,
  th: (words) => ` ${words} |`,
  dt: (words) => `\n${words}: `,
  textarea: (words, { name }) => ` ${name}=${words} `,
}
