/** Letters to the owners of a team. */
import type { OperatorCtx } from '../context.ts'
import { type Letter, queueMail } from './mail.ts'

/** Writes a letter to every OWNER that the team has now. An OWNER without an address gets none. */
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
