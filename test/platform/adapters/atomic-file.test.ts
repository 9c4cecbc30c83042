/** Files are complete or absent, and no other user decides where they are. src/platform/adapters/atomic-file.ts; docs/threats.md T62. */
import assert from 'node:assert/strict'
import fs, {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  createFileAtomically,
  createTemporaryFile,
  writeFileAtomically,
  writeFileAtomicallyAsync,
} from '../../../src/platform/adapters/atomic-file.ts'
import { callWithSmallFiles } from '../../support/stores/file-limit.ts'

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-whole-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('files under the former names of partial files are not touched, and no partial file stays', async (t) => {
  const folder = newFolder(t)
  const victim = join(folder, 'victim')
  writeFileSync(victim, 'kept')
  const file = join(folder, 'out')
  for (const end of ['.part', '.new']) symlinkSync(victim, file + end)
  symlinkSync(victim, join(folder, '.out.part'))
  symlinkSync(victim, file)
  const before = readdirSync(folder)
  writeFileAtomically(file, 'one')
  assert.deepEqual(
    [readFileSync(file, 'utf8'), lstatSync(file).mode & 0o777, lstatSync(file).isFile()],
    ['one', 0o600, true],
  )
  await writeFileAtomicallyAsync(file, Buffer.from('two'))
  assert.deepEqual([readFileSync(file, 'utf8'), lstatSync(file).mode & 0o777], ['two', 0o600])
  assert.equal(createFileAtomically(file, 'three'), false)
  assert.equal(readFileSync(file, 'utf8'), 'two')
  assert.equal(readFileSync(victim, 'utf8'), 'kept')
  assert.deepEqual(readdirSync(folder), before)
  assert.equal(createFileAtomically(join(folder, 'first'), 'first'), true)
  assert.equal(readFileSync(join(folder, 'first'), 'utf8'), 'first')
  const [one, other] = [createTemporaryFile(file), createTemporaryFile(file)]
  assert.notEqual(one, other)
  assert.equal(lstatSync(one).mode & 0o777, 0o600)
})

test('a file that cannot take its place leaves nothing behind', async (t) => {
  const folder = newFolder(t)
  const taken = join(folder, 'taken')
  mkdirSync(taken)
  assert.throws(() => writeFileAtomically(taken, 'x'))
  await assert.rejects(writeFileAtomicallyAsync(taken, Buffer.from('x')))
  assert.deepEqual(readdirSync(folder), ['taken'])
})

test('a text that a full disk takes a part of leaves nothing behind, and the file before stays', (t) => {
  const folder = newFolder(t)
  const file = join(folder, 'out')
  writeFileAtomically(file, 'one')
  const parameters = [file, 'x'.repeat(100_000)]
  assert.match(callWithSmallFiles('src/platform/adapters/atomic-file.ts', 'writeFileAtomically', parameters), /EFBIG/)
  assert.deepEqual([readdirSync(folder), readFileSync(file, 'utf8')], [['out'], 'one'])
})

test('a file whose name has 255 bytes is written', (t) => {
  const file = join(newFolder(t), 'x'.repeat(255))
  writeFileAtomically(file, 'one')
  assert.equal(readFileSync(file, 'utf8'), 'one')
})

/** Returns what is synced while `work` runs: the sizes of files, and `folder`. */
async function syncsOf(t: TestContext, work: () => unknown): Promise<(number | 'folder')[]> {
  const syncs: (number | 'folder')[] = []
  const add = (stats: fs.Stats) => void syncs.push(stats.isDirectory() ? 'folder' : stats.size)
  const { fsyncSync } = fs
  const handle = await open(import.meta.dirname)
  const kind = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const { sync } = kind
  const sooner = t.mock.method(fs, 'fsyncSync', (descriptor: number) => {
    add(fs.fstatSync(descriptor))
    fsyncSync(descriptor)
  })
  const later = t.mock.method(kind, 'sync', async function (this: FileHandle) {
    add(await this.stat())
    return sync.call(this)
  })
  syncBuiltinESMExports()
  await work()
  sooner.mock.restore()
  later.mock.restore()
  syncBuiltinESMExports()
  return syncs
}

test('the content of a file is on the disk before its name is, and its name before the write returns', async (t) => {
  const file = join(newFolder(t), 'out')
  assert.deepEqual(await syncsOf(t, () => writeFileAtomically(file, 'four')), [4, 'folder'])
  assert.deepEqual(await syncsOf(t, () => writeFileAtomicallyAsync(file, Buffer.from('seven!!'))), [7, 'folder'])
  assert.deepEqual(await syncsOf(t, () => createFileAtomically(`${file}.first`, 'three')), [5, 'folder'])
  assert.deepEqual(await syncsOf(t, () => createTemporaryFile(file, 'x')), [1])
})
