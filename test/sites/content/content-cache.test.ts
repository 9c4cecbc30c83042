/** Files that are fetched once, checked, and kept within a budget. docs/deploying-sites.md: File cache. */
import assert from 'node:assert/strict'
import { renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ContentFile } from '../../../src/sites/content/content-cache.ts'
import { ContentUnavailable } from '../../../src/sites/content/content-fault.ts'
import { openKeptFiles } from '../../../src/sites/content/kept-files.ts'
import { letGo } from '../../../src/sites/content/opened-file.ts'
import { eventually } from '../../support/eventually.ts'
import {
  fileOf,
  filesBelow,
  handlesBelow,
  inPieces,
  newFolder,
  openCache,
  openOrigin,
  readAll,
  readText,
} from './caches.ts'

const BLOCK = 4096

function refusedWith(why: ContentUnavailable['why']) {
  return (error: unknown) => error instanceof ContentUnavailable && error.why === why
}

test('a file is fetched at its first use, once for all who wait for it, and then no more', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch })
  const file = origin.add('hello, sites'.repeat(5000))
  const texts = await Promise.all(Array.from({ length: 50 }, () => readText(cache, 'acc_1', file)))
  assert.deepEqual(new Set(texts), new Set(['hello, sites'.repeat(5000)]))
  assert.equal(await readText(cache, 'acc_1', file), texts[0])
  assert.deepEqual(origin.fetches, ['acc_1'])
  assert.deepEqual(filesBelow(folder), [`objects/acc_1/${file.sha256}`])
  assert.equal(statSync(join(folder, 'objects/acc_1', file.sha256)).mode & 0o777, 0o400)
  assert.deepEqual(cache.used(), { bytes: 15 * BLOCK, files: 1 })
})

test('an empty file is a file', async (t) => {
  const origin = openOrigin()
  const cache = await openCache(t, { fetch: origin.fetch })
  assert.equal(await readText(cache, 'acc_1', origin.add('')), '')
  assert.deepEqual(cache.used(), { bytes: BLOCK, files: 1 })
})

test('no account reads a file that another has, nor learns that it is there', async (t) => {
  const origin = openOrigin()
  const file = origin.add('mine'.repeat(1000))
  const asked: string[] = []
  const cache = await openCache(t, {
    fetch(account, one, signal) {
      asked.push(account)
      if (account === 'acc_2') throw new Error('acc_2 has no such file')
      return origin.fetch(account, one, signal)
    },
  })
  await readText(cache, 'acc_1', file)
  await cache.encode('acc_1', file.sha256, 'br')
  await assert.rejects(cache.open('acc_2', file), refusedWith('fetch'))
  assert.deepEqual(cache.formsOf('acc_2', file.sha256), [])
  assert.equal(await cache.openEncoded('acc_2', file.sha256, 'br'), undefined)
  await readText(cache, 'acc_3', file)
  assert.deepEqual(asked, ['acc_1', 'acc_2', 'acc_3'])
})

test('names that are not an account or a digest are refused', async (t) => {
  const cache = await openCache(t, {})
  const { sha256, size } = fileOf(Buffer.from('x'))
  for (const [account, digest] of [
    ['..', sha256],
    ['acc_1/..', sha256],
    ['', sha256],
    ['acc_1', `../${sha256.slice(3)}`],
    ['acc_1', sha256.toUpperCase()],
    ['acc_1', `${sha256}.br`],
  ] as const) {
    await assert.rejects(cache.open(account, { sha256: digest, size }), /no file of an account/)
  }
})

