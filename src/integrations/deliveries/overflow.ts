/** The limit on deliveries that wait for an account. docs/webhooks.md: When too much waits. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mailOwners } from '../../platform/mail/owners.ts'
import { DROPPED, PENDING } from '../../platform/outbox/delivery.ts'
import { disableEndpoint, MAX_PENDING_DELIVERIES } from '../webhooks/disable.ts'

const DROPPED_AT_ONCE = 1000

/** The endpoint that most deliveries of an account wait for. `excess`: how many the account has above the limit. */
type Fullest = { account_id: string; endpoint_id: string; excess: number }

/**
 * Sweep: looks for an account for which more than MAX_PENDING_DELIVERIES deliveries wait. The endpoint that most of them wait for is disabled, its people
 * get a letter, and what waits for it is dropped. The webhook of an integration serves other accounts too, so it is not disabled: the oldest
 * deliveries of this account are dropped down to the limit, and the owners of the integration get a letter. Gives 1, or 0 when no account is over the limit.
 */
export async function disableOverflowingEndpoint(ctx: OperatorCtx): Promise<number> {
  const fullest = await fullestEndpoint(ctx)
  if (fullest === undefined) return 0
  const table = fullest.endpoint_id.startsWith('ld_') ? 'log_drain' : 'webhook'
  const endpoint = await ctx.db.selectFrom(table).selectAll().where('id', '=', fullest.endpoint_id).executeTakeFirst()
  const shared = endpoint !== undefined && 'integration_id' in endpoint && endpoint.integration_id !== null
  if (shared) await tellIntegration(ctx, endpoint, fullest.account_id)
  else if (endpoint !== undefined) await disableEndpoint(ctx, table, endpoint, 'overflow')
  await dropOldest(ctx, fullest, shared ? Math.min(fullest.excess, DROPPED_AT_ONCE) : DROPPED_AT_ONCE)
  return 1
}

/** For the first account over the limit. In most stores fewer deliveries wait in all than one account may have, and one small query shows that. */
async function fullestEndpoint(ctx: OperatorCtx): Promise<Fullest | undefined> {
  const pending = ctx.db.selectFrom('delivery').where(PENDING)
  const some = pending.select('account_id').offset(sql.lit(MAX_PENDING_DELIVERIES)).limit(sql.lit(1))
  if ((await some.executeTakeFirst()) === undefined) return undefined
  const excess = await pending
    .select(['account_id', sql<number>`count(*)`.as('count')])
    .groupBy('account_id')
    .having(sql<number>`count(*)`, '>', MAX_PENDING_DELIVERIES)
    .limit(1)
    .executeTakeFirst()
  if (excess === undefined) return undefined
  const fullest = await pending
    .select('endpoint_id')
    .where('account_id', '=', excess.account_id)
    .groupBy('endpoint_id')
    .orderBy(sql`count(*)`, 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  return { account_id: excess.account_id, ...fullest, excess: excess.count - MAX_PENDING_DELIVERIES }
}

type Integrations = Pick<Row<'webhook'>, 'id' | 'account_id' | 'integration_id' | 'url'>

async function tellIntegration(ctx: OperatorCtx, webhook: Integrations, accountId: string): Promise<void> {
  const host = URL.parse(webhook.url)?.host ?? 'its address'
  await mailOwners(ctx, webhook.account_id, {
    subject: `Deliveries to an integration are dropped: ${host}`,
    topic: `overflow ${webhook.id}`,
    text: [
      `More than ${MAX_PENDING_DELIVERIES.toLocaleString('en')} deliveries wait on the account ${accountId}. Most of them wait for the webhook ${webhook.id}`,
      `of the integration ${webhook.integration_id}, which goes to ${host}. The oldest are dropped until the limit is kept. The webhook stays enabled.`,
      '',
      `Dropped deliveries are listed for 30 days. You can send each of them again: GET /v1/webhooks/${webhook.id}/deliveries?status=dropped`,
    ].join('\n'),
  })
}

async function dropOldest(ctx: OperatorCtx, { account_id, endpoint_id }: Fullest, count: number): Promise<void> {
  const pending = ctx.db
    .selectFrom('delivery')
    .select(['id', 'created_stamp'])
    .where(PENDING)
    .where('account_id', '=', account_id)
    .where('endpoint_id', '=', endpoint_id)
    // The index finds what waits, without its order. So all of it is read and sorted.
    .limit(sql.lit(2 * MAX_PENDING_DELIVERIES))
  const oldest = ctx.db.selectFrom(pending.as('waiting')).select('id').orderBy('created_stamp').limit(count)
  await ctx.db
    .updateTable('delivery')
    .set({ ...DROPPED, done_at: ctx.now })
    .where('id', 'in', oldest)
    .execute()
}
