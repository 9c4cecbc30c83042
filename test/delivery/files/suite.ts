/** What every place of files promises: each implementation of `FileStore` passes this suite. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { BadFile } from '../../../src/delivery/files/file-store.ts'
import type { Announced, FileStore } from '../../../src/platform/files/file-store.ts'

const MANY: Announced = { sha1: undefined, size: undefined, max: 1024 * 1024 }

/** A place of files that a test may fill, and what removes it. */
export type Opened = { store: FileStore; close(): Promise<void> }

/** Registers the tests for one implementation. */
export function suiteOfFileStores(name: string, open: () => Promise<Opened>): void {
  const on = (title: string, run: (store: FileStore) => Promise<void>) =>
    test(`${name}: ${title}`, async () => {
      const { store, close } = await open()
      await run(store).finally(close)
    })

  on('a file is stored by its content, once, and read back completely and in parts', async (store) => {
    const bytes = Buffer.from('hello, sites'.repeat(10_000))
    const first = await store.put('acc_1', piecesOf(bytes, 7000), MANY)
    const again = await store.put('acc_1', piecesOf(bytes, 65_536), MANY)
    assert.deepEqual(first, { sha256: hex('sha256', bytes), sha1: hex('sha1', bytes), size: bytes.length })
    assert.deepEqual(again, first)
    assert.deepEqual(await readAll(store, 'acc_1', first.sha256), bytes)
    assert.deepEqual(await readAll(store, 'acc_1', first.sha256, { first: 7, last: 11 }), bytes.subarray(7, 12))
    assert.deepEqual(await namesIn(store), [`acc_1/${first.sha256}`])
  })

  on('an empty file is a file', async (store) => {
    const { sha256, size } = await store.put('acc_1', piecesOf(Buffer.alloc(0), 1), MANY)
    assert.equal(size, 0)
    assert.equal(await store.sizeOf('acc_1', sha256), 0)
    assert.deepEqual(await readAll(store, 'acc_1', sha256), Buffer.alloc(0))
  })

  on('no account reads, sizes or removes a file of another', async (store) => {
    const bytes = Buffer.from('mine')
    const { sha256 } = await store.put('acc_1', piecesOf(bytes, 4), MANY)
    assert.equal(await store.open('acc_2', sha256), undefined)
    assert.equal(await store.sizeOf('acc_2', sha256), undefined)
    await store.remove('acc_2', sha256)
    assert.deepEqual(await readAll(store, 'acc_1', sha256), bytes)
  })

  on('a file that differs from its announced digest or size, or is too large, is not stored', async (store) => {
    const bytes = Buffer.from('some bytes')
    const sha1 = hex('sha1', bytes)
    for (const [announced, why] of [
      [{ ...MANY, sha1: hex('sha1', Buffer.from('others')) }, 'digest'],
      [{ ...MANY, sha1, size: 9 }, 'size'],
      [{ sha1, size: 10, max: 9 }, 'too_large'],
    ] as const) {
      await assert.rejects(
        store.put('acc_1', piecesOf(bytes, 3), announced),
        (error) => error instanceof BadFile && error.why === why,
      )
    }
    assert.deepEqual(await namesIn(store), [])
    await store.put('acc_1', piecesOf(bytes, 3), { sha1, size: 10, max: 10 })
    assert.equal((await namesIn(store)).length, 1)
  })

  on('an upload that breaks off leaves nothing', async (store) => {
    async function* broken() {
      yield Buffer.from('half')
      throw new Error('the connection was lost')
    }
    await assert.rejects(store.put('acc_1', broken(), MANY), /the connection was lost/)
    assert.deepEqual(await namesIn(store), [])
  })

  on('the same file uploaded many times at once is stored once', async (store) => {
    const bytes = Buffer.from('popular'.repeat(5000))
    const digests = await Promise.all(Array.from({ length: 20 }, () => store.put('acc_1', piecesOf(bytes, 1000), MANY)))
    assert.equal(new Set(digests.map(({ sha256 }) => sha256)).size, 1)
    assert.deepEqual(await readAll(store, 'acc_1', digests[0]!.sha256), bytes)
    assert.equal((await namesIn(store)).length, 1)
  })

  on('a removed file is gone, and removing it again is not an error', async (store) => {
    const { sha256 } = await store.put('acc_1', piecesOf(Buffer.from('short life'), 4), MANY)
    await store.remove('acc_1', sha256)
    await store.remove('acc_1', sha256)
    assert.equal(await store.open('acc_1', sha256), undefined)
    assert.deepEqual(await namesIn(store), [])
  })

  on('a file is removed unless it was written since a given time, and none is lost meanwhile', async (store) => {
    const put = () => store.put('acc_1', piecesOf(Buffer.from('young or old'), 4), MANY)
    const { sha256 } = await put()
    await store.remove('acc_1', sha256, Date.now() - 60_000)
    assert.equal(await store.sizeOf('acc_1', sha256), 12)
    assert.deepEqual(await namesIn(store), [`acc_1/${sha256}`])
    // Of a race of both one is last, and the file is there whichever it is.
    await Promise.all([store.remove('acc_1', sha256, Date.now() - 60_000), put(), put()])
    assert.equal(await store.sizeOf('acc_1', sha256), 12)
    await store.remove('acc_1', sha256, Date.now() + 60_000)
    assert.deepEqual(await namesIn(store), [])
  })

  on('names that are not an account or not a digest are refused', async (store) => {
    const { sha256 } = await store.put('acc_1', piecesOf(Buffer.from('x'), 1), MANY)
    for (const [account, digest] of [
      ['..', sha256],
      ['acc_1/..', sha256],
      ['acc_1', `../${sha256.slice(3)}`],
      ['acc_1', sha256.toUpperCase()],
      ['acc_1', ''],
    ] as const) {
      await assert.rejects(store.sizeOf(account, digest), /no file of an account/)
    }
  })
}

async function* piecesOf(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

function hex(algorithm: 'sha1' | 'sha256', bytes: Buffer): string {
  return createHash(algorithm).update(bytes).digest('hex')
}

async function readAll(store: FileStore, account: string, sha256: string, part?: { first: number; last: number }) {
  const stream = await store.open(account, sha256, part)
  assert.ok(stream)
  return Buffer.concat(await stream.toArray())
}

async function namesIn(store: FileStore): Promise<string[]> {
  const names: string[] = []
  for await (const { accountId, sha256 } of store.all()) names.push(`${accountId}/${sha256}`)
  return names.sort()
}
