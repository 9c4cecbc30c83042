/** What a start finds in the folder of the cache, and what another program changed in it. docs/deploying-sites.md: File cache. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ContentUnavailable } from '../../../src/sites/content/content-fault.ts'
import { eventually } from '../../support/eventually.ts'
import { fileOf, filesBelow, handlesBelow, newFolder, openCache, openOrigin, readAll, readText } from './caches.ts'

const BLOCK = 4096

test('after a restart the files are served while the control plane is unavailable', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const file = origin.add('<p>hello</p>'.repeat(1000))
  const before = await openCache(t, { folder, fetch: origin.fetch })
  await readText(before, 'acc_1', file)
  await before.encode('acc_1', file.sha256, 'br')
  const [form] = before.formsOf('acc_1', file.sha256)
  await before.close()
  const after = await openCache(t, { folder })
  assert.equal(await readText(after, 'acc_1', file), '<p>hello</p>'.repeat(1000))
  assert.deepEqual(after.formsOf('acc_1', file.sha256), [form])
  assert.equal((await readAll((await after.openEncoded('acc_1', file.sha256, 'br'))!)).length, form!.size)
  assert.deepEqual(after.used(), before.used())
})

test('after a restart with a smaller budget what was used longest ago is gone', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const files = ['a', 'b', 'c'].map((text) => origin.add(text))
  const before = await openCache(t, { folder, fetch: origin.fetch })
  for (const file of files) await readText(before, 'acc_1', file)
  await before.close()
  const used = { a: 300, b: 100, c: 200 }
  for (const [at, seconds] of Object.values(used).entries())
    utimesSync(join(folder, 'objects/acc_1', files[at]!.sha256), seconds, seconds)
  const after = await openCache(t, { folder, budgetBytes: 2 * BLOCK })
  assert.deepEqual(filesBelow(folder), [files[0], files[2]].map((file) => `objects/acc_1/${file!.sha256}`).sort())
  await assert.rejects(after.open('acc_1', files[1]!), ContentUnavailable)
  assert.equal(await readText(after, 'acc_1', files[2]!), 'c')
})

test('a start finds every file of every account', async (t) => {
  const folder = newFolder(t)
  await (await openCache(t, { folder })).close()
  for (const account of ['acc_1', 'acc_2']) {
    mkdirSync(join(folder, 'objects', account))
    for (let at = 0; at < 130; at++) writeFileSync(join(folder, 'objects', account, String(at).padStart(64, '0')), 'x')
  }
  assert.deepEqual((await openCache(t, { folder })).used(), { bytes: 260 * BLOCK, files: 260 })
})

test('a process that is killed in the middle of a write leaves nothing that is served or stays', async (t) => {
  const folder = newFolder(t)
  const bytes = Buffer.alloc(200_000, 'a')
  const file = fileOf(bytes)
  const script = fileURLToPath(new URL('writer.ts', import.meta.url))
  const child = spawn(process.execPath, [script, folder, file.sha256, String(file.size)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const [cut = ''] = filesBelow(folder)
  assert.ok(cut.startsWith('arriving/'), cut)
  assert.equal(statSync(join(folder, cut)).size, bytes.length / 2)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const origin = openOrigin()
  const cache = await openCache(t, { folder, fetch: origin.fetch })
  assert.deepEqual([filesBelow(folder), cache.used()], [[], { bytes: 0, files: 0 }])
  assert.equal((await readText(cache, 'acc_1', origin.add(bytes))).length, bytes.length)
})

test('a start removes what is cut off, and leaves alone what is not a file of the cache', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const file = origin.add('text '.repeat(1000))
  const before = await openCache(t, { folder, fetch: origin.fetch })
  await readText(before, 'acc_1', file)
  await before.encode('acc_1', file.sha256, 'br')
  await before.close()
  const shelf = join(folder, 'objects/acc_1')
  const { size } = before.formsOf('acc_1', file.sha256)[0]!
  const form = join(shelf, `${file.sha256}.${size}.br`)
  const others = { 'notes.txt': 'mine', [`${file.sha256}.9.gzip`]: 'mine too' }
  for (const [name, text] of Object.entries(others)) writeFileSync(join(shelf, name), text)
  writeFileSync(join(folder, 'arriving/.new.abc.part'), 'half')
  mkdirSync(join(folder, 'objects/acc_empty'))
  mkdirSync(join(folder, 'objects/no account'))
  chmodSync(form, 0o600)
  truncateSync(form, size - 1)
  // Another version of the encoder made this one.
  writeFileSync(join(shelf, `${file.sha256}.3.zstd`), 'abc')
  writeFileSync(join(shelf, `${file.sha256}.4.zstd`), 'abcd')
  const after = await openCache(t, { folder })
  const zstd = after.formsOf('acc_1', file.sha256)
  assert.deepEqual([zstd.length, zstd[0]!.encoding], [1, 'zstd'])
  const left = [file.sha256, ...Object.keys(others), `${file.sha256}.${zstd[0]!.size}.zstd`]
  assert.deepEqual(filesBelow(folder), left.map((name) => `objects/acc_1/${name}`).sort())
  assert.equal(existsSync(join(folder, 'objects/acc_empty')), false)
  assert.equal(existsSync(join(folder, 'objects/no account')), true)
  assert.deepEqual(after.used(), { bytes: 3 * BLOCK, files: 2 })
})

test('a file that has another size on the disk, or is gone, is fetched again', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const file = origin.add('the bytes')
  const path = join(folder, 'objects/acc_1', file.sha256)
  const damages = [
    () => rmSync(path),
    () => truncateSync(path, 3),
    () => writeFileSync(path, 'the bytes, and more'),
    () => writeFileSync(path, ''),
  ]
  for (const damage of damages) {
    const cache = await openCache(t, { folder, fetch: origin.fetch })
    await readText(cache, 'acc_1', file)
    origin.fetches.length = 0
    chmodSync(path, 0o600)
    damage()
    const texts = await Promise.all(Array.from({ length: 10 }, () => readText(cache, 'acc_1', file)))
    assert.deepEqual(new Set(texts), new Set(['the bytes']))
    assert.equal(readFileSync(path, 'utf8'), 'the bytes')
    assert.equal(origin.fetches.length, 1)
    assert.deepEqual(cache.used(), { bytes: BLOCK, files: 1 })
    // The next start finds it damaged as well.
    chmodSync(path, 0o600)
    damage()
    const later = await openCache(t, { folder, fetch: origin.fetch })
    assert.equal(await readText(later, 'acc_1', file), 'the bytes')
    assert.equal(origin.fetches.length, 2)
    assert.deepEqual(later.used(), { bytes: BLOCK, files: 1 })
  }
  await eventually(() => handlesBelow(folder) === 0)
})

test('a file that is cut while it is read is found out, and the next visitor has it whole', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const file = origin.add('x'.repeat(10_000))
  const cache = await openCache(t, { folder, fetch: origin.fetch })
  const opened = await cache.open('acc_1', file)
  const path = join(folder, 'objects/acc_1', file.sha256)
  chmodSync(path, 0o600)
  truncateSync(path, 4000)
  await assert.rejects(readAll(opened), (error) => error instanceof ContentUnavailable && error.why === 'damaged')
  assert.equal((await readText(cache, 'acc_1', file)).length, 10_000)
  opened.close()
  assert.deepEqual(cache.used(), { bytes: 3 * BLOCK, files: 1 })
})

test('a change that leaves the size alone is found when the file is encoded', async (t) => {
  const folder = newFolder(t)
  const origin = openOrigin()
  const text = 'the right text '.repeat(500)
  const file = origin.add(text)
  const faults: unknown[] = []
  const cache = await openCache(t, { folder, fetch: origin.fetch, onError: (error) => faults.push(error) })
  await readText(cache, 'acc_1', file)
  const path = join(folder, 'objects/acc_1', file.sha256)
  chmodSync(path, 0o600)
  writeFileSync(path, 'the wrong text '.repeat(500))
  await cache.encode('acc_1', file.sha256, 'br')
  assert.deepEqual(
    faults.map((error) => error instanceof ContentUnavailable && error.why),
    ['mismatch'],
  )
  assert.deepEqual(cache.formsOf('acc_1', file.sha256), [])
  assert.equal(await readText(cache, 'acc_1', file), text)
  await cache.encode('acc_1', file.sha256, 'br')
  assert.equal(cache.formsOf('acc_1', file.sha256).length, 1)
})

test('bytes that this server made replace a file that a start found in another size, and are counted once', async (t) => {
  const folder = newFolder(t)
  const bytes = Buffer.from('the page')
  const file = fileOf(bytes)
  const path = join(folder, 'objects/acc_1', file.sha256)
  await (await openCache(t, { folder })).put('acc_1', file, bytes)
  chmodSync(path, 0o600)
  truncateSync(path, 3)
  const later = await openCache(t, { folder })
  assert.equal(await later.put('acc_1', file, bytes), true)
  assert.deepEqual([readFileSync(path, 'utf8'), later.used()], ['the page', { bytes: BLOCK, files: 1 }])
})
