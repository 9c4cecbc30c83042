/**
 * `npm run verify [-- --only PART,…] [--resume] [--list]`: what the gate (`.ci/run`) has no time for, its parts one after another. Each result is
 * kept in `.cache/verify/<commit>/`; `--resume` runs the parts that have not passed there. Ends with 1 when a part failed, with a table of all.
 * docs/testing.md: Test suites.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { WITH_SBIN } from '../test/support/programs.ts'
import { PARTS } from './verify/list.ts'
import { runParts } from './verify/parts.ts'

const root = join(import.meta.dirname, '..')
const { values: asked } = parseArgs({
  options: { only: { type: 'string' }, resume: { type: 'boolean', default: false }, list: { type: 'boolean' } },
})
const names = PARTS.map(({ name }) => name)
const wanted = asked.only?.split(',') ?? names
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) refuse(`there is no part ${unknown.join(', ')}: ${names.join(' | ')}`)
if (asked.list) {
  for (const { name, what } of PARTS) console.log(`${name.padEnd(10)} ${what}`)
  process.exit()
}

const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()
const isChanged = git('status', '--porcelain') !== ''
if (asked.resume && isChanged)
  refuse('--resume goes on with the results of a commit, and the work tree has changes: commit them')
const commit = git('rev-parse', '--short=12', 'HEAD')
const folder = join(root, '.cache', 'verify', isChanged ? `${commit}-changed` : commit)

// What cannot be installed fails the parts that need it: they insist on every program.
spawnSync('bash', [join(import.meta.dirname, 'verify', 'install-programs.sh')], { stdio: 'inherit' })
const parts = PARTS.filter(({ name }) => wanted.includes(name)).map((part) => ({
  ...part,
  env: { BERTH_TEST_PROGRAMS: 'all', PATH: WITH_SBIN, ...part.env },
}))
process.exitCode = await runParts(parts, { folder, resume: asked.resume })

function refuse(why: string): never {
  console.error(`verify: ${why}`)
  process.exit(64)
}
