/** The walk-through of docs/developing.md finds its places. That it works is seen by developing.long.test.ts. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'
import { blocks, withAdded } from './developing-blocks.ts'

test('the lines that docs/developing.md adds others next to exist, each once', () => {
  const changed = new Map<string, string>()
  for (const { kind, place, text } of blocks) {
    if (kind !== 'diff') continue
    const before = changed.get(place) ?? readFileSync(join(root, place), 'utf8')
    changed.set(place, withAdded(before, text, place))
  }
  assert.ok(changed.size > 5)
})
