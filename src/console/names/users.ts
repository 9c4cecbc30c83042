import type { Static } from 'typebox'
import type { MemberList } from '../../accounts/members/schema.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../platform/pages/screen.ts'

/** Limit of one `getTeamMembers` call. */
const MAX_PEOPLE = 100

/** Routes that `readUserNames` calls. */
export const USER_NAME_CALLS = ['getTeamMembers'] as const

/** Returns the names of users of the account by id. The session user is `you`. */
export async function readUserNames(
  ctx: ConsoleCtx,
  account: OwnAccount,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map([[ctx.user.userId, 'you']])
  const others = [...new Set(ids)].filter((id) => !names.has(id)).slice(0, MAX_PEOPLE)
  if (account.kind !== 'team' || others.length === 0) return names
  const { members } = await ctx.callRoute<Static<typeof MemberList>>('getTeamMembers', {
    account,
    params: { idOrSlug: account.id },
    query: { filterByUserIds: others.join(','), limit: String(MAX_PEOPLE) },
  })
  for (const { uid, name, username } of members) if (!names.has(uid)) names.set(uid, name ?? username)
  return names
}
