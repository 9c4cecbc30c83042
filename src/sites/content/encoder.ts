/** Encodes one file at a time on a pool thread, accounts round-robin. docs/deploying-sites.md: File cache. */
import { pipeline, Readable } from 'node:stream'
import { constants, createBrotliCompress, createZstdCompress } from 'node:zlib'
import { createSemaphore } from '../../platform/fairness/semaphore.ts'
import type { Encoding } from '../static/encodings.ts'

/** Queued files of one account. Files above the limit are requested again by the next visitor. */
const MAX_WAITING = 100

/** TABLE encoders by coding. Both take about 50 ms per megabyte; the next levels take ten times as long and save a tenth. */
const ENCODERS = {
  br: (size: number) =>
    createBrotliCompress({
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: size },
    }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 12 } }),
} satisfies Record<Encoding, (size: number) => NodeJS.ReadWriteStream>

export class NoGain extends Error {}

/** Yields the encoded pieces of a file and returns the byte count. Throws what the source throws, and NoGain above `max` bytes. */
export function encodePieces(
  source: AsyncIterable<Buffer>,
  encoding: Encoding,
  { size, max }: { size: number; max: number },
): { pieces: AsyncGenerator<Buffer>; size(): number } {
  let processed = 0
  async function* passing() {
    const encoder = ENCODERS[encoding](size)
    // Errors in the pipeline are thrown by the encoder, which is read below.
    pipeline(Readable.from(source, { objectMode: false }), encoder, () => {})
    for await (const piece of encoder as AsyncIterable<Buffer>) {
      processed += piece.length
      if (processed > max) throw new NoGain()
      yield piece
    }
  }
  return { pieces: passing(), size: () => processed }
}

export type Encoder = {
  /** Runs work once at a time per key, accounts round-robin. Resolves when it has finished or the queue is full; never rejects. */
  run(account: string, key: string, work: () => Promise<void>): Promise<void>
  /** Stops accepting work and waits for work in progress. */
  close(): Promise<void>
}

/** Opens an encoder. `onError` receives errors, since no request waits for the work. */
export function openEncoder(onError: (error: unknown) => void): Encoder {
  const turns = createSemaphore({ slots: 1 })
  const running = new Map<string, Promise<void>>()
  let isClosed = false
  const takeTurn = async (account: string, work: () => Promise<void>) => {
    await turns.acquire(account)
    try {
      if (!isClosed) await work()
    } catch (error) {
      onError(error)
    } finally {
      turns.release(account)
    }
  }
  return {
    run(account, key, work) {
      const before = running.get(key)
      if (before !== undefined) return before
      if (isClosed || turns.waiting(account) >= MAX_WAITING) return Promise.resolve()
      const run = takeTurn(account, work).finally(() => running.delete(key))
      running.set(key, run)
      return run
    },
    async close() {
      isClosed = true
      await Promise.all(running.values())
    },
  }
}
