/** What the tests stand on: a run runs what it was asked to, and a test that fails ends it with a failure. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

/** `npm test -- <words>`, as a run of its own: the runner's children say by a variable that they are one. */
function run(...words: string[]): { status: number | null; said: string } {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/test.ts', ...words], { cwd: root, env })
  return { status, said: `${stdout}${stderr}` }
}

test('a run is of the named files alone, and ends with 1 when one test fails, with 0 when all pass', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [good, bad] = ['true', 'false'].map((verdict) => {
    const file = join(folder, `${verdict}.test.mjs`)
    writeFileSync(file, `import { test } from 'node:test'\ntest('one', (t) => t.assert.ok(${verdict}))\n`)
    return file
  }) as [string, string]
  for (const [words, status, tests] of [
    [[good], 0, 1],
    [[good, bad], 1, 2],
    [[good, bad, '--test-name-pattern=two'], 0, 2],
  ] as const) {
    const ran = run('--test-reporter=tap', ...words)
    assert.equal(ran.status, status, ran.said)
    assert.match(ran.said, new RegExp(`^# tests ${tests}$`, 'm'))
  }
})

test('a file that is not there is refused: its tests would seem to pass', () => {
  const { status, said } = run('test/no-such.test.ts')
  assert.equal(status, 64)
  assert.match(said, /there is no test\/no-such\.test\.ts/)
})
