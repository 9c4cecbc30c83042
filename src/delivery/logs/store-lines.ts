/** Keeps the log lines of functions, within a budget of the account. docs/functions.md: Log. */
import { sql } from 'kysely'
import type { Deps, OperatorCtx } from '../../context.ts'
import { type Backlog, readBacklog } from '../../integrations/drains/budget.ts'
import { ingestLines } from '../../integrations/drains/ingest.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { isFirstReport } from '../../projects/deployments/usage.ts'
import { transactQueue } from '../builds/end.ts'
import type { LogLine, LogReport } from '../protocol/log-report.ts'

/** TABLE bounds of kept lines. */
export const LOG_BUDGET = {
  retentionMs: 3 * 24 * 3_600_000,
  /** Bytes and pieces of an account: the oldest go first. */
  bytes: 32 * 1024 * 1024,
  pieces: 4000,
  /** Size and age at which a chunk is complete. */
  pieceBytes: 128 * 1024,
  pieceMs: 3_600_000,
} as const

/** Tolerance for the clock of a sites server. */
const AHEAD_MS = 5 * 60_000
/** Lines of one call to the drains. */
const DRAINED = 1000

/** A line as it is stored: time, level, text, then id, method, host, path and status of its request, and the function that wrote it. */
export type KeptLine = [
  date: number,
  level: LogLine['level'],
  text: string,
  requestId: string,
  method: string,
  host: string,
  path: string,
  status: number,
  functionName?: string,
]

/** Stores a report, and queues its lines for drains. A report that came before changes nothing. Lines of unknown deployments are left out. */
export async function storeReport(deps: Deps, report: LogReport): Promise<void> {
  const lines = Map.groupBy(report.lines, (line) => line.deploymentId)
  const ids = [...lines.keys()].sort()
  const backlogs = await backlogsOf(deps, ids)
  await transactQueue(deps, async (ctx) => {
    if (!(await isFirstReport(ctx.db, report, ctx.now))) return
    for (const some of chunks(ids)) {
      const rows = await ctx.db.selectFrom('deployment').selectAll().where('id', 'in', some).orderBy('id').execute()
      for (const row of rows) {
        const own = lines.get(row.id)!
        await storeLines(ctx, row, own)
        await drainLines(ctx, row, own, backlogs.get(row.account_id))
      }
    }
  })
}

/** Read outside of the transaction: see readProjectBacklog. Accounts without drains have none. */
async function backlogsOf({ db }: Deps, ids: readonly string[]): Promise<Map<string, Backlog>> {
  const backlogs = new Map<string, Backlog>()
  for (const some of chunks(ids)) {
    const rows = await db.read
      .selectFrom('deployment')
      .innerJoin('log_drain', 'log_drain.account_id', 'deployment.account_id')
      .select('deployment.account_id')
      .distinct()
      .where('deployment.id', 'in', some)
      .execute()
    for (const { account_id } of rows)
      if (!backlogs.has(account_id)) backlogs.set(account_id, await readBacklog(db.read, account_id))
  }
  return backlogs
}

async function storeLines(ctx: OperatorCtx, deployment: Row<'deployment'>, lines: readonly LogLine[]): Promise<void> {
  const { db, now } = ctx
  const stored = lines.map(({ date, level, text, requestId, method, host, path, status, functionName }): KeptLine => {
    const by = functionName === undefined ? ([] as const) : ([functionName] as const)
    return [Math.min(date, now + AHEAD_MS), level, text, requestId, method, host, path, status, ...by]
  })
  const dates = stored.map(([date]) => date)
  const text = stored.map((line) => `${JSON.stringify(line)}\n`).join('')
  const piece = {
    first_at: Math.min(...dates),
    last_at: Math.max(...dates),
    lines: stored.length,
    bytes: Buffer.byteLength(text),
    text,
  }
  if (await appendTo(ctx, deployment.id, piece)) return
  const { id: deployment_id, account_id, project_id } = deployment
  await db
    .insertInto('runtime_log')
    .values({ account_id, project_id, deployment_id, ...piece })
    .execute()
  await makeRoom(ctx, account_id)
}

type Piece = Pick<Row<'runtime_log'>, 'first_at' | 'last_at' | 'lines' | 'bytes' | 'text'>

/** Appends lines to the newest piece. Returns false where a new one must begin. */
async function appendTo({ db, now }: OperatorCtx, deploymentId: string, piece: Piece): Promise<boolean> {
  const newest = await db
    .selectFrom('runtime_log')
    .select(['id', 'bytes', 'first_at'])
    .where('deployment_id', '=', deploymentId)
    .orderBy('last_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (newest === undefined || Number(newest.bytes) + piece.bytes > LOG_BUDGET.pieceBytes) return false
  if (Number(newest.first_at) < now - LOG_BUDGET.pieceMs) return false
  const { numUpdatedRows } = await db
    .updateTable('runtime_log')
    .set({
      text: sql<string>`text || ${piece.text}`,
      bytes: sql<number>`bytes + ${piece.bytes}`,
      lines: sql<number>`lines + ${piece.lines}`,
      last_at: sql<number>`case when last_at < ${piece.last_at} then ${piece.last_at} else last_at end`,
      first_at: sql<number>`case when first_at > ${piece.first_at} then ${piece.first_at} else first_at end`,
    })
    .where('id', '=', newest.id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Removes the oldest pieces of an account above its budget. */
async function makeRoom({ db }: OperatorCtx, accountId: string): Promise<void> {
  const rows = await db
    .selectFrom('runtime_log')
    .select(['id', 'bytes'])
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .execute()
  let bytes = 0
  const over = rows.filter((row, at) => {
    bytes += Number(row.bytes)
    return at >= LOG_BUDGET.pieces || bytes > LOG_BUDGET.bytes
  })
  for (const some of chunks(over.map(({ id }) => id)))
    await db.deleteFrom('runtime_log').where('id', 'in', some).execute()
}

/** The drains of the account get what functions wrote. `backlog` undefined: it has no drain. */
async function drainLines(
  ctx: OperatorCtx,
  deployment: Row<'deployment'>,
  lines: readonly LogLine[],
  backlog: Backlog | undefined,
): Promise<void> {
  if (backlog === undefined) return
  const project = await ctx.db
    .selectFrom('project')
    .selectAll()
    .where('id', '=', deployment.project_id)
    .executeTakeFirst()
  const written = lines.filter(({ text }) => text !== '')
  if (project === undefined) return
  for (let at = 0; at < written.length; at += DRAINED) {
    const some = written.slice(at, at + DRAINED).map(({ date, text }) => ({
      timestamp: date,
      message: text,
      source: 'lambda' as const,
      deploymentId: deployment.id,
      environment: deployment.target,
    }))
    await ingestLines(ctx, project, { body: { lines: some } }, backlog)
  }
}

/** Sweep: removes pieces whose last line is older than 3 days. Returns their number. */
export async function purgeOldLogs({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, limit: number): Promise<number> {
  const old = await db
    .selectFrom('runtime_log')
    .select('id')
    .where('last_at', '<', now - LOG_BUDGET.retentionMs)
    .orderBy('last_at')
    .limit(limit)
    .execute()
  for (const some of chunks(old.map(({ id }) => id)))
    await db.deleteFrom('runtime_log').where('id', 'in', some).execute()
  return old.length
}
