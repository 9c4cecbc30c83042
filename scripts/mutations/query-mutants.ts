/** Mutants that the library does not make: a statement that is left out, a condition that is left out of a query, an operator in SQL. */
import type { Mutation } from './mutants.ts'

/** Steps of a query, without which it is another query that still works. */
const STEP = /\.(?:where|whereRef|having|orderBy|limit|onConflict|forUpdate)\(/g
const OPERATOR = /(?<=, )'(?:=|!=|<|<=|>|>=|is|is not|in|not in)'(?=, )|(?<=, )'(?:asc|desc)'(?=\))/g
const OTHER: Readonly<Record<string, string>> = {
  "'='": "'!='",
  "'!='": "'='",
  "'<'": "'<='",
  "'<='": "'<'",
  "'>'": "'>='",
  "'>='": "'>'",
  "'is'": "'is not'",
  "'is not'": "'is'",
  "'in'": "'not in'",
  "'not in'": "'in'",
  "'asc'": "'desc'",
  "'desc'": "'asc'",
}
/** The same within the text of a statement. */
const IN_SQL: readonly (readonly [RegExp, string])[] = [
  [/ is not null\b/g, ' is null'],
  [/ is null\b/g, ' is not null'],
  [/ and (?=\S)/g, ' or '],
  [/ or (?=\S)/g, ' and '],
  [/ < /g, ' <= '],
  [/ <= /g, ' < '],
  [/ > /g, ' >= '],
  [/ >= /g, ' > '],
  [/ not (?=in|exists|like)/g, ' '],
  [/ desc\b/g, ''],
]
/** A call that is a statement of its own, and not a part of an expression over several lines. */
const STATEMENT = /^ +(?:await |void )?[A-Za-z_$][\w$.!?]*\(.*\)$/
const OPEN_END = /(?:=>|[=([,?:&|+]|\breturn)$/
const GOES_ON = /^\s*(?:[.?:)\]]|&&|\|\||\+)/

/** The mutants of queries and statements in the text of a source. */
export function queryMutants(text: string): Mutation[] {
  const lines = text.split('\n')
  const inSql = sqlRanges(text)
  const found: Mutation[] = []
  let offset = 0
  for (const [at, before] of lines.entries()) {
    const add = (column: number, fragment: string, replacement: string, mutator: string) =>
      found.push({ line: at + 1, column, text: fragment, replacement, mutator })
    if (isStatement(lines, at)) add(before.search(/\S/), before.trim(), '', 'Statement')
    for (const { index, 0: step } of before.matchAll(STEP)) {
      const end = closingOf(before, index + step.length)
      if (end !== undefined) add(index, before.slice(index, end), '', 'QueryStep')
    }
    for (const { index, 0: operator } of before.matchAll(OPERATOR))
      add(index, operator, OTHER[operator]!, 'QueryOperator')
    for (const [pattern, replacement] of IN_SQL)
      for (const { index, 0: fragment } of before.matchAll(pattern))
        if (inSql.some(([from, to]) => offset + index >= from && offset + index < to))
          add(index, fragment, replacement, 'Sql')
    offset += before.length + 1
  }
  return found
}

function isStatement(lines: readonly string[], at: number): boolean {
  const line = lines[at]!
  if (!STATEMENT.test(line) || closingOf(line, line.indexOf('(') + 1) === undefined) return false
  return !OPEN_END.test(lines[at - 1]?.trimEnd() ?? '') && !GOES_ON.test(lines[at + 1] ?? '')
}

/** Where the parenthesis that was opened before `from` is closed, behind it; undefined where that is on another line. */
function closingOf(line: string, from: number): number | undefined {
  let depth = 1
  for (let at = from; at < line.length; at++) {
    if (line[at] === '(') depth++
    if (line[at] === ')' && --depth === 0) return at + 1
  }
  return undefined
}

/** From where to where the text is SQL: `sql` with a template. */
function sqlRanges(text: string): [from: number, to: number][] {
  return [...text.matchAll(/\bsql(?:<[^`]*?>)?`/g)].map(({ index, 0: start }) => {
    const from = index + start.length
    let depth = 0
    for (let at = from; at < text.length; at++) {
      if (text.startsWith('${', at)) depth++
      else if (text[at] === '}' && depth > 0) depth--
      else if (text[at] === '`' && depth === 0) return [from, at]
    }
    return [from, text.length]
  })
}
