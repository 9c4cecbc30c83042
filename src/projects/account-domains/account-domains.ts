/** Domains of an account: an apex that is proven once for all its projects. docs/domains.md: Domains of the account are derived, Proving an apex for the whole account. */

import type { Ctx, Input, Params } from '../../context.ts'
import { apexOf, canonicalName, isPlatformName, nameToFind } from '../../model/domain-name.ts'
import { guard } from '../../platform/access/guards.ts'
import type { DnsAnswer as Records } from '../../platform/adapters/dns.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { newChallengeToken } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { challengeOf, countDnsLookup, mustMatchChallenge } from '../domain-verification/challenge.ts'
import { mustBeAllowed } from '../domain-verification/claim.ts'
import { findExemption, revokeOtherAccountProofs } from '../domain-verification/exemption.ts'
import { type Apex, describeApex, readApex, readClaim } from './list.ts'
import { type AccountDomain, type AddAccountDomain, showAccountDomain, showPlatformDomain } from './schema.ts'

type Answer = { domain: AccountDomain }

/** The domain of the account that a name is under; for a label under the platform's suffix, the platform's. Refuses: not_found 404. */
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

/** What is added to the account as a whole is nothing to a token that may see some of its projects only. */
export const actsForAllProjects = guard(['missing_permission'], ({ caller }: Ctx, _subject: unknown) => {
  if (caller.projectIds !== null)
    refuse('missing_permission', "Only some projects are visible here: domains of the account are the whole account's.")
})

/**
 * Adds an apex to the account, with a challenge unless the account has proven it already by one of its names.
 * Refuses: invalid_domain 400, domain_not_allowed 409, account_domain_exists 409 (by the primary key).
 */
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

/** The claim of the account on an apex. Refuses: not_found 404. */
export async function findAccountClaim(ctx: Ctx, params: Params): Promise<Row<'account_domain'>> {
  const name = nameToFind(params.domain ?? '', ctx.deps.config.domains)
  const claim = await readClaim(ctx, name)
  if (claim === undefined) refuse('not_found', `"${name}" was not added to the account. Add it with POST /v7/domains.`)
  return claim
}

/** The TXT record that proves an apex for this account. */
export function showVerificationRecord(ctx: Ctx, claim: Row<'account_domain'>) {
  const { value, domain } = challengeOf({ ...claim, apex_name: claim.name }, ctx.deps.config.domains)
  return { txtRecord: value, verificationDomain: domain }
}

const NOT_ASKED = 'not asked'

/** The TXT records at the place of the challenge; not asked when the account has proven the apex and nobody else did since. */
export async function readAccountChallenge(
  ctx: Ctx,
  claim: Row<'account_domain'>,
): Promise<Records<string> | typeof NOT_ASKED> {
  if ((await provenAt(ctx, claim)) !== null) return NOT_ASKED
  await countDnsLookup(ctx, claim.name)
  return ctx.deps.adapters.dns.readTxt(showVerificationRecord(ctx, claim).verificationDomain, ctx.account.id)
}

/**
 * Proves an apex by its record: from now on names under it that nobody holds are verified as they are added, and the proof of
 * another account speaks no more. What others hold under it stays theirs until it is proven name by name. Refuses: what
 * `mustMatchChallenge` does, domain_not_allowed 409 (denied since it was added), busy 503 (proven by somebody else since DNS was asked).
 */
export async function verifyAccountDomain(
  ctx: Ctx,
  claim: Row<'account_domain'>,
  _: unknown,
  records: Records<string> | typeof NOT_ASKED,
): Promise<Answer> {
  const { name, account_id } = claim
  const latestProof = await provenAt(ctx, claim)
  if (latestProof === null) {
    // It was proven a moment ago, and by somebody else since: nothing is known of DNS, so nothing is said of it.
    if (records === NOT_ASKED) refuse('busy')
    await mustMatchChallenge(ctx, { ...claim, apex_name: name }, records)
    mustBeAllowed(name, ctx.deps.config.domains)
    await revokeOtherAccountProofs(ctx, { account_id, name, apex_name: name })
  }
  await ctx.db
    .updateTable('account_domain')
    .set({ proven_at: latestProof ?? stampToMs(ctx.stamp) })
    .where('account_id', '=', account_id)
    .where('name', '=', name)
    .execute()
  return answer(ctx, { name, stamp: claim.created_stamp, claim })
}

/** When the account made the proof that speaks for the apex, if so: of the whole, or of a name under it. */
async function provenAt(ctx: Ctx, { account_id, name }: Row<'account_domain'>): Promise<number | null> {
  return (await findExemption(ctx, { account_id, name, apex_name: name }))?.provenAt ?? null
}
