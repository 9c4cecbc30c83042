/** Letters to the people of a team. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { type MailMessage, queueMail } from './mail.ts'

/** Of a row of `member`: whether that person is told what concerns the team, as an OWNER or because no OWNER is let in. */
export const IS_TOLD = sql<boolean>`("member"."role" = 'OWNER' or not exists (
  select 1 from "member" as "other" inner join "account" as "other_person" on "other_person"."id" = "other"."user_id"
  where "other"."team_id" = "member"."team_id" and "other"."role" = 'OWNER' and "other_person"."suspended_at" is null))`

/**
 * Writes a letter to every OWNER of the team who is let in now. Where there is none, every member gets it: somebody of the team has to ask
 * the operator for an OWNER. Whoever has no address gets none. Specification: Integration configuration.
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
You get this because the team has no OWNER who can sign in. Whoever runs this service can make a member OWNER: berth team member add.
`
