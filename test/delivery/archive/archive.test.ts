/** Archives as users and clients pack them. docs/deploying-sites.md: Archives. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readArchive } from '../../../src/delivery/archive/archive.ts'
import { END, entriesOf, file, header, inPieces, pax, systemTar, tgz, unpacked } from './tar.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-archive-'))
after(() => rmSync(folder, { recursive: true }))

const LONG = `${'long-folder/'.repeat(20)}${'n'.repeat(120)}.txt`
const FILES: Readonly<Record<string, string>> = {
  'index.html': '<h1>hello</h1>',
  empty: '',
  'block.bin': 'x'.repeat(512),
  'large.bin': 'large '.repeat(50_000),
  'ünïcödé/Ж.txt': 'names in UTF-8',
  [LONG]: 'a long name',
}

for (const [path, content] of Object.entries(FILES)) {
  mkdirSync(join(folder, 'site', path, '..'), { recursive: true })
  writeFileSync(join(folder, 'site', path), content)
}
writeFileSync(join(folder, 'site', 'run.sh'), '#!/bin/sh\n')
chmodSync(join(folder, 'site', 'run.sh'), 0o755)
chmodSync(join(folder, 'site', 'index.html'), 0o644)
mkdirSync(join(folder, 'site', 'nothing'))
symlinkSync('index.html', join(folder, 'site', 'link'))
symlinkSync(LONG, join(folder, 'site', 'long-link'))

const isGnu = execFileSync('tar', ['--version'], { encoding: 'utf8' }).includes('GNU')

/** What an archive of the folder has, whatever its form. */
async function checkSite(bytes: Uint8Array, size?: number) {
  const entries = new Map((await entriesOf(bytes, size)).map((entry) => [entry.path, entry]))
  for (const [path, content] of Object.entries(FILES)) {
    if (!entries.has(path)) continue
    const entry = entries.get(path)!
    assert.deepEqual([entry.kind, entry.size], ['file', Buffer.byteLength(content)], path)
    assert.equal(Buffer.from(entry.content, 'latin1').toString(), content, path)
  }
  assert.equal(entries.get('index.html')!.mode, 0o100644)
  assert.equal(entries.get('run.sh')!.mode, 0o100755)
  assert.deepEqual([entries.get('nothing')!.kind, entries.get('nothing')!.mode & 0o170000], ['folder', 0o040000])
  const { kind, mode, target, content, size: length } = entries.get('link')!
  assert.deepEqual([kind, mode, target, content, length], ['link', 0o120777, 'index.html', 'index.html', 10])
  return entries
}

for (const [form, holdsLong] of [
  ['ustar', false],
  ['pax', true],
  [isGnu ? 'gnu' : 'gnutar', true],
] as const)
  test(`an archive that tar packs in the form ${form} is read: files, links, folders, modes`, async () => {
    const left = holdsLong ? [] : ['--exclude=*n.txt', '--exclude=long-link']
    const bytes = systemTar(join(folder, 'site'), `--format=${form}`, ...left, '.')
    const entries = await checkSite(bytes)
    assert.equal(entries.has('.') || entries.has(''), false)
    assert.equal(entries.get('long-link')?.target, holdsLong ? LONG : undefined)
    assert.equal(entries.get(LONG)?.content, holdsLong ? 'a long name' : undefined)
  })

test('an archive is read the same in whatever pieces its bytes come', async () => {
  const bytes = systemTar(join(folder, 'site'), '--format=pax', '.')
  for (const size of [1, 7, 511, 513, 100_000]) await checkSite(bytes, size)
})

test('git archive writes a comment for all entries, which does not affect them', async () => {
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', join(folder, 'site'), '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words])
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message=a')
  const bytes = git('archive', '--format=tar.gz', 'HEAD', 'index.html', 'link')
  rmSync(join(folder, 'site', '.git'), { recursive: true })
  assert.deepEqual(
    (await entriesOf(bytes)).map(({ path, content }) => [path, content]),
    [
      ['index.html', FILES['index.html']],
      ['link', 'index.html'],
    ],
  )
})

/** An archive by `tar-fs` 1.16.3, which every version of the command line packs with. */
const OF_CLIENT = Buffer.from(
  [
    'H4sIAAAAAAAAA+2XTU7DMBBGs+4pjNg3n+3YXrFn2StEbaARaRqlDkovxoodF+BIqKlUgZFaULET5HkbS4kUTzR687PI+/siXxVt',
    '4g8AOsvY4QTgngAUGFcSXGttJBg450KwpPcY04luZ/M2Aa79jvtz/4QMrMnt+m7+XLTLokq3nW06m+5sbstl+vaavr/MbW9nY8dJ',
    '+GExBf8hXP8Bw5KrnfwJkfvfk9lRMwX/pVGf/OdD/5eK+n8IhJLHAWA1EmkxEukDlb5p+P+1/w/+g4P6fwj2JEHUFJvG7j3fAcAo',
    'dc5/d/+H5IIlynNcA5H7X9arop+v7abyd8fl+i/d/U8ITvU/BOuSGkDMeNT+xO/q/zD/ZYf3IkRxitz/QPP/2fwL7c7/wvDD/h8i',
    'uMjzz7Pj+l9t68dqxnXGqrJ+Gh7ZSULt6k+Zgv/f679QRrFEkP/eabva+x2X8+/UfxijNM3/Ibi9GTsCgiAIYgw+ACDxetkAJgAA',
  ].join(''),
  'base64',
)

