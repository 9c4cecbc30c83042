/** The list of files of a new deployment, in every form in which clients send it. docs/deploying-sites.md: File lists. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { FileEntries, INLINE_LIMITS } from '../../../src/delivery/deploys/file-entries.ts'
import { type FileList, readFileList } from '../../../src/delivery/deploys/file-list.ts'
import { OUTPUT_LIMITS } from '../../../src/delivery/protocol/output-limits.ts'
import { validate } from '../../../src/platform/http/validate.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'

const shaOf = (content: string) => createHash('sha1').update(content).digest('hex')
const [A, B] = [shaOf('a'), shaOf('b')]

/** A list as a request has it: the schema sees it first. */
async function read(files: unknown): Promise<FileList | { faults: string[] }> {
  return readFileList(validate(FileEntries, files) as FileEntries)
}

async function listOf(files: unknown): Promise<FileList> {
  const list = await read(files)
  if ('faults' in list) assert.fail(list.faults.join('\n'))
  return list
}

async function faultsOf(files: unknown): Promise<string[]> {
  const list = await read(files)
  return 'faults' in list ? list.faults : []
}

test('a list of the command line: files, a link, an empty directory, the same content twice', async () => {
  const { form, entries, parts, wanted } = await listOf([
    { file: 'index.html', size: 1, mode: 33188, sha: A },
    { file: 'run.sh', size: 1, mode: 33261, sha: B },
    { file: 'docs/C:/copy.html', size: 1, mode: 33188, sha: A },
    { file: 'link', size: 1, mode: 41471, sha: B },
    { file: 'nothing', mode: 16877 },
    { file: 'empty.txt', size: 0, mode: 33188, sha: shaOf('') },
    { file: '.env', size: 1, mode: 33188, sha: A },
  ])
  assert.deepEqual([form, parts, wanted], ['source', [], [A, B, shaOf('')]])
  assert.deepEqual(
    entries.map(({ path, kind, mode, size }) => [path, kind, mode, size]),
    [
      ['index.html', 'file', 33188, 1],
      ['run.sh', 'file', 33261, 1],
      ['docs/C:/copy.html', 'file', 33188, 1],
      ['link', 'link', 41471, 1],
      ['nothing', 'folder', 16877, 0],
      ['empty.txt', 'file', 33188, 0],
      ['.env', 'file', 33188, 1],
    ],
  )
  assert.deepEqual(entries[3]!.content, { sha1: B })
  assert.equal(entries[4]!.content, undefined)
})

test('a list of the command line for a prebuilt output, regardless of the query', async () => {
  const { form, wanted } = await listOf([
    { file: '.vercel/output/config.json', size: 9, mode: 33188, sha: A },
    { file: '.vercel/output/functions/bye.func', size: 10, mode: 41471, sha: B },
    { file: 'node_modules/a/index.js', size: 1, mode: 33188, sha: shaOf('c') },
  ])
  assert.deepEqual([form, wanted.length], ['prebuilt', 3])
})

test('a list of the newest command line for a few pages: the content itself, in base64', async () => {
  const { form, entries, wanted } = await listOf([
    { file: 'index.html', data: Buffer.from('<p>ö').toString('base64'), encoding: 'base64', mode: 33188 },
    { file: 'README.md', data: '', encoding: 'base64', mode: 33188 },
  ])
  assert.deepEqual([form, wanted], ['source', []])
  assert.deepEqual(
    entries.map(({ size, content }) => [size, content]),
    [
      [5, { bytes: Buffer.from('<p>ö') }],
      [0, { bytes: Buffer.from('') }],
    ],
  )
})

test('a list of the SDK: content as text with or without an encoding, and digests', async () => {
  const { entries, wanted } = await listOf([
    { file: 'a.txt', data: 'grüße', encoding: 'utf-8' },
    { file: 'b.txt', data: 'aGk=' },
    { file: 'c.txt', sha: A, size: 1 },
    { file: 'd.txt', sha: B },
  ])
  assert.deepEqual(
    entries.map(({ mode, size, content }) => [mode, size, content]),
    [
      [0o100644, 7, { bytes: Buffer.from('grüße') }],
      [0o100644, 4, { bytes: Buffer.from('aGk=') }],
      [0o100644, 1, { sha1: A }],
      [0o100644, undefined, { sha1: B }],
    ],
  )
  assert.deepEqual(wanted, [A, B])
})

