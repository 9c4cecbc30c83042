/** docs/threats.md names tests that are there. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

test('every threat of docs/threats.md names a test that is there, by its file and its name', () => {
  const rows = readFileSync(join(root, 'docs', 'threats.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| T\d+ /.test(line))
  const ids = rows.map((row) => row.split(' ')[1])
  assert.equal(new Set(ids).size, rows.length)
  assert.ok(rows.length >= 55)
  for (const row of rows) {
    const tests = row.split(' | ')[3]!.replace(/ \|$/, '').split('<br>')
    for (const named of tests) {
      const [, file, name] = /^`([\w/.-]+)`: (.+)$/.exec(named) ?? assert.fail(named)
      const text = readFileSync(join(root, 'test', `${file}.test.ts`), 'utf8').replaceAll("\\'", "'")
      const quoted = [`'${name}'`, `"${name}"`, `\`${name}\``]
      assert.ok(
        quoted.some((one) => text.includes(one)),
        `there is no test "${name}" in test/${file}.test.ts`,
      )
    }
  }
})
