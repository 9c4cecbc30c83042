/**
 * The queue of deliveries. Who attempts one takes it by one statement that pushes its `due_at` ahead: a lease, which ends by
 * itself when the process does. It is asked by account and endpoint, so that what waits for a slow one is in nobody's way.
 */
import { sql } from 'kysely'
import type { Deps } from '../context.ts'
import { prepared, type Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { DROPPED, PENDING } from '../outbox/delivery.ts'

/** Longer than an attempt can take with all that is around it. */
export const LEASE_MS = 20_000
/** What is due sooner than this may be leased; also by an instance whose clock is some seconds ahead. */
const UNDER_WAY_MS = 2 * LEASE_MS

/** A delivery whose `due_at` says how long it is ours. */
export type Leased = Row<'delivery'> & { due_at: number }
/** What an account has waiting for an endpoint. */
export type Queue = { account_id: string; endpoint_id: string; failing_since: number | null }
/** Queues that something is due in, and where to look on; undefined behind the last one. */
export type Look = { due: Queue[]; next: Place | undefined }
export type Place = { accountId: string; endpointId: string }

/** Queues that one look passes at most. */
const PASSED = 2000

/**
 * Queues that something is due in, from behind a place on. Steps from one queue to the next in the index: what it costs is not
 * what waits there.
 */
export async function dueQueues(
  db: Queries,
  now: number,
  { accountId, endpointId }: Place = { accountId: '', endpointId: '' },
): Promise<Look> {
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

/** Leases what is due, of each queue at most as many as said. */
export async function lease(deps: Deps, wanted: ReadonlyMap<Queue, number>, now: number): Promise<Leased[]> {
  return deps.db.write(async (db) => {
    const taken: Leased[] = []
    for (const [{ account_id: accountId, endpoint_id: endpointId }, most] of wanted) {
      taken.push(...(await takeDue(db, { accountId, endpointId, now, until: now + LEASE_MS, most })))
    }
    return taken
  })
}

type Taking = { accountId: string; endpointId: string; now: number; until: number; most: number }

const takeDue = prepared<Taking, Leased>((db, value) =>
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
        .limit(value.most),
    )
    .returningAll()
    .$narrowType<{ due_at: number }>(),
)

/** Puts a leased delivery back as it was, due at once: the service stops. */
export async function giveBack(deps: Deps, { id, due_at }: Leased, now: number): Promise<void> {
  await deps.db.write((db) =>
    db.updateTable('delivery').set({ due_at: now }).where('id', '=', id).where('due_at', '=', due_at).execute(),
  )
}

/** Holds a delivery until its installation is active again, or somebody took its endpoint over, and it is its turn. */
export async function hold(deps: Deps, { id, due_at }: Leased, now: number): Promise<void> {
  const held = { due_at: null, held_at: now }
  await deps.db.write((db) =>
    db.updateTable('delivery').set(held).where('id', '=', id).where('due_at', '=', due_at).execute(),
  )
}

const DROPPED_AT_ONCE = 500

/** Drops a delivery that nobody may hear any more; with its endpoint gone, what else is due there. */
export async function drop(deps: Deps, leased: Leased, now: number, all: boolean): Promise<void> {
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
 * Makes due what was held for an installation that is active again, or for an endpoint that somebody took over: the oldest delivery of each
 * endpoint, and the next one when that one is done. So deliveries arrive in the order of their events.
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

/** Of endpoints that were taken over; and of those that are gone, for which it is dropped in its turn. */
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

/**
 * Makes the oldest delivery that is held due; nothing while that one has its turn. It waits while an older one is under way or about to
 * be: an attempt may be about to hold that one too, and then it goes first.
 */
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
