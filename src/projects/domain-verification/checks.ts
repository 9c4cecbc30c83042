/**
 * Looks up unverified domains without a request, and verifies those whose record is there. An account has one turn, which one instance leases for one
 * domain: so accounts wait for none that has many domains, and a domain is looked up once. docs/domains.md: Automatic checks.
 */
import type { Deps, OperatorCtx } from '../../context.ts'
import { eventAccount } from '../../model/account.ts'
import type { DnsAnswer } from '../../platform/adapters/dns.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { appendAuditEntry } from '../../platform/outbox/audit-chain.ts'
import { leaseDue } from '../../platform/outbox/lease-due.ts'
import { drainLeaseQueue, type LeaseQueue, startLeaseWorker } from '../../platform/outbox/lease-loop.ts'
import { writeEvents } from '../../platform/outbox/outbox.ts'
import { transact } from '../../platform/outbox/transact.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { challengeOf, countDnsLookup, matchRecords } from './challenge.ts'
import { nextCheck } from './check-schedule.ts'
import { verifyClaim } from './claim.ts'

const AT_ONCE = 8
/** Longer than a look-up and its transaction. After it, the turn of an instance that died is due again. */
const LEASE_MS = 60_000
/** Between two look-ups for an account, so that half of its limit `account-lookup` is left to its users. */
const PACE_MS = 1000
const ACTOR = { kind: 'timer', id: 'domain-checks', tokenId: null } as const

type Domain = Row<'project_domain'>

/** Starts the checks. Returns a function that stops them. */
export function startDomainChecks(deps: Deps): () => Promise<void> {
  return startLeaseWorker(deps, checkWork(deps)).stop
}

/** Checks one domain of each account that is due. Returns the number of accounts. */
export function checkDomains(deps: Deps, now: number): Promise<number> {
  return drainLeaseQueue(checkWork(deps), now, deps.shutdownSignal)
}

function checkWork(deps: Deps): LeaseQueue<Row<'domain_turn'>> {
  return {
    name: 'domains to look up',
    lease: (now, running) =>
      leaseDue(deps.db, 'domain_turn', { now, leaseMs: LEASE_MS, room: AT_ONCE - running.length }),
    run: ({ account_id: accountId }, now) =>
      checkNext(deps, accountId, now()).catch((error) => {
        deps.log.warn({ err: error, accountId }, 'the look-up of a domain could not be stored; it is repeated')
      }),
  }
}

async function checkNext(deps: Deps, accountId: string, now: number): Promise<void> {
  const domain = await nextDomain(deps.db.read, accountId)
  const isDue = domain !== undefined && domain.check_due! <= now
  // After a long stop, the last checks of a domain are left out.
  if (isDue && domain.checked_until! >= now) await check(deps, domain, now)
  await endTurn(deps, accountId, isDue ? domain : undefined, now)
}

function nextDomain(db: Queries, accountId: string): Promise<Domain | undefined> {
  return db
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('check_due', 'is not', null)
    .orderBy('check_due')
    .limit(1)
    .executeTakeFirst()
}

/** What a user's verification would refuse stays as it is until the next check. */
async function check(deps: Deps, domain: Domain, now: number): Promise<void> {
  try {
    const records = await poll(deps, domain, now)
    if (matchRecords(domain, records, deps.config.domains).state === 'found') await verify(deps, domain, records)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

async function poll(deps: Deps, domain: Domain, now: number): Promise<DnsAnswer<string>> {
  await countDnsLookup({ account: { id: domain.account_id }, now, deps }, domain.name)
  return deps.adapters.dns.readTxt(challengeOf(domain, deps.config.domains).domain, domain.account_id)
}

/** As a user's verification, with the timer as its actor. */
async function verify(deps: Deps, { account_id, name }: Domain, records: DnsAnswer<string>): Promise<void> {
  await transact(deps, { name: ACTOR.id, shareId: account_id }, async (db, begin) => {
    const domain = await db
      .selectFrom('project_domain')
      .selectAll()
      .where('account_id', '=', account_id)
      .where('name', '=', name)
      .where('verified_at', 'is', null)
      .executeTakeFirst()
    // Removed or verified during the look-up.
    if (domain === undefined) return
    const project = await db
      .selectFrom('project')
      .selectAll()
      .where('account_id', '=', account_id)
      .where('id', '=', domain.project_id)
      .executeTakeFirstOrThrow()
    const owner = await eventAccount(db, account_id)
    const { outgoing, ...outboxCtx } = begin()
    const ctx: OperatorCtx = { actor: ACTOR, db, deps, ...outboxCtx }
    await verifyClaim(ctx, owner, { project, domain }, records)
    await writeEvents(ctx, outgoing)
    await appendAuditEntry(ctx, {
      stamp: ctx.stamp,
      account_id,
      actor_kind: ACTOR.kind,
      actor_id: ACTOR.id,
      token_id: null,
      type: 'verifyProjectDomain',
      subject_id: project.id,
      fields_json: '[]',
      project_id: project.id,
    })
  })
}

/** Plans the next check of a domain, unless another one was planned meanwhile, and the next turn of its account. */
async function endTurn({ db }: Deps, accountId: string, checked: Domain | undefined, now: number): Promise<void> {
  await db.write(async (tx) => {
    if (checked !== undefined)
      await tx
        .updateTable('project_domain')
        .set({ check_due: nextCheck(checked, now) })
        .where('account_id', '=', accountId)
        .where('name', '=', checked.name)
        .where('check_due', '=', checked.check_due)
        .execute()
    const next = await nextDomain(tx, accountId)
    if (next === undefined) await tx.deleteFrom('domain_turn').where('account_id', '=', accountId).execute()
    else
      await tx
        .updateTable('domain_turn')
        .set({ due_at: Math.max(next.check_due!, now + PACE_MS) })
        .where('account_id', '=', accountId)
        .execute()
  }, accountId)
}
