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

/** `need`: as many bytes are in the frame, once that is known. */
type Reading = { pieces: Buffer[]; bytes: number; need: number | undefined; headBytes: number }

/** `bad`: it is none, is too large, or the other side did not wait. */
export type FrameReader = { push(piece: Buffer): Frame | 'bad' | undefined; isReading(): boolean }

/** Creates a reader. `reserve` gets the size of a frame before its bytes come, and may refuse it. */
export function createFrameReader(reserve: (bytes: number) => boolean = () => true): FrameReader {
  let reading = begin()
  return {
    isReading: () => reading.bytes > 0,
    push(piece) {
      reading.pieces.push(piece)
      reading.bytes += piece.length
      if (reading.need === undefined && reading.bytes >= PREFIX && !readPrefix(reading, reserve)) return 'bad'
      if (reading.need === undefined || reading.bytes < reading.need) return undefined
      if (reading.bytes > reading.need) return 'bad'
      const { pieces, headBytes } = reading
      reading = begin()
      return parse(Buffer.concat(pieces), headBytes)
    },
  }
}

function begin(): Reading {
  return { pieces: [], bytes: 0, need: undefined, headBytes: 0 }
}

function readPrefix(reading: Reading, reserve: (bytes: number) => boolean): boolean {
  const prefix = Buffer.concat(reading.pieces).subarray(0, PREFIX)
  const [headBytes, bodyBytes] = [prefix.readUInt32BE(0), prefix.readUInt32BE(4)]
  if (headBytes > MAX_HEAD_BYTES || bodyBytes > MAX_VALUE_BYTES) return false
  reading.headBytes = headBytes
  reading.need = PREFIX + headBytes + bodyBytes
  return reserve(reading.need)
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
