/** Which test files execute a line of src, by the coverage map, the likeliest to notice a change of it first. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hunksBetween, oldLines } from './changes.ts'
import { declarationsUsing, functionsBeside } from './declarations.ts'
import { unpackLines } from './lines.ts'
import { coverageFolder, type Entry, hashOf, readEntries, readLoaded, sourceFile } from './store.ts'

/** What is executed when a module is loaded reaches every test: those that use what is declared there are asked, and no more than these. */
const MAX_AT_LOAD = 40

/** `tests` in the order in which they are asked. `atLoad`: the line runs when its module is loaded, so the tests are those that use what it declares. */
export type Covering = { tests: string[]; atLoad: boolean }

export type CoverageMap = {
  /** The test files that were recorded, with what each took. */
  entries: ReadonlyMap<string, Entry>
  /** The test files that execute one of these lines of the file as it is now. */
  covering(file: string, lines: Iterable<number>): Covering
  /** The test files that executed any line of the file, which may be gone. */
  executing(file: string): string[]
}

/** Reads the map; `entries` is empty where none was recorded. */
export function openMap(root: string, folder = coverageFolder(root)): CoverageMap {
  const there = readEntries(folder).filter(({ test }) => existsSync(join(root, test)))
  const entries = new Map(there.map((entry) => [entry.test, entry]))
  const sizes = new Map([...entries.values()].map((entry) => [entry.test, sizeOf(entry)]))
  const loaded = readLoaded(folder)
  const executed = new Map<string, Map<string, Set<number>>>()
  const hunks = new Map<string, ReturnType<typeof hunksBetween>>()

  function executedBy(file: string): Map<string, Set<number>> {
    const known = executed.get(file)
    if (known !== undefined) return known
    const found = new Map<string, Set<number>>()
    for (const { test, sources } of entries.values())
      if (sources[file] !== undefined) found.set(test, new Set(unpackLines(sources[file].lines)))
    executed.set(file, found)
    return found
  }

  /** Lines of the file as it is now -> lines of it as it was recorded. */
  function recorded(file: string, hash: string, lines: Iterable<number>): Set<number> {
    const key = `${file} ${hash}`
    if (!hunks.has(key)) {
      const now = join(root, file)
      const same = hashOf(readFileSync(now, 'utf8')) === hash
      hunks.set(key, same ? [] : hunksBetween(sourceFile(folder, hash), now))
    }
    return oldLines(hunks.get(key)!, lines)
  }

  function testsExecuting(file: string, lines: Iterable<number>): Set<string> {
    const wanted = new Set(lines)
    const tests = new Set<string>()
    for (const [test, ran] of executedBy(file)) {
      const { hash } = entries.get(test)!.sources[file]!
      if (!ran.isDisjointFrom(recorded(file, hash, wanted))) tests.add(test)
    }
    return tests
  }

  function runsAtLoad(file: string, lines: Iterable<number>): boolean {
    const at = loaded[file]
    return at !== undefined && !recorded(file, at.hash, lines).isDisjointFrom(new Set(unpackLines(at.lines)))
  }

  function order(file: string, tests: Iterable<string>): string[] {
    // A file that spends most of its lines here, and little time, is asked first.
    const cost = (test: string) => {
      const { seconds } = entries.get(test)!
      const share = (executedBy(file).get(test)?.size ?? 0.5) / sizes.get(test)!
      return (seconds + 1) / share / nearness(file, test)
    }
    return [...tests].toSorted((a, b) => cost(a) - cost(b))
  }

  return {
    entries,
    covering(file, lines) {
      const wanted = [...lines]
      const direct = order(file, testsExecuting(file, wanted))
      if (!runsAtLoad(file, wanted)) return { tests: direct, atLoad: false }
      const beside = wanted.flatMap((line) => functionsBeside(root, file, line))
      const near = order(file, new Set(beside.flatMap((use) => [...testsExecuting(use.file, use.lines)])))
      const users = new Set(near.slice(0, MAX_AT_LOAD))
      for (const use of declarationsUsing(root, file, wanted, runsAtLoad)) {
        for (const test of order(file, testsExecuting(use.file, use.lines))) {
          if (users.size < MAX_AT_LOAD) users.add(test)
        }
      }
      return { tests: [...new Set([...direct, ...users])], atLoad: true }
    },
    executing: (file) => [...executedBy(file).keys()],
  }
}

/** Takes as many of the test files, in their order, as took these seconds together when they were recorded. One that is too long is left out. */
export function affordable({ entries }: CoverageMap, tests: readonly string[], seconds: number): string[] {
  let left = seconds
  return tests.filter((test) => {
    const took = entries.get(test)!.seconds
    if (took > left) return false
    left -= took
    return true
  })
}

/** How much likelier than any other a test file is that is called as the source, or as its folder. */
function nearness(file: string, test: string): number {
  const [own, folder] = [file.split('/').at(-1)!.replace('.ts', ''), file.split('/').at(-2)!]
  const near = test.split('/').includes(folder) ? 20 : 1
  return test.endsWith(`/${own}.test.ts`) ? near * 5 : near
}

function sizeOf({ sources }: Entry): number {
  return Object.values(sources).reduce((sum, { lines }) => sum + unpackLines(lines).length, 1)
}
