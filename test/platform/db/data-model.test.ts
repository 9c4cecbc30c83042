/** docs/data-model.md and its drawing are made from the tables of a migrated store, and say all of them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tablesOf } from '../../../src/platform/db/tables.ts'
import { root } from '../../support/root.ts'
import { onBothEngines } from '../../support/world.ts'

const page = readFileSync(join(root, 'docs', 'data-model.md'), 'utf8')
const drawing = readFileSync(join(root, 'docs', 'images', 'data-model.svg'), 'utf8')

test('the page and the drawing are what the tables of today make', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts', 'data-model.ts'), '--check'], {
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
})

onBothEngines('each table of the store has a row on the page and a box in the drawing', async ({ deps }) => {
  const tables = [...(await tablesOf(deps.db.read)).keys()].filter((name) => !name.startsWith('kysely_'))
  assert.deepEqual([...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name).toSorted(), tables.toSorted())
  const boxes = [...drawing.matchAll(/font-size="14" fill="#\w+">(\w+)<\/text>/g)].map(([, name]) => name)
  assert.deepEqual(boxes.toSorted(), tables.toSorted())
})
