/** How `.ci/run` runs its parts: one after another, and a failure is told at the end of the log and makes the exit code 1. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Part, runParts } from '../../scripts/ci/parts.ts'
import { becomes } from '../support/becomes.ts'

/** A part that is a line of JavaScript. */
function part(name: string, line: string): Part {
  return { name, words: [process.execPath, '-e', line] }
}

async function run(parts: readonly Part[]): Promise<{ code: 0 | 1; said: string }> {
  let said = ''
  const code = await runParts(parts, (text) => {
    said += text
  })
  return { code, said }
}

test('the parts run one after another, each in its environment, and the last counts of tests close the log', async () => {
  const one = part('one', "setTimeout(() => console.log('said one'), 300)")
  const two: Part = { ...part('two', "console.error('said', process.env.ROUNDS)"), env: { ROUNDS: 'many' } }
  const three = part('three', "console.log('ℹ tests 7\\nℹ pass 7\\nℹ fail 0\\nℹ duration_ms 12.5\\nand more')")
  const four = part('four', "console.log('3 of 3 killed')")
  const { code, said } = await run([one, two, three, four])
  assert.equal(code, 0, said)
  assert.match(said, /== one begins .*\nsaid one\n\n== one passed .*== two begins .*\nsaid many\n.*== three begins /s)
  assert.match(
    said,
    /and more\n\n== three passed .*\n\n== four begins .*\n3 of 3 killed\n\n== four passed .*\n\nℹ tests 7\nℹ pass 7\nℹ fail 0\nℹ duration_ms 12\.5\n$/,
  )
  assert.doesNotMatch(said, /failed/)
})

test('a part that fails holds up no other, why it failed stands at the end of the log, and the exit code is 1', async () => {
  const bad = part(
    'bad',
    "console.log('  ✖ a test that fails (3ms)'); for (let i = 0; i < 90; i++) console.log('line', i); process.exitCode = 3",
  )
  const killed = part('killed', "process.kill(process.pid, 'SIGKILL')")
  const missing: Part = { name: 'missing', words: ['/no/such/program'] }
  const good = part('good', "console.log('ℹ fail 0')")
  const { code, said } = await run([bad, killed, missing, good])
  assert.equal(code, 1)
  const end = said.slice(said.indexOf('\nfailed: bad, killed, missing\n'))
  assert.match(end, /== why bad failed \(3\):\n {2}✖ a test that fails \(3ms\)\n…\nline 80\n/)
  assert.doesNotMatch(end, /line 79/)
  assert.match(end, /== why killed failed \(SIGKILL\):/)
  assert.match(end, /== why missing failed \(.*ENOENT.*\):/)
  assert.match(end, /\n\nℹ fail 0\n$/)
  assert.equal((await run([good])).code, 0)
})

test('a part that hangs is ended with what it started, fails alone, and says after how long', async () => {
  const child = JSON.stringify('setInterval(() => {}, 1000)')
  const hangs: Part = {
    ...part(
      'hangs',
      `require('node:child_process').spawnSync(process.execPath, ['-e', ${child}], { stdio: 'inherit' })`,
    ),
    minutes: 0.01,
  }
  const { code, said } = await run([hangs, part('next', "console.log('said next')")])
  assert.equal(code, 1)
  assert.match(said, /hangs FAILED \(took longer than 0\.01 minutes\).*said next.*next passed/s)
})

test('a signal ends what runs, begins nothing more, and what was said so far is printed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-ci-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const mark = join(folder, 'began')
  const waits = part(
    'waits',
    `console.log('said waits'); require('node:fs').writeFileSync(${JSON.stringify(mark)}, ''); setTimeout(() => {}, 60_000)`,
  )
  const ran = run([waits, part('next', "console.log('said next')")])
  await becomes(() => existsSync(mark))
  process.emit('SIGTERM', 'SIGTERM')
  const { code, said } = await ran
  assert.equal(code, 1)
  assert.match(said, /said waits\n.*FAILED \(SIGTERM\).*\nfailed: waits, next\n.*was not begun: SIGTERM/s)
  assert.doesNotMatch(said, /said next/)
})
