/** The snapshot on disk, cut off anywhere. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { FactLine } from '../../../src/delivery/protocol/snapshot.ts'
import { createSiteIndex } from '../../../src/sites/snapshot/site-index.ts'
import { openSnapshotFile } from '../../../src/sites/snapshot/snapshot-file.ts'
import { deployment, gone, name, project } from './lines.ts'

const version = (at: number) => `aaaaaaaa.${at}.instance.${at}`
/** What is written, list after list; the first is whole. */
const LISTS: FactLine[][] = [
  [name('a.com', 'd1'), deployment('d1'), project('p1')],
  [project('p1', { paused: true })],
  [name('é.com', 'd2'), deployment('d2'), project('p1')],
  [gone('name', 'a.com'), gone('deployment', 'd1')],
]

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-snapshot-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Opens the folder, and gives what it holds. */
async function load(folder: string) {
  const file = openSnapshotFile(folder)
  const loaded = await file.load()
  return { file, version: loaded?.version, lines: loaded && [...loaded.index.lines()] }
}

/** The lines that an index has after so many lists. */
function linesAfter(count: number): FactLine[] {
  const index = createSiteIndex()
  for (const line of LISTS.slice(0, count).flat()) index.apply(line)
  return [...index.lines()]
}

async function write(folder: string): Promise<{ file: string; ends: number[] }> {
  const opened = openSnapshotFile(folder)
  const file = join(folder, 'hosts.ndjson')
  assert.equal(await opened.load(), undefined)
  const ends: number[] = []
  for (const [at, lines] of LISTS.entries()) {
    assert.equal(opened.needsReplacing(), at === 0)
    if (at === 0) await opened.replace(lines, version(1))
    else await opened.append(lines, version(at + 1))
    ends.push(readFileSync(file).length)
  }
  await opened.close()
  return { file, ends }
}

test('cut off anywhere, the file gives what was written whole before it, and takes what comes next', async (t) => {
  const folder = newFolder(t)
  const { file, ends } = await write(folder)
  const bytes = readFileSync(file)
  const isNearEnd = (length: number) => ends.some((end) => Math.abs(end - length) <= 2)
  for (let length = 0; length <= bytes.length; length++) {
    if (length % 5 !== 0 && !isNearEnd(length)) continue
    writeFileSync(file, bytes.subarray(0, length))
    const lists = ends.filter((end) => end <= length).length
    const found = await load(folder)
    assert.equal(found.version, lists === 0 ? undefined : version(lists), `${length} bytes`)
    if (lists > 0) assert.deepEqual(found.lines, linesAfter(lists))
    assert.equal(found.file.needsReplacing(), lists === 0)
    // Some of them, at all kinds of places: what is appended stands right behind what was whole.
    if (lists > 0 && length % 4 === 0) {
      await found.file.append([project('p1', { liveDeploymentId: 'new' })], version(50))
      await found.file.close()
      const again = await load(folder)
      assert.equal(again.version, version(50))
      assert.ok(again.lines!.some((line) => line.kind === 'project' && line.liveDeploymentId === 'new'))
      await again.file.close()
    } else await found.file.close()
  }
})

test('a file of nothing, of noise, of zeros behind a power cut or of another version is never an error', async (t) => {
  const folder = newFolder(t)
  const { file, ends } = await write(folder)
  const bytes = readFileSync(file)
  const other = bytes.toString().replace('"protocol":1', '"protocol":9')
  for (const noise of ['', '\n', 'x'.repeat(100_000), '{}\n', other, `${bytes}`.slice(5)]) {
    writeFileSync(file, noise)
    const found = await load(folder)
    assert.equal(found.version, undefined, noise.slice(0, 20))
    assert.equal(found.file.needsReplacing(), true)
    await found.file.close()
  }
  writeFileSync(file, Buffer.concat([bytes.subarray(0, ends[1]! + 10), Buffer.alloc(4096)]))
  const found = await load(folder)
  assert.equal(found.version, version(2))
  await found.file.close()
  assert.equal(readFileSync(file).length, ends[1])
})

test('a crash while all is written leaves the former file, and what it left is removed at the next start', async (t) => {
  const folder = newFolder(t)
  await write(folder)
  const opened = openSnapshotFile(folder)
  await opened.load()
  const failing = (function* () {
    yield name('z.com', null)
    throw new Error('killed')
  })()
  await assert.rejects(opened.replace(failing, version(9)), /killed/)
  await opened.close()
  writeFileSync(join(folder, '.hosts.ndjson.abc.part'), 'half')
  const found = await load(folder)
  assert.equal(found.version, version(LISTS.length))
  assert.deepEqual(readdirSync(folder), ['hosts.ndjson'])
  await found.file.close()
})

test('once changes take more than the snapshot, all is to be rewritten', async (t) => {
  const folder = newFolder(t)
  const { file } = await write(folder)
  const { file: opened } = await load(folder)
  const many = Array.from({ length: 1000 }, (_, at) => name(`host-${at}.example.com`, 'd2'))
  for (let at = 0; !opened.needsReplacing(); at++) {
    assert.ok(at < 30)
    await opened.append(many, version(60 + at))
  }
  const before = readFileSync(file).length
  await opened.replace(many, version(100))
  assert.ok(readFileSync(file).length < before / 5)
  assert.equal(opened.needsReplacing(), false)
  await opened.append(LISTS[3]!, version(101))
  await opened.close()
  const again = await load(folder)
  assert.equal(again.version, version(101))
  await again.file.close()
})
