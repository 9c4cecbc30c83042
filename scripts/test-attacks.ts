/**
 * `npm run test:attacks [-- --short] [-- --seed <number>] [-- --only <part of a test file's name>]`: what an attacker would
 * try, against both engines, and the figures of it. Ends with 1 when anything gave way. docs/threats.md.
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { filesWith } from './only.ts'

const root = join(import.meta.dirname, '..')
const options = { short: { type: 'boolean' }, seed: { type: 'string' }, only: { type: 'string' } } as const
const { values: asked } = parseArgs({ options })
const files = filesWith(asked.only, 'test/attacks')

/** For a test that hangs, and no promise: the full form has long ones. */
const TIMEOUT_MS = 3_600_000
const NAMED_AS_BOUNDS = '--test-name-pattern=a bound on time'
const scratch = mkdtempSync(join(tmpdir(), 'berth-attacks-'))
const figures = join(scratch, 'figures')
writeFileSync(figures, '')
/** In short, each test runs on one engine, and they take turns. */
const engines = { BERTH_TEST_ENGINES: asked.short ? 'turns' : 'both' }
const begun = Date.now()
const attacked = run(files, {
  ...engines,
  BERTH_ATTACKS: asked.short ? 'short' : 'full',
  BERTH_ATTACKS_FIGURES: figures,
  ...(asked.seed !== undefined && { BERTH_ATTACKS_SEED: asked.seed }),
})
// Bounds on time in tests of the features (test/support/time-limits.ts): they hold where one file runs at a time.
const bounds = filesWithBounds()
const bounded =
  asked.only === undefined ? run([NAMED_AS_BOUNDS, ...bounds], { ...engines, BERTH_TEST_BOUNDS: 'on' }) : attacked
console.log(`\n${readFileSync(figures, 'utf8')}attacks: ${Math.round((Date.now() - begun) / 1000)} s`)
rmSync(scratch, { recursive: true })
// A signal leaves no status: that is not a success.
process.exit((attacked ?? 1) || (bounded ?? 1))

function run(args: string[], env: Record<string, string>): number | null {
  const setup = ['--test', '--test-global-setup=test/support/postgres.ts', '--test-concurrency=1']
  return spawnSync(process.execPath, [...setup, `--test-timeout=${TIMEOUT_MS}`, ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  }).status
}

function filesWithBounds(): string[] {
  const all = globSync('test/**/*.test.ts', { cwd: root }).toSorted()
  return all.filter((file) => readFileSync(join(root, file), 'utf8').includes("support/time-limits.ts'"))
}
