/** Encoded forms: made once, in a turn of their own. docs/deploying-sites.md: File cache. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliDecompressSync, zstdDecompressSync } from 'node:zlib'
import { encodePieces, NoGain, openEncoder } from '../../../src/sites/content/encoder.ts'
import { piecesOf } from '../../../src/sites/content/opened-file.ts'
import { MAX_ENCODED } from '../../../src/sites/static/encodings.ts'
import { filesBelow, newFolder, openCache, openOrigin, readAll, readText } from './caches.ts'

const TEXT = Array.from({ length: 20_000 }, (_, at) => `<li>${at}</li>`).join('\n')
const DECODERS = { br: brotliDecompressSync, zstd: zstdDecompressSync }

test('a form decodes to the file, is made once however many ask, and is kept next to the file', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch })
  const file = origin.add(TEXT)
  await readText(cache, 'acc_1', file)
  for (const encoding of ['br', 'zstd'] as const) {
    assert.equal(await cache.openEncoded('acc_1', file.sha256, encoding), undefined)
    await Promise.all(Array.from({ length: 20 }, () => cache.encode('acc_1', file.sha256, encoding)))
    await cache.encode('acc_1', file.sha256, encoding)
    const form = await cache.openEncoded('acc_1', file.sha256, encoding)
    assert.equal(DECODERS[encoding](await readAll(form!)).toString(), TEXT)
  }
  const forms = cache.formsOf('acc_1', file.sha256)
  assert.deepEqual(
    forms.map(({ encoding }) => encoding),
    ['br', 'zstd'],
  )
  const names = [file.sha256, ...forms.map(({ encoding, size }) => `${file.sha256}.${size}.${encoding}`)]
  assert.deepEqual(filesBelow(folder), names.map((name) => `objects/acc_1/${name}`).sort())
  assert.equal(cache.used().files, 3)
})

test('nothing is encoded that is not there, does not become smaller, is too large or finds no room', async (t) => {
  const origin = openOrigin()
  const large = origin.add(Buffer.alloc(MAX_ENCODED + 1))
  const cache = await openCache(t, { fetch: origin.fetch })
  const noise = origin.add(randomBytes(100_000))
  const unknown = origin.add('not fetched')
  for (const file of [noise, large]) (await cache.open('acc_1', file)).close()
  const { bytes } = cache.used()
  for (const file of [noise, noise, large, unknown]) {
    await cache.encode('acc_1', file.sha256, 'br')
    assert.deepEqual(cache.formsOf('acc_1', file.sha256), [])
  }
  assert.deepEqual(cache.used(), { bytes, files: 2 })
  const tight = await openCache(t, { fetch: origin.fetch, budgetBytes: 100 * 4096 })
  const text = origin.add(TEXT)
  await readText(tight, 'acc_1', text)
  await tight.encode('acc_1', text.sha256, 'br')
  assert.deepEqual([tight.formsOf('acc_1', text.sha256), tight.used().files], [[], 1])
})

test('a file that did not become smaller is not read again', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch })
  const noise = origin.add(randomBytes(5000))
  await readText(cache, 'acc_1', noise)
  await cache.encode('acc_1', noise.sha256, 'br')
  const path = join(folder, 'objects/acc_1', noise.sha256)
  chmodSync(path, 0o600)
  writeFileSync(path, Buffer.alloc(5000))
  // Reading it would find the change, which is an error.
  await cache.encode('acc_1', noise.sha256, 'br')
  await assert.rejects(cache.encode('acc_1', noise.sha256, 'zstd'), /differs from the digest/)
})

test('pieces of at most 64 KiB go in, and at most the allowed bytes come out', async () => {
  const bytes = Buffer.from(TEXT)
  const file = {
    size: bytes.length,
    read: async (into: Buffer, at: number) => bytes.copy(into, 0, at),
    close() {},
  }
  const sizes: number[] = []
  for await (const piece of piecesOf(file)) sizes.push(piece.length)
  assert.deepEqual([Math.max(...sizes), sizes.reduce((sum, size) => sum + size)], [65_536, bytes.length])
  const encode = async (most: number) => {
    const { pieces, size } = encodePieces(piecesOf(file), 'br', { size: bytes.length, max: most })
    for await (const _ of pieces);
    return size()
  }
  const size = await encode(bytes.length)
  assert.equal(await encode(size), size)
  await assert.rejects(encode(size - 1), NoGain)
})

test('the plain form is read while others are made, and the event loop goes on', async (t) => {
  const origin = openOrigin()
  const cache = await openCache(t, { fetch: origin.fetch })
  const page = origin.add('page')
  const text = origin.add(TEXT.repeat(10))
  for (const file of [page, text]) await readText(cache, 'acc_1', file)
  let isMade = false
  let reads = 0
  const made = cache.encode('acc_1', text.sha256, 'br').then(() => {
    isMade = true
  })
  for (; !isMade; reads++) assert.equal(await readText(cache, 'acc_1', page), 'page')
  await made
  assert.ok(reads > 10, `${reads} reads`)
})

test('files are encoded one at a time, and accounts take turns', async () => {
  const order: string[] = []
  let running = 0
  const encoder = openEncoder((error) => assert.fail(String(error)))
  const work = (name: string) => async () => {
    assert.equal(++running, 1)
    await new Promise((resolve) => setImmediate(resolve))
    running--
    order.push(name)
  }
  const greedy = Array.from({ length: 150 }, (_, at) => encoder.run('greedy', `g${at}`, work('g')))
  const other = [1, 2].map((at) => encoder.run('other', `o${at}`, work('o')))
  await Promise.all([...greedy, ...other])
  assert.equal(order.slice(0, 6).join(''), 'ggogog')
  // What does not fit into the queue is asked for again by a later visitor.
  assert.equal(order.filter((name) => name === 'g').length, 101)
  await encoder.close()
  await encoder.run('other', 'o3', work('late'))
  assert.equal(order.includes('late'), false)
})

test('an error is reported and keeps no other form waiting; closing waits for what is in progress', async () => {
  const faults: unknown[] = []
  const encoder = openEncoder((error) => faults.push(error))
  await encoder.run('acc_1', 'a', () => Promise.reject(new Error('the disk is full')))
  let isDone = false
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  void encoder.run('acc_1', 'a', async () => {
    begun.resolve()
    await end.promise
    isDone = true
  })
  await begun.promise
  const late = encoder.run('acc_1', 'b', () => assert.fail('it was closed before its turn'))
  const closed = encoder.close().then(() => isDone)
  end.resolve()
  await late
  assert.deepEqual([await closed, faults.map(String)], [true, ['Error: the disk is full']])
})
