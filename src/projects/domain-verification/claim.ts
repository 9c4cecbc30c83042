/**
 * Decides which claims are verified immediately, which need verification, and which lose a name. The unique index over verified
 * names is authoritative. docs/spec/decisions.md: Domains; docs/domains.md: When a name is verified at once, The
 * latest verification of an apex counts.
 */

import type { DomainSettings } from '../../config.ts'
import type { Ctx, EventAccount, OperatorCtx } from '../../context.ts'
import { couldBeAddress, isOfSuffix, suffixOf } from '../../model/addresses.ts'
import { showEvent } from '../../model/domain.ts'
import { hostOf, isPlatformName, isUnder, isWildcard, wildcardsOver } from '../../model/domain-name.ts'
import type { DnsAnswer as Records } from '../../platform/adapters/dns.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { mustNotBeAddress, reassignDomain, unassignLostDomain } from '../serving/domain-assignment.ts'
import { mustMatchChallenge } from './challenge.ts'
import { NO_CHECKS, newChallenge, queueChecks } from './check-schedule.ts'
import { findExemption, revokeOtherAccountProofs, timeOfProof } from './exemption.ts'

type Domain = Row<'project_domain'>

/**
 * Settles a new claim: verified immediately, or with a challenge. Unverified claims of other accounts do not matter. Refuses:
 * domain_forbidden 403, domain_owned_by_your_other_account 409, conflict_with_verified_domain 409.
 */
export async function verifyOrChallenge(ctx: Ctx, claim: Domain): Promise<Domain> {
  const holder = await findHolder(ctx, claim)
  if (holder !== undefined) {
    if (isPlatformName(claim.name, ctx.deps.config.domains))
      refuse('domain_forbidden', `You don't have access to "${claim.name}".`, { domain: claim.name })
    await mustNotBeYours(ctx, holder)
  }
  await mustNotOverlap(ctx, claim)
  await mustNotBeAddress(ctx, claim.name)
  // A name of another account changes owner only after a new verification.
  const exemption = holder === undefined ? await findExemption(ctx, claim) : undefined
  if (exemption !== undefined) return markVerified(ctx, claim, exemption.provenAt)
  await queueChecks(ctx, claim.account_id, stampToMs(ctx.stamp))
  return claim
}

/**
 * Verifies a claim by its record, and assigns the name to `owner`. In the same transaction, an earlier holder becomes unverified
 * with a new challenge and is notified. Refuses: what `mustMatchChallenge` does, domain_not_allowed 409 (denied since it was
 * added), conflict_with_verified_domain 409.
 */
export async function verifyClaim(
  ctx: OperatorCtx,
  owner: EventAccount,
  { project, domain }: { project: Row<'project'>; domain: Domain },
  records: Records<string>,
): Promise<Domain> {
  await mustMatchChallenge(ctx, domain, records)
  mustBeAllowed(domain.name, ctx.deps.config.domains)
  const verified = await assignVerifiedName(ctx, domain)
  await reassignDomain(ctx, project, verified)
  ctx.emit('project.domain.verified', showEvent(project, verified), project.id, owner)
  return verified
}

async function assignVerifiedName(ctx: OperatorCtx, claim: Domain): Promise<Domain> {
  await mustNotOverlap(ctx, claim)
  await mustNotBeAddress(ctx, claim.name)
  const provenAt = await timeOfProof(ctx, claim.apex_name)
  await unverifyPreviousHolder(ctx, claim)
  await revokeOtherAccountProofs(ctx, claim)
  return markVerified(ctx, claim, provenAt)
}

/** Rejects denied names, Berth's own hosts, and names that Berth may assign itself. Refuses: domain_not_allowed 409. */
export function mustBeAllowed(name: string, settings: DomainSettings): void {
  const { denied, ownNames } = settings
  const host = hostOf(name)
  const covers = (entry: string) => host === entry || (isWildcard(name) && isUnder(entry, host))
  if (denied.some((entry) => covers(entry) || isUnder(host, entry)))
    refuse('domain_not_allowed', undefined, { domain: name })
  if (ownNames.some(covers)) {
    const message = `Cannot use "${name}": Berth itself is reached there.`
    refuse('domain_not_allowed', message, { domain: name })
  }
  mustBeForAll(name, settings)
}

