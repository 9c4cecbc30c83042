/**
 * Domains of an account: an apex that is verified once for all its projects. docs/domains.md: Domains of the account are derived,
 * Verifying an apex for the account.
 */

import type { Ctx, Input, Params } from '../../context.ts'
import { apexOf, canonicalName, isPlatformName, nameToFind } from '../../model/domain-name.ts'
import { guard } from '../../platform/access/guards.ts'
import type { DnsAnswer as Records } from '../../platform/adapters/dns.ts'
import { newChallengeToken } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { challengeOf, countDnsLookup, mustMatchChallenge } from '../domain-verification/challenge.ts'
import { mustBeAllowed } from '../domain-verification/claim.ts'
import { findExemption, revokeOtherAccountProofs, timeOfProof } from '../domain-verification/exemption.ts'
import { type Apex, describeApex, readApex, readClaim } from './list.ts'
import { type AccountDomain, type AddAccountDomain, showAccountDomain, showPlatformDomain } from './schema.ts'

type Answer = { domain: AccountDomain }

/** Returns the account's domain above a name; for a label under the platform's suffix, the platform's domain. Refuses: not_found 404. */
export async function showDomainOfAccount(ctx: Ctx, _: undefined, { params }: Input): Promise<Answer> {
  const settings = ctx.deps.config.domains
  const name = nameToFind(params.domain ?? '', settings)
  if (settings.platformSuffix !== undefined && (name === settings.platformSuffix || isPlatformName(name, settings)))
    return { domain: showPlatformDomain(settings.platformSuffix) }
  const apex = await readApex(ctx, apexOf(name))
  if (apex === undefined) refuse('not_found', `The account has no domain "${apexOf(name)}".`)
  return answer(ctx, apex)
}

async function answer(ctx: Ctx, apex: Apex): Promise<Answer> {
  return { domain: showAccountDomain(await describeApex(ctx, apex), ctx.account) }
}

/** Project-limited tokens cannot use domains that belong to the account. */
export const actsForAllProjects = guard(['missing_permission'], ({ caller }: Ctx, _subject: unknown) => {
  if (caller.projectIds !== null)
    refuse('missing_permission', "Only some projects are visible here: domains of the account are the whole account's.")
})

/** Adds an apex, with a challenge if needed. Refuses: invalid_domain 400, domain_not_allowed 409, account_domain_exists 409 (by the primary key). */
export async function addAccountDomain(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, AddAccountDomain>,
): Promise<Answer> {
  const settings = ctx.deps.config.domains
  const name = canonicalName(body.name, settings)
  const apex = apexOf(name)
  if (name !== apex)
    refuse('invalid_domain', `"${name}" is under "${apex}": add that, or add "${name}" to a project.`, { domain: name })
  mustBeAllowed(name, settings)
  const exemption = await findExemption(ctx, { account_id: ctx.account.id, name, apex_name: name })
  const claim = await ctx.db
    .insertInto('account_domain')
    .values({
      account_id: ctx.account.id,
      name,
      challenge_token: newChallengeToken(),
      proven_at: exemption?.provenAt ?? null,
      created_stamp: ctx.stamp,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .returningAll()
    .executeTakeFirst()
  if (claim === undefined) refuse('account_domain_exists', `The account has "${name}" already.`, { domain: name })
  await mustFit(ctx, 'account-domains', ctx.account.id)
  return answer(ctx, { name, stamp: claim.created_stamp, claim })
}

/** Returns the account's claim on an apex. Refuses: not_found 404. */
export async function findAccountClaim(ctx: Ctx, params: Params): Promise<Row<'account_domain'>> {
  const name = nameToFind(params.domain ?? '', ctx.deps.config.domains)
  const claim = await readClaim(ctx, name)
  if (claim === undefined) refuse('not_found', `"${name}" was not added to the account. Add it with POST /v7/domains.`)
  return claim
}

/** Returns the TXT record that verifies an apex for this account. */
export function showVerificationRecord(ctx: Ctx, claim: Row<'account_domain'>) {
  const { value, domain } = challengeOf({ ...claim, apex_name: claim.name }, ctx.deps.config.domains)
  return { txtRecord: value, verificationDomain: domain }
}

const NOT_ASKED = 'not asked'

/** Returns the TXT records of the challenge. Skips DNS if the account has the latest verification of the apex. */
export async function readAccountChallenge(
  ctx: Ctx,
  claim: Row<'account_domain'>,
): Promise<Records<string> | typeof NOT_ASKED> {
  if ((await provenAt(ctx, claim)) !== null) return NOT_ASKED
  await countDnsLookup(ctx, claim.name)
  return ctx.deps.adapters.dns.readTxt(showVerificationRecord(ctx, claim).verificationDomain, ctx.account.id)
}

/**
 * Verifies an apex by its record. New unclaimed names under it are then verified when added, and verifications of other accounts
 * expire. Other accounts keep their names until each is verified here. Refuses: what `mustMatchChallenge` does,
 * domain_not_allowed 409 (denied since it was added), busy 503 (verified by another account since the DNS query).
 */
export async function verifyAccountDomain(
  ctx: Ctx,
  claim: Row<'account_domain'>,
  _: unknown,
  records: Records<string> | typeof NOT_ASKED,
): Promise<Answer> {
  const { name, account_id } = claim
  const latestProof = await provenAt(ctx, claim)
  const proven_at = latestProof ?? (await timeOfProof(ctx, name))
  if (latestProof === null) {
    // Another account has just verified it and DNS was not queried, so there is no result to report.
    if (records === NOT_ASKED) refuse('busy')
    await mustMatchChallenge(ctx, { ...claim, apex_name: name }, records)
    mustBeAllowed(name, ctx.deps.config.domains)
    await revokeOtherAccountProofs(ctx, { account_id, name, apex_name: name })
  }
  await ctx.db
    .updateTable('account_domain')
    .set({ proven_at })
    .where('account_id', '=', account_id)
    .where('name', '=', name)
    .execute()
  return answer(ctx, { name, stamp: claim.created_stamp, claim })
}

/** Returns when the account verified the apex, or a name under it, if that is the latest verification. */
async function provenAt(ctx: Ctx, { account_id, name }: Row<'account_domain'>): Promise<number | null> {
  return (await findExemption(ctx, { account_id, name, apex_name: name }))?.provenAt ?? null
}
