/** Streams into the cache: complete, with a verified digest, and with a time limit for each piece. */
import { createHash } from 'node:crypto'
import { ContentUnavailable } from './content-fault.ts'

type Pieces = AsyncIterable<Buffer>

/** Yields the pieces. Throws ContentUnavailable (`mismatch`) if their size or digest differs from the expected one. */
export async function* verified(
  pieces: Pieces,
  { sha256, size, key }: { sha256: string; size: number; key: string },
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let processed = 0
  for await (const piece of pieces) {
    processed += piece.length
    if (processed > size) throw new ContentUnavailable('mismatch', key)
    hash.update(piece)
    yield piece
  }
  if (processed !== size || hash.digest('hex') !== sha256) throw new ContentUnavailable('mismatch', key)
}

/** `maxMs`: the longest pause between two pieces. `signal`: the sites server stops. */
type StallLimit = { maxMs: number; signal: AbortSignal; key: string }

/** Yields pieces while they arrive in time. Throws ContentUnavailable: `stalled`, `closed`, or `fetch` if the source fails. */
export async function* withoutStalls(open: () => Promise<Pieces>, timeout: StallLimit): AsyncGenerator<Buffer> {
  const iterator = (await inTime(Promise.try(open), timeout))[Symbol.asyncIterator]()
  let isOver = false
  try {
    for (;;) {
      const { done, value } = await inTime(iterator.next(), timeout).catch((error) => {
        isOver = true
        throw error
      })
      isOver = done === true
      if (isOver) return
      yield value
    }
  } finally {
    // A source that stalled would not respond to `return` either.
    if (!isOver) await iterator.return?.()
  }
}

async function inTime<T>(step: Promise<T>, { maxMs, signal, key }: StallLimit): Promise<T> {
  const { promise: gaveUp, reject } = Promise.withResolvers<never>()
  const abort = (why: 'stalled' | 'closed') => reject(new ContentUnavailable(why, key))
  const timeout = setTimeout(abort, maxMs, 'stalled')
  const close = () => abort('closed')
  signal.addEventListener('abort', close)
  if (signal.aborted) close()
  try {
    return await Promise.race([step, gaveUp])
  } catch (error) {
    throw error instanceof ContentUnavailable ? error : new ContentUnavailable('fetch', key, error)
  } finally {
    clearTimeout(timeout)
    signal.removeEventListener('abort', close)
  }
}
