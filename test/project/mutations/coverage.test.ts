/** The coverage map: which test file executes which line, also once lines have moved. docs/testing.md. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { askedOf } from '../../../scripts/mutations/judge.ts'
import type { Mutant } from '../../../scripts/mutations/mutants.ts'
import { testsOfChange } from '../../../scripts/test/changed.ts'
import { changedLines, hasCommit } from '../../../scripts/test/coverage/changes.ts'
import { openMap } from '../../../scripts/test/coverage/covering.ts'
import { linesOf, packLines, unpackLines } from '../../../scripts/test/coverage/lines.ts'
import { unrecorded } from '../../../scripts/test/coverage/unrecorded.ts'
import { LIMIT, program, record, repository, write } from './fixture.ts'

const ALL = ['test/limit.test.ts', 'test/even.test.ts', 'test/child.test.ts']

test('a test file is recorded with the lines that it executes beyond the loading of modules, also in a process that it kills', async (t) => {
  const folder = program(t)
  assert.deepEqual(unrecorded(folder).toSorted(), ALL.toSorted())
  await record(t, folder, ALL)
  assert.deepEqual(unrecorded(folder), [])
  const { covering } = openMap(folder)
  const tests = (line: number) => covering('src/limit.ts', [line]).tests.toSorted()
  assert.deepEqual(tests(4), ['test/child.test.ts', 'test/limit.test.ts'])
  assert.deepEqual(tests(8), ['test/even.test.ts'])
  assert.deepEqual(tests(12), [])
  // What runs when the module is loaded: those that execute a function that uses it.
  assert.deepEqual(covering('src/limit.ts', [1]), { tests: covering('src/limit.ts', [4]).tests, atLoad: true })
})

test('lines of a source that changed are followed; a test file that changed is recorded again', async (t) => {
  const folder = program(t)
  await record(t, folder, ALL)
  write(folder, 'src/limit.ts', `// one\n// two\n${LIMIT.replace('count % 2', 'count % 4')}`)
  const { covering } = openMap(folder)
  assert.deepEqual(covering('src/limit.ts', [6]).tests.toSorted(), ['test/child.test.ts', 'test/limit.test.ts'])
  assert.deepEqual(
    covering('src/limit.ts', [10]).tests,
    ['test/even.test.ts'],
    'the changed line has the tests of what it was',
  )
  assert.deepEqual(covering('src/limit.ts', [14]).tests, [])
  write(folder, 'test/even.test.ts', "import { test } from 'node:test'\ntest('nothing', () => {})\n")
  assert.deepEqual(unrecorded(folder), ['test/even.test.ts'])
  await record(t, folder, ['test/even.test.ts'])
  assert.deepEqual(openMap(folder).covering('src/limit.ts', [10]).tests, [])
  rmSync(join(folder, 'test/child.test.ts'))
  assert.deepEqual(openMap(folder).covering('src/limit.ts', [6]).tests, ['test/limit.test.ts'])
})

test('a mutant asks the likeliest test files that fit its seconds, and one in any case; a run with more seconds asks the rest', async (t) => {
  const folder = program(t)
  await record(t, folder, ['test/limit.test.ts', 'test/child.test.ts', 'test/even.test.ts'])
  const map = openMap(folder)
  const took = { 'test/limit.test.ts': 20, 'test/child.test.ts': 50, 'test/even.test.ts': 30 }
  for (const [file, seconds] of Object.entries(took)) map.entries.get(file)!.seconds = seconds
  const mutant = (line: number) => ({ file: 'src/limit.ts', line }) as Mutant
  assert.deepEqual(askedOf(map, mutant(4), 70), ['test/limit.test.ts', 'test/child.test.ts'])
  assert.deepEqual(askedOf(map, mutant(4), 69), ['test/limit.test.ts'])
  assert.deepEqual(askedOf(map, mutant(4), 1), ['test/limit.test.ts'])
  assert.deepEqual(askedOf(map, mutant(8), 1), ['test/even.test.ts'])
  assert.deepEqual(askedOf(map, mutant(12), 70), [], 'no test executes it')
})

test('npm test -- --changed runs the tests that execute changed code, the changed tests, and the tests in the folder of a new source', async (t) => {
  const folder = program(t)
  await record(t, folder, ALL)
  const chosen = () => testsOfChange(folder, 'HEAD').tests
  assert.deepEqual(chosen(), [])
  write(folder, 'src/limit.ts', LIMIT.replace('count % 2', 'count % 4'))
  assert.deepEqual(chosen(), ['test/even.test.ts'])
  write(folder, 'test/limit.test.ts', "import '../src/limit.ts'\n")
  assert.deepEqual(chosen().toSorted(), ['test/even.test.ts', 'test/limit.test.ts'])
  write(folder, 'src/limit.ts', LIMIT)
  write(folder, 'src/new/new.ts', 'export const isNew = true\n')
  write(folder, 'test/new/new.test.ts', '')
  write(folder, 'test/new/other.test.ts', '')
  assert.deepEqual(chosen().toSorted(), ['test/limit.test.ts', 'test/new/new.test.ts', 'test/new/other.test.ts'])
})

test('a file that is not a source has the tests that import it, also indirectly, or that name it', (t) => {
  const folder = repository(t, {
    'test/support/world.ts': '',
    'test/support/near.ts': "import './world.ts'\n",
    'test/a.test.ts': "import './support/near.ts'\n",
    'test/b.test.ts': "read('deploy/berth.service')\n",
    'test/c.test.ts': '',
    'deploy/berth.service': '',
  })
  write(folder, 'test/support/world.ts', '// changed\n')
  assert.deepEqual(testsOfChange(folder, 'HEAD').tests, ['test/a.test.ts'])
  write(folder, 'deploy/berth.service', 'changed\n')
  assert.deepEqual(testsOfChange(folder, 'HEAD').tests.toSorted(), ['test/a.test.ts', 'test/b.test.ts'])
})

test('a line ran when a part of it did; blocks that did not run are left out; the module itself counts only on request', () => {
  const text = 'function a(b) {\n  if (b) {\n    one()\n  }\n  two(); b && three()\n}\na(0)\n'
  const range = (part: string, count: number) => {
    const startOffset = text.indexOf(part)
    return { startOffset, endOffset: startOffset + part.length, count }
  }
  const functions = [
    { functionName: '', isBlockCoverage: true, ranges: [{ startOffset: 0, endOffset: text.length, count: 1 }] },
    {
      functionName: 'a',
      isBlockCoverage: true,
      ranges: [range(text.slice(0, text.indexOf('\na(0)')), 1), range('{\n    one()\n  }', 0), range('three()', 0)],
    },
  ]
  assert.deepEqual(linesOf(text, functions, false), [1, 2, 5, 6])
  assert.deepEqual(linesOf(text, functions, true), [1, 2, 5, 6, 7])
  for (const lines of [[], [4], [1, 2, 3], [1, 3, 4, 9]]) assert.deepEqual(unpackLines(packLines(lines)), lines)
  assert.equal(packLines([9, 1, 3, 2]), '1-3,9')
})

test('changed lines are those of the work tree; where lines went, those around the gap; a file that is gone has none', (t) => {
  const folder = repository(t, { 'a.ts': '1\n2\n3\n4\n', 'b.ts': '1\n', 'c.ts': '1\n' })
  write(folder, 'a.ts', '1\n3\n4\nfive\n')
  rmSync(join(folder, 'b.ts'))
  write(folder, 'd e.ts', '1\n2\n')
  const changed = Object.fromEntries([...changedLines(folder, 'HEAD')].map(([file, lines]) => [file, [...lines]]))
  assert.deepEqual(changed, { 'a.ts': [1, 2, 4], 'b.ts': [], 'd e.ts': [1, 2, 3] })
  assert.deepEqual([hasCommit(folder, 'HEAD'), hasCommit(folder, 'v9.9.9')], [true, false])
})
