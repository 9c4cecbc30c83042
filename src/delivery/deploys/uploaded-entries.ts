/** Resolves a file list to the entries of an upload: by content, with link targets. docs/deploying-sites.md: File lists. */
import type { Ctx } from '../../context.ts'
import { pauseWhenBusy } from '../../platform/base/event-loop.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'
import type { FileStore } from '../../platform/files/file-store.ts'
import { unpackArchive } from '../archive/unpack.ts'
import { addError, createReport, type Report, sentencesOf } from '../outputs/faults.ts'
import { shown } from '../outputs/paths.ts'
import type { UploadEntry } from '../outputs/tree.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { type StoredFile, slicesOf } from '../uploads/blobs.ts'
import type { FileList } from './file-list.ts'

type ListedEntry = FileList['entries'][number]

const TOGETHER = 16
const MAX_TARGET_BYTES = 4 * OUTPUT_LIMITS.path

/** Returns the entries of a list, unpacks its archive into the store, or returns error sentences. Throws ArchiveError. */
export async function uploadedEntries(
  ctx: Pick<Ctx, 'db' | 'account'>,
  list: FileList,
  store: FileStore,
): Promise<UploadEntry[] | { faults: string[] }> {
  const report = createReport()
  const stored = await storedFiles(ctx, list.wanted)
  const reading: Reading = { accountId: ctx.account.id, store, stored, report }
  const parts = await inGroups(list.parts, (part) => entryOf(reading, part))
  const entries = await inGroups(list.entries, (entry) => entryOf(reading, entry))
  if (report.faults.length > 0) return { faults: sentencesOf(report) }
  const digests = parts.map((part) => part!.digest)
  const packed = digests.length > 0 ? await unpackArchive(store, ctx.account.id, digests) : []
  return [...packed, ...entries.filter((entry) => entry !== undefined)]
}

type Reading = { accountId: string; store: FileStore; stored: ReadonlyMap<string, StoredFile>; report: Report }

async function storedFiles({ db, account }: Pick<Ctx, 'db' | 'account'>, sha1s: readonly string[]) {
  const stored = new Map<string, StoredFile>()
  for (const names of slicesOf(sha1s)) {
    const rows = await db
      .selectFrom('upload')
      .innerJoin('blob', 'blob.id', 'upload.blob_id')
      .select(['upload.sha1', 'blob.sha256', 'blob.size'])
      .where('upload.account_id', '=', account.id)
      .where('upload.sha1', 'in', jsonArrayValues(db, names))
      .where('blob.condemned_at', 'is', null)
      .execute()
    for (const { sha1, sha256, size } of rows) stored.set(sha1, { sha256, size: Number(size) })
    await pauseWhenBusy()
  }
  return stored
}

async function entryOf(reading: Reading, entry: ListedEntry): Promise<UploadEntry | undefined> {
  const { path, kind, mode } = entry
  if (kind === 'folder') return { path, kind, mode, size: 0, digest: '' }
  const file = await fileOf(reading, entry)
  if (file === undefined) return undefined
  const { sha256: digest, size } = file
  if (kind === 'file') return { path, kind, mode, size, digest }
  const target = await targetOf(reading, entry, file)
  return target === undefined ? undefined : { path, kind, mode, size, digest, target }
}

async function fileOf({ accountId, store, stored, report }: Reading, { path, size, content }: ListedEntry) {
  if (content !== undefined && 'bytes' in content) {
    const announced = { sha1: undefined, size: content.bytes.length, max: OUTPUT_LIMITS.fileBytes }
    return store.put(accountId, [content.bytes], announced)
  }
  const file = stored.get(content!.sha1)
  if (file === undefined) return addError(report, shown(path), 'sha', 'is of no file that is there. Deploy again.')
  if (size === undefined || size === file.size) return file
  return addError(report, shown(path), 'size', `is ${size}, and the file that was uploaded has ${file.size} bytes.`)
}

async function targetOf({ accountId, store, report }: Reading, { path, content }: ListedEntry, file: StoredFile) {
  if (file.size > MAX_TARGET_BYTES) return addError(report, shown(path), '', 'is a link to a path that is too long.')
  if ('bytes' in content!) return content.bytes.toString('utf8')
  const bytes = await contentOf(store, accountId, file.sha256)
  if (bytes === undefined) return addError(report, shown(path), '', 'was removed meanwhile. Deploy again.')
  return bytes.toString('utf8')
}

/** Reads a small file. Returns undefined if it is missing. */
export async function contentOf(store: FileStore, accountId: string, sha256: string): Promise<Buffer | undefined> {
  const stream = await store.open(accountId, sha256)
  return stream && Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>))
}

/** Maps items in concurrent groups and yields in between. */
async function inGroups<T, R>(all: readonly T[], make: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < all.length; at += TOGETHER) {
    results.push(...(await Promise.all(all.slice(at, at + TOGETHER).map(make))))
    await pauseWhenBusy()
  }
  return results
}
