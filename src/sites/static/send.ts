/** Sends a planned response in pieces. docs/deploying-sites.md: Static files. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { OpenedFile } from '../content/opened-file.ts'
import type { Slice } from './ranges.ts'
import type { ResponsePlan } from './response-plan.ts'

export type Visitor = {
  readonly headersSent: boolean
  readonly destroyed: boolean
  /** Buffered bytes. Undefined on `node:http2`. */
  readonly writableLength?: number
  readonly stream?: { readonly closed: boolean; readonly destroyed: boolean; close(code: number): void }
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  write(piece: Uint8Array): boolean
  end(): unknown
  end(last: string | Uint8Array): unknown
  destroy(): unknown
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** Memory per visitor for file content, in addition to the connection's buffer. */
const PIECE = 64 * 1024
/** RFC 9113 7. */
const INTERNAL_ERROR = 2
/** A visitor who reads less than a piece in this time is disconnected. */
const TIMEOUT_MS = 60_000

/**
 * Sends the plan and releases the file when the visitor has everything or disconnects. `file`: the form in the plan. Throws read
 * errors: before anything is sent, so another response is possible, or after disconnecting the visitor.
 */
export async function sendPlan(
  plan: ResponsePlan,
  response: Visitor,
  file: OpenedFile | undefined,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const { status, headers, body } = plan
  // A visitor who disconnects is not an error: `close` follows.
  response.on('error', ignore)
  try {
    const slice = body.kind === 'file' && body.slice.length > 0 ? body.slice : undefined
    const first = slice && file && (await readPiece(file, slice))
    if (isGone(response)) return
    response.writeHead(status, headers)
    if (slice && file && first) await sendSlice(response, file, { slice, first, timeoutMs })
    else if (body.kind === 'text') response.end(body.text)
    else response.end()
    if (response.writableLength !== 0 && !isGone(response)) await becomes(response, 'finish', timeoutMs)
  } catch (error) {
    // The visitor must see that the promised length was not sent.
    if (response.headersSent) cutOff(response)
    throw error
  } finally {
    file?.close()
  }
}

type Sending = { slice: Slice; first: Buffer; timeoutMs: number }

async function sendSlice(response: Visitor, file: OpenedFile, { slice, first, timeoutMs }: Sending): Promise<void> {
  let piece = first
  for (let left = slice.length - piece.length; left > 0; left -= piece.length) {
    if (!response.write(piece)) await becomes(response, 'drain', timeoutMs)
    piece = await readPiece(file, { first: slice.first + slice.length - left, length: left })
    if (isGone(response)) return
  }
  response.end(piece)
}

/** Returns the full slice from memory, without a copy per visitor. */
async function readPiece(file: OpenedFile, { first, length }: Slice): Promise<Buffer> {
  if (file.whole !== undefined) return file.whole.subarray(first, first + length)
  const piece = Buffer.allocUnsafe(Math.min(PIECE, length))
  return piece.subarray(0, await file.read(piece, first))
}

/** Waits until the visitor has read the pending bytes or disconnected. Disconnects one who reads nothing for `timeoutMs`. */
export function becomes(response: Visitor, event: 'drain' | 'finish', timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timeout)
      response.off(event, end)
      response.off('close', end)
      resolve()
    }
    const timeout = setTimeout(() => {
      cutOff(response)
      end()
    }, timeoutMs)
    response.on(event, end)
    response.on('close', end)
  })
}

/** A stream of HTTP/2 that is only destroyed ends without an error for the visitor. */
function cutOff(response: Visitor): void {
  if (response.stream === undefined) response.destroy()
  else response.stream.close(INTERNAL_ERROR)
}

function isGone({ stream, destroyed }: Visitor): boolean {
  return stream === undefined ? destroyed : stream.closed || stream.destroyed
}

function ignore(): void {}
