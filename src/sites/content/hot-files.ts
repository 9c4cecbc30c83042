/** Small files whole in memory, those that were used last: a visitor who wants one costs no handle and no read. docs/deploying-sites.md: Cache of files. */

/** The bytes of a file, which nobody may change. They count until they are given back, also where the file is dropped before. */
export type Lent = { bytes: Buffer; giveBack(): void }

export type HotFiles = {
  /** Lends a file, which counts as used now. */
  get(key: string): Lent | undefined
  /** Reads a file that is not there, once for all who want it meanwhile, and lends it. Undefined where there is no room for it. Throws what `read` throws. */
  load(key: string, size: number, read: () => Promise<Buffer>): Promise<Lent | undefined>
  /** Forgets a file. */
  drop(key: string): void
}

/** A larger file is read from the disk each time. */
export const MAX_HOT = 256 * 1024
export const HOT_BYTES = 32 * 1024 ** 2
/** What a file counts at least: its entry takes memory too. */
const BLOCK = 4096
/** Files that are looked at for one that nobody has, to make room. */
const MAX_LOOKED_AT = 64

type Hot = { size: number; bytes: Promise<Buffer>; there?: Buffer; uses: number; isDropped: boolean }

/** `files` in the order of their last use. `held`: what they count, and those that are dropped and lent. */
type State = { files: Map<string, Hot>; held: number; mostBytes: number }

/** Nothing is there yet. `mostBytes`: for all files together, those that are lent to slow visitors among them. */
export function openHotFiles(mostBytes: number): HotFiles {
  const state: State = { files: new Map(), held: 0, mostBytes }
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
    if (state.held + size <= state.mostBytes || looked++ >= MAX_LOOKED_AT) break
    if (file.uses === 0) drop(state, key)
  }
  return state.held + size <= state.mostBytes
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
