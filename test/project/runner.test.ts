/** What the tests stand on: a run runs what it was asked to, and a test that fails ends it with a failure. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { failedFiles, isWorthAgain, judgeSecond, MAX_FLAKY, type Outcome } from '../../scripts/test/outcome.ts'
import { BUDGET_S, filesOf, fillQueue, QUEUE } from '../../scripts/test/queue.ts'
import report from '../../scripts/test/report.ts'
import { PARTS } from '../../scripts/verify/list.ts'
import { canRun, skipReason } from '../support/programs.ts'
import { root } from '../support/root.ts'

/** `npm test -- <words>`, as a run of its own: the runner's children say by a variable that they are one. */
function run(...words: string[]): { status: number | null; said: string } {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/test.ts', ...words], { cwd: root, env })
  return { status, said: `${stdout}${stderr}` }
}

test('a run covers the named files only, and ends with 1 when one test fails, with 0 when all pass', (t) => {
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

test('each file runs once, in any process; an unreadable file ends the run with 1 and blocks no other', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = Array.from({ length: 9 }, (_, at) => join(folder, `${at}.test.mjs`))
  for (const [at, file] of files.entries())
    writeFileSync(file, `import { test } from 'node:test'\ntest('number ${at}', () => {})\n`)
  const whole = run(...files)
  assert.equal(whole.status, 0, whole.said)
  for (const at of files.keys()) assert.equal(whole.said.split(`number ${at} `).length, 2, whole.said)
  writeFileSync(files[0]!, "throw new Error('no test')\n")
  const broken = run(...files)
  assert.equal(broken.status, 1)
  assert.match(broken.said, /Error: no test/)
  assert.match(broken.said, /^. pass 8$/m)
})

test('a process that fails without a failed test reports what ended it, and which file it ran', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, line, ...said] of [
    [
      'late',
      "setTimeout(() => { throw new Error('too late') }, 30)",
      /no test awaited .*late\.test\.mjs ran: Error: too late\n.*late\.test\.mjs:3/,
    ],
    [
      'refused',
      "setTimeout(() => Promise.reject(new Error('nobody')), 30)",
      /no test awaited .*refused\.test\.mjs ran: Error: nobody/,
    ],
    ['code', 'process.exitCode = 7', /ended with 7/, /code\.test\.mjs left process\.exitCode at 7/],
    [
      'exit',
      'setImmediate(() => process.exit(5))',
      /ended with 5/,
      /process\.exit .*\n.*exit\.test\.mjs:3/,
      /in the midst of .*exit\.test\.mjs/,
    ],
    ['killed', "process.kill(process.pid, 'SIGKILL')", /was ended by SIGKILL/, /in the midst of .*killed\.test\.mjs/],
  ] as const) {
    const file = join(folder, `${name}.test.mjs`)
    // What ends the process comes before the second test ends, however busy the machine is.
    const waitMs = name === 'exit' ? 60_000 : 100
    const wait = `test('two', () => new Promise((done) => setTimeout(done, ${waitMs})))`
    writeFileSync(file, `import { test } from 'node:test'\ntest('one', () => {\n${line}\n})\n${wait}\n`)
    const ran = run(file)
    assert.equal(ran.status, 1, ran.said)
    const before = ran.said.split(/^. tests /m)[0]!
    for (const pattern of said) assert.match(before, pattern)
  }
})

test('a process that is ended with 0 in the midst of a file fails the run, and the file is named', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'quiet.test.mjs')
  // It has no end of its own: the end of the process comes first, however busy the machine is.
  const wait = "test('two', () => new Promise(() => setInterval(() => {}, 1000)))"
  writeFileSync(
    file,
    `import { test } from 'node:test'\ntest('one', () => {\nsetImmediate(() => process.exit(0))\n})\n${wait}\n`,
  )
  const ran = run(file)
  assert.equal(ran.status, 1, ran.said)
  assert.match(ran.said, /no end was reported of .*quiet\.test\.mjs/)
})

test('files that load the SDKs are taken by one process, and no process is begun that has nothing to take', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = filesOf(root, false)
  assert.equal(fillQueue(folder, root, files, 4).length, 4)
  const { queue } = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8')) as { queue: string[][] }
  assert.deepEqual(queue.flat().toSorted(), files.map((file) => join(root, file)).toSorted())
  const together = queue.filter((entry) => entry.length > 1)
  assert.equal(together.length, 1)
  for (const file of queue.flat()) {
    const loads = /'sdk-1\.|newest-sdk/.test(readFileSync(file, 'utf8')) && !file.endsWith('runner.test.ts')
    assert.equal(together[0]!.includes(file), loads, file)
  }
  assert.equal(fillQueue(folder, root, together[0]!, 4).length, 1)
})

test('every test file belongs to npm test, to the long ones or to a command of its own', () => {
  const [short, long] = [filesOf(root, false), filesOf(root, true)]
  const all = globSync('test/**/*.test.ts', { cwd: root }).filter(
    (file) => !/^test.(attacks|clients|faults)./.test(file),
  )
  assert.deepEqual([...short, ...long].toSorted(), all.toSorted())
  assert.ok(long.length > 0 && long.every((file) => file.endsWith('.long.test.ts')))
  const commands = PARTS.flatMap(({ words }) => words)
  for (const command of [
    'test',
    'test:long',
    'test:clients',
    'test:faults',
    'test:attacks',
    'test:failover',
    'test:mutations',
  ])
    assert.ok(commands.includes(command), command)
  assert.match(readFileSync(join(root, '.ci', 'run'), 'utf8'), /\nnpm run test:smoke\nnpm run check\n$/)
})

