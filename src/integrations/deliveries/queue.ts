/**
 * The delivery queue. A worker leases a delivery by moving its `due_at` ahead, so the lease expires if the process dies. Queues are read by account
 * and endpoint, so a slow endpoint hides no others.
 */
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import { preparedQuery, type Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { DROPPED, PENDING } from '../../platform/outbox/delivery.ts'

/** Longer than an attempt can take, including its reads and writes. */
export const LEASE_MS = 20_000
/** A delivery due sooner may be leased, also by an instance whose clock is some seconds ahead. */
export const UNDER_WAY_MS = 2 * LEASE_MS

/** A delivery leased by this process. `due_at`: when the lease expires. */
export type LeasedDelivery = Row<'delivery'> & { due_at: number }
/** The deliveries of one account that are pending for one endpoint. */
export type Queue = { account_id: string; endpoint_id: string; failing_since: number | null }
/** `due`: queues with a due delivery. `next`: start of the next scan; undefined after the last queue. */
export type QueueScan = { due: Queue[]; next: EndpointRef | undefined }
export type EndpointRef = { accountId: string; endpointId: string }

/** Queues passed per scan. */
const PASSED = 2000

/** Finds queues with a due delivery, after a position. Skips from queue to queue in the index, so the cost grows with queues, not deliveries. */
export async function dueQueues(
  db: Queries,
  now: number,
  { accountId, endpointId }: EndpointRef = { accountId: '', endpointId: '' },
): Promise<QueueScan> {
  const { rows } = await sql<Queue & { passed: number }>`
    with recursive waiting(id, passed) as (
      select (select id from delivery where ${PENDING} and (account_id, endpoint_id) > (${accountId}, ${endpointId})
        order by account_id, endpoint_id limit 1), 1
      union all
      select (select id from delivery where ${PENDING} and (account_id, endpoint_id) > (here.account_id, here.endpoint_id)
        order by account_id, endpoint_id limit 1), waiting.passed + 1
      from waiting join delivery as here on here.id = waiting.id where waiting.passed < ${sql.lit(PASSED)}
    )
    select here.account_id, here.endpoint_id, waiting.passed,
      coalesce(webhook.failing_since, log_drain.failing_since) as failing_since
    from waiting
    join delivery as here on here.id = waiting.id
    left join webhook on webhook.id = here.endpoint_id
    left join log_drain on log_drain.id = here.endpoint_id
    where waiting.passed = ${sql.lit(PASSED)} or exists (select 1 from delivery
      where ${PENDING} and account_id = here.account_id and endpoint_id = here.endpoint_id and due_at <= ${now})
    order by waiting.passed`.execute(db)
  const last = rows.at(-1)
  const next = last?.passed === PASSED ? { accountId: last.account_id, endpointId: last.endpoint_id } : undefined
  return { due: rows, next }
}

/** Leases due deliveries. `shares`: the maximum per queue. */
export async function lease(deps: Deps, shares: ReadonlyMap<Queue, number>, now: number): Promise<LeasedDelivery[]> {
  return deps.db.write(async (db) => {
    const leased: LeasedDelivery[] = []
    for (const [{ account_id: accountId, endpoint_id: endpointId }, most] of shares) {
      leased.push(...(await takeDue(db, { accountId, endpointId, now, until: now + LEASE_MS, max: most })))
    }
    return leased
  })
}

type Taking = { accountId: string; endpointId: string; now: number; until: number; max: number }

const takeDue = preparedQuery<Taking, LeasedDelivery>((db, value) =>
  db
    .updateTable('delivery')
    .set({ due_at: value.until })
    .where('due_at', '<=', value.now)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('delivery')
        .select('id')
        .where(PENDING)
        .where('account_id', '=', value.accountId)
        .where('endpoint_id', '=', value.endpointId)
        .where('due_at', '<=', value.now)
        .orderBy('due_at')
        .limit(value.max),
    )
    .returningAll()
    .$narrowType<{ due_at: number }>(),
)

/** Makes a leased delivery due now, because the instance stops before its attempt finished. */
export async function releaseLease(deps: Deps, { id, due_at }: LeasedDelivery, now: number): Promise<void> {
  await deps.db.write((db) =>
    db.updateTable('delivery').set({ due_at: now }).where('id', '=', id).where('due_at', '=', due_at).execute(),
  )
}

/** Holds a delivery until `releaseHeld` makes it due: when its installation is active again, or its endpoint has a new owner. */
export async function holdDelivery(deps: Deps, { id, due_at }: LeasedDelivery, now: number): Promise<void> {
  const hold = { due_at: null, held_at: now }
  await deps.db.write((db) =>
    db.updateTable('delivery').set(hold).where('id', '=', id).where('due_at', '=', due_at).execute(),
  )
}