test('what differs from its digest or size, or breaks off, is not cached and reported to all who wait', async (t) => {
  const folder = newFolder(t)
  const bytes = Buffer.from('the right bytes'.repeat(2000))
  const file = fileOf(bytes)
  const wrong = Buffer.from(bytes)
  wrong[20_000]! ^= 1
  async function* broken() {
    yield bytes.subarray(0, 9000)
    throw new Error('the connection was lost')
  }
  const sources: readonly [why: ContentUnavailable['why'], open: () => AsyncIterable<Buffer>][] = [
    ['mismatch', () => inPieces(wrong, 7000)],
    ['mismatch', () => inPieces(bytes.subarray(1), 7000)],
    ['mismatch', () => inPieces(Buffer.concat([bytes, Buffer.from('!')]), 7000)],
    ['mismatch', () => inPieces(Buffer.alloc(0), 1)],
    ['fetch', broken],
    [
      'fetch',
      () => {
        throw new Error('the control plane is unavailable')
      },
    ],
  ]
  let at = 0
  const cache = await openCache(t, { folder, fetch: async () => sources[at]?.[1]() ?? inPieces(bytes, 7000) })
  for (const [why] of sources) {
    const waiting = await Promise.allSettled(Array.from({ length: 10 }, () => cache.open('acc_1', file)))
    for (const one of waiting) assert.ok(one.status === 'rejected' && refusedWith(why)(one.reason), why)
    assert.deepEqual(filesBelow(folder), [])
    assert.deepEqual(cache.used(), { bytes: 0, files: 0 })
    at++
  }
  await assert.rejects(cache.open('acc_1', { ...file, size: file.size + 1 }), refusedWith('mismatch'))
  assert.deepEqual(filesBelow(folder), [])
  assert.equal(await readText(cache, 'acc_1', file), bytes.toString())
})

test('a file that does not end is cut off where it should have ended', async (t) => {
  let sent = 0
  let isOver = false
  async function* endless() {
    try {
      for (;;) {
        sent += 1000
        yield Buffer.alloc(1000)
      }
    } finally {
      isOver = true
    }
  }
  const cache = await openCache(t, { fetch: async () => endless() })
  await assert.rejects(cache.open('acc_1', fileOf(Buffer.alloc(5000))), refusedWith('mismatch'))
  assert.deepEqual([sent, isOver], [6000, true])
})

test('a file of which nothing comes is given up, and its fetch is reported', async (t) => {
  const folder = newFolder(t)
  const bytes = Buffer.alloc(5000)
  const signals: AbortSignal[] = []
  async function* silent() {
    yield bytes.subarray(0, 100)
    await new Promise(() => {})
  }
  const cache = await openCache(t, {
    folder,
    timeoutMs: 20,
    fetch(_, __, signal) {
      signals.push(signal)
      return signals.length === 1 ? Promise.resolve(silent()) : new Promise(() => {})
    },
  })
  for (const _ of [1, 2]) await assert.rejects(cache.open('acc_1', fileOf(bytes)), refusedWith('stalled'))
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true],
  )
  assert.deepEqual(filesBelow(folder), [])
})

test('what was used longest ago makes room, and what is open stays', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch, budgetBytes: 3 * BLOCK })
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((text) => origin.add(text)) as [
    ContentFile,
    ContentFile,
    ContentFile,
    ContentFile,
  ]
  const there = () =>
    [a, b, c, d].flatMap((file, at) =>
      filesBelow(folder).some((path) => path.endsWith(file.sha256)) ? 'abcd'[at]! : [],
    )
  for (const file of [a, b, c, a]) await readText(cache, 'acc_1', file)
  assert.equal(there().join(''), 'abc')
  await readText(cache, 'acc_1', d)
  assert.equal(there().join(''), 'acd')
  const opened = await cache.open('acc_1', c)
  for (const file of [a, d, b]) await readText(cache, 'acc_1', file)
  assert.ok(there().includes('c'), 'an open file was evicted')
  assert.deepEqual((await readAll(opened)).toString(), 'c')
  for (const file of [a, d, b]) await readText(cache, 'acc_1', file)
  assert.equal(there().join(''), 'abd')
  assert.deepEqual(cache.used(), { bytes: 3 * BLOCK, files: 3 })
})

test('a file that does not fit is refused before it is fetched, and evicts nothing', async (t) => {
  const origin = openOrigin()
  const cache = await openCache(t, { fetch: origin.fetch, budgetBytes: 2 * BLOCK })
  const small = origin.add('small')
  const opened = await cache.open('acc_1', small)
  origin.fetches.length = 0
  await assert.rejects(cache.open('acc_1', origin.add('x'.repeat(2 * BLOCK + 1))), refusedWith('too_large'))
  await assert.rejects(cache.open('acc_1', origin.add('x'.repeat(2 * BLOCK))), refusedWith('full'))
  assert.deepEqual(origin.fetches, [])
  opened.close()
  assert.equal(await readText(cache, 'acc_1', origin.add('x'.repeat(2 * BLOCK))), 'x'.repeat(2 * BLOCK))
})

