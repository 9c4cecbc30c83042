/** Compression of pages and assets (RFC 9110 8.4.1.3, RFC 1952). docs/console.md: Implementation. */
import { randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflateRaw } from 'node:zlib'

/** Below this size, gzip saves less than its header. */
const MIN_LENGTH = 4096
const MAX_PADDING = 128
/** Magic number, deflate, FNAME flag, no time, no hint, unknown system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 255])

const deflate = promisify(deflateRaw)

/** Whether a client accepts gzip: `Accept-Encoding` names it with a weight above 0. */
export function acceptsGzip(acceptEncoding = ''): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(acceptEncoding)
}

/**
 * Returns a page as gzip; undefined if the client does not accept it or the page is too small. The gzip header has a random length, so that the size
 * of a page does not reveal which guesses it contains (BREACH). Django uses this mitigation, "Heal the BREACH", too.
 */
export async function zipPage(text: string, acceptEncoding: string | undefined): Promise<Buffer | undefined> {
  if (text.length < MIN_LENGTH || !acceptsGzip(acceptEncoding)) return undefined
  const bytes = Buffer.from(text)
  const name = Buffer.from(`${randomBytes(MAX_PADDING).toString('hex').slice(0, randomInt(1, MAX_PADDING))}\0`)
  const tail = Buffer.alloc(8)
  tail.writeUInt32LE(crc32(bytes), 0)
  tail.writeUInt32LE(bytes.length, 4)
  return Buffer.concat([HEAD, name, await deflate(bytes, { level: 4 }), tail])
}
