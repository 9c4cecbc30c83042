/** docs/effects.md has a row for each setting of a project, and each row a test or a reason. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CreateProject, UpdateProject } from '../../src/projects/projects/schema.ts'
import { assertTestIsThere, rowsOf } from './named-tests.ts'

/** Fields of both requests, by whether each is refused. */
function settings(isRefused: boolean): string[] {
  const fields = { ...CreateProject.properties, ...UpdateProject.properties }
  const found = Object.entries(fields).filter(([, schema]) => 'x-unsupported' in schema === isRefused)
  return found.map(([name]) => name).toSorted()
}

const ROWS = rowsOf('effects.md', /^\| `/)
const nameOf = ([cell]: string[]) => cell!.replaceAll('`', '')

test('each setting of a project has one row in docs/effects.md, and nothing else has', () => {
  const rows = ROWS.filter((row) => row.length === 3)
  assert.deepEqual(rows.map(nameOf).toSorted(), settings(false))
})

test('each refused setting is in the table of refused settings', () => {
  const rows = ROWS.filter((row) => row.length === 2)
  assert.deepEqual(rows.map(nameOf).toSorted(), settings(true))
  assert.ok(rows.length > 0)
})

test('each row of docs/effects.md names an existing test, or why there is no effect', () => {
  const rows = rowsOf('effects.md', /^\| (?!---|Setting |Operation )/).filter((row) => row.length === 3)
  for (const [, , seen] of rows)
    if (!/^No effect: \S/.test(seen!)) for (const one of seen!.split('<br>')) assertTestIsThere(one)
})
