/**
 * `npm run test:attacks [-- --short] [-- --seed <number>] [-- --only <part of a test file's name>]`: what an attacker would
 * try, against both engines, and the figures of it. Ends with 1 when anything gave way. docs/threats.md.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { filesWith } from './only.ts'

const root = join(import.meta.dirname, '..')
const options = { short: { type: 'boolean' }, seed: { type: 'string' }, only: { type: 'string' } } as const
const { values: asked } = parseArgs({ options })
const files = filesWith(asked.only, 'test/attacks')

const scratch = mkdtempSync(join(tmpdir(), 'berth-attacks-'))
const figures = join(scratch, 'figures')
writeFileSync(figures, '')
const begun = Date.now()
const { status } = spawnSync(
  process.execPath,
  ['--test', '--test-global-setup=test/support/postgres.ts', '--test-concurrency=1', ...files],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      BERTH_ATTACKS: asked.short ? 'short' : 'full',
      BERTH_ATTACKS_FIGURES: figures,
      ...(asked.seed !== undefined && { BERTH_ATTACKS_SEED: asked.seed }),
    },
  },
)
console.log(`\n${readFileSync(figures, 'utf8')}attacks: ${Math.round((Date.now() - begun) / 1000)} s`)
rmSync(scratch, { recursive: true })
// A signal leaves no status: that is no success.
process.exit(status ?? 1)
