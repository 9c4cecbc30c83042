/** Archives that are refused, each with its sentence. docs/deploying-sites.md: Archives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type Budget, createBudget } from '../../../src/delivery/archive/budget.ts'
import { ARCHIVE_LIMITS } from '../../../src/delivery/archive/limits.ts'
import { OUTPUT_LIMITS } from '../../../src/delivery/protocol/output-limits.ts'
import { BLOCK, END, faultOf, file, header, pax, record, tgz } from './tar.ts'

const good = file('index.html', 'hello')
const bytes = (...numbers: number[]) => Uint8Array.from(numbers)
const damage = (block: Buffer, at: number) => {
  block[at]! ^= 1
  return block
}
const CUT = /^The archive (is damaged: it )?ends in the middle/
const BEHIND = /^The archive (is damaged: it )?has bytes behind its end/

/** TABLE what is sent -> the sentence. */
const REFUSED: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
  'no bytes': [Buffer.alloc(0), CUT],
  'no gzip': [Buffer.from('PK\x03\x04 and more'), /^The archive is not a gzip file/],
  'a tar without gzip': [Buffer.concat([good, END]), /^The archive is not a gzip file/],
  'no tar': [gzipSync('x'.repeat(2000)), /^The archive is damaged: the header at byte 0 has a wrong checksum/],
  'a gzip that ends too early': [tgz(good).subarray(0, -9), CUT],
  'a wrong checksum of gzip': [
    damage(tgz(good), tgz(good).length - 6),
    /^The archive is not a gzip file, or is damaged/,
  ],
  'a tar that ends in a file': [gzipSync(good.subarray(0, BLOCK + 3)), CUT],
  'a tar that ends in a header': [gzipSync(Buffer.concat([good, good.subarray(0, 100)])), CUT],
  'a tar without its end': [gzipSync(good), CUT],
  'a tar with half of its end': [gzipSync(Buffer.concat([good, END.subarray(BLOCK)])), CUT],
  'a long name without a file': [
    tgz(good, pax({ path: 'b' })),
    /^The archive is damaged: a name at its end has no file/,
  ],
  'bytes behind gzip': [Buffer.concat([tgz(good), Buffer.from('more')]), BEHIND],
  'zeros behind gzip': [Buffer.concat([tgz(good), Buffer.alloc(8)]), BEHIND],
  'another gzip behind it': [Buffer.concat([tgz(good), tgz(good)]), BEHIND],
  'an entry behind the end': [tgz(good, END, good), BEHIND],
  'a byte behind the end': [gzipSync(Buffer.concat([good, END, Buffer.from('x')])), BEHIND],
  'zeros without end': [gzipSync(Buffer.concat([good, Buffer.alloc(1.2 * 1024 ** 2)])), BEHIND],
  'a wrong checksum': [tgz(damage(file('a'), 0)), /^The archive is damaged: the header at byte 0 has a wrong checksum/],
  'a wrong checksum further on': [tgz(good, damage(file('a'), 3)), /the header at byte 1024 has a wrong checksum/],
  'no checksum': [tgz(Buffer.from(header({})).fill(0, 148, 156)), /the header at byte 0 has a wrong checksum/],
  'an old form': [
    tgz(file('a', '', { magic: '\0\0\0\0\0\0\0\0' })),
    /^The archive is of an old kind\. Pack it with tar --format=pax\.$/,
  ],
  'a hard link': [
    tgz(good, header({ name: 'b', flag: '1', link: 'index.html' })),
    /^b is a hard link\. .*--hard-dereference/,
  ],
  'a character device': [tgz(header({ name: 'b', flag: '3' })), /^b is a device\./],
  'a block device': [tgz(header({ name: 'b', flag: '4' })), /^b is a device\./],
  'a named pipe': [tgz(header({ name: 'b', flag: '6' })), /^b is a named pipe\./],
  'a sparse file of GNU tar': [tgz(header({ name: 'b', flag: 'S' })), /^b is a sparse file\. .*--sparse/],
  'a sparse file of pax': [tgz(pax({ 'GNU.sparse.major': '1' }), good), /^The archive has a sparse file\. .*--sparse/],
  'a sparse file of star': [tgz(pax({ 'SCHILY.realsize': '99' }), good), /^The archive has a sparse file\./],
  'an unknown kind': [tgz(header({ name: 'b', flag: 'Z' })), /^b is of a kind that is not deployed \("Z"\)\.$/],
  'a kind named like a method': [tgz(header({ name: 'b', flag: 'c' })), /^b is of a kind that is not deployed/],
  'a volume of several': [tgz(header({ name: 'b', flag: 'M' })), /^b is of a kind that is not deployed \("M"\)\.$/],
  'an absolute path': [tgz(file('/etc/passwd')), /^\/etc\/passwd is absolute\./],
  'an absolute path of pax': [tgz(pax({ path: '/etc/passwd' }), good), /^\/etc\/passwd is absolute\./],
  'a path of a drive': [tgz(file('C:/x')), /^C:\/x is absolute\./],
  'a way out': [tgz(file('a/../../b')), /^a\/\.\.\/\.\.\/b leaves the output with "\.\."/],
  'a way out behind dots': [tgz(file('./../b')), /^\.\.\/b leaves the output/],
  'a way out by a prefix': [tgz(file('b', '', { prefix: '..' })), /^\.\.\/b leaves the output/],
  'a backslash': [tgz(file('..\\b')), /has a backslash in its name/],
  'a NUL in a path': [tgz(pax({ path: 'a\0b' }), good), /^a\\u0000b has a NUL in its name\./],
  'a NUL in a long name': [tgz(file('L', 'a\0b\0', { flag: 'L' }), good), /^a\\u0000b has a NUL in its name\./],
  'a NUL in a target': [
    tgz(pax({ linkpath: 'a\0b' }), header({ name: 'b', flag: '2' })),
    /^b is a link with a NUL in its target\./,
  ],
  'a line break in a path': [tgz(pax({ path: 'a\nb' }), good), /^a\\nb has a control character in its name\./],
  'a name that is not UTF-8': [
    tgz(file('', '', { fields: { 0: bytes(0x61, 0xff) } })),
    /^A name in the archive \(at byte 0\) is not UTF-8\./,
  ],
  'a path that is not UTF-8': [
    tgz(file('x', Buffer.from('9 path=\xff\n', 'latin1'), { flag: 'x' }), good),
    /is not UTF-8\./,
  ],
  'no name': [tgz(file('')), /^The archive is damaged: an entry has no name/],
  'a link without a target': [tgz(header({ name: 'b', flag: '2' })), /^b is a link without a target\./],
  'a target without end': [
    tgz(pax({ linkpath: 'a'.repeat(2000) }), header({ name: 'b', flag: '2' })),
    /^b is a link to a path of more than 1024 characters\./,
  ],
  'a link with content': [tgz(file('b', 'x', { flag: '2', link: 'a' })), /^b is not a file, but has content\./],
  'a folder with content': [tgz(file('b/', 'x', { flag: '5' })), /^b is not a file, but has content\./],
  'a path twice': [tgz(good, good), /^index\.html is there twice\.$/],
  'a path twice, spelled in two ways': [tgz(good, file('./index.html')), /^index\.html is there twice\.$/],
  'a folder and a file of one path': [tgz(header({ name: 'a/', flag: '5' }), file('a')), /^a is there twice\.$/],
  'two long names': [tgz(pax({ path: 'a' }), pax({ path: 'b' }), good), /has two long names/],
  'two long names of two kinds': [tgz(pax({ path: 'a' }), file('L', 'b\0', { flag: 'L' }), good), /has two long names/],
  'a name for all entries': [
    tgz(pax({ path: 'a' }, 'g'), good),
    /^The archive is damaged: the names at byte 0 are for all entries/,
  ],
  'a size for all entries': [tgz(pax({ size: '1' }, 'g'), good), /are for all entries/],
  'a size below zero': [
    tgz(file('b', '', { fields: { 124: new Uint8Array(12).fill(255) } })),
    /has a number below zero/,
  ],
  'a size that is none': [tgz(header({ size: '12x45678901' })), /has an invalid number/],
  'a size of pax below zero': [
    tgz(pax({ size: '-1' }), good),
    /^The archive is damaged: the size at byte 0 is not a number/,
  ],
  'a size of pax with an exponent': [tgz(pax({ size: '1e3' }), good), /the size at byte 0 is not a number/],
  'a huge size': [
    tgz(file('b', '', { fields: { 124: new Uint8Array(12).fill(255, 1).fill(0xbf, 0, 1) } })),
    /^b has [\d.e+]+ bytes\. At most 104857600 are allowed\.$/,
  ],
  'a file above its limit': [
    tgz(header({ name: 'b', size: OUTPUT_LIMITS.fileBytes + 1 })),
    /^b has 104857601 bytes\. At most 104857600/,
  ],
  'a file above its limit by pax': [tgz(pax({ size: '999999999999999' }), file('b')), /^b has 999999999999999 bytes\./],
  'a long name above its limit': [
    tgz(header({ flag: 'L', size: 65_537 })),
    /^A name or the attributes of an entry have more than 65536 bytes\./,
  ],
  'attributes above their limit': [tgz(header({ flag: 'x', size: 8 ** 11 - 1 })), /have more than 65536 bytes/],
  'attributes for all above their limit': [tgz(header({ flag: 'g', size: 5_000_000 })), /have more than 65536 bytes/],
  'too many attributes': [
    tgz(file('x', record('a', 'b').repeat(300), { flag: 'x' }), good),
    /has more than 256 attributes\./,
  ],
}

