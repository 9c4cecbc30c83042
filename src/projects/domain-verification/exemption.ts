/**
 * Verifications of an apex, and the claims that they cover. docs/spec/decisions.md: Domains, Verification; docs/domains.md: The
 * latest verification of an apex counts, Verifying an apex for the account.
 */
import type { Ctx, OperatorCtx } from '../../context.ts'
import { isPlatformName } from '../../model/domain-name.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { newChallengeToken } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { deleteReleasedProofs, readReleasedProof } from './released-proof.ts'

type Claim = Pick<Row<'project_domain'>, 'account_id' | 'name' | 'apex_name'>

/** Returns why a claim needs no challenge, or undefined. `provenAt`: when the account verified the apex, null without a verification. */
export async function findExemption(ctx: Ctx, claim: Claim): Promise<{ provenAt: number | null } | undefined> {
  const settings = ctx.deps.config.domains
  if (isPlatformName(claim.name, settings)) return { provenAt: null }
  // Only the latest verification of an apex counts, so that former owners of the domain cannot use older ones.
  const latest = await latestProof(ctx, claim.apex_name)
  if (latest?.account_id === claim.account_id && latest.inherited_at === null) return { provenAt: latest.proven_at }
  if (settings.proof === 'contested' && !(await isContested(ctx, claim))) return { provenAt: null }
  return undefined
}

/** Revokes other accounts' verifications of the apex after one under it here. Replaces their tokens, so that old records in DNS cannot verify again. */
export async function revokeOtherAccountProofs(
  ctx: Pick<OperatorCtx, 'db'>,
  { account_id, apex_name }: Claim,
): Promise<void> {
  await ctx.db
    .updateTable('account_domain')
    .set({ proven_at: null, challenge_token: newChallengeToken() })
    .where('name', '=', apex_name)
    .where('proven_at', 'is not', null)
    .where('account_id', '!=', account_id)
    .execute()
  await deleteReleasedProofs(ctx, apex_name, { provenBy: account_id })
}

/** Returns the time of a new verification: later than all others of the apex, also where the clock of another instance is ahead. */
export async function timeOfProof(ctx: Pick<OperatorCtx, 'db' | 'now' | 'stamp'>, apex: string): Promise<number> {
  const latest = await latestProof(ctx, apex)
  return Math.max(stampToMs(ctx.stamp), (latest?.proven_at ?? 0) + 1)
}

/** Of the apex, of a name under it, or of a recently removed name. */
async function latestProof(ctx: Pick<OperatorCtx, 'db' | 'now'>, apex: string) {
  const whole = await ctx.db
    .selectFrom('account_domain')
    .select(['account_id', 'proven_at'])
    .where('name', '=', apex)
    .where('proven_at', 'is not', null)
    .executeTakeFirst()
  const name = await ctx.db
    .selectFrom('project_domain')
    .select(['account_id', 'proven_at', 'inherited_at'])
    .where('apex_name', '=', apex)
    .where('verified_at', 'is not', null)
    .where('proven_at', 'is not', null)
    .orderBy('proven_at', 'desc')
    // Among names with the same verification, prefer those of the account that made it over inherited ones.
    .orderBy((eb) => eb.fn.coalesce('inherited_at', eb.lit(0)))
    .limit(1)
    .executeTakeFirst()
  const released = await readReleasedProof(ctx, apex)
  // Of verifications at the same time, prefer that of an existing name.
  const [latest] = [name, whole && { ...whole, inherited_at: null }, released && { ...released, inherited_at: null }]
    .filter((proof) => proof !== undefined)
    .sort((a, b) => b.proven_at! - a.proven_at!)
  return latest
}

/** Returns whether another account holds the apex or any name under it. */
async function isContested(ctx: Ctx, claim: Claim): Promise<boolean> {
  const name = await ctx.db
    .selectFrom('project_domain')
    .select('name')
    .where('apex_name', '=', claim.apex_name)
    .where('verified_at', 'is not', null)
    .where('account_id', '!=', claim.account_id)
    .limit(1)
    .executeTakeFirst()
  if (name !== undefined) return true
  const whole = await ctx.db
    .selectFrom('account_domain')
    .select('name')
    .where('name', '=', claim.apex_name)
    .where('proven_at', 'is not', null)
    .where('account_id', '!=', claim.account_id)
    .executeTakeFirst()
  return whole !== undefined
}
