/** docs/threats.md names tests that are there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertTestIsThere, rowsOf } from './named-tests.ts'

test('every threat of docs/threats.md names an existing test, by its file and its name', () => {
  const rows = rowsOf('threats.md', /^\| T\d+ /)
  assert.equal(new Set(rows.map(([id]) => id)).size, rows.length)
  assert.ok(rows.length >= 55)
  for (const row of rows) for (const named of row[3]!.split('<br>')) assertTestIsThere(named)
})
