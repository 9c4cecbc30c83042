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