test('an archive is recognized by its name, complete or in parts, and can come with other files', async () => {
  const whole = await listOf([{ file: '.vercel/source.tgz', size: 1, mode: 438, sha: A }])
  assert.deepEqual([whole.form, whole.entries, whole.parts.length, whole.wanted], ['archive', [], 1, [A]])
  const { form, entries, parts, wanted } = await listOf([
    { file: '.vercel/source.tgz.part2', size: 2, mode: 438, sha: B },
    { file: '.vercel/output/provision.json', size: 3, mode: 33188, sha: shaOf('p') },
    { file: '.vercel/source.tgz.part1', size: 1, mode: 438, sha: A },
  ])
  assert.deepEqual([form, parts.map(({ content }) => content)], ['archive', [{ sha1: A }, { sha1: B }]])
  assert.deepEqual([entries.map(({ path }) => path), wanted.length], [['.vercel/output/provision.json'], 3])
})

test('an empty list is a source without files', async () => {
  assert.deepEqual(await listOf([]), { form: 'source', entries: [], parts: [], wanted: [] })
})

/** TABLE entries -> the sentence. */
const REFUSED: readonly (readonly [entries: object[], sentence: string])[] = [
  [[{ file: '/etc/passwd', sha: A }], 'files[0] (/etc/passwd): file is absolute. Paths begin in the project folder.'],
  [[{ file: 'a/../../b', sha: A }], 'files[0] (a/../../b): file leaves the output with "..". Remove it.'],
  [[{ file: '', sha: A }], 'files[0] (): file is empty.'],
  [[{ file: 'a\\b', sha: A }], 'files[0] (a\\\\b): file has a backslash in its name. Separate folders by "/".'],
  [[{ file: 'a\nb', sha: A }], 'files[0] (a\\nb): file has a control character in its name. Rename the file.'],
  [
    [
      { file: 'a', sha: A },
      { file: 'b', sha: 'A'.repeat(40) },
    ],
    'files[1] (b): sha must be a SHA-1: 40 hexadecimal digits in lower case.',
  ],
  [[{ file: 'a', sha: A.slice(1) }], 'files[0] (a): sha must be a SHA-1: 40 hexadecimal digits in lower case.'],
  [[{ file: 'a' }], 'files[0] (a): sha is missing. Send the SHA-1 of an uploaded file, or the content in `data`.'],
  [
    [{ file: 'a', mode: 41471 }],
    'files[0] (a): sha is missing. Send the SHA-1 of an uploaded file, or the content in `data`.',
  ],
  [[{ file: 'a', sha: A, data: '' }], 'files[0] (a): data and `sha` are both there. Send one of the two.'],
  [[{ file: 'a', data: 'a===', encoding: 'base64' }], 'files[0] (a): data is not base64. Encode it again.'],
  [[{ file: 'a', data: 'aGk!', encoding: 'base64' }], 'files[0] (a): data is not base64. Encode it again.'],
  [[{ file: 'a', data: 'aGkaa', encoding: 'base64' }], 'files[0] (a): data is not base64. Encode it again.'],
  [[{ file: 'a', data: 'aG=k', encoding: 'base64' }], 'files[0] (a): data is not base64. Encode it again.'],
  [[{ file: 'a', data: 'a\ud800' }], 'files[0] (a): data is not valid Unicode. Encode it again.'],
  [[{ file: 'a', data: 'ab', size: 3 }], 'files[0] (a): size is 3, and `data` has 2 bytes. Leave it out.'],
  [[{ file: 'a', mode: 16877, sha: A }], 'files[0] (a): sha is of a folder, which has no content. Remove it.'],
  [[{ file: 'a', mode: 16877, size: 7 }], 'files[0] (a): size is of a folder, which has no content. Remove it.'],
  [
    [{ file: 'a', mode: 0o060644, sha: A }],
    'files[0] (a): mode is 24996, which is not a file, link or folder. Leave it out.',
  ],
  [
    [{ file: 'a', sha: A, size: OUTPUT_LIMITS.fileBytes + 1 }],
    'files[0] (a): size is 104857601 bytes. At most 104857600 are allowed.',
  ],
  [[{ file: 'a', mode: 41471, sha: A, size: 4097 }], 'files[0] (a): size is 4097 bytes. At most 4096 are allowed.'],
  [
    [
      { file: 'a', sha: A },
      { file: 'a', sha: B },
    ],
    'a is there twice. Send it once.',
  ],
  [
    [
      { file: 'a', sha: A },
      { file: 'a/b/c', sha: B },
    ],
    'a is a file or a link, and other entries lie below it.',
  ],
  [
    [
      { file: 'a', sha: A, size: 1 },
      { file: 'b', sha: A, size: 2 },
    ],
    'b: size is 2, and another file with this SHA-1 has 1 bytes.',
  ],
  [
    [{ file: '.vercel/source.tgz.part2', sha: A }],
    '.vercel/source.tgz.part1 is missing: parts are numbered from 1. Send all of them.',
  ],
  [
    [{ file: '.vercel/source.tgz', mode: 41471, sha: A }],
    'files[0] (.vercel/source.tgz): mode is of no file, and the name is that of an archive. Rename it.',
  ],
]

