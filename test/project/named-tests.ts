/** Tests that documents name: `file`: name of the test. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/root.ts'

/** The rows of the tables of a document whose line matches, each as its cells. */
export function rowsOf(document: string, row: RegExp): string[][] {
  return readFileSync(join(root, 'docs', document), 'utf8')
    .split('\n')
    .filter((line) => row.test(line))
    .map((line) => line.replace(/^\| | \|$/g, '').split(' | '))
}

/** Asserts that a test is there, by its file below test and its name: `` `server/listen`: a name is listened on ``. */
export function assertTestIsThere(named: string): void {
  const [, file, name] = /^`([\w/.-]+)`: (.+)$/.exec(named) ?? assert.fail(named)
  const text = readFileSync(join(root, 'test', `${file}.test.ts`), 'utf8').replaceAll("\\'", "'")
  const quoted = [`'${name}'`, `"${name}"`, `\`${name}\``]
  assert.ok(
    quoted.some((one) => text.includes(one)),
    `there is no test "${name}" in test/${file}.test.ts`,
  )
}
