/** Records the outcome of an attempt: done or due again, and disables an endpoint that keeps failing. */

import type { Deps, OperatorCtx } from '../../context.ts'
import type { OutgoingResult } from '../../platform/adapters/egress.ts'
import { preparedInsert } from '../../platform/db/bulk.ts'
import { preparedQuery } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { disableEndpoint } from '../webhooks/disable.ts'
import { type LeasedDelivery, releaseNext } from './queue.ts'
import { nextAttemptAt } from './schedule.ts'

/** `url`: where it was sent; undefined when it was not sent. */
export type Attempt = {
  delivery: LeasedDelivery
  url: string | undefined
  posted: OutgoingResult
  durationMs: number
  now: number
}

const FAILING_MS = 5 * 86_400_000
const GONE = 410
type Writing = Pick<OperatorCtx, 'db' | 'deps' | 'now'>

/** Records and returns the outcome, in one transaction. Writes nothing when the lease expired or the delivery was dropped. */
export async function recordOutcome(deps: Deps, attempt: Attempt): Promise<'delivered' | 'failed' | 'retried'> {
  const { delivery, url, posted, durationMs, now } = attempt
  const number = delivery.attempts + 1
  const delivered = 'statusCode' in posted && posted.statusCode >= 200 && posted.statusCode < 300
  const retryAfter = 'statusCode' in posted ? posted.retryAfter : undefined
  const dueAt = delivered ? null : (nextAttemptAt(number, now, retryAfter) ?? null)
  const outcome = delivered ? 'delivered' : dueAt === null ? 'failed' : 'retried'
  await deps.db.write(async (db) => {
    const [ours] = await updateDelivery(db, {
      id: delivery.id,
      leased_until: delivery.due_at,
      attempts: number,
      due_at: dueAt,
      held_at: dueAt === null ? null : delivery.held_at,
      status: outcome === 'retried' ? 'pending' : outcome,
      done_at: dueAt === null ? now : null,
      // Log lines are stored until they are delivered or given up.
      body: dueAt === null ? null : delivery.body,
    })
    if (ours === undefined) return
    await insertAttempt(db, {
      delivery_id: delivery.id,
      attempt: number,
      at: now,
      status_code: 'statusCode' in posted ? posted.statusCode : null,
      duration_ms: Math.round(durationMs),
      error: 'error' in posted ? posted.error : null,
      response: 'statusCode' in posted ? posted.response : null,
    })
    await judgeEndpoint({ db, deps, now }, { id: delivery.endpoint_id, url, posted, delivered, attempts: number })
    if (delivery.held_at !== null && dueAt === null)
      await releaseNext(db, delivery.configuration_id, delivery.endpoint_id, now)
  })
  return outcome
}

type Judged = { id: string; url: string | undefined; posted: OutgoingResult; delivered: boolean; attempts: number }

/** Records since when an endpoint fails, and disables it on 410 or after five days without a success. Ignores responses from a replaced URL. */
async function judgeEndpoint(ctx: Writing, { id, url, posted, delivered, attempts }: Judged): Promise<void> {
  const table = id.startsWith('ld_') ? 'log_drain' : 'webhook'
  const endpoint = await ctx.db
    .selectFrom(table)
    .select(['id', 'account_id', 'url', 'created_by', 'failing_since', 'disabled_at'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (endpoint === undefined || endpoint.disabled_at !== null) return
  if (url !== undefined && url !== endpoint.url) return
  if (delivered) {
    if (endpoint.failing_since !== null)
      await ctx.db.updateTable(table).set({ failing_since: null }).where('id', '=', id).execute()
    return
  }
  const isGone = 'statusCode' in posted && posted.statusCode === GONE
  const since = endpoint.failing_since ?? ctx.now
  // After days without events, one failed attempt is weak evidence, so the second attempt of an event decides.
  if (isGone || (attempts > 1 && ctx.now - since >= FAILING_MS))
    return disableEndpoint(ctx, table, endpoint, isGone ? 'gone' : 'failing')
  if (endpoint.failing_since === null)
    await ctx.db.updateTable(table).set({ failing_since: since }).where('id', '=', id).execute()
}

const updateDelivery = preparedQuery<
  Pick<Row<'delivery'>, 'id' | 'attempts' | 'due_at' | 'held_at' | 'status' | 'done_at' | 'body'> & {
    leased_until: number
  },
  { id: string }
>((db, value) =>
  db
    .updateTable('delivery')
    .set({
      attempts: value.attempts,
      due_at: value.due_at,
      held_at: value.held_at,
      status: value.status,
      done_at: value.done_at,
      body: value.body,
    })
    .where('id', '=', value.id)
    .where('due_at', '=', value.leased_until)
    .returning('id'),
)

const insertAttempt = preparedInsert('delivery_attempt')
