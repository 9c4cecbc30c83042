/**
 * `npm test [-- <file>…] [-- <option of node --test>…]`: the named test files, or all of them but the long ones, with the PostgreSQL
 * they need. `npm run test:long` is the long ones alone. An option has no space in it: `--test-name-pattern='a word'`. docs/testing.md.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { filesOf, fillQueue, QUEUE, REFUSED_S, tookOf } from './test/queue.ts'

const root = join(import.meta.dirname, '..')
/** For a run that hangs: each test has a time-out of its own. */
const TIMEOUT_MS = 60 * 60_000
/** Many tests wait for a child, a disk or PostgreSQL, so more files than cores run at a time. */
const FILES_AT_ONCE = 4

const asked = process.argv.slice(2)
const long = asked.includes('--long')
const options = asked.filter((word) => word.startsWith('-') && word !== '--long')
const named = asked.filter((word) => !word.startsWith('-'))
const missing = named.filter((file) => !existsSync(resolve(root, file)))
if (missing.length > 0) {
  console.error(`there is no ${missing.join(', ')}; a file is named from the root: npm test -- test/env/env.test.ts`)
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
  env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache', 'tests'), [QUEUE]: folder },
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
