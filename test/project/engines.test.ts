/** Which tests `npm test` runs on both engines. docs/testing.md: Both engines. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'
import { isOnBoth } from '../support/stores/engines.ts'

test('npm test runs the tests in the folders of the table on both engines', () => {
  for (const [file, both] of [
    ['test/console/forms.test.ts', false],
    ['test/platform/dbx/a.test.ts', false],
    ['test/platform/http/responses.test.ts', true],
    ['test/platform/db/store.test.ts', true],
    ['test/platform/http/routes.test.ts', false],
  ] as const)
    assert.equal(isOnBoth(file), both, file)
})

test('the page of the tests names each folder of the table, and no other', () => {
  const page = readFileSync(join(root, 'docs', 'testing.md'), 'utf8')
  const section = /## Both engines\n(.*?)\n## /s.exec(page)![1]!
  const named = [...section.matchAll(/`([a-z-]+\/[a-z-]+)\/`/g)].map(([, folder]) => folder!)
  const single = [...section.matchAll(/`([a-z-]+\/[a-z-]+\/[a-z-]+)`/g)].map(([, name]) => `test/${name}.test.ts`)
  assert.ok(single.length > 0 && single.every((file) => existsSync(join(root, file)) && !isOnBoth(file)), `${single}`)
  const folders = globSync('test/*/*/', { cwd: root }).map((path) => path.replace(/^test\//, '').replace(/\/$/, ''))
  const run = folders.filter((folder) => isOnBoth(`test/${folder}/a.test.ts`))
  assert.deepEqual(named.toSorted(), run.toSorted())
  assert.ok(run.length > 0 && run.every((folder) => existsSync(join(root, 'test', folder))))
})
