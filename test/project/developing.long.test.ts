/**
 * The walk-through of docs/developing.md, typed into a copy of the repository: each of its blocks is applied, and its commands run.
 * A block of `ts` is a new file. In a block of `diff` the lines with `+` are added between those around them.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { root } from '../support/root.ts'
import { blocks, withAdded } from './developing-blocks.ts'

/** What is in the repository, with what was not committed yet, and the modules of the one around it. */
function copyOfTree(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-developing-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const names = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
  const there = names.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))
  execFileSync('cp', ['--parents', '-p', '-t', folder, '--', ...there], { cwd: root })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Adds the lines with `+` to a file. */
function apply(file: string, text: string): void {
  writeFileSync(file, withAdded(readFileSync(file, 'utf8'), text, file))
}

/** As a user would, in a separate shell: no variable of this run reaches it, so its stores have the new table. */
function run(folder: string, command: string): void {
  const { NODE_TEST_CONTEXT: _, BERTH_TEST_POSTGRES: __, BERTH_TEST_SQLITE: ___, ...env } = process.env
  const path = `${join(root, 'node_modules', '.bin')}:${env.PATH}`
  const { status, stdout, stderr } = spawnSync('sh', ['-e'], {
    cwd: folder,
    env: { ...env, PATH: path },
    input: command,
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${command}\n${stdout}\n${stderr}`)
}

test('following docs/developing.md adds a new endpoint, with its tests, its types and its documents', {
  timeout: 300_000,
}, (t) => {
  const folder = copyOfTree(t)
  let commands = 0
  for (const { kind, place, text } of blocks) {
    if (kind === 'ts') {
      const file = join(folder, place)
      assert.equal(existsSync(file), false, `${place} is there already`)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    if (kind === 'diff') apply(join(folder, place), text)
    if (kind === 'sh' && place.startsWith('not run here: test/project/developing.long.test.ts')) {
      for (const line of text.trim().split('\n')) {
        run(folder, line)
        commands++
      }
    }
  }
  assert.ok(commands >= 3, `${commands} commands`)
  run(folder, 'tsc && biome check --error-on-warnings src/projects/notes test/projects/notes src/platform/db && knip')
  const document = readFileSync(join(folder, 'docs', 'api', 'openapi.json'), 'utf8')
  for (const name of ['createProjectNote', 'getProjectNotes']) assert.ok(document.includes(`"${name}"`), name)
})
