/** What came of a run of tests, and what a second try of the files that failed makes of it. docs/testing.md: Retries. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** `isWhole`: all of its tests are known to have run. `failed`: the names of its tests that failed, and what ended its process badly. */
type OfFile = { isWhole: boolean; passed: number; skipped: number; failed: string[] }

/** By the name of the file from the root. A process that dies takes files with it: they are missing. */
export type Outcome = Record<string, OfFile>

/** With more failures at the first attempt the run is red, without a second attempt. */
export const MAX_FLAKY = 20

/** The reporter keeps it in the folder of the queue. */
export function keepOutcome(folder: string, outcome: Outcome): void {
  writeFileSync(join(folder, 'outcome.json'), JSON.stringify(outcome))
}

/** Nothing of a run that was ended before it could report. */
export function readOutcome(folder: string): Outcome {
  const file = join(folder, 'outcome.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Outcome) : {}
}

/** The files that are not known to have passed. */
export function failedFiles(files: readonly string[], outcome: Outcome): string[] {
  return files.filter((file) => !outcome[file]?.isWhole || outcome[file].failed.length > 0)
}

/** Whether the files that failed are worth a second try. */
export function isWorthAgain(failed: readonly string[], outcome: Outcome): boolean {
  const tests = failed.flatMap((file) => outcome[file]?.failed ?? [file])
  return failed.length > 0 && tests.length <= MAX_FLAKY
}

/**
 * `flaky`: `<file> › <test>` of each failure of the first try that was none in the second. `isGreen`: every file that failed passed then,
 * and some test did run.
 */
export function judgeSecond(failed: readonly string[], first: Outcome, second: Outcome) {
  const flaky = failed.flatMap((file) => {
    const names = first[file]?.failed.length ? first[file].failed : ['its process ended before its tests did']
    return names
      .filter((name) => second[file]?.isWhole && !second[file].failed.includes(name))
      .map((name) => `${file} › ${name}`)
  })
  const isGreen = failedFiles(failed, second).length === 0 && failed.some((file) => second[file]!.passed > 0)
  return { isGreen, flaky }
}

/** The closing lines of a run as node's reporter prints them, of the last try of each file. */
export function countsOf(outcome: Outcome, seconds: number): string {
  const files = Object.values(outcome)
  const sum = (count: (file: OfFile) => number) => files.reduce((total, file) => total + count(file), 0)
  const [pass, fail, skipped] = [
    sum(({ passed }) => passed),
    sum(({ failed }) => failed.length),
    sum((one) => one.skipped),
  ]
  const rows = { tests: pass + fail + skipped, suites: files.length, pass, fail, cancelled: 0, skipped, todo: 0 }
  const lines = Object.entries({ ...rows, duration_ms: Math.round(seconds * 1000) })
  return lines.map(([name, count]) => `ℹ ${name} ${count}\n`).join('')
}