const DROPPED_AT_ONCE = 500

/** Drops a delivery that must not be sent. `all`: its endpoint is gone, so drop its other pending deliveries too. */
export async function dropDelivery(deps: Deps, leased: LeasedDelivery, now: number, all: boolean): Promise<void> {
  const { id, due_at, account_id, endpoint_id } = leased
  const dropped = { ...DROPPED, done_at: now }
  await deps.db.write(async (db) => {
    await db.updateTable('delivery').set(dropped).where('id', '=', id).where('due_at', '=', due_at).execute()
    if (!all) return
    const others = db
      .selectFrom('delivery')
      .select('id')
      .where(PENDING)
      .where('account_id', '=', account_id)
      .where('endpoint_id', '=', endpoint_id)
      .where('due_at', '<=', now)
    await db.updateTable('delivery').set(dropped).where('id', 'in', others.limit(DROPPED_AT_ONCE)).execute()
    const held = db
      .selectFrom('delivery')
      .select('id')
      .where('configuration_id', 'is', null)
      .where('endpoint_id', '=', endpoint_id)
      .where('held_at', 'is not', null)
    await db.updateTable('delivery').set(dropped).where('id', 'in', held.limit(DROPPED_AT_ONCE)).execute()
  })
}

/**
 * Releases held deliveries of active installations and of endpoints with a new owner. Only the oldest of each endpoint becomes due, and each success
 * releases the next, so events arrive in order.
 */
export async function releaseHeld(deps: Deps, now: number): Promise<void> {
  const rows = [...(await heldForInstallations(deps.db.read)), ...(await heldForPeople(deps.db.read))]
  if (rows.length === 0) return
  await deps.db.write(async (db) => {
    for (const row of rows) await releaseNext(db, row.configuration_id, row.endpoint_id, now)
  })
}

type Waiting = { configuration_id: string | null; endpoint_id: string }

async function heldForInstallations(db: Queries): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`
    with recursive holding(id) as (
      select min(configuration_id) from delivery where held_at is not null
      union all
      select (select min(configuration_id) from delivery where held_at is not null and configuration_id > holding.id)
      from holding where holding.id is not null
    )
    select distinct delivery.configuration_id, delivery.endpoint_id
    from holding
    join configuration on configuration.id = holding.id
    join delivery on delivery.configuration_id = holding.id
    where configuration.disabled_at is null and configuration.deleted_at is null
      and delivery.held_at is not null and delivery.status = 'pending' and delivery.due_at is null`.execute(db)
  return rows
}

/** For endpoints with a new owner. Includes deleted endpoints, so that their deliveries become due and are dropped. */
async function heldForPeople(db: Queries): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`
    with recursive holding(id) as (
      select min(endpoint_id) from delivery where held_at is not null and configuration_id is null
      union all
      select (select min(endpoint_id) from delivery
        where held_at is not null and configuration_id is null and endpoint_id > holding.id)
      from holding where holding.id is not null
    )
    select null as configuration_id, holding.id as endpoint_id
    from holding
    where holding.id is not null
      and (select held_at from webhook where webhook.id = holding.id) is null
      and (select held_at from log_drain where log_drain.id = holding.id) is null
      and exists (select 1 from delivery where delivery.configuration_id is null and delivery.endpoint_id = holding.id
        and delivery.held_at is not null and delivery.status = 'pending' and delivery.due_at is null)`.execute(db)
  return rows
}

/** Makes the oldest held delivery of an endpoint due. Waits while an older delivery is in flight or due, because the worker may be about to hold it too. */
export async function releaseNext(
  db: Queries,
  installationId: string | null,
  endpointId: string,
  now: number,
): Promise<void> {
  await db
    .updateTable('delivery')
    .set({ due_at: now })
    .where('due_at', 'is', null)
    .where('id', '=', (eb) =>
      eb
        .selectFrom('delivery')
        .select('id')
        .where('configuration_id', installationId === null ? 'is' : '=', installationId)
        .where('endpoint_id', '=', endpointId)
        .where('held_at', 'is not', null)
        .where('status', '=', 'pending')
        .orderBy('created_stamp')
        .limit(1),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('delivery as older')
            .select('older.id')
            .where(sql<boolean>`older.status = 'pending'`)
            .whereRef('older.account_id', '=', 'delivery.account_id')
            .whereRef('older.endpoint_id', '=', 'delivery.endpoint_id')
            .whereRef('older.created_stamp', '<', 'delivery.created_stamp')
            .where('older.due_at', '<=', now + UNDER_WAY_MS),
        ),
      ),
    )
    .execute()
}
