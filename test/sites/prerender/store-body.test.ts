/** Bodies that are stored at the same time. docs/prerendering.md: Budget. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openContentCache } from '../../../src/sites/content/content-cache.ts'
import { createPages, PAGE_BUDGET, type Page } from '../../../src/sites/prerender/pages.ts'
import { storeBody } from '../../../src/sites/prerender/store-body.ts'

const BYTES = Buffer.alloc(5000, 'x')

test('equal bodies that are stored at once are each counted, and stay until the last page goes', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const fetch = () => Promise.reject(new Error('the bytes of a page are nowhere else'))
  const cache = await openContentCache({ folder, budgetBytes: 1024 ** 2, fetch, onError: () => {} })
  t.after(() => cache.close())
  const released: string[] = []
  const pages = createPages(PAGE_BUDGET, (_, digest) => void released.push(digest))
  const store = async (key: string, put: typeof cache.put): Promise<void> => {
    const body = await storeBody({ put }, pages, 'team_1', BYTES)
    // As a picture does, whose page is made of several promises.
    for (let promises = 0; promises < 5; promises++) await undefined
    pages.keep(pageOf(key, body!))
  }
  let second: Promise<void> | undefined
  await store('a', async (...file) => {
    const isNew = await cache.put(...file)
    // The file is there, and its page is not kept yet.
    second = store('b', cache.put)
    return isNew
  })
  await second
  assert.equal(pages.used('team_1').bytes, 2 * 8192)
  const [first, other] = [pages.use('a')!, pages.use('b')!]
  pages.drop(first)
  assert.deepEqual(released, [])
  pages.drop(other)
  assert.deepEqual(released, [first.body.digest])
})

function pageOf(key: string, body: Page['body']): Page {
  return {
    ...{ key, group: undefined, account: 'team_1', deploymentId: 'd1', status: 200, headers: [], tags: [] },
    ...{ contentType: 'text/html', body, at: 100, number: 0, freshUntil: 200, staleUntil: 300, isFirst: false },
  }
}