/** Rejects names under the suffix that Berth assigns itself or never. */
function mustBeForAll(name: string, settings: DomainSettings): void {
  if (!isOfSuffix(hostOf(name), settings)) return
  const suffix = suffixOf(settings)
  const no = (message: string): never => refuse('domain_not_allowed', message, { domain: name })
  if (settings.platformSuffix === undefined)
    no(
      `Cannot use "${name}": names under "${suffix}" are the addresses of sites on this machine. Use a domain of your own.`,
    )
  if (!isPlatformName(name, settings))
    no(`Of the platform's own domain only names with one label under it can be used: <label>.${suffix}.`)
  if (couldBeAddress(name, settings))
    no(
      `Cannot use "${name}": Berth gives names that end in "-" and 8 to 10 letters or digits to deployments, branches and projects. Use a label that ends otherwise, or a domain of your own; to change the target of the production address, promote a deployment.`,
    )
}

/** The other account's verified claim on the name. */
function findHolder(ctx: Ctx, claim: Domain): Promise<Domain | undefined> {
  return ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('name', '=', claim.name)
    .where('verified_at', 'is not', null)
    .where('account_id', '!=', claim.account_id)
    .executeTakeFirst()
}

/** Requires a token that can act for that account: a team token must not learn about other teams. */
async function mustNotBeYours(ctx: Ctx, holder: Domain): Promise<void> {
  if (ctx.caller.tokenTeamId !== null) return
  const member = await ctx.db
    .selectFrom('member')
    .select('team_id')
    .where('team_id', '=', holder.account_id)
    .where('user_id', '=', ctx.caller.userId)
    // Users placed in a team did not choose this membership.
    .where('placed_at', 'is', null)
    .executeTakeFirst()
  if (member !== undefined || holder.account_id === ctx.caller.userId)
    refuse('domain_owned_by_your_other_account', undefined, { domain: holder.name })
}

/** A wildcard and a name under it cannot be verified in two accounts. */
async function mustNotOverlap(ctx: Pick<OperatorCtx, 'db'>, claim: Domain): Promise<void> {
  const others = ctx.db
    .selectFrom('project_domain')
    .select('name')
    .where('verified_at', 'is not', null)
    .where('account_id', '!=', claim.account_id)
  const above = wildcardsOver(claim.name)
  const higher = above.length === 0 ? undefined : await others.where('name', 'in', above).executeTakeFirst()
  const under = isWildcard(claim.name)
    ? await others
        .where('apex_name', '=', claim.apex_name)
        .where('name', '!=', claim.name)
        .where('name', 'like', `%.${hostOf(claim.name)}`)
        .executeTakeFirst()
    : undefined
  const conflicting = higher ?? under
  if (conflicting === undefined) return
  const way = `If "${hostOf(conflicting.name)}" is yours, add "${conflicting.name}" and verify it first.`
  const message = `"${claim.name}" conflicts with "${conflicting.name}", which is verified in another account. ${way}`
  refuse('conflict_with_verified_domain', message, { domain: conflicting.name })
}

/** Uses the time of the transaction, since the DNS query may have taken seconds and the latest verification counts. */
function markVerified(ctx: Pick<OperatorCtx, 'db' | 'stamp'>, claim: Domain, provenAt: number | null): Promise<Domain> {
  const now = stampToMs(ctx.stamp)
  return ctx.db
    .updateTable('project_domain')
    .set({ verified_at: now, proven_at: provenAt, inherited_at: null, ...NO_CHECKS, updated_at: now })
    .where('account_id', '=', claim.account_id)
    .where('name', '=', claim.name)
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function unverifyPreviousHolder(ctx: OperatorCtx, claim: Domain): Promise<void> {
  const now = stampToMs(ctx.stamp)
  const displaced = await ctx.db
    .updateTable('project_domain')
    .set({
      verified_at: null,
      proven_at: null,
      inherited_at: null,
      ...newChallenge(now),
      updated_at: now,
    })
    .where('name', '=', claim.name)
    .where('verified_at', 'is not', null)
    .where('account_id', '!=', claim.account_id)
    .returningAll()
    .executeTakeFirst()
  if (displaced === undefined) return
  await queueChecks(ctx, displaced.account_id, now)
  await unassignLostDomain(ctx, displaced)
  const owner = await ctx.db
    .selectFrom('project')
    .innerJoin('account', 'account.id', 'project.account_id')
    .select(['project.id', 'project.name', 'account.id as account_id', 'account.kind'])
    .where('project.account_id', '=', displaced.account_id)
    .where('project.id', '=', displaced.project_id)
    .executeTakeFirstOrThrow()
  const account = { id: owner.account_id, kind: owner.kind }
  ctx.emit('project.domain.unverified', showEvent(owner, displaced), owner.id, account)
}
