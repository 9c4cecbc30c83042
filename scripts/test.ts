/**
 * `npm test [-- <file>…] [-- <option of node --test>…]`: the named test files, or all of them but the long ones, with the PostgreSQL
 * they need. `--changed [COMMIT]`: those that execute what changed since; `--coverage`: what each executes is recorded for it. `npm run
 * test:long` is the long ones alone. An option has no space in it: `--test-name-pattern='a word'`. What fails in a run of all files is tried
 * once more, alone; `--again` asks for that where files are named. docs/testing.md.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { testsOfChange } from './test/changed.ts'
import { hasCommit } from './test/coverage/changes.ts'
import { COVERAGE } from './test/coverage/record.ts'
import { coverageFolder, readEntries } from './test/coverage/store.ts'
import {
  countsOf,
  failedFiles,
  isWorthAgain,
  judgeSecond,
  MAX_FLAKY,
  type Outcome,
  readOutcome,
} from './test/outcome.ts'
import { filesOf, filesOfQueue, fillQueue, QUEUE } from './test/queue.ts'

const root = join(import.meta.dirname, '..')
/** For a run that hangs: each test has a time-out of its own. */
const TIMEOUT_MS = 60 * 60_000
/** Many tests wait for a child, a disk or PostgreSQL, so more files than cores run at a time. */
const FILES_AT_ONCE = 4

const asked = process.argv.slice(2)
const OWN = ['--long', '--again', '--coverage', '--changed']
const long = asked.includes('--long')
const coverage = asked.includes('--coverage')
const options = asked.filter((word) => word.startsWith('-') && !OWN.includes(word))
const changed = asked.includes('--changed') ? changedSince(asked[asked.indexOf('--changed') + 1]) : undefined
const named = changed ?? asked.filter((word) => !word.startsWith('-'))
const missing = named.filter((file) => !existsSync(resolve(root, file)))
if (missing.length > 0) {
  console.error(
    `there is no ${missing.join(', ')}; a file is named from the root: npm test -- test/projects/env/env.test.ts`,
  )
  process.exit(64)
}
const began = performance.now()
const first = run(named.length > 0 ? named : filesOf(root, long), FILES_AT_ONCE)
const failed = failedFiles(first.files, first.outcome)
// A process that is ended with 0 takes its files with it. With options of node's own there may be no outcome of a file.
const lost = options.length > 0 ? [] : first.files.filter((file) => !first.outcome[file]?.isWhole)
if (first.status === 0 && lost.length > 0) console.log(`\nno end was reported of ${lost.join(', ')}`)
const status = lost.length > 0 ? 1 : first.status
// Who names a file wants to see it fail.
const isOnce = named.length > 0 && !asked.includes('--again')
if (status === 0 || isOnce || !isWorthAgain(failed, first.outcome)) process.exit(status)

console.log(`\ntried once more, on their own: ${failed.join(', ')}\n`)
const second = run(failed, 1)
const { isGreen, flaky } = judgeSecond(failed, first.outcome, second.outcome)
console.log()
for (const line of flaky) console.log(`flaky: ${line}`)
if (flaky.length > MAX_FLAKY) console.log(`more than ${MAX_FLAKY} are flaky: something is broken`)
process.stdout.write(countsOf({ ...first.outcome, ...second.outcome }, (performance.now() - began) / 1000))
process.exit(isGreen && second.status === 0 && flaky.length <= MAX_FLAKY ? 0 : 1)

/** Runs these files in up to `most` processes, and returns the outcomes from the reporter. */
function run(files: readonly string[], processes: number): { status: number; files: string[]; outcome: Outcome } {
  const folder = mkdtempSync(join(tmpdir(), 'berth-queue-'))
  const workers = fillQueue(folder, root, files, processes)
  const words = [
    '--test',
    '--test-global-setup=test/support/postgres.ts',
    `--test-concurrency=${processes}`,
    `--test-timeout=${TIMEOUT_MS}`,
    ...(options.some((option) => option.startsWith('--test-reporter'))
      ? []
      : ['--test-reporter=./scripts/test/report.ts']),
    ...options,
    ...workers,
  ]
  const { status } = spawnSync(process.execPath, words, {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      // What is not about the engine runs on SQLite alone, unless its file is named: docs/testing.md: Both engines.
      BERTH_TEST_ENGINES: process.env.BERTH_TEST_ENGINES ?? (named.length > 0 || long ? 'both' : 'quick'),
      // Each worker is a process that reads the same sources; compiled once, they are read by all.
      NODE_COMPILE_CACHE: join(root, '.cache', 'tests'),
      ...(coverage && { [COVERAGE]: coverageFolder(root) }),
      [QUEUE]: folder,
    },
  })
  const ran = { files: filesOfQueue(folder), outcome: readOutcome(folder) }
  rmSync(folder, { recursive: true, force: true })
  // A signal leaves no status: that is not a success.
  return { status: status ?? 1, ...ran }
}

/** The test files for the changes since a commit, or since the last one. Ends the process without such files, or where the map is missing. */
function changedSince(word: string | undefined): string[] {
  const commit = word === undefined || word.startsWith('-') ? 'HEAD' : word
  if (!hasCommit(root, commit)) end(`there is no commit ${commit}`)
  if (readEntries(coverageFolder(root)).length === 0)
    end('nothing says which tests execute what: npm test -- --coverage records it once')
  const { changed, tests, unrecorded } = testsOfChange(root, commit)
  console.log(`${changed.length} files differ from ${commit}; ${tests.length} test files are the likeliest to notice`)
  if (unrecorded.length > 0)
    console.log(
      `${unrecorded.length} test files are new or changed since they were recorded: npm test -- --coverage records them`,
    )
  if (tests.length === 0) process.exit(0)
  return tests

  function end(message: string): never {
    console.error(message)
    process.exit(64)
  }
}
