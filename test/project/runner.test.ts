/** What the tests stand on: a run runs what it was asked to, and a test that fails ends it with a failure. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { lacking, starts } from '../support/programs.ts'
import { root } from '../support/root.ts'

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

test('a part of a name that no test file has is refused with the names there are', () => {
  for (const [script, one] of [
    ['attacks', 'fuzz'],
    ['clients', 'terraform'],
    ['faults', 'disk full'],
  ] as const) {
    const words = [`scripts/test-${script}.ts`, '--only', 'no-such']
    const { status, stderr } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' })
    assert.equal(status, 64, script)
    assert.match(stderr, /there is no .*"no-such"/)
    assert.ok(stderr.includes(one), stderr)
  }
})

test('a program that is missing is said loudly, and in CI it is a failure', (t) => {
  const before = process.env.CI
  t.after(() => {
    if (before === undefined) delete process.env.CI
    else process.env.CI = before
  })
  const said = t.mock.method(console, 'error', () => {})
  delete process.env.CI
  assert.match(lacking('fish', 'fish', 'its completion'), /^fish is not installed \(apt-get install fish\)/)
  assert.match(String(said.mock.calls[0]!.arguments[0]), /SKIPPED: fish is not installed/)
  process.env.CI = 'true'
  assert.throws(() => lacking('fish', 'fish', 'its completion'), /fish is not installed/)
  assert.deepEqual([starts('no-such-program'), starts(process.execPath, '--version')], [false, true])
})
