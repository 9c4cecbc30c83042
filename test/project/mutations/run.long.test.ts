/** A run of mutants over a small program: what is killed, what survives, and what counts for nothing. docs/testing.md. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Mutant } from '../../../scripts/mutations/mutants.ts'
import { openResults } from '../../../scripts/mutations/results.ts'
import { runMutants } from '../../../scripts/mutations/run.ts'
import { openMap } from '../../../scripts/test/coverage/covering.ts'
import { LIMIT, program, record, write } from './fixture.ts'

/** A mutant of the fixture: this text of this line becomes another one. */
function mutant(line: number, text: string, replacement: string, file = 'src/limit.ts', source = LIMIT): Mutant {
  const before = source.split('\n')[line - 1]!
  const after = before.replace(text, replacement)
  return { file, line, column: before.indexOf(text), text, replacement, mutator: 'Fixture', before, after }
}

test('mutants are killed, survive, are not covered, do not compile or cannot be loaded; a run resumes where one stopped', async (t) => {
  const folder = program(t)
  write(
    folder,
    'test/broken.test.ts',
    "import { test } from 'node:test'\nimport { isEven } from '../src/limit.ts'\nlet runs = 0\ntest('it fails without a mutant too', () => { isEven(3); if (process.env.BERTH_MUTATION) throw new Error(String(++runs)) })\n",
  )
  await record(t, folder, ['test/limit.test.ts', 'test/even.test.ts', 'test/broken.test.ts'])
  const mutants = [
    mutant(4, 'count < MOST', 'count <= MOST'),
    mutant(4, 'count < MOST', '(() => { for (;;); })()'),
    mutant(8, '=== 0', '!== 0'),
    mutant(12, '> 7', '>= 7'),
    mutant(4, 'count', "'count'"),
    mutant(1, '3', 'BigInt(1.5) as never'),
  ]
  const said: string[] = []
  const run = (resume: boolean) =>
    runMutants({
      root: folder,
      folder: join(folder, '.cache/mutations'),
      mutants,
      map: openMap(folder),
      results: openResults(folder, join(folder, '.cache/mutations/results.jsonl'), !resume),
      sample: 100,
      until: Number.POSITIVE_INFINITY,
      seconds: Number.POSITIVE_INFINITY,
      moreMs: 5_000,
      print: (line) => said.push(line),
    })
  const results = await run(false)
  const outcomes = mutants.map(({ after }) => results.find((result) => result.after === after)!)
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    ['killed', 'killed', 'survived', 'not covered', 'does not compile', 'cannot load'],
    said.join('\n'),
  )
  assert.deepEqual(Object.keys(outcomes[0]!.tests), ['test/limit.test.ts'])
  assert.equal(outcomes[0]!.because, 'two are within, three are not')
  assert.match(outcomes[1]!.because, /took longer than/)
  assert.ok(
    said.some((line) => line.startsWith('test/broken.test.ts fails without any mutant')),
    said.join('\n'),
  )
  assert.equal(readFileSync(join(folder, 'src/limit.ts'), 'utf8'), LIMIT, 'the work tree is as it was')
  said.length = 0
  assert.deepEqual((await run(true)).length, mutants.length)
  assert.deepEqual(said, [], 'nothing is judged a second time')
})

test('a run ends when its time is up, also during a mutant, which does not count', async (t) => {
  const folder = program(t)
  await record(t, folder, ['test/limit.test.ts'])
  const said: string[] = []
  const results = await runMutants({
    root: folder,
    folder: join(folder, '.cache/mutations'),
    mutants: [mutant(4, 'count < MOST', '(() => { for (;;); })()')],
    map: openMap(folder),
    results: openResults(folder, join(folder, '.cache/mutations/results.jsonl'), true),
    sample: 100,
    until: Date.now() + 15_000,
    seconds: Number.POSITIVE_INFINITY,
    // Without the end of the time, the mutant is judged longer than this test may take.
    moreMs: 3_600_000,
    print: (line) => said.push(line),
  })
  assert.deepEqual(results, [])
  assert.deepEqual(said, ['the time is up'])
})
