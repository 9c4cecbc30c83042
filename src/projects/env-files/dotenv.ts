/**
 * Parses and writes `.env` text: `KEY=value`, `export`, comments, '…', "…" (with \n and \r) and `…` over several lines. Node's
 * parser skips invalid lines; this one reports them by number, because a missing variable causes an outage.
 */

export type Entry = { key: string; value: string; line: number }
export type BadLine = { line: number; message: string }

const START = /^[ \t]*(?:export[ \t]+)?([^\s=#"'`]+)[ \t]*=[ \t]*/
const BLANK = /^[ \t]*(?:#.*)?$/
const AFTER_QUOTE = /^[ \t]*(?:#.*)?$/

/** Limits of a text. `variables` limits variables and bad lines separately; reading stops after one more. */
export type TextLimits = { lines: number; variables: number }

/** Parses a text. Errors have line numbers, never values. `max`: limits for untrusted text, at which reading stops. */
export function parseDotenv(text: string, max?: TextLimits): { entries: Entry[]; bad: BadLine[] } {
  const { lines: maxLines = Number.POSITIVE_INFINITY, variables = Number.POSITIVE_INFINITY } = max ?? {}
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/, max && maxLines + 1)
  const entries: Entry[] = []
  const bad: BadLine[] = []
  const lineOfKey = new Map<string, number>()
  for (let at = 0; at < lines.length; at++) {
    const line = at + 1
    if (entries.length > variables || bad.length > variables) break
    if (line > maxLines) {
      bad.push({ line, message: `is beyond the ${maxLines.toLocaleString('en')} lines that a text may have` })
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

/** Reads the value in line `at` after offset `from`. Returns it with its last line, or an error message. */
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
  return `opens a ${quote} that is never closed${quote === '"' ? ' (a " behind a backslash does not close)' : ''}`
}

/** Found by index: a pattern would retry at each `#` of a line with a U+2028, which `.` does not match. */
function beforeComment(text: string): string {
  const at = text.indexOf('#')
  return at === -1 ? text : text.slice(0, at)
}

/** Within double quotes a quote closes unless an odd number of backslashes precedes it: `\\"` does not close, `\\\\"` does. */
function closingQuote(text: string, quote: string): number {
  let at = text.indexOf(quote)
  while (quote === '"' && at > 0 && backslashesBefore(text, at) % 2 === 1) at = text.indexOf(quote, at + 1)
  return at
}

function backslashesBefore(text: string, at: number): number {
  let first = at
  while (first > 0 && text[first - 1] === '\\') first--
  return at - first
}

function unescaped(text: string, quote: string): string {
  return quote === '"' ? text.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : text
}

/**
 * Formats variables so that `dotenv`, node's `parseEnv` and Berth read the same values. Values without a common form appear in a
 * comment with the reason. The first line warns if a shell would read or execute a value differently. docs/variables.md: Text
 * export.
 */
export function writeDotenv(variables: Record<string, string>, omitted: readonly string[]): string {
  const notForShell: string[] = []
  const lines = Object.entries(variables).map(([key, value]) => {
    const form = FORMS.find(({ carries }) => carries(value))
    if (form === undefined) return `# ${key} is left out: ${reasonLeftOut(value)}`
    if (!form.isForShell) notForShell.push(key)
    return `${key}=${form.quote}${value}${form.quote}`
  })
  const comments = omitted.map((key) => `# ${key} is left out: its value cannot be read`)
  const more = notForShell.length > 3 ? ` and ${notForShell.length - 3} more` : ''
  const names = notForShell.slice(0, 3).join(', ') + more
  const warning = names === '' ? [] : [`# Not for a shell, which would change or run the values of ${names}`]
  return [...warning, ...lines, ...comments, ''].join('\n')
}

/** Returns why no form of a `.env` text preserves a value for all readers, without the value itself; undefined if one does. */
export function reasonLeftOut(value: string): string | undefined {
  if (FORMS.some(({ carries }) => carries(value))) return undefined
  if (value.includes('\r')) return 'readers of .env files do not agree about a carriage return'
  if (value.endsWith('\\')) return 'readers of .env files take a backslash at its end for a part of the quote behind it'
  return 'it has all three kinds of quotes'
}

/**
 * Forms of a value; the first that preserves it is used. In `dotenv` a backslash escapes any quote if another quote follows. In
 * double quotes, it and `parseEnv` read `\n` as a line end. No reader keeps a carriage return.
 */
const FORMS: { quote: string; isForShell: boolean; carries: (value: string) => boolean }[] = [
  { quote: '', isForShell: true, carries: (value) => /^[\w./:@%+,-]*$/.test(value) },
  { quote: "'", isForShell: true, carries: (value) => isQuotable(value, "'") },
  { quote: '"', isForShell: true, carries: (value) => isQuotable(value, '"') && !/[\\$`]/.test(value) },
  { quote: '`', isForShell: false, carries: (value) => isQuotable(value, '`') },
  { quote: '"', isForShell: false, carries: (value) => isQuotable(value, '"') && !/\\[nr]/.test(value) },
  // A Windows path that ends with a backslash, which quotes cannot preserve.
  { quote: '', isForShell: false, carries: (value) => /^[\w./:@%+,\\-]([\w./:@%+,\\ -]*[\w./:@%+,\\-])?$/.test(value) },
]

function isQuotable(value: string, quote: string): boolean {
  return !value.includes('\r') && !value.includes(quote) && !value.endsWith('\\')
}
