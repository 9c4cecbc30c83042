/** Logs of builds: compressed chunks in the file store, with an index in the database. Lines are never rows. docs/building.md: Logs. */
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import type { LogBatch, LogLine } from '../protocol/runner-protocol.ts'
import { roomLeft } from '../uploads/usage.ts'
import {
  chunksToMerge,
  deleteChunks,
  indexChunk,
  linesOfChunks,
  putChunk,
  readChunk,
  type StoredLine,
} from './log-chunks.ts'
import { findLease, type Holder, isHeldBy } from './queue.ts'

/** The text of a log, with `LINE_BYTES` for each line. A runner sends 16 MiB of output, and a few lines of its own. */
export const MAX_LOG_BYTES = 17 * 1024 * 1024
/** More than that, for lines of the runner itself, such as the reason of a failure, also in a later attempt. */
const MORE_BYTES = 1024 * 1024
const LINE_BYTES = 32
const TOO_LONG = 'The log has more than 16 MiB. Later output is not kept.'
const NO_ROOM = 'The account has no room for more files. Later output is not kept. Remove deployments first.'

/** `gap`: the batch begins behind the next line, `acknowledged`. */
type Appended = { outcome: 'lease_lost' } | { outcome: 'ok' | 'gap'; acknowledged: number }

/** Stores lines of a runner, the file first and then the rows. Lines that are stored already are skipped. */
export async function appendLog(deps: Deps, holder: Holder, { first, lines }: LogBatch): Promise<Appended> {
  const build = await findLease(deps.db.read, holder)
  if (build === undefined) return { outcome: 'lease_lost' }
  const acknowledged = Number(build.log_acknowledged)
  if (first > acknowledged) return { outcome: 'gap', acknowledged }
  const fresh = lines.slice(acknowledged - first)
  if (fresh.length === 0) return { outcome: 'ok', acknowledged }
  const room = await roomLeft({ db: deps.db.read, deps }, build.account_id)
  const isStored = await store(deps, build, holder, { counted: fresh.length, ...withinBudget(build, fresh, room) })
  if (isStored) return { outcome: 'ok', acknowledged: acknowledged + fresh.length }
  // The same batch came twice, or the lease was lost meanwhile.
  const now = await findLease(deps.db.read, holder)
  return now === undefined ? { outcome: 'lease_lost' } : { outcome: 'ok', acknowledged: Number(now.log_acknowledged) }
}

/** Adds lines of the control plane, which no runner counts. */
export async function appendOwnLines(
  deps: Deps,
  build: Row<'build'>,
  holder: Holder,
  texts: readonly string[],
): Promise<void> {
  const date = Math.max(Number(build.log_date), deps.clock.now())
  const lines = texts.map((text): LogLine => ({ type: 'stderr', date, text }))
  await store(deps, build, holder, { counted: 0, kept: lines, bytes: LINE_BYTES * lines.length })
}

/** `counted`: lines of the runner, kept or not. */
type Chunk = { counted: number; kept: LogLine[]; bytes: number }

/**
 * Cuts lines where the log or the account is full. The log ends there for good, with a line that says why. `room`: what is left of
 * the account, which builds that run at once exceed by a request each.
 */
function withinBudget(build: Row<'build'>, lines: readonly LogLine[], room: number): Omit<Chunk, 'counted'> {
  const kept: LogLine[] = []
  const before = Number(build.log_bytes)
  const end = Math.min(MAX_LOG_BYTES, before + room)
  let used = before
  let date = Number(build.log_date)
  for (const { type, ...line } of lines) {
    const text = withoutControls(line.text)
    // A client resumes at a date, so dates never decrease.
    date = Math.max(date, line.date)
    const size = Buffer.byteLength(text) + LINE_BYTES
    if (used < MAX_LOG_BYTES && used + size > end) {
      kept.push({ type: 'stderr', date, text: end < MAX_LOG_BYTES ? NO_ROOM : TOO_LONG })
      used = MAX_LOG_BYTES
    }
    if (used + size > MAX_LOG_BYTES + (type === 'stdout' ? 0 : MORE_BYTES)) continue
    kept.push({ type, date, text })
    used += size
  }
  return { kept, bytes: used - before }
}

/** A terminal must not obey a log: of control characters tabs and colors stay. */
function withoutControls(text: string): string {
  return text
    .replaceAll(/\x1b(?!\[[0-9;]{0,32}m)/g, '')
    .replaceAll(/[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f]/g, '')
    .toWellFormed()
}

/** Small chunks at the end of the log become one with the new lines, so that its rows are few. */
async function store(deps: Deps, build: Row<'build'>, holder: Holder, { counted, kept, bytes }: Chunk) {
  const merged = kept.length === 0 ? [] : await chunksToMerge(deps.db.read, build.deployment_id, kept.length)
  const before = await linesOfChunks(deps.files, merged)
  // A chunk of another attempt may have been merged meanwhile: then the statement below changes nothing.
  const chunk = { first: merged[0]?.first ?? Number(build.log_lines), lines: [...before, ...kept] }
  const file = kept.length === 0 ? undefined : await putChunk(deps, build.account_id, chunk.lines)
  return deps.db.write(async (db) => {
    const { numUpdatedRows } = await db
      .updateTable('build')
      .set({
        log_acknowledged: sql<number>`log_acknowledged + ${counted}`,
        log_lines: sql<number>`log_lines + ${kept.length}`,
        log_bytes: sql<number>`log_bytes + ${bytes}`,
        ...(kept.length > 0 && { log_date: kept.at(-1)!.date }),
      })
      .where(isHeldBy(holder))
      .where('log_acknowledged', '=', Number(build.log_acknowledged))
      .where('log_lines', '=', Number(build.log_lines))
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    if (merged.length > 0) await deleteChunks(db, build.deployment_id, chunk.first)
    if (file !== undefined) await indexChunk(db, build, chunk, file)
    return true
  }, build.account_id)
}

const CHUNKS_TOGETHER = 16

/** Yields stored lines from a serial on, chunk by chunk. `since`: only chunks with a line of that time (ms) or later. */
export async function* readLog(
  { db, files }: Pick<Deps, 'db' | 'files'>,
  deploymentId: string,
  { from = 0, since = 0 },
): AsyncGenerator<StoredLine[]> {
  for (let next = from; ; ) {
    const rows = await db.read
      .selectFrom('build_log')
      .innerJoin('blob', 'blob.id', 'build_log.blob_id')
      .select(['build_log.first_serial', 'build_log.lines', 'blob.account_id', 'blob.sha256'])
      .where('deployment_id', '=', deploymentId)
      // Chunks are merged while a log is read, so the next line may be within one.
      .where(sql<boolean>`first_serial + lines > ${next}`)
      .where('last_date', '>=', since)
      .orderBy('first_serial')
      .limit(CHUNKS_TOGETHER)
      .execute()
    for (const row of rows) {
      const lines = await readChunk(files, { ...row, first: Number(row.first_serial) })
      const skipped = Math.max(0, next - Number(row.first_serial))
      if (lines.length > skipped) yield lines.slice(skipped)
      next = Number(row.first_serial) + lines.length
    }
    if (rows.length < CHUNKS_TOGETHER) return
  }
}
