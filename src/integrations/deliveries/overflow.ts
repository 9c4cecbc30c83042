/** The limit on pending deliveries of an account. docs/webhooks.md: Backlog limit. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mailOwners } from '../../platform/mail/owners.ts'
import { DROPPED, PENDING } from '../../platform/outbox/delivery.ts'
import { disableEndpoint, MAX_PENDING_DELIVERIES } from '../webhooks/disable.ts'
import { hostOf } from '../webhooks/held.ts'

const DROPPED_AT_ONCE = 1000

/** The endpoint with most pending deliveries of an account. `excess`: deliveries of the account above the limit. */
type Fullest = { account_id: string; endpoint_id: string; excess: number }

/**
 * Sweep: finds one account above MAX_PENDING_DELIVERIES, disables its endpoint with the largest backlog, drops that backlog and emails the endpoint's
 * users. An integration's webhook serves other accounts, so only this account's oldest deliveries above the limit are dropped. Returns 1, or 0 when
 * no account is above the limit.
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

/** Most databases hold fewer pending deliveries than the limit of one account, and a small query shows that. */
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
  const host = hostOf(webhook.url)
  await mailOwners(ctx, webhook.account_id, {
    subject: `Deliveries to an integration are dropped: ${host}`,
    topic: `overflow ${webhook.id}`,
    text: [
      `More than ${MAX_PENDING_DELIVERIES.toLocaleString('en')} deliveries wait on the account ${accountId}. Most of them wait for the webhook ${webhook.id}`,
      `of the integration ${webhook.integration_id}, which goes to ${host}. The oldest above the limit are dropped. The webhook stays enabled.`,
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
    // The index gives pending rows without order, so all of them are read and sorted.
    .limit(sql.lit(2 * MAX_PENDING_DELIVERIES))
  const oldest = ctx.db.selectFrom(pending.as('waiting')).select('id').orderBy('created_stamp').limit(count)
  await ctx.db
    .updateTable('delivery')
    .set({ ...DROPPED, done_at: ctx.now })
    .where('id', 'in', oldest)
    .execute()
}
