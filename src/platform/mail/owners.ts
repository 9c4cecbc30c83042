import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { type MailMessage, queueMail } from './mail.ts'

/** Condition on `member`: receives team email, as an OWNER or because every OWNER is suspended. */
export const IS_TOLD = sql<boolean>`("member"."role" = 'OWNER' or not exists (
  select 1 from "member" as "other" inner join "account" as "other_person" on "other_person"."id" = "other"."user_id"
  where "other"."team_id" = "member"."team_id" and "other"."role" = 'OWNER' and "other_person"."suspended_at" is null))`

/**
 * Emails every active OWNER of the team. Without one, every member with an address gets it and is asked to request an OWNER from the operator.
 * Specification: Integration configuration.
 */
export async function mailOwners(
  ctx: OperatorCtx,
  teamId: string,
  letter: Omit<MailMessage, 'recipient'>,
): Promise<void> {
  const members = await ctx.db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.user_id')
    .select(['account.email', 'member.role'])
    .where('member.team_id', '=', teamId)
    .where('account.suspended_at', 'is', null)
    .where(IS_TOLD)
    .execute()
  const hasOwner = members.some(({ role }) => role === 'OWNER')
  const text = hasOwner ? letter.text : `${letter.text}\n${WITHOUT_OWNER}`
  for (const { email } of members) {
    if (email !== null) await queueMail(ctx, { recipient: email, ...letter, text })
  }
}

const WITHOUT_OWNER = `
You get this because the team has no OWNER who can sign in. The operator of this service can make a member OWNER: berth team member add.
`