test('a fetch that fails evicts nothing, so that a cache stays while the control plane is unavailable', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const files = ['a', 'b'].map((text) => origin.add(text))
  const cache = await openCache(t, { folder, fetch: origin.fetch, budgetBytes: 2 * BLOCK })
  for (const file of files) await readText(cache, 'acc_1', file)
  for (const text of ['c', 'd'])
    await assert.rejects(cache.open('acc_1', fileOf(Buffer.from(text))), refusedWith('fetch'))
  assert.deepEqual(filesBelow(folder), files.map(({ sha256 }) => `objects/acc_1/${sha256}`).sort())
  assert.deepEqual(cache.used(), { bytes: 2 * BLOCK, files: 2 })
})

test('under a storm of visitors the disk never takes more than the budget', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const budgetBytes = 8 * BLOCK
  let most = 0
  const cache = await openCache(t, {
    folder,
    budgetBytes,
    async fetch(account, file, signal) {
      most = Math.max(most, cache.used().bytes, bytesOnDisk(folder))
      return origin.fetch(account, file, signal)
    },
  })
  const files = Array.from({ length: 20 }, (_, at) => origin.add(String.fromCharCode(97 + at).repeat(300 * at)))
  const read = async (account: string, from: number) => {
    for (const at of files.keys()) {
      const file = files[(at * 7 + from) % files.length]!
      assert.equal((await readText(cache, account, file)).length, file.size)
    }
  }
  await Promise.all([read('acc_1', 0), read('acc_1', 10), read('acc_2', 20)])
  assert.ok(most > budgetBytes / 2 && most <= budgetBytes, `${most} of ${budgetBytes} bytes`)
  assert.equal(bytesOnDisk(folder), cache.used().bytes)
})

function bytesOnDisk(folder: string): number {
  return filesBelow(folder).reduce((sum, path) => {
    const size = statSync(join(folder, path), { throwIfNoEntry: false })?.size ?? 0
    // Where nothing has come yet there is no block, only a name.
    const least = path.startsWith('arriving') ? 0 : 1
    return sum + Math.max(least, Math.ceil(size / BLOCK)) * BLOCK
  }, 0)
}

test('accounts whose files do not come keep no other waiting', async (t) => {
  const origin = openOrigin()
  const stop = new AbortController()
  const hanging = new Map<string, number>()
  const cache = await openCache(t, {
    fetch(account, file, signal) {
      if (account === 'quick') return origin.fetch(account, file, signal)
      hanging.set(account, (hanging.get(account) ?? 0) + 1)
      stop.signal.throwIfAborted()
      return new Promise((_, reject) => stop.signal.addEventListener('abort', () => reject(new Error('gave up'))))
    },
  })
  const names = Array.from({ length: 20 }, (_, at) => fileOf(Buffer.from(String(at))))
  const slow = ['a', 'b', 'c', 'd', 'e'].flatMap((account) => names.map((file) => cache.open(account, file)))
  assert.equal(await readText(cache, 'quick', origin.add('here')), 'here')
  assert.deepEqual([...hanging.values()], [16, 16, 16, 1, 1])
  stop.abort()
  const ended = await Promise.allSettled(slow)
  assert.ok(ended.every((one) => one.status === 'rejected'))
  assert.deepEqual([...hanging.values()], [20, 20, 20, 20, 20])
})

test('a fetch that waits too long for its turn is refused', async (t) => {
  async function* drops() {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      yield Buffer.alloc(1)
    }
  }
  const cache = await openCache(t, { timeoutMs: 200, fetch: async () => drops() })
  const fileAt = (at: number) => ({ sha256: String(at).padStart(64, '0'), size: 1024 ** 2 })
  const slow = Array.from({ length: 16 }, (_, at) => assert.rejects(cache.open('acc_1', fileAt(at))))
  await assert.rejects(cache.open('acc_1', fileAt(16)), refusedWith('busy'))
  await cache.close()
  await Promise.all(slow)
})

