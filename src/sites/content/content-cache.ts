/** Cache of visitors' files by account and digest, with a disk budget. docs/deploying-sites.md: File cache. */
import { createSemaphore, type Semaphore } from '../../platform/fairness/semaphore.ts'
import { ENCODINGS, type EncodedForm, type Encoding, MAX_ENCODED } from '../static/encodings.ts'
import { keyOf } from './cache-files.ts'
import { ContentUnavailable } from './content-fault.ts'
import { type Encoder, encodePieces, NoGain, openEncoder } from './encoder.ts'
import type { Entry } from './entries.ts'
import type { Space } from './eviction.ts'
import { HOT_BYTES } from './hot-files.ts'
import { type KeptFiles, openKeptFiles } from './kept-files.ts'
import { letGo, type OpenedFile, piecesOf } from './opened-file.ts'
import { verified, withoutStalls } from './pieces.ts'

export type ContentFile = { sha256: string; size: number }

/** Fetches the bytes of a file. `signal` aborts when no request waits any longer. Waiting requests get the error as the cause. */
export type FetchContent = (account: string, file: ContentFile, signal: AbortSignal) => Promise<AsyncIterable<Buffer>>

export type ContentCache = {
  /** Opens a file and fetches it first if missing; concurrent callers share one fetch. The caller closes it. Throws ContentUnavailable. */
  open(account: string, file: ContentFile): Promise<OpenedFile>
  /** Opens an encoded form. Returns undefined if it was evicted. */
  openEncoded(account: string, sha256: string, encoding: Encoding): Promise<OpenedFile | undefined>
  formsOf(account: string, sha256: string): EncodedForm[]
  /** Keeps bytes that this server made. Returns false if they were here before. Throws ContentUnavailable. */
  put(account: string, file: ContentFile, bytes: Buffer): Promise<boolean>
  has(account: string, sha256: string): boolean
  /** Removes a file and its encoded forms. Those who read it now get it whole. */
  remove(account: string, sha256: string): Promise<void>
  /** Creates an encoded form of a cached file in the background. Resolves when finished and never rejects. */
  encode(account: string, sha256: string, encoding: Encoding): Promise<void>
  used(): Space
  close(): Promise<void>
}

export type CacheOptions = {
  folder: string
  budgetBytes: number
  memoryBytes?: number
  fetch: FetchContent
  onError: (error: unknown) => void
  /** Time limit for starting a fetch, and for each piece of the file. */
  timeoutMs?: number
}

const TIMEOUT_MS = 30_000
/** Concurrent fetches. An account gets a part of them; the last ones are reserved for accounts without one. */
const FETCHES = 64
const FETCHES_OF_ACCOUNT = 16
const WORTH_KEEPING = 0.9
/** Files whose encoded form was discarded. Above this number, the list is cleared and all are tried again. */
const MAX_WITHOUT_GAIN = 50_000

/** A fetch in progress. Each waiter holds one use of the entry when it arrives. */
type Arrival = { waiting: number; entry: Promise<Entry> }

type State = CacheOptions & {
  kept: KeptFiles
  encoder: Encoder
  turns: Semaphore
  arrivals: Map<string, Arrival>
  withoutGain: Set<string>
  closing: AbortController
}

/** Opens the cache with the files on disk, so that it serves them without fetching. Evicts files above the budget. */
export async function openContentCache(options: CacheOptions): Promise<ContentCache> {
  const { folder, budgetBytes, memoryBytes = HOT_BYTES } = options
  const state: State = {
    ...options,
    kept: await openKeptFiles(folder, budgetBytes, memoryBytes),
    encoder: openEncoder(options.onError),
    turns: createSemaphore({
      slots: FETCHES,
      canAcquire: (_, inUse, free) => inUse === 0 || (inUse < FETCHES_OF_ACCOUNT && free > FETCHES_OF_ACCOUNT),
    }),
    arrivals: new Map(),
    withoutGain: new Set(),
    closing: new AbortController(),
  }
  const { kept, encoder, arrivals, closing } = state
  return {
    open: (account, file) => openPlain(state, account, file),
    async openEncoded(account, sha256, encoding) {
      const entry = kept.use(keyOf(account, sha256, encoding))
      return entry && (await kept.open(entry))
    },
    formsOf: (account, sha256) =>
      ENCODINGS.flatMap((encoding) => {
        const entry = kept.get(keyOf(account, sha256, encoding))
        return entry === undefined ? [] : { encoding, size: entry.size }
      }),
    put: (account, file, bytes) => put(state, account, file, bytes),
    has: (account, sha256) => kept.get(keyOf(account, sha256)) !== undefined,
    remove: (account, sha256) => remove(state, account, sha256),
    async encode(account, sha256, encoding) {
      const key = keyOf(account, sha256, encoding)
      if (state.withoutGain.has(key)) return
      await encoder.run(account, key, () => createForm(state, account, sha256, encoding))
    },
    used: kept.used,
    async close() {
      closing.abort()
      await encoder.close()
      await Promise.allSettled([...arrivals.values()].map(({ entry }) => entry))
    },
  }
}

