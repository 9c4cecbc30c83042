/** Archives that unpack to far more than they are. docs/deploying-sites.md: Archives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { readArchive } from '../../../src/delivery/archive/archive.ts'
import { ArchiveError } from '../../../src/delivery/archive/fault.ts'
import { ARCHIVE_LIMITS } from '../../../src/delivery/archive/limits.ts'
import { OUTPUT_LIMITS } from '../../../src/delivery/protocol/output-limits.ts'
import { header } from './tar.ts'

/** Files of zeros without end. Each is compressed alone, so that it can be sent again. */
async function* bomb(size: number, sent: { files: number }): AsyncGenerator<Buffer> {
  const packed = (bytes: Buffer) => deflateRawSync(bytes, { level: 1, finishFlush: constants.Z_FULL_FLUSH })
  const content = packed(Buffer.alloc(size))
  yield gzipSync('').subarray(0, 10)
  for (;;) {
    yield packed(header({ name: `f${sent.files++}`, size }))
    yield content
  }
}

test('an archive that unpacks to far more than its size ends at the limit', async () => {
  const sent = { files: 0 }
  let [files, bytes] = [0, 0]
  await assert.rejects(
    async () => {
      for await (const { body } of readArchive(bomb(OUTPUT_LIMITS.fileBytes, sent))) {
        for await (const piece of body) bytes += piece.length
        files++
      }
    },
    (error) =>
      error instanceof ArchiveError && error.message === 'The archive has more than 1073741824 bytes. Deploy less.',
  )
  assert.deepEqual([files, bytes], [10, 10 * OUTPUT_LIMITS.fileBytes])
  assert.ok(sent.files < 15, `${sent.files} were sent`)
})

test('compressed bytes that never end, and unpack to nothing, end at the limit', async () => {
  let sent = 0
  async function* comment() {
    // A gzip header with a comment (RFC 1952 2.3).
    yield Buffer.from([0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 0, 3])
    for (const piece = Buffer.alloc(64 * 1024 ** 2, 'a'); ; sent += piece.length) yield piece
  }
  await assert.rejects(Array.fromAsync(readArchive(comment())), {
    message: `The archive has more than ${ARCHIVE_LIMITS.packedBytes} compressed bytes. Deploy less.`,
  })
  assert.ok(sent < ARCHIVE_LIMITS.packedBytes + 128 * 1024 ** 2)
})
