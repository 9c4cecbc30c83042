/** How `.ci/run` runs its parts: beside each other where it may, printed in order, and a failure is said and ends it with 1. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Part, runParts } from '../../scripts/ci/parts.ts'

/** A part that is a line of JavaScript. `at(name)` is a file that marks something; `until(name)` waits for it. */
function part(folder: string, name: string, line: string): Part {
  const helpers = `
    const { existsSync, writeFileSync } = require('node:fs')
    const at = (name) => ${JSON.stringify(folder)} + '/' + name
    const until = async (name) => { while (!existsSync(at(name))) await new Promise((done) => setTimeout(done, 10)) }
  `
  return { name, words: [process.execPath, '-e', `${helpers};(async () => { ${line} })()`] }
}

test('lanes run beside each other and stages one after another; what they say is printed in order, the last part last', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-ci-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const one = part(folder, 'one', "console.log('said one'); await until('two'); writeFileSync(at('one'), '')")
  const two = part(folder, 'two', "writeFileSync(at('two'), ''); await until('one'); console.error('said two')")
  const three = part(
    folder,
    'three',
    "console.log('said three', existsSync(at('three'))); writeFileSync(at('three'), '')",
  )
  const four = part(folder, 'four', "console.log('said four', existsSync(at('three')), process.env.ROUNDS)")
  let said = ''
  const print = (text: string) => {
    said += text
  }
  const stages = [[[three]], [[one], [two, { ...four, env: { ROUNDS: 'many' } }]]] as const
  const last = stages[1][1][1]
  assert.equal(await runParts(stages, [one, two, three, last], print), 0, said)
  assert.match(
    said,
    /== one: passed after 0:\d\d\nsaid one\n.*== two: passed .*\nsaid two\n.*== three: .*\nsaid three false\n.*== four: .*\nsaid four true many\n$/s,
  )
  assert.doesNotMatch(said, /failed/)
})

test('a part that fails holds up no other, is named above the last part, and makes the exit code 1', async () => {
  const bad = part('', 'bad', "console.log('said bad'); process.exit(3)")
  const killed = part('', 'killed', "process.kill(process.pid, 'SIGKILL')")
  const missing: Part = { name: 'missing', words: ['/no/such/program'] }
  const good = part('', 'good', "console.log('ℹ fail 0')")
  let said = ''
  const print = (text: string) => {
    said += text
  }
  assert.equal(await runParts([[[bad, killed, missing, good]]], [bad, killed, missing, good], print), 1)
  assert.match(said, /== bad: FAILED \(3\) .*\nsaid bad\n/)
  assert.match(said, /== killed: FAILED \(SIGKILL\) /)
  assert.match(said, /== missing: FAILED \(.*ENOENT.*\) /)
  assert.match(said, /\nfailed: bad, killed, missing\n\n== good: passed .*\nℹ fail 0\n$/)
  assert.equal(await runParts([[[good]]], [good], print), 0)
})

test('a signal ends what runs, begins nothing more, and what was said so far is printed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-ci-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const waits = part(folder, 'waits', "console.log('said waits'); writeFileSync(at('began'), ''); await until('never')")
  const next = part(folder, 'next', "console.log('said next')")
  let said = ''
  const ran = runParts([[[waits, next]]], [waits, next], (text) => {
    said += text
  })
  while (!existsSync(join(folder, 'began'))) await sleep(10)
  process.emit('SIGTERM', 'SIGTERM')
  assert.equal(await ran, 1)
  assert.match(
    said,
    /== waits: FAILED \(SIGTERM\) .*\nsaid waits\n.*failed: waits, next\n\n== next: was not begun: SIGTERM\n/s,
  )
  assert.doesNotMatch(said, /said next/)
})
