/** Archives that are unpacked into the file store, and what comes of them. docs/deploying-sites.md: Archives. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ArchiveError } from '../../../src/delivery/archive/fault.ts'
import { isOfArchive, orderParts } from '../../../src/delivery/archive/parts.ts'
import { unpackArchive } from '../../../src/delivery/archive/unpack.ts'
import { openFolderStore } from '../../../src/delivery/files/folder-store.ts'
import { createReport, sentencesOf } from '../../../src/delivery/outputs/faults.ts'
import { readOutput } from '../../../src/delivery/outputs/output.ts'
import { readFunctionFiles } from '../../../src/delivery/protocol/function-files.ts'
import type { FileStore } from '../../../src/platform/files/file-store.ts'
import { file, inPieces, systemTar, tgz } from './tar.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-unpack-'))
after(() => rmSync(folder, { recursive: true }))
const store = openFolderStore(join(folder, 'files'))
const ACCOUNT = 'acc_1'

async function keep(bytes: Uint8Array): Promise<string> {
  const { sha256 } = await store.put(ACCOUNT, inPieces(bytes), { sha1: undefined, size: undefined, max: 2 ** 30 })
  return sha256
}

async function read(sha256: string): Promise<Buffer> {
  return Buffer.concat(await (await store.open(ACCOUNT, sha256))!.toArray())
}

/** A project folder with an output, as a build leaves it. */
function outputFolder(): string {
  const project = mkdtempSync(join(folder, 'project-'))
  const output = join(project, '.vercel', 'output')
  for (const below of ['static/assets', 'static/nothing', 'functions/hello.func'])
    mkdirSync(join(output, below), { recursive: true })
  const write = (path: string, content: string) => writeFileSync(join(output, path), content)
  write('config.json', JSON.stringify({ version: 3 }))
  write('static/index.html', '<h1>hello</h1>')
  write('static/assets/app.js', 'let a = 1\n'.repeat(20_000))
  write('static/assets/copy.js', 'let a = 1\n'.repeat(20_000))
  for (let at = 0; at < 40; at++) write(`static/assets/${at}.txt`, `file ${at}`)
  write('functions/hello.func/.vc-config.json', '{"runtime":"nodejs22.x","handler":"index.js","launcherType":"Nodejs"}')
  write('functions/hello.func/index.js', 'export default () => {}')
  chmodSync(join(output, 'functions/hello.func/index.js'), 0o755)
  symlinkSync('hello.func', join(output, 'functions/bye.func'))
  return project
}

test('an archive of an output becomes the output that its files would be, in parts too', async () => {
  const bytes = systemTar(outputFolder(), '--format=pax', '.vercel')
  const middle = Math.floor(bytes.length / 3)
  for (const parts of [[bytes], [bytes.subarray(0, middle), bytes.subarray(middle)]]) {
    const entries = await unpackArchive(store, ACCOUNT, await Promise.all(parts.map(keep)))
    const folders = entries.filter(({ kind }) => kind === 'folder').map(({ path }) => path)
    assert.deepEqual(folders, ['.vercel/output/static/nothing'])
    const entry = (path: string) => entries.find((one) => one.path === `.vercel/output/${path}`)!
    assert.equal((await read(entry('static/assets/app.js').digest)).toString(), 'let a = 1\n'.repeat(20_000))
    assert.equal((await read(entry('static/assets/7.txt').digest)).toString(), 'file 7')
    assert.equal((await read(entry('functions/bye.func').digest)).toString(), 'hello.func')
    assert.equal(entry('static/assets/copy.js').digest, entry('static/assets/app.js').digest)
    const digests = new Map(entries.map(({ path, digest }) => [path, digest]))
    const output = await readOutput({ entries, read: (path) => read(digests.get(path)!) })
    if ('faults' in output) assert.fail(output.faults.join('\n'))
    assert.equal(output.manifest.files.length, 43)
    assert.deepEqual(output.manifest.functionPaths.map(({ path }) => path).sort(), ['/bye', '/hello'])
    assert.deepEqual(
      readFunctionFiles(output.functionLists[0]!.text).files.map(({ executable }) => executable),
      [true],
    )
  }
})

test('parts in the wrong order, or without one, are refused', async () => {
  const bytes = systemTar(outputFolder(), '.vercel')
  const [first, second] = [await keep(bytes.subarray(0, 500)), await keep(bytes.subarray(500))]
  await assert.rejects(unpackArchive(store, ACCOUNT, [second, first]), ArchiveError)
  await assert.rejects(unpackArchive(store, ACCOUNT, [first]), /ends in the middle/)
  await assert.rejects(unpackArchive(store, ACCOUNT, [first, '0'.repeat(64)]), /A part of the archive is missing/)
  await assert.rejects(unpackArchive(store, 'acc_2', [first, second]), /A part of the archive is missing/)
})

test('an error of the store is passed on, whatever waits for it', async () => {
  const archive = await keep(tgz(...Array.from({ length: 20 }, (_, at) => file(`f${at}`, `${at}`)), file('f0')))
  const full: FileStore = { ...store, put: async () => Promise.reject(new Error('no space left')) }
  await assert.rejects(unpackArchive(full, ACCOUNT, [archive]), /^Error: no space left$/)
  await assert.rejects(unpackArchive(store, ACCOUNT, [archive]), /^Error: f0 is there twice\.$/)
})

/** TABLE the names of parts, in any order → their order, or the error. */
const PARTS: readonly (readonly [names: readonly string[], expected: readonly string[] | RegExp])[] = [
  [[''], ['']],
  [['.part1'], ['.part1']],
  [
    ['.part10', '.part2', '.part1', '.part3', '.part9', '.part8', '.part7', '.part6', '.part5', '.part4'],
    ['.part1', '.part2', '.part3', '.part4', '.part5', '.part6', '.part7', '.part8', '.part9', '.part10'],
  ],
  [['.part2'], /^\.vercel\/source\.tgz\.part1 is missing/],
  [
    ['.part1', '.part3', '.part5'],
    /^\.vercel\/source\.tgz\.part2 is missing: parts are numbered from 1\. Send all of them\.$/,
  ],
  [['', '.part1'], /^\.vercel\/source\.tgz is there whole and in parts\./],
  [['.part0'], /^\.vercel\/source\.tgz\.part0 is not a part of an archive/],
  [['.part01'], /is not a part of an archive/],
  [['.part1', '.part1x'], /^\.vercel\/source\.tgz\.part1x is not a part of an archive/],
  [['/a'], /is not a part of an archive/],
  [Array.from({ length: 101 }, (_, at) => `.part${at + 1}`), /has 101 parts\. At most 100 are allowed\.$/],
]

test('parts are put in the order of their numbers; holes and other names are refused', () => {
  for (const [names, expected] of PARTS) {
    const report = createReport()
    const paths = names.map((name) => `.vercel/source.tgz${name}`)
    assert.ok(paths.every(isOfArchive))
    const ordered = orderParts(
      paths.map((path) => ({ path })),
      report,
    )
    if (expected instanceof RegExp) assert.match(sentencesOf(report).join('\n'), expected)
    else assert.deepEqual([ordered.map(({ path }) => path.slice(18)), report.faults], [expected, []])
  }
  assert.equal(isOfArchive('.vercel/output/config.json'), false)
})
