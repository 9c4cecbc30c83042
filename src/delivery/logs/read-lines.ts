/** Reads log lines of functions, newest first. docs/functions.md: Log. */
import { createYielder } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { LogLine } from '../protocol/log-report.ts'
import type { KeptLine } from './store-lines.ts'

/** `rowId`: unique in the store. */
export type FoundLine = LogLine & { rowId: string }

/** `until`: exclusive. `before`: the cursor of the page before. `accepts`: which lines count. */
export type LinesQuery = {
  projectId: string
  deploymentId?: string | undefined
  since: number
  until: number
  max: number
  before?: string | undefined
  accepts: (line: FoundLine) => boolean
}

/** Bytes that one request reads. Older lines are on the next page. */
const READ_BYTES = 8 * 1024 * 1024
const TOGETHER = 16

type Place = { date: number; piece: number; index: number }

/** Returns the newest lines, and the cursor of the next page; undefined after the last. */
export async function readLines(
  db: Queries,
  { projectId, deploymentId, since, until, max, before, accepts }: LinesQuery,
): Promise<{ lines: FoundLine[]; next: string | undefined }> {
  const start = before === undefined ? undefined : readCursor(before)
  const pieces = await piecesOf(db, { projectId, deploymentId, since, until: start ? start.date + 1 : until })
  const { chosen, boundary } = choose(pieces)
  const pace = createYielder()
  const found: (Place & { line: FoundLine })[] = []
  for (let at = 0; at < chosen.length; at += TOGETHER) {
    const ids = chosen.slice(at, at + TOGETHER)
    const rows = await db
      .selectFrom('runtime_log')
      .select(['id', 'deployment_id', 'text'])
      .where('id', 'in', ids)
      .execute()
    for (const { id, deployment_id, text } of rows) {
      await pace()
      for (const [index, json] of [...text.trimEnd().split('\n').entries()].reverse()) {
        const stored = JSON.parse(json) as KeptLine
        const place = { date: stored[0], piece: Number(id), index }
        if (place.date < since || place.date >= until || place.date <= boundary) continue
        if (start !== undefined && !isBefore(place, start)) continue
        const line = lineOf(stored, deployment_id, `${id}.${index}`)
        if (accepts(line)) found.push({ ...place, line })
      }
    }
  }
  found.sort((a, b) => (isBefore(a, b) ? 1 : -1))
  const page = found.slice(0, max)
  const last: Place | undefined =
    found.length > max ? page.at(-1) : boundary < 0 ? undefined : { date: boundary, piece: MOST, index: MOST }
  const isFurther = last !== undefined && (start === undefined || isBefore(last, start))
  return { lines: page.map(({ line }) => line), next: isFurther ? writeCursor(last) : undefined }
}

const MOST = Number.MAX_SAFE_INTEGER

type Piece = { id: number; bytes: number; last_at: number }

async function piecesOf(
  db: Queries,
  { projectId, deploymentId, since, until }: Pick<LinesQuery, 'projectId' | 'deploymentId' | 'since' | 'until'>,
): Promise<Piece[]> {
  let pieces = db.selectFrom('runtime_log').select(['id', 'bytes', 'last_at']).where('project_id', '=', projectId)
  if (deploymentId !== undefined) pieces = pieces.where('deployment_id', '=', deploymentId)
  return pieces
    .where('last_at', '>=', since)
    .where('first_at', '<', until)
    .orderBy('last_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

/** The newest pieces. `boundary`: lines of this time and before may be in others; -1: all are chosen. */
function choose(pieces: readonly Piece[]): { chosen: number[]; boundary: number } {
  let bytes = 0
  const over = pieces.findIndex((piece, at) => {
    bytes += Number(piece.bytes)
    return at > 0 && bytes > READ_BYTES
  })
  const chosen = over === -1 ? pieces : pieces.slice(0, over)
  return { chosen: chosen.map(({ id }) => Number(id)), boundary: over === -1 ? -1 : Number(pieces[over]!.last_at) }
}

function isBefore(a: Place, b: Place): boolean {
  if (a.date !== b.date) return a.date < b.date
  return a.piece === b.piece ? a.index < b.index : a.piece < b.piece
}

function lineOf(stored: KeptLine, deploymentId: string, rowId: string): FoundLine {
  const [date, level, text, requestId, method, host, path, status, functionName] = stored
  const line = { rowId, deploymentId, date, level, text, requestId, method, host, path, status }
  return functionName === undefined ? line : { ...line, functionName }
}

function writeCursor({ date, piece, index }: Place): string {
  return `${date}.${piece}.${index}`
}

/** Any other text is the cursor of the first page. */
function readCursor(text: string): Place | undefined {
  const [, date, piece, index] = /^(\d{1,16})\.(\d{1,16})\.(\d{1,16})$/.exec(text) ?? []
  return date === undefined ? undefined : { date: Number(date), piece: Number(piece), index: Number(index) }
}
