/** Unpacks an archive into the file store by content, like separate uploads. docs/deploying-sites.md: Archives. */
import { mapInSlices } from '../../platform/base/event-loop.ts'
import type { FileStore } from '../../platform/files/file-store.ts'
import { foldersAbove } from '../outputs/paths.ts'
import type { UploadEntry } from '../outputs/tree.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { type ArchiveEntry, readArchive } from './archive.ts'
import { ArchiveError } from './fault.ts'

/** Small files are written concurrently, since each is synced and an archive has thousands. */
const SMALL_BYTES = 16 * 1024
const TOGETHER = 16

/**
 * Unpacks the parts of an archive in order; they are files of the account by SHA-256. Returns the entries for `readOutput`,
 * without directories that contain entries. Throws ArchiveError: the sweep removes files stored until then.
 */
export async function unpackArchive(
  store: FileStore,
  accountId: string,
  parts: readonly string[],
): Promise<UploadEntry[]> {
  const entries: UploadEntry[] = []
  const small: ArchiveEntry[] = []
  const keepSmall = async () => {
    entries.push(...(await Promise.all(small.splice(0).map((entry) => keep(store, accountId, entry)))))
  }
  for await (const entry of readArchive(joined(store, accountId, parts))) {
    if (entry.kind === 'folder') {
      entries.push({ path: entry.path, kind: 'folder', size: 0, mode: entry.mode, digest: '' })
    } else if (entry.size > SMALL_BYTES) {
      entries.push(await keep(store, accountId, entry))
    } else {
      small.push({ ...entry, body: [Buffer.concat(await Array.fromAsync(entry.body))] })
      if (small.length === TOGETHER) await keepSmall()
    }
  }
  await keepSmall()
  return withoutFilledFolders(entries)
}

async function* joined(store: FileStore, accountId: string, parts: readonly string[]): AsyncGenerator<Buffer> {
  for (const sha256 of parts) {
    const part = await store.open(accountId, sha256)
    if (part === undefined) throw new ArchiveError('A part of the archive is missing. Deploy again.')
    yield* part as AsyncIterable<Buffer>
  }
}

async function keep(
  store: FileStore,
  accountId: string,
  { path, kind, mode, size, body, target }: ArchiveEntry,
): Promise<UploadEntry> {
  const announced = { sha1: undefined, size, max: OUTPUT_LIMITS.fileBytes }
  const { sha256 } = await store.put(accountId, body, announced)
  return { path, kind, size, mode, digest: sha256, ...(target !== undefined && { target }) }
}

/** An archive lists every directory, an upload only empty ones. */
async function withoutFilledFolders(entries: UploadEntry[]): Promise<UploadEntry[]> {
  const empty = new Set(entries.filter(({ kind }) => kind === 'folder').map(({ path }) => path))
  await mapInSlices(entries, ({ path }) => {
    for (const directory of foldersAbove(path)) empty.delete(directory)
  })
  return entries.filter(({ kind, path }) => kind !== 'folder' || empty.has(path))
}
