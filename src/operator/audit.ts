/** The audit log as the operator reads it: who did what to which subject, and which fields were sent. */
import { sql } from 'kysely'
import type { Static } from 'typebox'
import { momentOf } from '../clock.ts'
import type { Input, OperatorCtx } from '../context.ts'
import { DEFAULT_LIMIT, LOOKED_THROUGH, pageLookedFor, stampBefore } from '../http/page.ts'
import { Type } from '../schema/builder.ts'
import { Moment, Nullable, PageQuery, Pagination } from '../schema/fields.ts'

const Text = Type.Optional(Type.String({ maxLength: 254 }))
export const AuditQuery = Type.Object({ ...PageQuery, accountId: Text, actorId: Text, type: Text })

const Entry = Type.Object({
  stamp: Type.Integer(),
  at: Moment,
  type: Type.String({ description: 'the operationId' }),
  accountId: Nullable(Type.String()),
  actor: Type.Object({ kind: Type.String(), id: Type.String(), tokenId: Nullable(Type.String()) }),
  subjectId: Nullable(Type.String()),
  fields: Type.Array(Type.String()),
})
export const AuditList = Type.Object({ entries: Type.Array(Entry), pagination: Pagination })

/**
 * Lists audit entries, newest first. This log, which every write adds to, has no index but its stamp: of what a filter asks for, a
 * page has what is among the next LOOKED_THROUGH entries, and `next` leads on. docs/decisions/0124.
 */
export async function listAudit(
  ctx: OperatorCtx,
  _: undefined,
  { query }: Input<Static<typeof AuditQuery>>,
): Promise<Static<typeof AuditList>> {
  const { limit = DEFAULT_LIMIT, until } = query
  let placed = ctx.db.selectFrom('audit').orderBy('stamp', 'desc')
  if (until !== undefined) placed = placed.where('stamp', '<', stampBefore(until))
  let entries = ctx.db.selectFrom(placed.selectAll().limit(sql.lit(LOOKED_THROUGH)).as('audit')).selectAll()
  if (query.accountId !== undefined) entries = entries.where('account_id', '=', query.accountId)
  if (query.actorId !== undefined) entries = entries.where('actor_id', '=', query.actorId)
  if (query.type !== undefined) entries = entries.where('type', '=', query.type)
  const rows = await entries
    .orderBy('stamp', 'desc')
    .limit(limit + 1)
    .execute()
  const last = placed
    .select('stamp')
    .offset(sql.lit(LOOKED_THROUGH - 1))
    .limit(sql.lit(1))
  const { rows: items, pagination } = await pageLookedFor(rows, limit, until, (row) => row.stamp, last)
  return {
    entries: items.map((row) => ({
      stamp: row.stamp,
      at: momentOf(row.stamp),
      type: row.type,
      accountId: row.account_id,
      actor: { kind: row.actor_kind, id: row.actor_id, tokenId: row.token_id },
      subjectId: row.subject_id,
      fields: JSON.parse(row.fields_json) as string[],
    })),
    pagination,
  }
}