test('an invalid entry is refused with a message that names it and its field', async () => {
  for (const [entries, sentence] of REFUSED) assert.deepEqual(await faultsOf(entries), [sentence])
})

/** TABLE what is of no type or length -> what the schema says of it. */
const UNTYPED: readonly (readonly [files: unknown, sentence: RegExp])[] = [
  ['a', /the body should be array/],
  [[1], /`0` should be object/],
  [[{ sha: A }], /missing required property `0\.file`/],
  [[{ file: 1 }], /`0\.file` should be string/],
  [[{ file: 'a', size: -1 }], /`0\.size` should be >= 0/],
  [[{ file: 'a', size: 1.5 }], /`0\.size` should be integer/],
  [[{ file: 'a', mode: 65_536 }], /`0\.mode` should be <= 65535/],
  [[{ file: 'a', data: '', encoding: 'hex' }], /`0\.encoding` should be one of "base64", "utf-8"/],
  [Array(OUTPUT_LIMITS.files + 1).fill({ file: 'a' }), /should NOT have more than 20000 items/],
]

test('a value of another type is refused by the schema', async () => {
  for (const [files, sentence] of UNTYPED)
    await assert.rejects(
      read(files),
      (error) => error instanceof Refusal && sentence.test(error.message),
      `${sentence}`,
    )
})

test('sums above their limits are refused, each with its figure', async () => {
  const many = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at))
  assert.deepEqual(await faultsOf(many(11, (at) => ({ file: `f${at}`, sha: shaOf(`${at}`), size: 100 * 1024 ** 2 }))), [
    'files has more than 1073741824 bytes.',
  ])
  assert.deepEqual(
    await faultsOf(
      many(5000, (at) => ({
        file: `${at}/${'a'.repeat(200)}/${'b'.repeat(200)}/${'c'.repeat(200)}/${'d'.repeat(200)}`,
        sha: A,
      })),
    ),
    [],
  )
  assert.deepEqual(
    await faultsOf(many(5000, (at) => ({ file: `${at}/${`${'a'.repeat(200)}/`.repeat(5)}a`, sha: A }))),
    ['files has more than 4194304 characters in its paths.'],
  )
  assert.deepEqual(await faultsOf(many(INLINE_LIMITS.files + 1, (at) => ({ file: `f${at}`, data: '' }))), [
    'files has more than 1000 files with `data`. Upload them, and send `sha`.',
  ])
  const half = 'a'.repeat(INLINE_LIMITS.bytes / 2 + 1)
  assert.deepEqual(await faultsOf(many(2, (at) => ({ file: `f${at}`, data: half }))), [
    'files has more than 6291456 bytes in `data`. Upload the files, and send `sha`.',
  ])
  const base64 = Buffer.alloc(INLINE_LIMITS.bytes).toString('base64')
  assert.deepEqual(await faultsOf([{ file: 'f', data: base64, encoding: 'base64' }]), [])
  assert.deepEqual(await faultsOf(many(3, (at) => ({ file: `f${at}`, data: half }))), [
    'files has 9437187 characters in `data`. Upload the files, and send `sha`.',
  ])
})

test('of many errors 20 are named', async () => {
  const faults = await faultsOf(Array.from({ length: 50 }, (_, at) => ({ file: `f${at}`, sha: 'x' })))
  assert.deepEqual(
    [faults.length, faults[19]!.slice(0, 15), faults[20]],
    [21, 'files[19] (f19)', '30 more errors are not listed.'],
  )
})

test('any entries are a list, or are refused with messages', async () => {
  const entry = fc.record(
    {
      file: fc.oneof(
        fc.string(),
        fc.constantFrom('a', 'a/b', '.vercel/source.tgz', '.vercel/source.tgz.part1', '__proto__'),
      ),
      sha: fc.constantFrom(A, B, '', 'x'),
      size: fc.nat(3),
      mode: fc.constantFrom(33188, 41471, 16877, 438, 0, 0xffff),
      data: fc.oneof(fc.base64String(), fc.string()),
      encoding: fc.constantFrom('base64' as const, 'utf-8' as const),
    },
    { requiredKeys: ['file'] },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 5 }), async (entries) => {
      const list = await readFileList(entries)
      if ('faults' in list) {
        assert.ok(list.faults.length > 0)
        for (const fault of list.faults) assert.match(fault, /^\S.*\.$/s)
      } else {
        assert.equal(new Set(list.wanted).size, list.wanted.length)
        assert.equal(list.entries.length + list.parts.length, entries.length)
      }
    }),
    { numRuns: 500 },
  )
})
