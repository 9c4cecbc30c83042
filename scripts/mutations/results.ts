/** What came of mutants, kept so that a run goes on where one stopped: a line of JSON for each. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hashOf } from '../test/coverage/store.ts'
import type { Mutant } from './mutants.ts'

/**
 * killed: a test failed, or took many times its time. survived: all its tests passed. not covered: no test executes the line. does not
 * compile, cannot load: no test is needed to notice it, so it counts for nothing.
 */
export type Outcome = 'killed' | 'survived' | 'not covered' | 'does not compile' | 'cannot load'

export type Result = Mutant & {
  outcome: Outcome
  /** What killed it, or why it cannot be loaded. */
  because: string
  /** Of the source. */
  hash: string
  /** The test files that say so, each with its hash: the killer, or all that ran. */
  tests: Record<string, string>
  /** Whether the types were asked: what was judged before they answered may be refused by them yet. */
  typed: boolean
}

export type Results = {
  /** What is known of a mutant, where neither its source nor a test that says so has changed since. `tests`: all that would run. */
  find(mutant: Mutant, tests: readonly string[]): Result | undefined
  keep(mutant: Mutant, result: Pick<Result, 'outcome' | 'because'> & { tests: readonly string[] }): Result
  /** Keeps of a result that the types let its mutant be. */
  keepTyped(result: Result): Result
}

/** Opens the results in `file`; with `fresh`, no earlier one counts. */
export function openResults(root: string, file: string, fresh: boolean): Results {
  mkdirSync(dirname(file), { recursive: true })
  const lines = fresh || !existsSync(file) ? [] : readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const known = new Map(lines.map((line) => JSON.parse(line) as Result).map((result) => [keyOf(result), result]))
  const hashes = new Map<string, string>()
  const hash = (path: string) => {
    if (!hashes.has(path))
      hashes.set(path, existsSync(join(root, path)) ? hashOf(readFileSync(join(root, path), 'utf8')) : '')
    return hashes.get(path)!
  }
  return {
    find(mutant, tests) {
      const found = known.get(keyOf(mutant))
      if (found === undefined || found.hash !== hash(mutant.file)) return undefined
      if (Object.entries(found.tests).some(([test, was]) => hash(test) !== was)) return undefined
      const passed = found.outcome === 'survived' || found.outcome === 'not covered'
      return passed && tests.some((test) => found.tests[test] === undefined) ? undefined : found
    },
    keep(mutant, { outcome, because, tests }) {
      const said = Object.fromEntries(tests.map((test) => [test, hash(test)]))
      const typed = outcome === 'does not compile'
      return write({ ...mutant, outcome, because, hash: hash(mutant.file), tests: said, typed })
    },
    keepTyped: (result) => write({ ...result, typed: true }),
  }

  function write(result: Result): Result {
    known.set(keyOf(result), result)
    appendFileSync(file, `${JSON.stringify(result)}\n`)
    return result
  }
}

function keyOf({ file, line, column, text, replacement }: Mutant): string {
  return JSON.stringify([file, line, column, text, replacement])
}
