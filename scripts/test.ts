/**
 * `npm test [-- <file>…] [-- <option of node --test>…]`: the named test files, or all of them but the long ones, with the PostgreSQL
 * they need. `--changed [COMMIT]`: those that execute what changed since; `--coverage`: what each executes is recorded for it. `npm run test:long` is the long ones alone. An option has no space in it: `--test-name-pattern='a word'`. docs/testing.md.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { testsOfChange } from './test/changed.ts'
import { hasCommit } from './test/coverage/changes.ts'
import { COVERAGE } from './test/coverage/record.ts'
import { coverageFolder, readEntries } from './test/coverage/store.ts'
import { filesOf, fillQueue, QUEUE, REFUSED_S, tookOf } from './test/queue.ts'

const root = join(import.meta.dirname, '..')
/** For a run that hangs: each test has a time-out of its own. */
const TIMEOUT_MS = 60 * 60_000
/** Many tests wait for a child, a disk or PostgreSQL, so more files than cores run at a time. */
const FILES_AT_ONCE = 4

const asked = process.argv.slice(2)
const long = asked.includes('--long')
const coverage = asked.includes('--coverage')
const options = asked.filter((word) => word.startsWith('-') && !['--long', '--coverage', '--changed'].includes(word))
const changed = asked.includes('--changed') ? changedSince(asked[asked.indexOf('--changed') + 1]) : undefined
const named = changed ?? asked.filter((word) => !word.startsWith('-'))
const missing = named.filter((file) => !existsSync(resolve(root, file)))
if (missing.length > 0) {
  console.error(
    `there is no ${missing.join(', ')}; a file is named from the root: npm test -- test/projects/env/env.test.ts`,
  )
  process.exit(64)
}
const files = named.length > 0 ? named : filesOf(root, long)
const folder = mkdtempSync(join(tmpdir(), 'berth-queue-'))
const workers = fillQueue(folder, root, files, FILES_AT_ONCE)
const words = [
  '--test',
  '--test-global-setup=test/support/postgres.ts',
  `--test-concurrency=${FILES_AT_ONCE}`,
  `--test-timeout=${TIMEOUT_MS}`,
  ...(options.some((option) => option.startsWith('--test-reporter'))
    ? []
    : ['--test-reporter=./scripts/test/report.ts']),
  ...options,
  ...workers,
]
const before = performance.now()
const { status } = spawnSync(process.execPath, words, {
  cwd: root,
  stdio: 'inherit',
  // Each worker is a process that reads the same sources; compiled once, they are read by all.
  env: {
    ...process.env,
    ...(coverage && { [COVERAGE]: coverageFolder(root) }),
    // What is not about the engine runs on SQLite alone, unless its file is named: docs/testing.md: PostgreSQL in npm test.
    BERTH_TEST_ENGINES: named.length > 0 || long ? 'both' : (process.env.BERTH_TEST_ENGINES ?? 'quick'),
    NODE_COMPILE_CACHE: join(root, '.cache', 'tests'),
    [QUEUE]: folder,
  },
})
const half = (performance.now() - before) / 2000
const tooLong = tookOf(folder).filter(({ seconds }) => seconds > Math.max(REFUSED_S, half))
rmSync(folder, { recursive: true, force: true })
if (!long && named.length === 0 && tooLong.length > 0) {
  for (const { file, seconds } of tooLong)
    console.error(`${file} took ${Math.round(seconds)} s: shorten it, or name what is long in it *.long.test.ts`)
  process.exit(1)
}
// A signal leaves no status: that is no success.
process.exit(status ?? 1)

/** The test files for what changed since a commit, or since the last one. Ends the process where there are none, or nothing tells which. */
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
