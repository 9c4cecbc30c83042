/** What the tests stand on: a test that fails ends the run with a failure. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

test('a run of which one test fails ends with 1, one of which all pass with 0', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'one.test.mjs')
  // A run of its own: the runner's children say by this variable that they are one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  for (const [verdict, status] of [
    ['true', 0],
    ['false', 1],
  ] as const) {
    writeFileSync(file, `import { test } from 'node:test'\ntest('one', (t) => t.assert.ok(${verdict}))\n`)
    const run = spawnSync(process.execPath, ['--test', '--test-global-setup=test/postgres.ts', file], {
      cwd: root,
      env,
    })
    assert.equal(run.status, status, String(run.stdout))
  }
})
