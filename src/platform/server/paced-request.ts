/**
 * Requests with paced bodies. Node.js alone reads up to 2 MiB of every connection per iteration and accepts one new connection. So 76 clients with a
 * mebibyte each made iterations of 140 ms, and new connections waited for a second. docs/limits.md: Sizes and timeouts.
 */
import { createFairQueue } from '../fairness/fair-queue.ts'

/** Not by `import`: operations/edge/listener.ts has the reason. */
const { IncomingMessage } = process.getBuiltinModule('node:http')

/** Body bytes that an iteration reads before other connections wait for the next one. */
export const PACE_BYTES = 256 * 1024
/** Node.js reads this much of a connection at once. */
const PIECE_BYTES = 64 * 1024

/** Chunks of a file that may be short; further ones must have this average size. */
const FEW_PIECES = 4096
const MIN_PIECE_BYTES = 16

/** Fair queue of paused requests, by address. */
const waiting = createFairQueue<PacedRequest>()
let bytesRead = 0
let ends = false

/** A Node.js request that continues in a later iteration when this one has read enough. */
export class PacedRequest extends IncomingMessage {
  #waits = false
  #held = false
  /** Called when a held file is released. */
  onLetGo: (() => void) | undefined
  /** Chunk count of a held file, which limits its cost. */
  #file: { pieces: number; bytes: number } | undefined

  override push(chunk: Buffer | null): boolean {
    const wantsMore = super.push(chunk)
    if (chunk === null) return wantsMore
    if (this.#file !== undefined && isCrumbled(this.#file, chunk)) {
      this.destroy()
      return false
    }
    expectEnd()
    bytesRead += chunk.length
    if (bytesRead <= PACE_BYTES) return wantsMore && !this.#held
    if (!this.#waits) waiting.push(this.socket.remoteAddress ?? '', this)
    this.#waits = true
    return false
  }

  /** Called by the reader. Without effect while the request is queued. */
  override _read(bytes: number): void {
    if (!this.#waits && !this.#held) super._read(bytes)
  }

  /** Pauses a file until `letGo`: queued one-byte chunks would take a hundred times their bytes. */
  hold(): void {
    this.pauseBody()
    this.#file = { pieces: 0, bytes: 0 }
  }

  /** Pauses the connection until `letGo`. What it has read already goes to the reader. */
  pauseBody(): void {
    this.#held = true
  }

  isHeld(): boolean {
    return this.#held
  }

  letGo(): void {
    if (!this.#held) return
    this.#held = false
    if (!this.#waits) this.readOn()
    this.onLetGo?.()
  }

  /** Runs in its turn. Returns whether it reads; if the reader has enough, the next `_read` continues. */
  readOn(): boolean {
    this.#waits = false
    if (this.destroyed || this.complete || this.readableLength >= this.readableHighWaterMark) return false
    this._read(PIECE_BYTES)
    return true
  }
}

/** Whether a file arrives in chunks of a few bytes, each as costly as one of thousands. No real client does that. */
function isCrumbled(file: { pieces: number; bytes: number }, { length }: Buffer): boolean {
  file.pieces++
  file.bytes += length
  return file.pieces > FEW_PIECES && file.bytes < file.pieces * MIN_PIECE_BYTES
}

function expectEnd(): void {
  if (ends) return
  ends = true
  setImmediate(endIteration)
}

function endIteration(): void {
  ends = false
  bytesRead = 0
  let left = PACE_BYTES
  while (left > 0 && waiting.size() > 0) if (waiting.shift()!.readOn()) left -= PIECE_BYTES
  if (waiting.size() > 0) expectEnd()
}