test('an archive that the command line packs is read', async () => {
  assert.deepEqual(
    (await entriesOf(OF_CLIENT)).map(({ path, kind, mode, content }) => [path, kind, mode & 0o777, content]),
    [
      ['.vercel/output/static/ü/ж.txt', 'file', 0o644, 'x\n'],
      [`${'d'.repeat(120)}/${'e'.repeat(120)}/f`, 'file', 0o644, 'y\n'],
      ['empty', 'folder', 0o755, ''],
      ['index.html', 'file', 0o644, 'hi\n'],
      ['l', 'link', 0o755, 'index.html'],
      ['longl', 'link', 0o755, 't'.repeat(150)],
      ['run', 'file', 0o755, '#!'],
    ],
  )
})

test('an empty archive has no entries', async () => {
  assert.deepEqual(await entriesOf(tgz()), [])
})

/** TABLE spellings that are in use -> what they are. */
const SPELLINGS: Readonly<Record<string, readonly [Uint8Array, string, number]>> = {
  'a prefix': [file('name', 'ab', { prefix: 'folder' }), 'folder/name', 2],
  'a prefix of GNU tar, which is none': [file('name', 'ab', { prefix: '\x01\x02', magic: 'ustar  \0' }), 'name', 2],
  'a name of 100 bytes': [file('n'.repeat(100), 'ab'), 'n'.repeat(100), 2],
  'digits behind spaces': [file('name', 'ab', { size: '         2 ' }), 'name', 2],
  'a size as bytes': [
    file('name', 'ab', { fields: { 124: [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2] as never } }),
    'name',
    2,
  ],
  'a size of pax': [Buffer.concat([pax({ size: '2' }), file('name', 'ab', { size: 0 })]), 'name', 2],
  'a path of pax, given twice': [Buffer.concat([pax({ path: 'ö', mtime: '1.5' }), file('name', 'ab')]), 'ö', 2],
  'a path of pax without a value': [Buffer.concat([pax({ path: '' }), file('name', 'ab')]), 'name', 2],
  'the kind of old archives': [file('name', 'ab', { flag: '\0' }), 'name', 2],
  'dots and slashes before the name': [file('././name', 'ab'), 'name', 2],
}

for (const [what, [blocks, path, size]] of Object.entries(SPELLINGS))
  test(`an entry with ${what} is read`, async () => {
    const [entry, next, ...rest] = await entriesOf(tgz(blocks, file('next', 'cd')))
    assert.deepEqual([entry?.path, entry?.size, entry?.content], [path, size, 'ab'])
    assert.deepEqual([next?.path, next?.content, rest], ['next', 'cd', []])
  })

test('directories in old archives end in a slash', async () => {
  const entries = await entriesOf(tgz(header({ name: 'old/' }), header({ name: 'new/', flag: '5', mode: 0o4755 })))
  assert.deepEqual(
    entries.map(({ path, kind, mode }) => [path, kind, mode]),
    [
      ['old', 'folder', 0o040644],
      ['new', 'folder', 0o044755],
    ],
  )
})

test('the unread rest of an entry is skipped, and the next one follows', async () => {
  const bytes = tgz(file('first', 'a'.repeat(200_000)), file('second', 'b'.repeat(200_000)), file('third', 'c'))
  const read: string[] = []
  for await (const { path, body } of readArchive(inPieces(bytes))) {
    read.push(path)
    if (path === 'second') for await (const _ of body) break
    if (path === 'third') read.push(Buffer.concat(await Array.fromAsync(body)).toString())
  }
  assert.deepEqual(read, ['first', 'second', 'third', 'c'])
})

test('zeros up to a full record can follow the end, without an error', async () => {
  const padded = gzipSync(Buffer.concat([file('a', 'b'), END, Buffer.alloc(19 * 512)]))
  assert.equal((await entriesOf(padded)).length, 1)
  assert.equal(unpacked(systemTar(join(folder, 'site'), 'index.html')).length % 10_240, 0)
})

test('the source ends when reading stops early, and its own error is passed on', async () => {
  let isClosed = false
  async function* source(fault?: Error) {
    try {
      yield* inPieces(tgz(file('a', 'b'), file('c', 'd'.repeat(100_000))), 50)
      if (fault) throw fault
    } finally {
      isClosed = true
    }
  }
  for await (const _ of readArchive(source())) break
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isClosed, true)
  async function* broken() {
    yield tgz(file('a', 'b')).subarray(0, 20)
    throw new Error('the disk is gone')
  }
  await assert.rejects(Array.fromAsync(readArchive(broken())), /^Error: the disk is gone$/)
})