for (const [what, [archive, sentence]] of Object.entries(REFUSED))
  test(`an archive is refused: ${what}`, async () => {
    assert.match((await faultOf(archive)) ?? 'it was read', sentence)
  })

/** TABLE records that are not as pax writes them. */
const NO_RECORDS = [
  'x',
  '5',
  '5 ',
  '9 a=b',
  '6 a=b\n9',
  '5 a=bb\n',
  '0 a=b\n',
  '-6 a=b\n',
  '06 a=b\n',
  '5 =b\n',
  '5 ab\n',
  '6  a=b\n',
  '999999 a=b\n',
  '9999999999 a=b\n',
  '1e1 a=bbb\n',
  ' 6 a=b\n',
  '4 a\n6 a=b\n',
]

test('attributes that are not as pax writes them are refused', async () => {
  for (const text of NO_RECORDS)
    assert.match(
      (await faultOf(tgz(file('x', text, { flag: 'x' }), good))) ?? text,
      /^The archive is damaged: the attributes at byte 0/,
    )
  assert.equal(await faultOf(tgz(file('x', '6 a=b\n', { flag: 'x' }), good)), undefined)
})

test('sums above their limits are refused as soon as they are known', () => {
  const times = (count: number, run: (at: number) => void) => {
    for (let at = 0; at < count; at++) run(at)
  }
  for (const [most, add, sentence] of [
    [ARCHIVE_LIMITS.headers, (budget) => budget.addHeader(), '100000 entries'],
    [256, (budget) => budget.addExtended(65_536), '16777216 bytes of attributes'],
    [OUTPUT_LIMITS.files, (budget, at) => budget.addEntry(`${at}`, 'file', 0), '20000 files'],
    [10, (budget, at) => budget.addEntry(`${at}`, 'file', OUTPUT_LIMITS.fileBytes), '1073741824 bytes'],
    [
      8192,
      (budget, at) => budget.addEntry(`${at}`.padStart(1024, '0'), 'folder', 0),
      '8388608 characters in its paths',
    ],
  ] as readonly (readonly [number, (budget: Budget, at: number) => void, string])[]) {
    const budget = createBudget()
    times(most, (at) => add(budget, at))
    assert.throws(() => add(budget, most), { message: `The archive has more than ${sentence}. Deploy less.` })
  }
})
