/** The members of a team. Members see them, OWNERs change them, and every member can leave. docs/accounts.md: Who changes members. */

import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { membership } from '../../model/account.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { countSentEmail } from '../../platform/mail/sender-share.ts'
import { type Permission, ROLE_PERMISSIONS } from '../../platform/permissions/roles.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { findTeam, type TeamRow } from '../accounts/teams.ts'
import { createInvitation, type Invitee, isInvited, updateInvitationRole, withdrawInvitation } from './invitations.ts'
import { listMembersAndInvitations } from './list.ts'
import { changeRole, endMembership } from './members.ts'
import type {
  ChangedMember,
  InvitedMember,
  InviteMember,
  MemberList,
  MemberProjects,
  MembersQuery,
  PatchMember,
} from './schema.ts'

/** Finds the team of the path. Refuses: not_found 404 (also when the request acts for another team). */
export async function findActingTeam(ctx: Ctx, params: Params): Promise<TeamRow> {
  const team = await findTeam(ctx, params)
  if (ctx.account.kind === 'team' && ctx.account.id !== team.id) {
    refuse('not_found', `Team "${params.idOrSlug?.slice(0, 100)}" not found: the request acts for another team.`)
  }
  return team
}

/**
 * Checks the caller's role in the team and the limits of the token. A project-limited token has no permission on the team itself. Refuses:
 * missing_permission 403.
 */
export function mustBeInTeam({ caller }: Ctx, team: TeamRow, permission: Permission): void {
  permit(caller, [permission])
  if (!ROLE_PERMISSIONS[team.role].includes(permission)) {
    refuse('missing_permission', `You don't have permission to do this: only an OWNER of ${team.slug} can.`)
  }
  if (caller.projectIds !== null) {
    refuse('missing_permission', 'This token is limited to some projects: teams and their members are beyond it.')
  }
}

/** Lists the members and, as unconfirmed, the invited users, newest first. Only an OWNER sees who has no second factor: the others are targets. */
export async function listTeamMembers(
  ctx: Ctx,
  team: TeamRow,
  { query }: Input<MembersQuery>,
): Promise<Static<typeof MemberList>> {
  const { permissions, projectIds } = ctx.caller
  const isOwner = permissions.has('member:write') && ROLE_PERMISSIONS[team.role].includes('member:write')
  const { rows, pagination } = await listMembersAndInvitations(ctx, team.id, query, isOwner && projectIds === null)
  return { members: rows, pagination }
}

/**
 * Invites a user by id, or by email, to become a member once they accept. Refuses: missing_permission 403, bad_request 400, unknown_user 400 (unknown
 * id), member_exists 409, too_many_invitations 409, rate_limited 429 (emails per day, to one address or in all).
 */
export async function inviteTeamMember(
  ctx: Ctx,
  team: TeamRow,
  { body }: Input<unknown, InviteMember>,
): Promise<Static<typeof InvitedMember>> {
  mustBeInTeam(ctx, team, 'member:write')
  const { email, uid, role = 'VIEWER', projects, accessGroups } = Array.isArray(body) ? body[0]! : body
  mustBeOfTheTeam({ projects, accessGroups })
  if ((email === undefined) === (uid === undefined)) {
    refuse('bad_request', 'Invalid request: specify exactly one of `email` and `uid`.')
  }
  const invitee = await findInvitee(ctx, email, uid)
  if (invitee.userId !== null && (await membership(ctx, team.id, invitee.userId)) !== undefined) refuse('member_exists')
  const { userId, actor } = ctx.caller
  await countSentEmail((name, owner) => ctx.spend(name, 1, owner), ctx.now, userId, invitee.email)
  const { id, url } = await createInvitation(ctx, team, invitee, { role, invitedBy: userId, tokenId: actor.tokenId })
  return {
    uid: invitee.userId ?? id,
    username: invitee.username,
    email: invitee.email,
    role,
    ...(url !== undefined && { inviteUrl: url }),
  }
}

async function findInvitee(
  ctx: Ctx,
  email: string | undefined,
  uid: string | undefined,
): Promise<Invitee & { username: string }> {
  const users = ctx.db.selectFrom('account').select(['id', 'slug', 'email']).where('kind', '=', 'user')
  const address = email?.toLowerCase() ?? ''
  const select = uid === undefined ? users.where('email', '=', address) : users.where('id', '=', uid)
  const user = await select.executeTakeFirst()
  if (user !== undefined) return { userId: user.id, username: user.slug, email: user.email ?? '' }
  if (uid === undefined) return { userId: null, username: '', email: address }
  refuse('unknown_user', `User "${uid}" not found. To invite a new user, use \`email\`.`)
}

/**
 * Changes the role of a member or an invitation. Refuses: missing_permission 403, bad_request 400, not_found 404 (no member), last_owner 409, and as
 * `mustFit` does for a new OWNER.
 */
export async function updateTeamMember(
  ctx: Ctx,
  team: TeamRow,
  { params, body }: Input<unknown, PatchMember>,
): Promise<Static<typeof ChangedMember>> {
  mustBeInTeam(ctx, team, 'member:write')
  const { role, confirmed, ...lists } = body
  mustBeOfTheTeam(lists)
  if (confirmed === false)
    refuse('bad_request', 'Invalid request: `confirmed` should be true; remove the member instead.')
  const uid = params.uid ?? ''
  if (confirmed && (await isInvited(ctx, team.id, uid)))
    refuse('bad_request', 'Invalid request: `confirmed` should be left out: only the invited user can accept.')
  if (role === undefined) await mustBeListed(ctx, team, uid)
  else if (!(await updateInvitationRole(ctx, team.id, uid, role))) {
    await changeRole(ctx, team, uid, role, ctx.caller.userId)
    if (role === 'OWNER') await mustFit(ctx, 'teams', uid)
  }
  return { id: team.id }
}

/** Removes a member, oneself or an invitation. Refuses: missing_permission 403, not_found 404 (no member), last_owner 409. */
export async function removeTeamMember(
  ctx: Ctx,
  team: TeamRow,
  { params }: Input,
): Promise<Static<typeof ChangedMember>> {
  const uid = params.uid ?? ''
  const { userId } = ctx.caller
  const leaves = uid === userId
  mustBeInTeam(ctx, team, leaves ? 'member:leave' : 'member:write')
  if (!(await withdrawInvitation(ctx, team.id, uid)))
    await endMembership(ctx, team, uid, leaves ? 'left' : 'ended', userId)
  return { id: team.id }
}

/** Lists the project roles of a member, which Berth does not have. Refuses: not_found 404 (no member). */
export async function listMemberProjects(
  ctx: Ctx,
  team: TeamRow,
  { params }: Input,
): Promise<Static<typeof MemberProjects>> {
  await mustBeListed(ctx, team, params.uid ?? '')
  return { projects: [], pagination: { count: 0, next: null, prev: null } }
}

async function mustBeListed(ctx: Ctx, team: TeamRow, userId: string): Promise<void> {
  if ((await membership(ctx, team.id, userId)) !== undefined || (await isInvited(ctx, team.id, userId))) return
  refuse('not_found', `"${userId.slice(0, 100)}" is not a member of ${team.slug}.`)
}

function mustBeOfTheTeam(lists: Record<string, unknown[] | undefined>): void {
  const named = Object.entries(lists).find(([, items]) => items !== undefined && items.length > 0)
  if (named === undefined) return
  refuse('bad_request', `Invalid request: \`${named[0]}\` should be empty: the team role applies to all projects.`)
}
