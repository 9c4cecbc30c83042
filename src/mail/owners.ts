/** Letters to those who answer for a team. */
import type { OperatorCtx } from '../context.ts'
import { type Letter, queueMail } from './mail.ts'

/** Writes to every OWNER that the team has now. One without an address gets nothing. */
export async function mailOwners(ctx: OperatorCtx, teamId: string, letter: Omit<Letter, 'recipient'>): Promise<void> {
  const owners = await ctx.db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.user_id')
    .select('account.email')
    .where('member.team_id', '=', teamId)
    .where('member.role', '=', 'OWNER')
    .execute()
  for (const { email } of owners) if (email !== null) await queueMail(ctx, { recipient: email, ...letter })
}
