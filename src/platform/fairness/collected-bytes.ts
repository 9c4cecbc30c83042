/** Shorter pieces are copied together, because a piece of one byte occupies some 200. */
const SHORT = 1024
const SLAB = 16 * 1024

type CollectedBytes = {
  push(piece: Uint8Array): void
  /** Returns all bytes. */
  join(): Buffer<ArrayBuffer>
  clear(): void
}

/** Collects the pieces of a body, in about as much memory as their bytes. */
export function collectBytes(): CollectedBytes {
  const pieces: Uint8Array[] = []
  let [slab, used] = [Buffer.alloc(0), 0]
  const endSlab = () => {
    if (used > 0) pieces.push(slab.subarray(0, used))
    slab = slab.subarray(used)
    used = 0
  }
  return {
    clear() {
      pieces.length = 0
      slab = Buffer.alloc(0)
      used = 0
    },
    push(piece) {
      if (piece.length >= SHORT) {
        endSlab()
        return void pieces.push(piece)
      }
      if (used + piece.length > slab.length) {
        endSlab()
        slab = Buffer.allocUnsafeSlow(SLAB)
      }
      slab.set(piece, used)
      used += piece.length
    },
    join() {
      endSlab()
      return Buffer.concat(pieces)
    },
  }
}
