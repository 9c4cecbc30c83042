/** The account's audit entries, with the names of their actors. docs/accounts.md: Activity. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'
import { pageOfAudit } from './audit-page.ts'

export const ActivityQuery = Type.Object({
  ...PageQuery,
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'only entries from this timestamp on' })),
  actorId: Type.Optional(Type.String({ maxLength: 64, description: 'of a user, or of an installation' })),
  type: Type.Optional(Type.String({ maxLength: 64, description: 'an operationId' })),
  projectId: Type.Optional(
    Type.String({ maxLength: 64, description: 'only entries about this project, and what is in it' }),
  ),
})
const KINDS = ['user', 'operator', 'timer', 'integration', 'client'] as const
const Entry = Type.Object({
  id: Type.String(),
  at: Timestamp,
  type: Type.String({ description: 'the operationId' }),
  actor: Type.Object({
    kind: OneOf(...KINDS),
    id: Type.String(),
    name: Nullable(Type.String({ description: 'username, or the name of the integration; null: deleted' })),
  }),
  subjectId: Nullable(Type.String()),
  fields: Type.Array(Type.String(), { description: 'the names of the fields that were sent, never a value' }),
})
export const ActivityList = Type.Object({ entries: Type.Array(Entry), pagination: Pagination })
export type ActivityList = Static<typeof ActivityList>

/** Lists the changes in the account, newest first. The audit log has no index by account, so a page may be short or empty although `next` points to more. */
export async function listActivity(
  ctx: Ctx,
  _: undefined,
  { query }: Input<Static<typeof ActivityQuery>>,
): Promise<ActivityList> {
  const { projectId } = query
  const { rows, pagination } = await pageOfAudit(ctx, {
    ...query,
    projectIds: projectId === undefined ? undefined : [projectId],
    accountId: ctx.account.id,
  })
  const names = await namesOf(ctx, rows)
  const entries = rows.map((row) => ({
    id: String(row.stamp),
    at: stampToMs(row.stamp),
    type: row.type,
    actor: {
      kind: row.actor_kind as (typeof KINDS)[number],
      id: row.actor_id,
      name: names.get(row.actor_id) ?? null,
    },
    subjectId: row.subject_id,
    fields: JSON.parse(row.fields_json) as string[],
  }))
  return { entries, pagination }
}

/** Returns the names of users, and of integrations by their installations on this account. */
export async function namesOf(ctx: Ctx, rows: readonly Row<'audit'>[]): Promise<Map<string, string>> {
  const ids = [...new Set(rows.map(({ actor_id }) => actor_id))]
  if (ids.length === 0) return new Map()
  const people = await ctx.db.selectFrom('account').select(['id', 'slug as name']).where('id', 'in', ids).execute()
  const installations = await ctx.db
    .selectFrom('configuration')
    .innerJoin('integration', 'integration.id', 'configuration.integration_id')
    .select(['configuration.id', 'integration.name'])
    .where('configuration.id', 'in', ids)
    .where('configuration.account_id', '=', ctx.account.id)
    .execute()
  return new Map([...people, ...installations].map(({ id, name }) => [id, name]))
}
