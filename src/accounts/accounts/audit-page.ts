/** Pages of the audit log for operators and accounts. docs/decisions/0124. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { STAMPS_PER_MS } from '../../platform/base/clock.ts'
import { SCAN_LIMIT, scannedPage, stampBefore } from '../../platform/http/pagination.ts'

type Filter = {
  limit?: number | undefined
  until?: number | undefined
  /** In milliseconds. */
  since?: number | undefined
  accountId?: string | undefined
  actorId?: string | undefined
  type?: string | undefined
  types?: readonly string[] | undefined
  projectIds?: readonly string[] | undefined
}

/** Reads audit entries, newest first. The log has no index but its stamp, so a filter searches the next SCAN_LIMIT entries and `next` continues there. */
export async function pageOfAudit({ db }: Pick<OperatorCtx, 'db'>, filter: Filter) {
  const { until, since, accountId, actorId, type, types, projectIds } = filter
  let placed = db.selectFrom('audit').orderBy('stamp', 'desc')
  if (until !== undefined) placed = placed.where('stamp', '<', stampBefore(until))
  if (since !== undefined) placed = placed.where('stamp', '>=', since * STAMPS_PER_MS)
  let entries = db.selectFrom(placed.selectAll().limit(sql.lit(SCAN_LIMIT)).as('audit')).selectAll()
  if (accountId !== undefined) entries = entries.where('account_id', '=', accountId)
  if (actorId !== undefined) entries = entries.where('actor_id', '=', actorId)
  if (type !== undefined) entries = entries.where('type', '=', type)
  if (types !== undefined) entries = entries.where('type', 'in', types)
  // Entries from before the column are found where they are about the project itself.
  if (projectIds !== undefined)
    entries = entries.where((eb) =>
      eb.or([
        eb('project_id', 'in', projectIds),
        eb.and([eb('project_id', 'is', null), eb('subject_id', 'in', projectIds)]),
      ]),
    )
  return scannedPage(entries, placed, filter, 'audit', 'stamp')
}
