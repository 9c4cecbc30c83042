/** Manifests that a sites server keeps in memory, and which one goes. docs/deploying-sites.md: Sites server. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createSites } from '../../../src/sites/visitors/open-sites.ts'
import { openCache, openOrigin } from '../content/caches.ts'

/** Sites whose manifests are these texts. `loaded`: those that were read, in their order. */
async function openSites(t: TestContext, limits: { sites: number; characters: number }) {
  const origin = openOrigin()
  const cache = await openCache(t, { fetch: origin.fetch })
  const loaded: string[] = []
  const open: typeof cache.open = (account, file) => {
    loaded.push(file.sha256)
    return cache.open(account, file)
  }
  const sites = createSites({ open }, limits)
  const texts = new Map<string, string>()
  const ask = async (...manifests: string[]) => {
    for (const text of manifests) {
      const { sha256, size } = origin.add(text)
      texts.set(sha256, text)
      const { manifest } = await sites.get({ accountId: 'team_1', digest: sha256, size })
      assert.equal(manifest, text)
    }
  }
  return { ask, size: sites.size, loaded: () => loaded.map((digest) => texts.get(digest)) }
}

test('above their number, the manifest that was used longest ago goes', async (t) => {
  const { ask, size, loaded } = await openSites(t, { sites: 2, characters: 100 })
  await ask('a', 'b', 'a', 'c', 'a', 'c')
  assert.deepEqual([size(), loaded()], [2, ['a', 'b', 'c']])
  await ask('b', 'c', 'a')
  assert.deepEqual([size(), loaded()], [2, ['a', 'b', 'c', 'b', 'a']])
})

test('above their characters, as many manifests go as must, and the new one stays', async (t) => {
  const { ask, size, loaded } = await openSites(t, { sites: 100, characters: 10 })
  await ask('aaaa', 'bbbbbb')
  assert.equal(size(), 2, 'just as many characters as it may keep')
  await ask('c')
  assert.equal(size(), 2)
  await ask('more than all', 'more than all')
  assert.equal(size(), 1)
  assert.deepEqual(loaded(), ['aaaa', 'bbbbbb', 'c', 'more than all'])
})
