/** Small files in memory: read once, within a bound, gone with the file. docs/deploying-sites.md: File cache. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createHotFiles, HOT_BYTES, type HotFiles, MAX_HOT } from '../../../src/sites/content/hot-files.ts'
import { eventually } from '../../support/eventually.ts'
import { handlesBelow, newFolder, openCache, openOrigin, readText } from './caches.ts'

const KIB = 1024
const of = (size: number) => async () => Buffer.alloc(size)

/** Whether a file was accepted; it is released at once. */
async function put(hot: HotFiles, key: string, size = 8 * KIB): Promise<boolean> {
  const lent = await hot.load(key, size, of(size))
  lent?.giveBack()
  return lent !== undefined
}

/** Which of these are there, without a use of them. */
function there(hot: HotFiles, keys: string): string {
  return [...keys]
    .filter((key) => {
      const lent = hot.get(key)
      lent?.giveBack()
      return lent !== undefined
    })
    .join('')
}

test('a file is read once for all who want it meanwhile, and is there afterwards', async () => {
  const hot = createHotFiles(16 * KIB)
  const { promise, resolve } = Promise.withResolvers<Buffer>()
  let reads = 0
  const read = () => {
    reads++
    return promise
  }
  const wanted = [hot.load('a', 3, read), hot.load('a', 3, read)]
  assert.equal(hot.get('a'), undefined)
  resolve(Buffer.from('one'))
  assert.deepEqual(
    (await Promise.all(wanted)).map((lent) => String(lent?.bytes)),
    ['one', 'one'],
  )
  assert.deepEqual([String(hot.get('a')?.bytes), reads], ['one', 1])
})

test('over the bound the file goes that was used longest ago', async () => {
  const hot = createHotFiles(16 * KIB)
  for (const key of 'ab') await put(hot, key)
  hot.get('a')?.giveBack()
  await put(hot, 'c')
  assert.equal(there(hot, 'abc'), 'ac')
  assert.equal(await put(hot, 'larger than all', 17 * KIB), false)
})

test('a file of a few bytes counts a block', async () => {
  const hot = createHotFiles(16 * KIB)
  for (const key of 'abcde') await put(hot, key, 1)
  assert.equal(there(hot, 'abcde'), 'bcde')
})

test('what slow visitors have counts, also once it is dropped, and nothing is taken in beyond the bound', async () => {
  const hot = createHotFiles(16 * KIB)
  const [a, b] = [await hot.load('a', 8 * KIB, of(8 * KIB)), await hot.load('b', 8 * KIB, of(8 * KIB))]
  const again = hot.get('a')
  hot.drop('a')
  hot.drop('b')
  assert.equal(there(hot, 'ab'), '')
  a!.giveBack()
  a!.giveBack()
  assert.equal(await put(hot, 'c'), false)
  again!.giveBack()
  assert.equal(await put(hot, 'c'), true)
  assert.equal(await put(hot, 'd', 16 * KIB), false)
  b!.giveBack()
  assert.equal(await put(hot, 'd', 16 * KIB), true)
})

test('a file that is dropped while it is read is not kept, and one that was read again is', async () => {
  const hot = createHotFiles(16 * KIB)
  const first = Promise.withResolvers<Buffer>()
  const before = hot.load('a', 3, () => first.promise)
  hot.drop('a')
  const second = Promise.withResolvers<Buffer>()
  const after = hot.load('a', 3, () => second.promise)
  first.resolve(Buffer.from('old'))
  assert.equal(String((await before)?.bytes), 'old')
  assert.equal(hot.get('a'), undefined)
  second.resolve(Buffer.from('new'))
  assert.equal(String((await after)?.bytes), 'new')
  assert.equal(String(hot.get('a')?.bytes), 'new')
})

test('a file that cannot be read takes no room, and is tried again by the next', async () => {
  const hot = createHotFiles(16 * KIB)
  await assert.rejects(
    hot.load('a', 16 * KIB, () => Promise.reject(new Error('no'))),
    /^Error: no$/,
  )
  assert.equal(await put(hot, 'a', 16 * KIB), true)
})

test('a cache reads a small file once, a large one each time, and forgets what it removed', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch, memoryBytes: HOT_BYTES, budgetBytes: 500_000 })
  const small = origin.add('a'.repeat(MAX_HOT))
  const large = origin.add('b'.repeat(MAX_HOT + 1))
  assert.equal(await readText(cache, 'acc_1', small), 'a'.repeat(MAX_HOT))
  rmSync(join(folder, 'objects/acc_1', small.sha256))
  const opened = await cache.open('acc_1', small)
  assert.deepEqual([opened.whole?.length, origin.fetches.length], [MAX_HOT, 1])
  await eventually(() => handlesBelow(folder) === 0)
  // It makes room for the other one.
  const other = await cache.open('acc_1', large)
  assert.deepEqual([other.whole, handlesBelow(folder)], [undefined, 1])
  other.close()
  assert.equal(opened.whole!.toString(), 'a'.repeat(MAX_HOT))
  opened.close()
  await readText(cache, 'acc_1', small)
  assert.equal(origin.fetches.length, 3)
})

test('where there is no room in memory, small files are read from the disk and let go', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch, memoryBytes: 8 * KIB })
  const [one, other] = [origin.add('a'.repeat(8 * KIB)), origin.add('b'.repeat(8 * KIB))]
  const slow = await cache.open('acc_1', one)
  assert.equal(await readText(cache, 'acc_1', other), 'b'.repeat(8 * KIB))
  assert.equal(slow.whole?.length, 8 * KIB)
  await eventually(() => handlesBelow(folder) === 0)
  slow.close()
  assert.equal((await cache.open('acc_1', other)).whole?.length, 8 * KIB)
})
