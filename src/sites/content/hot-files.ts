/** In-memory cache of small files, so that they need no file handle and no read. docs/deploying-sites.md: File cache. */

/** The read-only bytes of a file. They count against the budget until released, even after the file was dropped. */
export type Lent = { bytes: Buffer; giveBack(): void }

export type HotFiles = {
  get(key: string): Lent | undefined
  /** Reads and lends a missing file, once for concurrent callers. Returns undefined without room for it. Throws what `read` throws. */
  load(key: string, size: number, read: () => Promise<Buffer>): Promise<Lent | undefined>
  drop(key: string): void
}

export const MAX_HOT = 256 * 1024
export const HOT_BYTES = 32 * 1024 ** 2
/** Minimum charge per file: its entry needs memory too. */
const BLOCK = 4096
/** Files checked for eviction per request for room. */
const MAX_LOOKED_AT = 64

type Hot = { size: number; bytes: Promise<Buffer>; there?: Buffer; uses: number; isDropped: boolean }

/** `files` in least-recently-used order. `held`: bytes of these files and of dropped files that are still lent. */
type State = { files: Map<string, Hot>; held: number; maxBytes: number }

/** Creates an in-memory cache. `maxBytes` includes files that are lent to slow visitors. */
export function createHotFiles(maxBytes: number): HotFiles {
  const state: State = { files: new Map(), held: 0, maxBytes }
  const { files } = state
  return {
    drop: (key) => drop(state, key),
    get(key) {
      const file = files.get(key)
      if (file?.there === undefined) return undefined
      files.delete(key)
      files.set(key, file)
      file.uses++
      return lend(state, file, file.there)
    },
    async load(key, bytes, read) {
      const size = Math.max(bytes, BLOCK)
      const file = files.get(key) ?? (hasRoom(state, size) ? add(state, key, size, read) : undefined)
      if (file === undefined) return undefined
      file.uses++
      try {
        return lend(state, file, await file.bytes)
      } catch (error) {
        giveBack(state, file)
        throw error
      }
    },
  }
}

function add(state: State, key: string, size: number, read: () => Promise<Buffer>): Hot {
  const file: Hot = { size, bytes: read(), uses: 0, isDropped: false }
  state.files.set(key, file)
  state.held += size
  file.bytes.then(
    (bytes) => {
      file.there = bytes
    },
    () => {
      if (state.files.get(key) === file) drop(state, key)
    },
  )
  return file
}

function hasRoom(state: State, size: number): boolean {
  let looked = 0
  for (const [key, file] of state.files) {
    if (state.held + size <= state.maxBytes || looked++ >= MAX_LOOKED_AT) break
    if (file.uses === 0) drop(state, key)
  }
  return state.held + size <= state.maxBytes
}

function drop(state: State, key: string): void {
  const file = state.files.get(key)
  if (file === undefined) return
  state.files.delete(key)
  file.isDropped = true
  if (file.uses === 0) state.held -= file.size
}

function lend(state: State, file: Hot, bytes: Buffer): Lent {
  let isLent = true
  return {
    bytes,
    giveBack() {
      if (isLent) giveBack(state, file)
      isLent = false
    },
  }
}

function giveBack(state: State, file: Hot): void {
  file.uses--
  if (file.isDropped && file.uses === 0) state.held -= file.size
}
