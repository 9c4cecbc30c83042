/** Which test files `npm test -- --changed` runs: those that the coverage map says execute what changed, and those that say so themselves. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { changedLines } from './coverage/changes.ts'
import { affordable, type CoverageMap, openMap } from './coverage/covering.ts'
import { unrecorded } from './coverage/unrecorded.ts'
import { filesOf } from './queue.ts'

/** They read every source as text, so coverage does not show them. */
const READ_SOURCES = ['citations', 'layout', 'style'].map((name) => `test/project/${name}.test.ts`)

/**
 * Half of all tests execute a line that sets up a project. So the likeliest to notice are asked: of each changed line so many, and of each
 * changed source as many as take this share of the time of all tests, some 30 s where all take 9 minutes.
 */
const OF_A_LINE = 2
const OF_ALL_TIME = 1 / 18

/** `changed`: the files that differ. `tests`: what is run for them. `unrecorded`: test files without coverage in the map. */
export type Chosen = { changed: string[]; tests: string[]; unrecorded: string[] }

/**
 * The test files to run for what differs from the commit, committed or not. Of a source, the likeliest of those that execute what changed;
 * where no recorded test does, those of the folder called as its own. Of any other file, those that import it or name it.
 */
export function testsOfChange(root: string, commit: string): Chosen {
  const all = filesOf(root, false).map((file) => file.replaceAll('\\', '/'))
  const map = openMap(root)
  const unknown = unrecorded(root)
  const changed = changedLines(root, commit)
  const imports = importsIn(root)
  const chosen = new Set<string>()
  for (const [file, lines] of changed) {
    const tests = /^src\/.*\.ts$/.test(file)
      ? testsOfSource(map, all, unknown, file, existsSync(join(root, file)) ? lines : undefined)
      : all.filter((test) => test === file || reads(root, imports, test, file))
    for (const test of tests) chosen.add(test)
  }
  return { changed: [...changed.keys()], tests: all.filter((test) => chosen.has(test)), unrecorded: unknown }
}

/** `lines`: undefined where the file is gone. */
function testsOfSource(
  map: CoverageMap,
  all: readonly string[],
  unknown: readonly string[],
  file: string,
  lines: ReadonlySet<number> | undefined,
): string[] {
  const ofLines = [...(lines ?? [])].flatMap((line) => map.covering(file, [line]).tests.slice(0, OF_A_LINE))
  const executing = lines === undefined ? map.executing(file) : map.covering(file, lines).tests
  const allTime = [...map.entries.values()].reduce((sum, { seconds }) => sum + seconds, 0)
  const found = affordable(map, executing, allTime * OF_ALL_TIME)
  const beside = all.filter((test) => dirname(test) === dirname(file).replace(/^src/, 'test'))
  const untold = beside.filter((test) => found.length === 0 || unknown.includes(test))
  return [...found, ...ofLines, ...untold, ...READ_SOURCES]
}

/** Whether a test imports the file, or says its name; tests of the project read every page. */
function reads(root: string, imports: ReadonlyMap<string, string[]>, test: string, file: string): boolean {
  if (/\.(?:ts|mjs)$/.test(file)) return importedBy(imports, test).has(file)
  if (file.endsWith('.md') && test.startsWith('test/project/')) return true
  return readFileSync(join(root, test), 'utf8').includes(file.split('/').at(-1)!)
}

/** Each file of test/ and scripts/ with the files there that it imports. */
function importsIn(root: string): Map<string, string[]> {
  const files = globSync('{test,scripts}/**/*.{ts,mjs}', { cwd: root }).map((file) => file.replaceAll('\\', '/'))
  return new Map(
    files.map((file) => {
      const named = [...readFileSync(join(root, file), 'utf8').matchAll(/(?:from |import |import\()'(\.[^']+)'/g)]
      return [file, named.map(([, name]) => normalize(join(dirname(file), name!)).replaceAll('\\', '/'))]
    }),
  )
}

/** What a file imports, by way of others too. */
function importedBy(imports: ReadonlyMap<string, string[]>, file: string): Set<string> {
  const found = new Set(imports.get(file))
  for (const next of found) for (const further of imports.get(next) ?? []) found.add(further)
  return found
}
