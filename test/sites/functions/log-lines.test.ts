/** The output of a function as lines. docs/functions.md: Log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FunctionLine, readLine, readLines } from '../../../src/sites/functions/log-lines.ts'

test('a marked line has its stream, its request and its text', () => {
  assert.deepEqual(readLine('\u001eo ber1::a-1-b "two\\nlines"'), {
    stream: 'stdout',
    requestId: 'ber1::a-1-b',
    text: 'two\nlines',
  })
  assert.deepEqual(readLine('\u001ee  "at load"'), { stream: 'stderr', requestId: '', text: 'at load' })
})

test('any other line is text of an unknown request, without what hides text in a terminal', () => {
  for (const [line, text] of [
    ['plain', 'plain'],
    ['\u001eo id not-json', 'o id not-json'],
    ['\u001ex id "a"', 'x id "a"'],
    ['\u001eo id 5', 'o id 5'],
    ['a\u0000b\u001b[31mred\u0007', 'ab\u001b[31mred'],
  ])
    assert.deepEqual(readLine(line!), { stream: 'stdout', requestId: '', text })
})

test('lines are read whole, however the output is cut, and a long one is cut', () => {
  const lines: FunctionLine[] = []
  const reader = readLines((line) => lines.push(line))
  for (const piece of ['a', 'b\nc', '\n', '\n', 'x'.repeat(300_000), '\nlast']) reader.write(piece)
  reader.end()
  const texts = lines.map(({ text }) => text)
  assert.deepEqual(texts.slice(0, 3), ['ab', 'c', ''])
  assert.equal(texts.at(-1), 'last')
  assert.ok(texts.every((text) => text.length <= 16 * 1024))
  assert.ok(lines.length < 10, String(lines.length))
})
