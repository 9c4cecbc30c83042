/**
 * `npm test [-- <file>…] [-- <option of node --test>…]`: the named test files, or all of them, with the PostgreSQL they need.
 * An option has no space in it: `--test-name-pattern='a word'`. docs/testing.md.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = join(import.meta.dirname, '..')
/** For a test that hangs and has no time-out of its own; a whole file has as much. */
const TIMEOUT_MS = 20 * 60_000
/** Many tests wait for a child, a disk or PostgreSQL, so more files than cores run at a time. */
const FILES_AT_ONCE = 4
/** Each of these has a command of its own. docs/testing.md. */
const ELSEWHERE = ['test/attacks/**', 'test/clients/**', 'test/faults/**']

const asked = process.argv.slice(2)
const options = asked.filter((word) => word.startsWith('-'))
const files = asked.filter((word) => !word.startsWith('-'))
const missing = files.filter((file) => !existsSync(resolve(root, file)))
if (missing.length > 0) {
  console.error(`there is no ${missing.join(', ')}; a file is named from the root: npm test -- test/env/env.test.ts`)
  process.exit(64)
}
const words = [
  '--test',
  '--test-global-setup=test/support/postgres.ts',
  `--test-concurrency=${FILES_AT_ONCE}`,
  `--test-timeout=${TIMEOUT_MS}`,
  ...options,
  ...(files.length > 0 ? files : globSync('test/**/*.test.ts', { cwd: root, exclude: ELSEWHERE })),
]
const { status } = spawnSync(process.execPath, words, {
  cwd: root,
  stdio: 'inherit',
  // Each file is a process that reads the same sources; compiled once, they are read by all.
  env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache', 'tests') },
})
// A signal leaves no status: that is no success.
process.exit(status ?? 1)
