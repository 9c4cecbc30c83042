import type { Static } from 'typebox'
import { pageOfAudit } from '../../accounts/accounts/audit-page.ts'
import type { Input, OperatorCtx } from '../../context.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'

const Text = Type.Optional(Type.String({ maxLength: 254 }))
export const AuditQuery = Type.Object({
  ...PageQuery,
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'only entries from this timestamp on' })),
  accountId: Text,
  actorId: Text,
  type: Text,
})

const Entry = Type.Object({
  stamp: Type.Integer(),
  at: Timestamp,
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
  const { rows, pagination } = await pageOfAudit(ctx, query)
  return {
    entries: rows.map((row) => ({
      stamp: row.stamp,
      at: stampToMs(row.stamp),
      type: row.type,
      accountId: row.account_id,
      actor: { kind: row.actor_kind, id: row.actor_id, tokenId: row.token_id },
      subjectId: row.subject_id,
      fields: JSON.parse(row.fields_json) as string[],
    })),
    pagination,
  }
}
