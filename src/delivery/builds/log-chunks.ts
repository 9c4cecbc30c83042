/** Chunks of a log: lines as compressed JSON in a file, with a row that says where they are. docs/building.md: Logs. */
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { insertMissingRows } from '../../platform/db/bulk.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { releaseChunks } from '../../projects/deployments/builds.ts'
import { contentOf } from '../deploys/uploaded-entries.ts'
import type { LogLine } from '../protocol/runner-protocol.ts'
import type { StoredFile } from '../uploads/blobs.ts'
import { countRoom, roomFor } from '../uploads/usage.ts'

export type StoredLine = LogLine & { serial: number }
export type StoredChunk = { first: number; lines: number; account_id: string; sha256: string }

/** TABLE when chunks at the end of a log are merged: their number, and the size that they may have together. */
export const MERGE = { chunks: 16, lines: 4000, bytes: 256 * 1024 } as const

/** Returns the chunks at the end of a log that become one with the next lines, in their order. None: they are few, or large. */
export async function chunksToMerge(db: Queries, deploymentId: string, more: number): Promise<StoredChunk[]> {
  const rows = await db
    .selectFrom('build_log')
    .innerJoin('blob', 'blob.id', 'build_log.blob_id')
    .select(['build_log.first_serial', 'build_log.lines', 'blob.account_id', 'blob.sha256', 'blob.size'])
    .where('deployment_id', '=', deploymentId)
    .orderBy('first_serial', 'desc')
    .limit(MERGE.chunks)
    .execute()
  const chunks: StoredChunk[] = []
  let [lines, bytes] = [more, 0]
  for (const { size, first_serial, ...row } of rows) {
    lines += Number(row.lines)
    bytes += Number(size)
    if (lines > MERGE.lines || bytes > MERGE.bytes) break
    chunks.unshift({ ...row, lines: Number(row.lines), first: Number(first_serial) })
  }
  return chunks.length < MERGE.chunks - 1 ? [] : chunks
}

/** Returns the lines of chunks, in their order. */
export async function linesOfChunks(files: Deps['files'], chunks: readonly StoredChunk[]): Promise<LogLine[]> {
  const lines: LogLine[] = []
  for (const chunk of chunks) for (const { serial: _, ...line } of await readChunk(files, chunk)) lines.push(line)
  return lines
}

const compress = promisify(gzip)
const decompress = promisify(gunzip) as (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>
/** Lines as JSON, where each character may take six. */
const MAX_CHUNK_BYTES = 256 * 1024 * 1024

/** Stores the file of a chunk. */
export async function putChunk({ files }: Deps, accountId: string, lines: readonly LogLine[]): Promise<StoredFile> {
  const texts = await mapInSlices(lines, (line) => `${JSON.stringify(line)}\n`)
  const bytes = await compress(texts.join(''))
  return files.put(accountId, [bytes], { sha1: undefined, size: bytes.length, max: bytes.length })
}

/** Reads the lines of a chunk. Throws where its file is missing. */
export async function readChunk(
  files: Deps['files'],
  { first, account_id, sha256 }: Pick<StoredChunk, 'first' | 'account_id' | 'sha256'>,
): Promise<StoredLine[]> {
  const bytes = await contentOf(files, account_id, sha256)
  if (bytes === undefined) throw new Error(`the log ${sha256} of ${account_id} is not there`)
  const text = (await decompress(bytes, { maxOutputLength: MAX_CHUNK_BYTES })).toString()
  let serial = first
  // Long lines that are alike are a small file.
  return mapInSlices(text.trimEnd().split('\n'), (line) => ({ ...(JSON.parse(line) as LogLine), serial: serial++ }))
}

/** Adds the row of a stored chunk, and counts its file. A log of a full account never fails: it ends before, in log.ts. */
export async function indexChunk(
  db: Queries,
  build: Row<'build'>,
  { first, lines }: { first: number; lines: readonly LogLine[] },
  file: StoredFile,
): Promise<void> {
  const { account_id, deployment_id } = build
  const { sha256, size } = file
  const added = await insertMissingRows(db, 'blob', [{ account_id, sha256, size, condemned_at: null }])
  if (added.length > 0) await countRoom(db, account_id, roomFor(size))
  const blob = await db
    .updateTable('blob')
    .set({ refs: sql<number>`refs + 1`, condemned_at: null })
    .where('account_id', '=', account_id)
    .where('sha256', '=', sha256)
    .returning('id')
    .executeTakeFirstOrThrow()
  const last_date = lines.at(-1)!.date
  const row = { deployment_id, first_serial: first, lines: lines.length, last_date, blob_id: Number(blob.id) }
  await db.insertInto('build_log').values(row).execute()
}

/** Deletes the rows of the chunks from a serial on, and releases their files. */
export async function deleteChunks(db: Queries, deploymentId: string, first: number): Promise<void> {
  const deleted = await db
    .deleteFrom('build_log')
    .where('deployment_id', '=', deploymentId)
    .where('first_serial', '>=', first)
    .returning('blob_id')
    .execute()
  await releaseChunks(db, deleted)
}
