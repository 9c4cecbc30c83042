/**
 * The snapshot on disk, so that a sites server can start while the control plane is unavailable. Full snapshots are written
 * atomically; changes are appended, each list with an end mark. Opening the file drops what a crash truncated.
 */
import { createReadStream, existsSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import {
  BadSnapshot,
  type FactLine,
  readLine,
  SNAPSHOT_PROTOCOL,
  type SnapshotLine,
} from '../../delivery/protocol/snapshot.ts'
import { removeStaleTemporaryFiles, writeStreamAtomically } from '../../platform/adapters/atomic-file.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import { createSiteIndex, type SiteIndex } from './site-index.ts'
import { textLines, textPieces } from './text-lines.ts'

const NAME = 'hosts.ndjson'
/** Appended changes may be as large as the snapshot, and at least this size, before the file is rewritten. */
const MIN_COMPACTED = 1024 ** 2

/** `savedAt`: time of the last write in ms. */
type Loaded = { index: SiteIndex; version: string; suffix: string | undefined; savedAt: number }

export type SnapshotFile = {
  /** Loads the file. Returns undefined if it is missing or unreadable. Call it once, before any write. */
  load(): Promise<Loaded | undefined>
  /** Appends changes. On a disk error it throws, and the file must be replaced. */
  append(lines: readonly FactLine[], version: string): Promise<void>
  /** Returns whether to rewrite the file: too many changes, or the last append failed. */
  needsReplacing(): boolean
  /** Replaces the file atomically. Throws disk errors and keeps the former file. */
  replace(lines: Iterable<FactLine>, version: string, suffix?: string): Promise<void>
  close(): Promise<void>
}

/** Opens the snapshot file of a directory and creates the directory if missing. Removes unfinished files of a killed process. */
export function openSnapshotFile(directory: string): SnapshotFile {
  createDirectory(directory)
  removeStaleTemporaryFiles(directory, NAME, Number.NEGATIVE_INFINITY)
  const file = join(directory, NAME)
  let handle: FileHandle | undefined
  /** Offsets of the next list and of the end of the full snapshot. */
  let [length, whole] = [0, 0]
  let isBroken = true
  const close = async () => {
    await handle?.close()
    handle = undefined
  }

  return {
    close,
    needsReplacing: () => isBroken || length - whole > Math.max(whole, MIN_COMPACTED),
    async load() {
      if (!existsSync(file)) return undefined
      const savedAt = statSync(file).mtimeMs
      const read = await readSnapshot(file)
      if (read === undefined) return undefined
      whole = read.whole
      length = read.length
      handle = await open(file, 'r+')
      await handle.truncate(length)
      isBroken = false
      return { index: read.index, version: read.version, suffix: read.suffix, savedAt }
    },
    async append(lines, version) {
      const bytes = Buffer.from([...lines, endOf(lines.length, version)].map(textOf).join(''))
      isBroken = true
      // A power failure may lose it: the control plane sends it again.
      const { bytesWritten } = await handle!.write(bytes, 0, bytes.length, length)
      if (bytesWritten < bytes.length)
        throw new Error(`only ${bytesWritten} of ${bytes.length} bytes could be appended to ${file}`)
      isBroken = false
      length += bytes.length
    },
    async replace(lines, version, suffix) {
      await writeStreamAtomically(file, textPieces(textsOf(lines, version, suffix)))
      await close()
      isBroken = true
      handle = await open(file, 'r+')
      whole = (await handle.stat()).size
      length = whole
      isBroken = false
    },
  }
}

function* textsOf(lines: Iterable<FactLine>, version: string, suffix: string | undefined): Generator<string> {
  yield textOf({ kind: 'head', protocol: SNAPSHOT_PROTOCOL, all: true, ...(suffix !== undefined && { suffix }) })
  let count = 0
  for (const line of lines) {
    yield textOf(line)
    count++
  }
  yield textOf(endOf(count, version))
}

function textOf(line: SnapshotLine): string {
  return `${JSON.stringify(line)}\n`
}

function endOf(lines: number, version: string): SnapshotLine {
  return { kind: 'end', version, lines, more: false }
}

type Read = { index: SiteIndex; version: string; suffix: string | undefined; length: number; whole: number }

/** Reads up to the last complete list; undefined if the first one is incomplete. Throws disk errors. */
async function readSnapshot(file: string): Promise<Read | undefined> {
  const index = createSiteIndex()
  const read: Read = { index, version: '', suffix: undefined, length: 0, whole: 0 }
  let facts: FactLine[] = []
  try {
    for await (const texts of textLines(createReadStream(file))) {
      for (const { text, end } of texts) {
        const line = readLine(text)
        if ((line.kind === 'head') !== (read.length === 0)) return complete(read)
        if (line.kind === 'head') Object.assign(read, { suffix: line.suffix, length: end })
        else if (line.kind !== 'end') facts.push(line)
        else {
          if (line.lines !== facts.length) return complete(read)
          for (const fact of facts) index.apply(fact)
          facts = []
          Object.assign(read, { version: line.version, length: end, whole: read.whole || end })
        }
      }
    }
  } catch (error) {
    // A truncated line, or one of another version. Lines before it count.
    if (!(error instanceof BadSnapshot)) throw error
  }
  return complete(read)
}

function complete(read: Read): Read | undefined {
  return read.version === '' ? undefined : read
}
