/** The audit log as the operator reads it: who did what to which subject, and which fields were sent. */
import type { Static } from 'typebox'
import { momentOf } from '../clock.ts'
import type { OperatorCtx } from '../context.ts'
import { DEFAULT_LIMIT, page, stampBefore } from '../http/page.ts'
import type { Input } from '../http/route.ts'
import { Moment, Nullable, PageQuery, Pagination } from '../http/schema.ts'
import { Type } from '../http/type.ts'

const Text = Type.Optional(Type.String({ maxLength: 100 }))
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

/** Lists audit entries, newest first. */
export async function listAudit(
  ctx: OperatorCtx,
  _: undefined,
  { query }: Input<Static<typeof AuditQuery>>,
): Promise<Static<typeof AuditList>> {
  const { limit = DEFAULT_LIMIT, until } = query
  let entries = ctx.db.selectFrom('audit').selectAll()
  if (until !== undefined) entries = entries.where('stamp', '<', stampBefore(until))
  if (query.accountId !== undefined) entries = entries.where('account_id', '=', query.accountId)
  if (query.actorId !== undefined) entries = entries.where('actor_id', '=', query.actorId)
  if (query.type !== undefined) entries = entries.where('type', '=', query.type)
  const rows = await entries
    .orderBy('stamp', 'desc')
    .limit(limit + 1)
    .execute()
  const { rows: shown, pagination } = page(rows, limit, until, (row) => row.stamp)
  return {
    entries: shown.map((row) => ({
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
