/**
 * `npm run test:mutations -- [--sample N] [--seed S] [--since REF] [--area FOLDER] [--minutes M] [--seconds S] [--resume] [--no-record]`: whether the tests
 * notice when a line of src is changed. Ends with 1 where a mutant survives that `scripts/mutations/kept.json` does not name. docs/testing.md.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { MORE_MS } from './mutations/judge.ts'
import { readKept } from './mutations/kept.ts'
import { releaseOf } from './mutations/release.ts'
import { summaryOf } from './mutations/report.ts'
import { openResults } from './mutations/results.ts'
import { runMutants } from './mutations/run.ts'
import { sampleOf } from './mutations/sample.ts'
import { hasCommit } from './test/coverage/changes.ts'
import { openMap } from './test/coverage/covering.ts'
import { unrecorded } from './test/coverage/unrecorded.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, '.cache', 'mutations')

const { values } = parseArgs({
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    since: { type: 'string' },
    area: { type: 'string' },
    minutes: { type: 'string' },
    seconds: { type: 'string' },
    resume: { type: 'boolean', default: false },
    'no-record': { type: 'boolean', default: false },
  },
})
const number = (name: 'sample' | 'seed' | 'minutes' | 'seconds', otherwise: number) => {
  const value = Number(values[name] ?? otherwise)
  if (Number.isNaN(value)) refuse(`--${name} takes a number, not ${values[name]}`)
  return value
}
const [seed, minutes] = [number('seed', 1), number('minutes', Number.POSITIVE_INFINITY)]
const sample = number('sample', Number.POSITIVE_INFINITY)
const seconds = number('seconds', Number.POSITIVE_INFINITY)
const area = values.area
if (area !== undefined && (!area.startsWith('src') || !existsSync(join(root, area))))
  refuse(`--area takes a folder or a file of src, such as src/projects/env, not ${area}`)
let since = values.since === 'release' ? releaseOf(root) : values.since
if (since !== undefined && !hasCommit(root, since)) {
  const why = `there is no commit ${since} here: is the clone shallow? git fetch --unshallow gets it.`
  if (values.since !== 'release') refuse(why)
  console.error(
    `\nNOT THE LINES THAT CHANGED SINCE THE LAST RELEASE: ${why}\nA sample of all lines is judged instead.\n`,
  )
  since = undefined
}

const missing = unrecorded(root)
if (missing.length > 0 && !values['no-record']) {
  console.log(`recording what ${missing.length} test files execute, by npm test -- --coverage`)
  const words = [join(root, 'scripts', 'test.ts'), '--coverage', ...missing]
  const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' })
  // A failing test says nothing about a mutant.
  if (status !== 0) process.exit(status ?? 1)
}
lock()
const until = Date.now() + minutes * 60_000
const mutants = await sampleOf(root, join(folder, 'mutants'), { seed, since, area })
console.log(
  `${mutants.length} lines have a mutant${since === undefined ? '' : `, of those that changed since ${since}`}; seed ${seed}`,
)
const results = openResults(root, join(folder, 'results.jsonl'), !values.resume)
const print = (line: string) => console.log(line)
const map = openMap(root)
if (map.entries.size === 0) refuse('nothing says which tests execute what: npm test -- --coverage records it')
const limits = { sample, until, seconds, moreMs: MORE_MS }
const done = await runMutants({ root, folder, mutants, map, results, ...limits, print })
const { text, survivors } = summaryOf(done, readKept())
console.log(`\n${text}`)
console.log(`judged ${done.length} of ${mutants.length}${Date.now() >= until ? `: the ${minutes} minutes are up` : ''}`)
if (survivors.length > 0) {
  console.error(`failed: ${survivors.length} mutants survived that scripts/mutations/kept.json does not name`)
  process.exitCode = 1
}

/** Two runs would write to the same copies of the work tree. */
function lock(): void {
  const file = join(folder, 'running')
  mkdirSync(folder, { recursive: true })
  const other = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  if (other > 0 && isRunning(other)) refuse(`another run is in progress (process ${other}): wait for it, or end it`)
  writeFileSync(file, String(process.pid))
  process.on('exit', () => rmSync(file, { force: true }))
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function refuse(message: string): never {
  console.error(message)
  process.exit(64)
}
