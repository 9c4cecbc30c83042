/** Which tests `npm test` runs on PostgreSQL too. docs/testing.md: PostgreSQL in npm test. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'
import { isLeftToCi } from '../support/stores/engines.ts'

test('npm test leaves to .ci/run what is on PostgreSQL, but for the folders of the table', () => {
  for (const [file, left] of [
    ['test/console/forms.test.ts', true],
    ['test/console/project/forms.test.ts', true],
    ['test/platform/dbx/a.test.ts', true],
    ['test/platform/http/answers.test.ts', false],
    ['test/platform/db/store.test.ts', false],
  ] as const) {
    assert.equal(isLeftToCi('postgres', file), left, file)
    assert.equal(isLeftToCi('sqlite', file), false, file)
  }
})

test('the page of the tests names each folder of the table, and no other', () => {
  const page = readFileSync(join(root, 'docs', 'testing.md'), 'utf8')
  const section = /## PostgreSQL in npm test\n(.*?)\n## /s.exec(page)![1]!
  const named = [...section.matchAll(/`([a-z-]+\/[a-z-]+)\/`/g)].map(([, folder]) => folder!)
  const folders = globSync('test/*/*/', { cwd: root }).map((path) => path.replace(/^test\//, '').replace(/\/$/, ''))
  const run = folders.filter((folder) => !isLeftToCi('postgres', `test/${folder}/a.test.ts`))
  assert.deepEqual(named.toSorted(), run.toSorted())
  assert.ok(run.length > 0 && run.every((folder) => existsSync(join(root, 'test', folder))))
})
