/**
 * The snapshot on disk, so that a sites server answers after its own restart while the control plane is away. A whole snapshot is written beside and
 * takes the place of the file; changes are appended behind it, each list with its end. What a crash cut off is dropped when the file is opened.
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
import { openSiteIndex, type SiteIndex } from './site-index.ts'
import { textLines } from './text-lines.ts'

const NAME = 'hosts.ndjson'
const PIECE = 64 * 1024
/** Changes may take as much as the snapshot behind which they stand, and at least so much, before all is written anew. */
const MIN_COMPACTED = 1024 ** 2

/** `savedAt`: when the file last changed, in ms. */
type Loaded = { index: SiteIndex; version: string; savedAt: number }

export type SnapshotFile = {
  /** What the file holds; undefined where there is none, or none that this program reads. Call it once, before anything is written. */
  load(): Promise<Loaded | undefined>
  /** Appends changes. Throws what the disk says; all must be replaced then. */
  append(lines: readonly FactLine[], version: string): Promise<void>
  /** Whether all should be written anew: changes take too much of the file, or the last ones could not be appended. */
  needsReplacing(): boolean
  /** Writes all. Throws what the disk says, and leaves the former file then. */
  replace(lines: Iterable<FactLine>, version: string): Promise<void>
  close(): Promise<void>
}

/** The file in this folder, which is made where it is not there. What a killed process left unfinished in it is removed. */
export function openSnapshotFile(folder: string): SnapshotFile {
  createDirectory(folder)
  removeStaleTemporaryFiles(folder, NAME, Number.NEGATIVE_INFINITY)
  const file = join(folder, NAME)
  let handle: FileHandle | undefined
  /** Where the next list is written, and where the whole snapshot ends. */
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
      return { index: read.index, version: read.version, savedAt }
    },
    async append(lines, version) {
      const bytes = Buffer.from([...lines, endOf(lines.length, version)].map(textOf).join(''))
      isBroken = true
      // A power cut may lose it: the control plane gives it again.
      const { bytesWritten } = await handle!.write(bytes, 0, bytes.length, length)
      if (bytesWritten < bytes.length)
        throw new Error(`only ${bytesWritten} of ${bytes.length} bytes could be appended to ${file}`)
      isBroken = false
      length += bytes.length
    },
    async replace(lines, version) {
      await writeStreamAtomically(file, piecesOf(lines, version))
      await close()
      isBroken = true
      handle = await open(file, 'r+')
      whole = (await handle.stat()).size
      length = whole
      isBroken = false
    },
  }
}

function* piecesOf(lines: Iterable<FactLine>, version: string): Generator<Buffer> {
  let text = textOf({ kind: 'head', protocol: SNAPSHOT_PROTOCOL, all: true })
  let count = 0
  for (const line of lines) {
    text += textOf(line)
    count++
    if (text.length < PIECE) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text + textOf(endOf(count, version)))
}

function textOf(line: SnapshotLine): string {
  return `${JSON.stringify(line)}\n`
}

function endOf(lines: number, version: string): SnapshotLine {
  return { kind: 'end', version, lines, more: false }
}

type Read = { index: SiteIndex; version: string; length: number; whole: number }

/** All up to the last list that is whole; undefined where the first one is not. Throws what the disk says. */
async function readSnapshot(file: string): Promise<Read | undefined> {
  const index = openSiteIndex()
  const read: Read = { index, version: '', length: 0, whole: 0 }
  let facts: FactLine[] = []
  try {
    for await (const texts of textLines(createReadStream(file))) {
      for (const { text, end } of texts) {
        const line = readLine(text)
        if ((line.kind === 'head') !== (read.length === 0)) return complete(read)
        if (line.kind === 'head') read.length = end
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
    // A line that was cut off, or is of another version. What stands before it counts.
    if (!(error instanceof BadSnapshot)) throw error
  }
  return complete(read)
}

function complete(read: Read): Read | undefined {
  return read.version === '' ? undefined : read
}