async function put(state: State, account: string, file: ContentFile, bytes: Buffer): Promise<boolean> {
  if (state.kept.use(keyOf(account, file.sha256))?.size === file.size) return false
  letGo(await arrivalOf({ ...state, fetch: async () => pieceOf(bytes) }, account, file))
  return true
}

async function remove({ kept }: State, account: string, sha256: string): Promise<void> {
  for (const encoding of [undefined, ...ENCODINGS]) {
    const entry = kept.get(keyOf(account, sha256, encoding))
    if (entry !== undefined) await kept.drop(entry)
  }
}

async function* pieceOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

async function openPlain(state: State, account: string, file: ContentFile): Promise<OpenedFile> {
  const { kept } = state
  const key = keyOf(account, file.sha256)
  const before = kept.use(key)
  const opened = before?.size === file.size ? await kept.open(before) : undefined
  if (opened !== undefined) return opened
  const arrived = await arrivalOf(state, account, file)
  try {
    const whole = await kept.open(arrived)
    if (whole === undefined) throw new ContentUnavailable('damaged', key)
    return whole
  } finally {
    letGo(arrived)
  }
}

/** Returns the entry of a file after its fetch, with one use held for the caller. */
async function arrivalOf(state: State, account: string, file: ContentFile): Promise<Entry> {
  const name = `${keyOf(account, file.sha256)} ${file.size}`
  const arrival = state.arrivals.getOrInsertComputed(name, () => {
    const made: Arrival = { waiting: 0, entry: Promise.resolve().then(() => arrive(state, account, file, made)) }
    made.entry.catch(() => {}).finally(() => state.arrivals.delete(name))
    return made
  })
  arrival.waiting++
  return await arrival.entry
}

async function arrive(state: State, account: string, file: ContentFile, arrival: Arrival): Promise<Entry> {
  const { turns, kept, timeoutMs = TIMEOUT_MS } = state
  const key = keyOf(account, file.sha256)
  if (!(await turns.acquire(account, timeoutMs))) throw new ContentUnavailable('busy', key)
  try {
    // If several requests found the file damaged, one may have fetched it already.
    const there = kept.get(key)
    const isThere = there?.size === file.size
    if (isThere) there.uses++
    // A start found it in another size: its space counts until it is dropped.
    else if (there !== undefined) await kept.drop(there)
    const entry = isThere ? there : await fetchWhole(state, account, file)
    entry.uses += arrival.waiting - 1
    return entry
  } finally {
    turns.release(account)
  }
}

/** Returns the entry with one use held. */
function fetchWhole(state: State, account: string, file: ContentFile): Promise<Entry> {
  const key = keyOf(account, file.sha256)
  if (state.closing.signal.aborted) throw new ContentUnavailable('closed', key)
  const pieces = verified(fetched(state, account, file), { ...file, key })
  return state.kept.write(account, key, file.size, pieces, () => file.size)
}

async function* fetched(state: State, account: string, file: ContentFile): AsyncGenerator<Buffer> {
  const { fetch, closing, timeoutMs = TIMEOUT_MS } = state
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, closing.signal])
  try {
    yield* withoutStalls(() => fetch(account, file, signal), {
      maxMs: timeoutMs,
      signal: closing.signal,
      key: keyOf(account, file.sha256),
    })
  } finally {
    stop.abort()
  }
}

/** Reads the plain form from disk, not memory, to detect a corruption that left the size unchanged. */
async function createForm(state: State, account: string, sha256: string, encoding: Encoding): Promise<void> {
  const { kept, withoutGain } = state
  const key = keyOf(account, sha256, encoding)
  const plain = kept.get(keyOf(account, sha256))
  if (plain === undefined || plain.size > MAX_ENCODED || kept.get(key) !== undefined) return
  const opened = await kept.openOnDisk(plain)
  if (opened === undefined) return
  const { size } = plain
  const max = Math.floor(size * WORTH_KEEPING)
  const read = verified(piecesOf(opened), { sha256, size, key: plain.key })
  const encoded = encodePieces(read, encoding, { size, max })
  try {
    letGo(await kept.write(account, key, max, encoded.pieces, encoded.size))
  } catch (error) {
    if (error instanceof NoGain) {
      if (withoutGain.size >= MAX_WITHOUT_GAIN) withoutGain.clear()
      withoutGain.add(key)
    } else if (error instanceof ContentUnavailable) {
      if (error.why === 'mismatch') await kept.drop(plain)
      // Without room for it, visitors still get the plain form.
      if (error.why !== 'full' && error.why !== 'too_large') throw error
    } else throw error
  } finally {
    opened.close()
  }
}
