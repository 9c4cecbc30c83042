/** Masks are built in turns with other work where visitors wait for it. docs/runner.md: Masking. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMasks, createMasksInTurns, maskSteps } from '../../../src/platform/secrets/masks.ts'
import { searchSteps } from '../../../src/platform/secrets/text-search.ts'

/** Short lines have most forms. */
const LARGEST = Array.from({ length: 9000 }, (_, at) => String(at).padStart(6, '%"ä')).join('\n')

test('the masks of the largest values are built in short steps, and in turns they are the same', async () => {
  const words = Array.from({ length: 512 }, (_, at) => String(at).padEnd(256, String(at)))
  const [ofSearch, ofMasks] = [[...searchSteps(words)].length, [...maskSteps([LARGEST])].length]
  assert.ok(ofSearch > 100 && ofMasks > ofSearch + 50, `${ofSearch} and ${ofMasks} steps`)
  const [atOnce, inTurns] = [createMasks([LARGEST]), await createMasksInTurns([LARGEST])]
  for (const text of ['a %"ä%42 b', LARGEST.slice(0, 700), 'nothing'])
    assert.deepEqual([inTurns.mask(text), inTurns.longest], [atOnce.mask(text), atOnce.longest])
  assert.equal((await createMasksInTurns(['short'])).mask('a short one'), 'a short one')
})

test('a text is cut before a value and never within one; behind the value that it begins with', () => {
  const [value, text] = ['correct-horse', 'a correct-horse, then correct-horse b']
  const { cutBefore } = createMasks([value])
  const starts = [text.indexOf(value), text.lastIndexOf(value)]
  const cuts = Array.from(text, (_, at) => cutBefore(text, at))
  assert.deepEqual(
    cuts,
    cuts.map((_, at) => starts.find((start) => start < at && at < start + value.length) ?? at),
  )
  const beginning = text.slice(starts[0])
  assert.deepEqual(
    [0, 1, 12, 13, 14].map((at) => cutBefore(beginning, at)),
    [0, 13, 13, 13, 14],
  )
  assert.equal(createMasks([]).cutBefore(text, 5), 5, 'without a value, wherever it is asked for')
})
