/** The controls of drills replace a piece of a source, which must be there. docs/faults.md: Power cuts. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

const CALL = /\b(?:startBroken|breakSource)\(\s*'([^']+)',\s*(['"])(.*?)\2,/g

test('every piece of a source that a control replaces is in that source', () => {
  const pieces = globSync('test/faults/*.ts', { cwd: root }).flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(CALL)].map(([, file, , piece]) => ({ path, file, piece })),
  )
  assert.ok(pieces.length >= 3)
  for (const { path, file, piece } of pieces)
    assert.ok(readFileSync(join(root, 'src', file!), 'utf8').includes(piece!), `${path}: src/${file} has no "${piece}"`)
})
