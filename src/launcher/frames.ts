/** Requests to the data cache and its answers: a head of JSON and a body, one at a time on a connection. docs/data-cache.md: Protocol. */

/** Lengths of head and body, 4 bytes each. */
const PREFIX = 8
export const MAX_HEAD_BYTES = 256 * 1024
/** Of a value. */
export const MAX_VALUE_BYTES = 2 * 1024 ** 2

export type Frame = { head: Record<string, unknown>; body: Buffer }

/** Returns the bytes of a frame. */
export function frameBytes(head: object, body: Buffer = Buffer.alloc(0)): Buffer[] {
  const text = Buffer.from(JSON.stringify(head))
  const prefix = Buffer.alloc(PREFIX)
  prefix.writeUInt32BE(text.length, 0)
  prefix.writeUInt32BE(body.length, 4)
  return [prefix, text, body]
}

/** `bad`: it is none, is too large, or the other side did not wait. */
export type FrameReader = { push(piece: Buffer): Frame | 'bad' | undefined }

type Reading = { bytes: Buffer; read: number; headBytes: number }

/** Creates a reader. `reserve` gets the size of a frame before its bytes come, and may refuse it. A frame takes this memory, however short its pieces are. */
export function createFrameReader(reserve: (bytes: number) => boolean = () => true): FrameReader {
  let start = Buffer.alloc(0)
  let reading: Reading | undefined
  return {
    push(piece) {
      let rest = piece
      if (reading === undefined) {
        rest = start = Buffer.concat([start, piece])
        if (start.length < PREFIX) return undefined
        reading = begin(start, reserve)
        start = Buffer.alloc(0)
        if (reading === undefined) return 'bad'
      }
      const { bytes, read, headBytes } = reading
      if (read + rest.length > bytes.length) return 'bad'
      reading.read += rest.copy(bytes, read)
      if (reading.read < bytes.length) return undefined
      reading = undefined
      return parse(bytes, headBytes)
    },
  }
}

function begin(start: Buffer, reserve: (bytes: number) => boolean): Reading | undefined {
  const [headBytes, bodyBytes] = [start.readUInt32BE(0), start.readUInt32BE(4)]
  if (headBytes > MAX_HEAD_BYTES || bodyBytes > MAX_VALUE_BYTES) return undefined
  const size = PREFIX + headBytes + bodyBytes
  return reserve(size) ? { bytes: Buffer.allocUnsafeSlow(size), read: 0, headBytes } : undefined
}

function parse(bytes: Buffer, headBytes: number): Frame | 'bad' {
  try {
    const head: unknown = JSON.parse(bytes.subarray(PREFIX, PREFIX + headBytes).toString())
    if (typeof head !== 'object' || head === null || Array.isArray(head)) return 'bad'
    return { head: head as Frame['head'], body: bytes.subarray(PREFIX + headBytes) }
  } catch {
    return 'bad'
  }
}
