/** The mutants of a source: @stryker-mutator/instrumenter makes those of the language, query-mutants.ts those of queries. Each changes one line. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Instrumenter } from '@stryker-mutator/instrumenter'
import { hashOf } from '../test/coverage/store.ts'
import { queryMutants } from './query-mutants.ts'

/** A fragment of one line and what stands there instead. `line` counts from 1, `column` from 0. */
export type Mutation = { line: number; column: number; text: string; replacement: string; mutator: string }
export type Mutant = Mutation & {
  /** From the root. */
  file: string
  /** The line as it is, and as the mutant has it. */
  before: string
  after: string
}

/**
 * Not mutated: strings. Most name a column or a code, which the types hold, so that no mutant of them compiles; the others are
 * sentences for users.
 */
const EXCLUDED = ['StringLiteral']
/** The version of the mutators: results of another version are recomputed. */
const VERSION = 'stryker-9.6 queries-2'

const silent = () => {}
const log = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
}

/** Every mutant of the text of `file`, in the order of the text. Making them takes a tenth of a second, so they are kept in `cache`. */
export async function mutantsOf(file: string, text: string, cache: string): Promise<Mutant[]> {
  const kept = join(cache, `${hashOf(`${VERSION}\n${text}`)}.json`)
  const lines = text.split('\n')
  return (read(kept) ?? keep(kept, [...(await languageMutants(file, text)), ...queryMutants(text)]))
    .map((mutation) => ({ ...mutation, file, ...lineWith(lines, mutation) }))
    .filter((mutant) => !isUnread(mutant))
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
}

/** Whether only the first element of a list differs, of which the line reads the others: `const [, name] = PATTERN.exec(text) ?? []`. */
function isUnread({ before, column, text, replacement }: Mutant): boolean {
  const isFirst = text === '[]' && replacement.startsWith('["') && before.slice(0, column).endsWith('?? ')
  return isFirst && before.trim().startsWith('const [,')
}

/** The text with the mutation in it. */
export function mutate(text: string, { line, column, text: fragment, replacement }: Mutation): string {
  const lines = text.split('\n')
  const before = lines[line - 1]!
  if (!before.startsWith(fragment, column)) throw new Error(`line ${line} has no ${fragment} at ${column}`)
  lines[line - 1] = before.slice(0, column) + replacement + before.slice(column + fragment.length)
  return lines.join('\n')
}

/** What names a mutant also when its line has moved, or its file to another folder. */
export function nameOf({ file, before, after }: Pick<Mutant, 'file' | 'before' | 'after'>): string {
  return [file.split('/').at(-1), before.trim(), after.trim()].join('\n')
}

async function languageMutants(file: string, text: string): Promise<Mutation[]> {
  const options = { plugins: null, excludedMutations: EXCLUDED, ignorers: [] }
  const { mutants } = await new Instrumenter(log).instrument([{ name: file, content: text, mutate: true }], options)
  const lines = text.split('\n')
  return mutants
    .filter(({ status, location: { start, end } }) => status !== 'Ignored' && start.line === end.line)
    .map(({ location: { start, end }, replacement, mutatorName }) => ({
      line: start.line + 1,
      column: start.column,
      text: lines[start.line]!.slice(start.column, end.column),
      // A block or a long call is printed over several lines.
      replacement: replacement.replaceAll(/\n\s*/g, ' '),
      mutator: mutatorName,
    }))
}

function lineWith(lines: readonly string[], mutation: Mutation): { before: string; after: string } {
  const before = lines[mutation.line - 1]!
  return { before, after: mutate(before, { ...mutation, line: 1 }) }
}

function read(file: string): Mutation[] | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

function keep(file: string, mutations: Mutation[]): Mutation[] {
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, JSON.stringify(mutations))
  return mutations
}
