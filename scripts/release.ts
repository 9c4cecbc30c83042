/**
 * `npm run release`: makes what users get, in release/. docs/releasing.md. It refuses a work tree that is not clean, a generated document
 * that is stale, a version that CHANGELOG.md does not know, and a red test.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildRelease } from './release/build.ts'
import { arm64Place } from './release/libraries.ts'
import { changesOf } from './release/papers.ts'

const root = join(import.meta.dirname, '..')
const USAGE = `npm run release -- [--no-tests]
  --no-tests: for a trial. The result is named "unreleased".`
/** npm run check makes these steps too; without its tests they are made here. */
const DOCUMENTS = ['openapi', 'commands', 'settings', 'data-model']

try {
  const { values } = parseArgs({ options: { 'no-tests': { type: 'boolean' } } })
  await release(values['no-tests'] === true)
} catch (error) {
  const isUsage = (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')
  process.stderr.write(`release: ${(error as Error).message}\n${isUsage ? `${USAGE}\n` : ''}`)
  process.exit(isUsage ? 64 : 1)
}

async function release(isTrial: boolean): Promise<void> {
  const { version: named } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const to = join(root, 'release')
  const machine = `${process.platform}-${process.arch}`
  if (machine !== 'linux-x64') throw new Error(`a release is made on linux-x64, and this is ${machine}`)
  const changed = git('status', '--porcelain')
  if (changed !== '') throw new Error(`the work tree is not clean; commit or remove:\n${changed}`)
  const notes = changesOf(isTrial ? 'Unreleased' : named)
  if (notes === undefined) throw new Error(`CHANGELOG.md has no section [${isTrial ? 'Unreleased' : named}]: write it`)
  const { folder, late } = arm64Place()
  if (late)
    console.error(
      `\n*** the image for arm64 gets the libraries of ${folder}, which get no security updates: docs/releasing.md says how to give it others ***\n`,
    )
  if (isTrial) for (const name of DOCUMENTS) mustPass('node', `scripts/${name}.ts`, '--check')
  else mustPass('npm', 'run', 'check')
  const version = isTrial ? `${named}-unreleased` : named
  const source = { version, commit: git('rev-parse', 'HEAD'), moment: git('log', '-1', '--format=%cI') }
  await buildRelease(source, `${notes}\n`, to, (line) => console.error(`release: ${line}`))
  console.log(`${to}\n${readFileSync(join(to, 'SHA256SUMS'), 'utf8')}`)
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()
}

function mustPass(program: string, ...words: string[]): void {
  const { status } = spawnSync(program, words, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`${program} ${words.join(' ')} failed: see above`)
}
