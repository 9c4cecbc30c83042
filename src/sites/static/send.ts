/** Sends a planned answer to a visitor, a piece at a time. docs/deploying-sites.md: Static files. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { OpenedFile } from '../content/opened-file.ts'
import type { Slice } from './ranges.ts'
import type { ResponsePlan } from './response-plan.ts'

/** What a visitor is answered by: the response of `node:http`, or that of `node:http2`, whose stream says whether it is over. */
export type Visitor = {
  readonly headersSent: boolean
  readonly destroyed: boolean
  /** Bytes that the system has not taken yet. That of `node:http2` does not say. */
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

/** What is in memory of a file for one visitor, besides what the connection holds. */
const PIECE = 64 * 1024
/** RFC 9113 7. */
const INTERNAL_ERROR = 2
/** A visitor who takes less than a piece in this time is not waited for. */
const TIMEOUT_MS = 60_000

/**
 * Sends the plan, and lets the file go when the visitor has everything, or leaves. `file`: the form that the body of the plan names. Throws
 * what reading the file throws: before anything is sent, so that it can be answered otherwise, or after the visitor was cut off.
 */
export async function sendPlan(
  plan: ResponsePlan,
  response: Visitor,
  file: OpenedFile | undefined,
  patienceMs = TIMEOUT_MS,
): Promise<void> {
  const { status, headers, body } = plan
  // A visitor who leaves is no fault: `close` follows.
  response.on('error', ignore)
  try {
    const slice = body.kind === 'file' && body.slice.length > 0 ? body.slice : undefined
    const first = slice && file && (await readPiece(file, slice))
    if (isGone(response)) return
    response.writeHead(status, headers)
    if (slice && file && first) await sendSlice(response, file, { slice, first, patienceMs })
    else if (body.kind === 'text') response.end(body.text)
    else response.end()
    if (response.writableLength !== 0 && !isGone(response)) await becomes(response, 'finish', patienceMs)
  } catch (error) {
    // The length was promised: the visitor must see that it is not kept.
    if (response.headersSent) cutOff(response)
    throw error
  } finally {
    file?.close()
  }
}

type Sending = { slice: Slice; first: Buffer; patienceMs: number }

/** Exactly the bytes of the slice, whatever the file is. */
async function sendSlice(response: Visitor, file: OpenedFile, { slice, first, patienceMs }: Sending): Promise<void> {
  let piece = first
  for (let left = slice.length - piece.length; left > 0; left -= piece.length) {
    if (!response.write(piece)) await becomes(response, 'drain', patienceMs)
    piece = await readPiece(file, { first: slice.first + slice.length - left, length: left })
    if (isGone(response)) return
  }
  response.end(piece)
}

/** Gives all of the slice where the file is in memory: it is there once, however many visitors take it. */
async function readPiece(file: OpenedFile, { first, length }: Slice): Promise<Buffer> {
  if (file.whole !== undefined) return file.whole.subarray(first, first + length)
  const piece = Buffer.allocUnsafe(Math.min(PIECE, length))
  return piece.subarray(0, await file.read(piece, first))
}

/** Waits until the visitor took what is owed, or left. One who takes nothing for `patienceMs` is cut off. */
export function becomes(response: Visitor, event: 'drain' | 'finish', patienceMs: number): Promise<void> {
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
    }, patienceMs)
    response.on(event, end)
    response.on('close', end)
  })
}

/** So that it is seen: a stream of HTTP/2 that is only destroyed ends without an error. */
function cutOff(response: Visitor): void {
  if (response.stream === undefined) response.destroy()
  else response.stream.close(INTERNAL_ERROR)
}

function isGone({ stream, destroyed }: Visitor): boolean {
  return stream === undefined ? destroyed : stream.closed || stream.destroyed
}

function ignore(): void {}
