/** Files in a folder. docs/deploying-sites.md: Files. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFolderStore } from '../../../src/delivery/files/folder-store.ts'
import { suiteOfFileStores } from './suite.ts'

const WEEK_MS = 7 * 24 * 3_600_000

suiteOfFileStores('a folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-files-'))
  return { store: openFolderStore(folder), close: async () => rmSync(folder, { recursive: true }) }
})

test('a file is readable by its owner only, and not writable', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-files-'))
  const store = openFolderStore(folder)
  async function* pieces() {
    yield Buffer.from('kept')
  }
  const { sha256 } = await store.put('acc_1', pieces(), { sha1: undefined, size: undefined, max: 100 })
  const { mode } = statSync(join(folder, 'acc_1', sha256.slice(0, 2), sha256))
  assert.equal(mode & 0o777, 0o400)
  assert.equal(statSync(join(folder, 'acc_1')).mode & 0o777, 0o700)
  rmSync(folder, { recursive: true })
})

test('leftovers are removed by the age of their last change, also of their name, and a file that arrives then is stored', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-files-'))
  const store = openFolderStore(folder)
  const arriving = join(folder, 'arriving')
  const [beginning, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  async function* pieces() {
    yield Buffer.from('first')
    beginning.resolve()
    await ending.promise
    yield Buffer.from('last')
  }
  const aside = join(arriving, '.old.aside.part')
  writeFileSync(join(arriving, 'aside'), 'removed elsewhere meanwhile')
  utimesSync(join(arriving, 'aside'), 1, 1)
  const before = Date.now() - 1000
  renameSync(join(arriving, 'aside'), aside)
  const put = store.put('acc_1', pieces(), { sha1: undefined, size: undefined, max: 100 })
  await beginning.promise
  assert.equal(await store.removeCutShort(before), 0)
  ending.resolve()
  assert.equal((await put).size, 9)
  assert.equal(await store.removeCutShort(Date.now() + 1000), 1)
  assert.deepEqual(readdirSync(arriving), [])
  rmSync(folder, { recursive: true })
})

test('the start removes half-written files of a killed process, and no file that still arrives', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-files-'))
  openFolderStore(folder)
  const arriving = join(folder, 'arriving')
  const [dead, alive] = ['.new.dead.part', '.new.alive.part'].map((name) => join(arriving, name))
  writeFileSync(dead!, 'half')
  writeFileSync(alive!, 'half')
  const before = (Date.now() - WEEK_MS) / 1000
  utimesSync(dead!, before, before)
  openFolderStore(folder)
  assert.deepEqual(readdirSync(arriving), ['.new.alive.part'])
  rmSync(folder, { recursive: true })
})