test('a disk that fails is reported, and is not taken for a file that is gone', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch })
  const file = origin.add('still there')
  await readText(cache, 'acc_1', file)
  const shelf = join(folder, 'objects/acc_1')
  renameSync(shelf, `${shelf}-away`)
  writeFileSync(shelf, 'a file in the place of the folder')
  for (const one of [file, origin.add('another')])
    await assert.rejects(cache.open('acc_1', one), (error: NodeJS.ErrnoException) => error.code === 'ENOTDIR')
  renameSync(`${shelf}-away`, `${shelf}-back`)
  renameSync(shelf, `${shelf}-file`)
  renameSync(`${shelf}-back`, shelf)
  origin.fetches.length = 0
  assert.equal(await readText(cache, 'acc_1', file), 'still there')
  assert.deepEqual(origin.fetches, [])
})

test('all who read a file share one handle, which the last one closes', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch })
  const file = origin.add('shared')
  const opened = await Promise.all(Array.from({ length: 30 }, () => cache.open('acc_1', file)))
  assert.equal(handlesBelow(folder), 1)
  for (const one of opened.slice(1)) {
    one.close()
    one.close()
  }
  assert.equal((await readAll(opened[0]!)).toString(), 'shared')
  await eventually(() => handlesBelow(folder) === 0)
  assert.equal(await readText(cache, 'acc_1', file), 'shared')
})

test('closing ends what is being fetched, notifies those who wait, and leaves nothing half-written', async (t) => {
  const folder = newFolder(t)
  const bytes = Buffer.alloc(5000)
  async function* until(signal: AbortSignal) {
    yield bytes.subarray(0, 100)
    signals.push(signal)
    await new Promise(() => {})
  }
  const signals: AbortSignal[] = []
  const cache = await openCache(t, { folder, fetch: async (_, __, signal) => until(signal) })
  const waiting = assert.rejects(cache.open('acc_1', fileOf(bytes)), refusedWith('closed'))
  await eventually(() => signals.length === 1)
  assert.equal(filesBelow(folder).length, 1)
  await cache.close()
  assert.deepEqual([filesBelow(folder), signals[0]!.aborted], [[], true])
  await waiting
  await assert.rejects(cache.open('acc_1', fileOf(bytes)), refusedWith('closed'))
})

test('bytes that this server made are kept like a file, once, and removed with their forms', async (t) => {
  const folder = newFolder(t)
  const cache = await openCache(t, { folder })
  const bytes = Buffer.from('<p>made here</p>'.repeat(1000))
  const file = fileOf(bytes)
  const results = await Promise.all([cache.put('acc_1', file, bytes), cache.put('acc_1', file, bytes)])
  assert.ok(results.includes(true))
  assert.equal(await cache.put('acc_1', file, bytes), false)
  assert.equal(await readText(cache, 'acc_1', file), bytes.toString())
  await cache.encode('acc_1', file.sha256, 'br')
  assert.deepEqual([cache.has('acc_1', file.sha256), cache.has('acc_2', file.sha256)], [true, false])
  assert.equal(filesBelow(folder).length, 2)
  await cache.remove('acc_1', file.sha256)
  assert.deepEqual([cache.has('acc_1', file.sha256), filesBelow(folder), cache.used().files], [false, [], 0])
})

test('dropping an entry that another one replaced leaves the file of that one', async (t) => {
  const folder = newFolder(t)
  const kept = await openKeptFiles(folder, 10 * BLOCK, 0)
  const { sha256 } = fileOf(Buffer.from('text'))
  const write = () => kept.write('acc_1', `acc_1/${sha256}`, 4, inPieces(Buffer.from('text'), 4), () => 4)
  const before = await write()
  await kept.drop(before)
  const entry = await write()
  await kept.drop(before)
  assert.equal(String(await readAll((await kept.open(entry))!)), 'text')
  letGo(entry)
  await eventually(() => handlesBelow(folder) === 0)
})
