/** Where src uses what it declares outside functions: for a line that runs on module load, only its uses show the tests. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Lines of one file that mention a declaration. */
export type Use = { file: string; lines: number[] }

/** A table that everything uses is followed no further than this. */
const MAX_DECLARATIONS = 200

/**
 * The lines of functions that mention what is declared at these lines, or what is declared by means of it, the nearest first: in the file
 * itself, and in those that import it. `runsAtLoad` says whether a mention is itself a part of a declaration.
 */
export function* declarationsUsing(
  root: string,
  file: string,
  lines: readonly number[],
  runsAtLoad: (file: string, lines: number[]) => boolean,
): Generator<Use> {
  const sources = readSources(root)
  const queue = lines.map((line) => declarationAt(sources, file, line)).filter((found) => found !== undefined)
  const seen = new Set(queue.map(({ file, name }) => `${file} ${name}`))
  // The queue grows while it is walked.
  for (const declared of queue) {
    for (const use of mentionsOf(sources, declared)) {
      yield use
      for (const line of use.lines.filter((line) => runsAtLoad(use.file, [line]))) {
        const next = declarationAt(sources, use.file, line)
        if (next === undefined || seen.has(`${next.file} ${next.name}`) || queue.length >= MAX_DECLARATIONS) continue
        seen.add(`${next.file} ${next.name}`)
        queue.push(next)
      }
    }
  }
}

/**
 * The functions next to a line in its row of a table, such as the operation of a route next to the scopes that it needs: who
 * tests them tests the row.
 */
export function functionsBeside(root: string, file: string, line: number): Use[] {
  const sources = readSources(root)
  const { lines, imports } = sources.get(file) ?? { lines: [], imports: new Set() }
  const depth = indentOf(lines[line - 1] ?? '')
  const isBeside = (at: number) => lines[at] !== undefined && (lines[at] === '' || indentOf(lines[at]) >= depth)
  let [from, to] = [line - 1, line - 1]
  while (depth > 0 && isBeside(from - 1)) from--
  while (depth > 0 && isBeside(to + 1)) to++
  const words = new Set(lines.slice(from, to + 1).flatMap((text) => text.match(/[A-Za-z]\w+/g) ?? []))
  return [file, ...imports].flatMap((declaring) => {
    const text = sources.get(declaring)?.lines ?? []
    return text.flatMap((start, at) => {
      const name = /^(?:export )?(?:async )?function\*? (\w+)/.exec(start)?.[1]
      if (name === undefined || !words.has(name)) return []
      const end = text.indexOf('}', at)
      return [{ file: declaring, lines: Array.from({ length: end - at }, (_, next) => at + 1 + next) }]
    })
  })
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

type Declaration = { file: string; name: string }
type Source = { lines: string[]; imports: Set<string> }

const DECLARES = /^(?:export )?(?:async )?(?:const|let|function\*?|class) (\w+)/

/** The declaration at the left edge that holds the line. */
function declarationAt(sources: Sources, file: string, line: number): Declaration | undefined {
  const lines = sources.get(file)?.lines ?? []
  for (let at = Math.min(line, lines.length) - 1; at >= 0; at--) {
    const name = DECLARES.exec(lines[at]!)?.[1]
    if (name !== undefined) return { file, name }
    if (/^(?:import|export)\b/.test(lines[at]!)) return undefined
  }
  return undefined
}

function mentionsOf(sources: Sources, { file, name }: Declaration): Use[] {
  // A property of something else may be called the same; what is spread is not one.
  const word = new RegExp(`(?:(?<=\\.\\.\\.)|(?<![\\w.$]))${name}(?![\\w$])`)
  const uses: Use[] = []
  for (const [user, { lines, imports }] of sources) {
    if (user !== file && !imports.has(file)) continue
    const found = lines.flatMap((text, at) => (word.test(text) && !text.startsWith('import ') ? [at + 1] : []))
    if (found.length > 0) uses.push({ file: user, lines: found })
  }
  return uses.toSorted((a, b) => Number(b.file === file) - Number(a.file === file))
}

type Sources = ReadonlyMap<string, Source>

const known = new Map<string, Sources>()

function readSources(root: string): Sources {
  const found = known.get(root)
  if (found !== undefined) return found
  const files = globSync('src/**/*.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'))
  const sources = new Map(
    files.map((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const named = [...text.matchAll(/(?:from |import\()'(\.[^']+)'/g)]
      const imports = new Set(named.map(([, name]) => normalize(join(dirname(file), name!)).replaceAll('\\', '/')))
      return [file, { lines: text.split('\n'), imports }] as const
    }),
  )
  known.set(root, sources)
  return sources
}
