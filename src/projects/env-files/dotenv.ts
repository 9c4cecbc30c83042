/**
 * `.env` text, read and written as dotenv's users know it: `KEY=value`, `export`, comments, '…', "…" (with \n and \r) and `…`
 * over several lines. The platform's own parser skips what it cannot read; here a bad line is told by its number, because a
 * variable that is silently missing is an outage.
 */

export type Entry = { key: string; value: string; line: number }
export type BadLine = { line: number; message: string }

const START = /^[ \t]*(?:export[ \t]+)?([^\s=#"'`]+)[ \t]*=[ \t]*/
const BLANK = /^[ \t]*(?:#.*)?$/
const AFTER_QUOTE = /^[ \t]*(?:#.*)?$/

/** How much of a text is read. `variables`: as many, and as many bad lines, and then one more of either. */
export type TextLimits = { lines: number; variables: number }

/**
 * Reads a text. What is wrong is told by line; values are never repeated in it. `most`: what a stranger sent is read so far and no further, so
 * that a long text costs no more than one that is just too long.
 */
export function parseDotenv(text: string, most?: TextLimits): { entries: Entry[]; bad: BadLine[] } {
  const { lines: mostLines = Number.POSITIVE_INFINITY, variables = Number.POSITIVE_INFINITY } = most ?? {}
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/, most && mostLines + 1)
  const entries: Entry[] = []
  const bad: BadLine[] = []
  const lineOfKey = new Map<string, number>()
  for (let at = 0; at < lines.length; at++) {
    const line = at + 1
    if (entries.length > variables || bad.length > variables) break
    if (line > mostLines) {
      bad.push({ line, message: `is beyond the ${mostLines.toLocaleString('en')} lines that a text may have` })
      break
    }
    if (BLANK.test(lines[at]!)) continue
    const start = START.exec(lines[at]!)
    if (start === null) {
      bad.push({ line, message: 'is not KEY=value, a comment or empty' })
      continue
    }
    const key = start[1]!
    const read = readValue(lines, at, start[0].length)
    if (typeof read === 'string') {
      bad.push({ line, message: read })
      continue
    }
    at = read.end
    const first = lineOfKey.get(key)
    if (first === undefined) entries.push({ key, value: read.value, line })
    else bad.push({ line, message: `says ${key.slice(0, 100)} again, as line ${first} does` })
    lineOfKey.set(key, first ?? line)
  }
  return { entries, bad }
}

/** The value that begins in line `at` behind `from`, and the line it ends in; or what is wrong with it. */
function readValue(lines: string[], at: number, from: number): { value: string; end: number } | string {
  const rest = lines[at]!.slice(from)
  const quote = /^["'`]/.exec(rest)?.[0]
  if (quote === undefined) return { value: beforeComment(rest).trim(), end: at }
  let body = ''
  for (let end = at, text = rest.slice(1); end < lines.length; text = lines[++end] ?? '') {
    const close = closingQuote(text, quote)
    if (close < 0) {
      body += `${text}\n`
      continue
    }
    if (!AFTER_QUOTE.test(text.slice(close + 1))) return `has more behind the closing ${quote}`
    return { value: unescaped(body + text.slice(0, close), quote), end }
  }
  return `opens a ${quote} that is never closed`
}

/** Found by its place: a pattern would be tried at each `#` of a line with a U+2028, which `.` does not match. */
function beforeComment(text: string): string {
  const at = text.indexOf('#')
  return at === -1 ? text : text.slice(0, at)
}

/** Within double quotes `\\"` does not close. */
function closingQuote(text: string, quote: string): number {
  let at = text.indexOf(quote)
  while (quote === '"' && at > 0 && text[at - 1] === '\\') at = text.indexOf(quote, at + 1)
  return at
}

function unescaped(text: string, quote: string): string {
  return quote === '"' ? text.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : text
}

/** Writes variables so that reading gives them back. A value that no quoting can carry is named in a comment instead. */
export function writeDotenv(variables: Record<string, string>, omitted: readonly string[]): string {
  const lines = Object.entries(variables).map(([key, value]) => {
    const text = quoted(value)
    return text === undefined ? `# ${key} is left out: no quoting of this format can carry its value` : `${key}=${text}`
  })
  const comments = omitted.map((key) => `# ${key} is left out: its value cannot be read`)
  return [...lines, ...comments, ''].join('\n')
}

/** The value as a `.env` text has it; undefined when no quoting can carry it. */
export function quoted(value: string): string | undefined {
  if (/^[\w./:@%+,-]*$/.test(value)) return value
  if (!value.includes('\r')) {
    for (const quote of ["'", '`']) if (!value.includes(quote)) return quote + value + quote
  }
  if (/["\\]/.test(value)) return undefined
  return `"${value.replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`
}
