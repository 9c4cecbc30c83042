/**
 * Encodes files in a turn of their own: one at a time on a thread of the platform's pool, accounts in turn, so that neither the event
 * loop nor the reading of files waits. docs/deploying-sites.md: Cache of files.
 */
import { pipeline, Readable } from 'node:stream'
import { constants, createBrotliCompress, createZstdCompress } from 'node:zlib'
import { createSemaphore } from '../../platform/fairness/semaphore.ts'
import type { Encoding } from '../static/encodings.ts'

/** Files of one account that wait. What is more is asked for again by the next visitor. */
const MAX_WAITING = 100

/** TABLE how each coding is made of a file of this size. Both take some 50 ms for a megabyte; the next levels take ten times as long and save a tenth. */
const ENCODERS = {
  br: (size: number) =>
    createBrotliCompress({
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: size },
    }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 12 } }),
} satisfies Record<Encoding, (size: number) => NodeJS.ReadWriteStream>

/** The file is hardly smaller in this coding. */
export class NoGain extends Error {}

/** The pieces of a file in a coding, and how many bytes there were. Throws what the source throws, and NoGain where they are more than `most` bytes. */
export function encodePieces(
  source: AsyncIterable<Buffer>,
  encoding: Encoding,
  { size, most }: { size: number; most: number },
): { pieces: AsyncGenerator<Buffer>; size(): number } {
  let seen = 0
  async function* passing() {
    const encoder = ENCODERS[encoding](size)
    // What fails on the way is thrown by the encoder, which is read below.
    pipeline(Readable.from(source, { objectMode: false }), encoder, () => {})
    for await (const piece of encoder as AsyncIterable<Buffer>) {
      seen += piece.length
      if (seen > most) throw new NoGain()
      yield piece
    }
  }
  return { pieces: passing(), size: () => seen }
}

export type Encoder = {
  /** Does this work once at a time for each key, when it is the account's turn. Resolves when it is over, or was not taken; never rejects. */
  run(account: string, key: string, work: () => Promise<void>): Promise<void>
  /** Takes no more, and waits for what is under way. */
  close(): Promise<void>
}

/** `onFault` is told what fails: nobody waits for it. */
export function openEncoder(onFault: (error: unknown) => void): Encoder {
  const turns = createSemaphore({ slots: 1 })
  const running = new Map<string, Promise<void>>()
  let isClosed = false
  const takeTurn = async (account: string, work: () => Promise<void>) => {
    await turns.acquire(account)
    try {
      if (!isClosed) await work()
    } catch (error) {
      onFault(error)
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
