/** Pages from a stop to the next start, and the end of a deployment. docs/prerendering.md: Budget. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { LISTS, storeList, takeList } from '../../../src/sites/prerender/page-file.ts'
import type { Page } from '../../../src/sites/prerender/pages.ts'

function folderOf(t: { after(work: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-pages-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function pageOf(key: string, headers: Page['headers'] = []): Page {
  return {
    ...{ key, group: undefined, account: 'team_1', deploymentId: 'd1', status: 200, headers, tags: ['a'] },
    ...{ contentType: 'text/html', body: { digest: 'x', size: 10, isOwned: true } },
    ...{ at: 100, number: 0, freshUntil: null, staleUntil: 300, isFirst: false },
  }
}

test('the list of a stop is taken once, in its order, without what is too long', async (t) => {
  const folder = folderOf(t)
  const long = pageOf('long', [{ name: 'x-long', value: 'x'.repeat(15_000) }])
  await storeList(folder, LISTS.pages, [pageOf('b'), long, pageOf('a', [{ name: 'x', value: 'ü' }])])
  const taken = await takeList<Page>(folder, LISTS.pages)
  assert.deepEqual(
    taken.map(({ key }) => key),
    ['b', 'a'],
  )
  assert.deepEqual({ group: undefined, ...taken[1] }, pageOf('a', [{ name: 'x', value: 'ü' }]))
  assert.deepEqual(await takeList(folder, LISTS.pages), [], 'a process that is killed leaves no list')
})

test('a list of another version, or something else, is removed', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'pages.ndjson')
  writeFileSync(file, '{"version":1}\n{"key":"a"}\n')
  assert.deepEqual(await takeList(folder, LISTS.pages), [])
  writeFileSync(file, '{"version":2}\nno json\n')
  await assert.rejects(takeList(folder, LISTS.pages))
  assert.equal(existsSync(file), false)
})
