/** How `npm run verify` runs its parts and keeps what came of them. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { PARTS } from '../../scripts/verify/list.ts'
import { type Part, type Result, runParts } from '../../scripts/verify/parts.ts'
import { eventually } from '../support/eventually.ts'
import { root } from '../support/root.ts'

/** A part that is a line of JavaScript. */
function part(name: string, line: string): Part {
  return { name, words: [process.execPath, '-e', line] }
}

function openRuns(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-verify-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const run = async (parts: readonly Part[], resume = false) => {
    let said = ''
    const code = await runParts(parts, { folder, resume }, (text) => {
      said += text
    })
    return { code, said }
  }
  const kept = (name: string) => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Result
  return { folder, run, kept }
}

test('the parts run one at a time, each in its environment; results and logs are stored, and a table ends the log', async (t) => {
  const { folder, run, kept } = openRuns(t)
  const one = part('one', "setTimeout(() => console.log('said one'), 300)")
  const two: Part = { ...part('two', "console.error('said', process.env.ROUNDS)"), env: { ROUNDS: 'many' } }
  const { code, said } = await run([one, two])
  assert.equal(code, 0, said)
  assert.match(said, /== one begins\nsaid one\n\n== one passed .*== two begins\nsaid many\n/s)
  assert.match(said, /\none {2}\d:\d\d {2}passed {2}\S+\ntwo {2}\d:\d\d {2}passed {2}\S+\n\S+\n$/)
  assert.deepEqual([kept('one').how, kept('two').last], ['0', 'said many'])
  assert.equal(readFileSync(join(folder, 'two.log'), 'utf8'), 'said many\n')
})

test('a failed part blocks no other, and its error is above the table', async (t) => {
  const { run, kept } = openRuns(t)
  const bad = part(
    'bad',
    "console.log('  ✖ a test that fails (3ms)'); for (let i = 0; i < 90; i++) console.log('line', i); process.exitCode = 3",
  )
  const killed = part('killed', "process.kill(process.pid, 'SIGKILL')")
  const missing: Part = { name: 'missing', words: ['/no/such/program'] }
  const { code, said } = await run([bad, killed, missing, part('good', '')])
  assert.equal(code, 1)
  const end = said.slice(said.indexOf('== why bad'))
  assert.match(end, /== why bad failed \(3\):\n {2}✖ a test that fails \(3ms\)\n…\nline 80\n/)
  assert.doesNotMatch(end, /line 79/)
  assert.match(
    end,
    /\nbad {6}\d:\d\d {2}FAILED \(3\) .*\nkilled {3}\d:\d\d {2}FAILED \(SIGKILL\).*\nmissing {2}.*ENOENT.*\ngood .* passed /,
  )
  assert.equal(kept('killed').how, 'SIGKILL')
})

test('a resumed run runs what has not passed', async (t) => {
  const { folder, run } = openRuns(t)
  const mark = JSON.stringify(join(folder, 'mended'))
  const good = part('good', "console.log('said good')")
  const bad = part('bad', `process.exitCode = require('node:fs').existsSync(${mark}) ? 0 : 1; console.log('said bad')`)
  assert.equal((await run([good, bad])).code, 1)
  writeFileSync(join(folder, 'mended'), '')
  const { code, said } = await run([good, bad], true)
  assert.equal(code, 0, said)
  assert.match(said, /== good passed at \d{4}-.*said bad/s)
  assert.doesNotMatch(said, /said good/)
  assert.match((await run([good])).said, /said good/)
})

test('a part that hangs is stopped with its child processes, fails alone, and reports its time', async (t) => {
  const { run } = openRuns(t)
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

test('a signal stops running parts, starts no further ones, and stores no results of the stopped ones', async (t) => {
  const { folder, run } = openRuns(t)
  const mark = join(folder, 'began')
  const waits = part(
    'waits',
    `console.log('said waits'); require('node:fs').writeFileSync(${JSON.stringify(mark)}, ''); setTimeout(() => {}, 60_000)`,
  )
  const ran = run([waits, part('next', "console.log('said next')")])
  await eventually(() => existsSync(mark))
  process.emit('SIGTERM', 'SIGTERM')
  const { code, said } = await ran
  assert.equal(code, 1)
  assert.match(said, /said waits\n.*\nwaits .*FAILED \(SIGTERM\).*\nnext .*not begun: SIGTERM/s)
  assert.doesNotMatch(said, /said next/)
  assert.equal(existsSync(join(folder, 'waits.json')), false)
})

test('the page of the tests and the daily workflow name every part, and no other', () => {
  const names = PARTS.map(({ name }) => name)
  const page = readFileSync(join(root, 'docs', 'testing.md'), 'utf8')
  const table = /\| Part of `npm run verify`.*?\n\n/s.exec(page)![0]
  const rows = [...table.matchAll(/^\| ([a-z]+) \|/gm)].map(([, name]) => name)
  assert.deepEqual(rows, names)
  const { jobs } = parse(readFileSync(join(root, '.github', 'workflows', 'verify.yml'), 'utf8'))
  assert.deepEqual(jobs.part.strategy.matrix.part, names)
})

test('the page of releases has the command that measures the changed lines, and one over all lines', () => {
  const { words } = PARTS.find(({ name }) => name === 'mutations')!
  const page = readFileSync(join(root, 'docs', 'releasing.md'), 'utf8')
  assert.ok(page.includes(`\n   ${words.join(' ')}\n`), words.join(' '))
  assert.match(page, /\n {3}npm run test:mutations -- --sample \d+ --seed <number>\n/)
})