test('tests over their budget are named before the counts', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'))
  const before = process.env[QUEUE]
  t.after(() => {
    rmSync(folder, { recursive: true, force: true })
    if (before === undefined) delete process.env[QUEUE]
    else process.env[QUEUE] = before
  })
  process.env[QUEUE] = folder
  for (const [at, seconds] of [BUDGET_S - 1, BUDGET_S + 1, BUDGET_S + 2].entries())
    writeFileSync(join(folder, `took-${at}`), JSON.stringify({ file: `file-${at}`, seconds }))
  async function* events() {
    for (const message of ['tests 3', 'pass 3']) yield { type: 'test:diagnostic', data: { nesting: 0, message } }
  }
  let said = ''
  for await (const piece of report(events())) said += piece
  assert.match(said, /longer than 20 s.*\n *22\.0 s {2}file-2\n *21\.0 s {2}file-1\n.*tests 3.*pass 3/s)
  assert.doesNotMatch(said, /file-0/)
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
    assert.match(stderr, /(there is no|unknown fault) .*no-such"/)
    assert.ok(stderr.includes(one), stderr)
  }
})

test('a test whose program is missing is skipped with a line; npm run verify insists on the program', (t) => {
  const before = process.env.BERTH_TEST_PROGRAMS
  t.after(() => {
    if (before === undefined) delete process.env.BERTH_TEST_PROGRAMS
    else process.env.BERTH_TEST_PROGRAMS = before
  })
  const said = t.mock.method(console, 'error', () => {})
  delete process.env.BERTH_TEST_PROGRAMS
  assert.match(skipReason('fish', 'fish', 'its completion'), /^fish is not installed \(apt-get install fish\)/)
  assert.match(String(said.mock.calls[0]!.arguments[0]), /^SKIPPED: fish is not installed.*$/)
  process.env.BERTH_TEST_PROGRAMS = 'all'
  assert.throws(() => skipReason('fish', 'fish', 'its completion'), /fish is not installed/)
  assert.deepEqual([canRun('no-such-program'), canRun(process.execPath, '--version')], [false, true])
})

test('a failed test is tried once more: flaky if it passes then, else the run fails', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  // A file of two tests, of which one does this the first time and passes from then on.
  const atFirst = (name: string, line: string) => {
    const mark = JSON.stringify(join(folder, `${name}-began`))
    const first = `if (!existsSync(${mark})) { writeFileSync(${mark}, ''); ${line} }`
    return plant(name, `test('turns', () => { ${first} })\ntest('steady', () => {})\n`)
  }
  const plant = (name: string, tests: string) => {
    const file = join(folder, `${name}.test.mjs`)
    const imports = "import { test } from 'node:test'\nimport { existsSync, writeFileSync } from 'node:fs'\n"
    writeFileSync(file, `${imports}${tests}`)
    return file
  }
  const closing = (ran: { said: string }) => ran.said.slice(ran.said.lastIndexOf('\nflaky: '))
  const good = plant('good', "test('steady', () => {})\n")

  const turns = run('--again', good, atFirst('turns', "throw new Error('at first')"))
  assert.equal(turns.status, 0, turns.said)
  assert.match(closing(turns), /^\nflaky: \S+turns\.test\.mjs › turns\nℹ tests 3\n.*\nℹ pass 3\nℹ fail 0\n/s)
  const again = turns.said.slice(turns.said.indexOf('tried once more'))
  assert.doesNotMatch(again, /good\.test\.mjs/)

  const killed = run('--again', good, atFirst('killed', "process.kill(process.pid, 'SIGKILL')"))
  assert.equal(killed.status, 0, killed.said)
  assert.match(
    closing(killed),
    /^\nflaky: \S+killed\.test\.mjs › its process was ended by SIGKILL\n.*ℹ pass 3\nℹ fail 0\n/s,
  )

  const bad = plant('bad', "test('never', () => { throw new Error('never') })\n")
  const red = run('--again', bad, atFirst('other', "throw new Error('at first')"))
  assert.equal(red.status, 1)
  assert.match(closing(red), /^\nflaky: \S+other\.test\.mjs › turns\nℹ tests 3\n.*\nℹ pass 2\nℹ fail 1\n/s)

  const named = run(good, atFirst('once', "throw new Error('at first')"))
  assert.equal(named.status, 1)
  assert.doesNotMatch(named.said, /tried once more/)
})

test('a second try that runs no test is red, and more failures than may be flaky get no second try', () => {
  const of = (passed: number, ...failed: string[]): Outcome[string] => ({ isWhole: true, passed, skipped: 0, failed })
  const first = { a: of(3, 'one'), b: of(2) }
  assert.deepEqual(failedFiles(['a', 'b', 'c'], first), ['a', 'c'])
  assert.deepEqual(judgeSecond(['a'], first, { a: of(4) }), { isGreen: true, flaky: ['a › one'] })
  assert.equal(judgeSecond(['a'], first, { a: of(0) }).isGreen, false)
  assert.deepEqual(judgeSecond(['a', 'c'], first, { a: of(4) }), { isGreen: false, flaky: ['a › one'] })
  const failures = Array.from({ length: MAX_FLAKY }, (_, at) => `test ${at}`)
  assert.equal(isWorthAgain(['a'], { a: of(1, ...failures) }), true)
  assert.equal(isWorthAgain(['a'], { a: of(1, ...failures, 'one more') }), false)
})
