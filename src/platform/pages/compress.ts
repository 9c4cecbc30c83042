/** Compression of pages and assets (RFC 9110 8.4.1.3, RFC 1952). docs/console.md: How it is built. */
import { randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflateRaw } from 'node:zlib'

/** Below it the head of an answer weighs more than what is saved. */
const LEAST = 4096
/** The longest name in the head of a page. */
const MAX_PADDING = 128
/** Magic number, deflate, "a name follows", no time, no hint, unknown system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 255])

const deflate = promisify(deflateRaw)

/** Whether a client takes gzip: `Accept-Encoding` names it, and not with a weight of 0. */
export function acceptsGzip(acceptEncoding = ''): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(acceptEncoding)
}

/**
 * A page as gzip; undefined where the client takes none, or it is too small to gain. The name in its head has a random length each time: the length of a compressed
 * page would tell whoever can put guesses into it which of them stand in it already (BREACH; the answer is "Heal the BREACH", which Django
 * uses too).
 */
export async function zipPage(text: string, acceptEncoding: string | undefined): Promise<Buffer | undefined> {
  if (text.length < LEAST || !acceptsGzip(acceptEncoding)) return undefined
  const bytes = Buffer.from(text)
  const name = Buffer.from(`${randomBytes(MAX_PADDING).toString('hex').slice(0, randomInt(1, MAX_PADDING))}\0`)
  const tail = Buffer.alloc(8)
  tail.writeUInt32LE(crc32(bytes), 0)
  tail.writeUInt32LE(bytes.length, 4)
  return Buffer.concat([HEAD, name, await deflate(bytes, { level: 4 }), tail])
}
