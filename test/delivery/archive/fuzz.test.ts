/** Archives that are cut, or changed in a few bytes: each is read or refused with a sentence. Nothing else is thrown, and nothing hangs. docs/deploying-sites.md: Archives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { BLOCK, END, faultOf, file, header, pax, sumOf } from './tar.ts'

/** fast-check prints the seed of a run that fails. */
const RUNS = 300

const WHOLE = Buffer.concat([
  pax({ comment: 'a' }, 'g'),
  file('index.html', 'hello'),
  header({ name: 'folder/', flag: '5', mode: 0o755 }),
  pax({ path: `folder/${'n'.repeat(200)}`, mtime: '1700000000.5' }),
  file('n', 'x'.repeat(1500)),
  file('L', `folder/${'l'.repeat(200)}\0`, { flag: 'L', magic: 'ustar  \0' }),
  file('K', `${'t'.repeat(200)}\0`, { flag: 'K', magic: 'ustar  \0' }),
  header({ name: 'l', flag: '2', link: 't', magic: 'ustar  \0' }),
  file('last', '', { prefix: 'folder' }),
  END,
])

/** A header that was changed has a right checksum again, so that what is behind it is read. */
function withChecksums(tar: Buffer): Buffer {
  const copy = Buffer.from(tar)
  for (let at = 0; at + BLOCK <= copy.length; at += BLOCK) {
    const block = copy.subarray(at, at + BLOCK)
    if (!block.toString('latin1', 257, 262).startsWith('ustar')) continue
    block.fill(' ', 148, 156)
    block.write(`${sumOf(block).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  }
  return copy
}

const changes = fc.array(fc.tuple(fc.nat(WHOLE.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 })
const changed = (bytes: Buffer, all: readonly (readonly [number, number])[]) => {
  const copy = Buffer.from(bytes)
  for (const [at, byte] of all) copy[at % copy.length] = byte
  return copy
}

test('an archive that is cut at any block is refused, compressed or not', async () => {
  assert.equal(await faultOf(gzipSync(WHOLE)), undefined)
  for (let at = 0; at < WHOLE.length; at += BLOCK / 2)
    assert.match(
      (await faultOf(gzipSync(WHOLE.subarray(0, at)))) ?? `read up to ${at}`,
      /ends in the middle|is damaged/,
    )
  const packed = gzipSync(WHOLE)
  for (let at = 0; at < packed.length; at += 3)
    assert.match((await faultOf(packed.subarray(0, at))) ?? `read up to ${at}`, /ends in the middle/)
})

test('an archive with any bytes changed is read, or refused with a message', async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (all) => {
      const fault = await faultOf(gzipSync(withChecksums(changed(WHOLE, all))))
      if (fault !== undefined) assert.match(fault, /\S.*\.$/s)
    }),
    { numRuns: RUNS },
  )
})

test('an archive with any compressed bytes changed is refused, unless they have no meaning', async () => {
  const packed = gzipSync(WHOLE)
  await fc.assert(
    fc.asyncProperty(changes, async (all) => {
      const fault = await faultOf(changed(packed, all))
      if (fault !== undefined) assert.match(fault, /\S.*\.$/s)
    }),
    { numRuns: RUNS },
  )
})

test('whatever the fields of a header hold, nothing else is thrown', async () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('../a', '/a', 'a/', './', '', 'a\0b', '\x80\xff'))
  const made = fc.record({
    name: text,
    flag: fc.constantFrom(...'01234567xgLKSDMVNX\0Z~'),
    size: fc.oneof(fc.nat(2000), fc.string({ maxLength: 11 })),
    mode: fc.nat(0o7777777),
    link: text,
    prefix: text,
    magic: fc.constantFrom('ustar\x0000', 'ustar  \0', 'ustar\0\0\0', ''),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(made, { minLength: 1, maxLength: 4 }),
      fc.string({ maxLength: 1200 }),
      async (all, content) => {
        const fault = await faultOf(gzipSync(Buffer.concat([...all.flatMap((one) => [file('', content, one)]), END])))
        if (fault !== undefined) assert.match(fault, /\S.*\.$/s)
      },
    ),
    { numRuns: RUNS },
  )
})
