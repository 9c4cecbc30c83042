/** Which lines of src are judged: all, those of a folder, or those that changed since a commit, in an order that a seed gives. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { changedLines } from '../test/coverage/changes.ts'
import { hashOf } from '../test/coverage/store.ts'
import { type Mutant, mutantsOf, nameOf } from './mutants.ts'

/** TABLE what is not mutated, each with its reason. docs/testing.md. */
export const EXCLUDED: Readonly<Record<string, string>> = {
  'src/platform/db/migrations/':
    'a migration is not changed once it is released, and the runs of mutants begin with a migrated store',
  'src/platform/db/schema.ts': 'types alone',
  'src/platform/openapi/': 'it makes documents, which npm run openapi --check compares with those that are kept',
}

/**
 * The mutants in the order in which they are judged, at most one for each line. The order comes from the seed and from what the mutant is,
 * not from where it stands: a change elsewhere leaves it as it is.
 * `since`: only of lines that are changed or new since this commit. `area`: only of files below this folder.
 */
export async function sampleOf(
  root: string,
  cache: string,
  { seed, since, area = 'src' }: { seed: number; since?: string | undefined; area?: string | undefined },
): Promise<Mutant[]> {
  const changed = since === undefined ? undefined : changedLines(root, since)
  const below = `${area.replace(/\/$/, '')}${area.endsWith('.ts') ? '' : '/'}`
  const all: Mutant[] = []
  for (const file of sources(root)) {
    const lines = changed?.get(file)
    if (!file.startsWith(below) || (changed !== undefined && lines === undefined)) continue
    const mutants = await mutantsOf(file, readFileSync(join(root, file), 'utf8'), cache)
    all.push(...mutants.filter(({ line }) => lines === undefined || lines.has(line)))
  }
  const order = new Map(all.map((mutant) => [mutant, hashOf(`${seed}\n${nameOf(mutant)}`)]))
  const sorted = all.toSorted((a, b) => (order.get(a)! < order.get(b)! ? -1 : 1))
  return [...Map.groupBy(sorted, ({ file, line }) => `${file}:${line}`).values()].map(([first]) => first!)
}

/** The files of src that are mutated. */
function sources(root: string): string[] {
  return globSync('src/**/*.ts', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !Object.keys(EXCLUDED).some((excluded) => file.startsWith(excluded)))
    .toSorted()
}
