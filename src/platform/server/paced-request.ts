/**
 * Requests whose bodies are read at a pace. By itself an iteration of the event loop reads up to 2 MiB of every connection and accepts one
 * newcomer: 76 clients that send a mebibyte each made it 140 ms long, and newcomers waited for a second. docs/limits.md: Sizes and time.
 */
import { createFairQueue } from '../fairness/fair-queue.ts'

/** Not by `import`: operations/edge/listener.ts says why. */
const { IncomingMessage } = process.getBuiltinModule('node:http')

/** How many bytes of all bodies an iteration reads before the connections that have more to say are left alone until the next one. */
export const PACE_BYTES = 256 * 1024
/** The platform reads so many of a connection at once. */
const PIECE_BYTES = 64 * 1024

/** So many chunks of a file may be short, and those behind them have at least so many bytes, taken together. */
const FEW_PIECES = 4096
const MIN_PIECE_BYTES = 16

/** What waits to be read on, by address: who has many connections waits behind its own. */
const waiting = createFairQueue<PacedRequest>()
let bytesRead = 0
let ends = false

/** A request as the platform makes it; what is too much for this iteration is read on in one of the next. */
export class PacedRequest extends IncomingMessage {
  #waits = false
  #held = false
  /** Called once it is let go, for whoever parses nothing of one that is held. */
  onLetGo: (() => void) | undefined
  /** Of one that was held: it brings a file, which nothing but its chunks bounds in what it costs. */
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

  /** Asked for by whoever reads; of one that waits for its turn, in vain until then. */
  override _read(bytes: number): void {
    if (!this.#waits && !this.#held) super._read(bytes)
  }

  /** Nothing more is read than what has come already, until `letGo`: of a body in chunks of one byte, what waits would take a hundred times its bytes. */
  hold(): void {
    this.#held = true
    this.#file = { pieces: 0, bytes: 0 }
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

  /** Its turn has come. Says whether it reads on; one whose reader has enough does so when that asks for more. */
  readOn(): boolean {
    this.#waits = false
    if (this.destroyed || this.complete || this.readableLength >= this.readableHighWaterMark) return false
    this._read(PIECE_BYTES)
    return true
  }
}

/** Whether a file comes in chunks of a few bytes, each of which costs as much as one of a few thousand. No client sends it so. */
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
