/** Users, teams and members. Users and teams are accounts in one table with one namespace of slugs. */

import type { Input, OperatorCtx } from '../../context.ts'
import { membership } from '../../model/account.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { appendAuditEntry } from '../../platform/outbox/audit-chain.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { NewTeam, NewUser, PatchAccount, PatchUser, SetMember } from '../accounts/schema.ts'
import { claimSlug, reserveSlug, unlessTaken } from '../accounts/slugs.ts'
import { assignInvitationsToUser } from '../members/invitations.ts'
import { addMember, changeRole, endMembership } from '../members/members.ts'
import { shortenSessions } from '../sign-in/sessions.ts'
import { markOperatorSuspension, restartChecks } from './operator-suspension.ts'
import { setSuspended } from './suspend.ts'

type DbCtx = Pick<OperatorCtx, 'db' | 'now' | 'stamp' | 'deps'>

/** Creates a user with a personal account. Refuses: username_taken 409, email_taken 409. */
export async function createUser(ctx: DbCtx, _: undefined, { body }: Input<unknown, NewUser>): Promise<OperatorUser> {
  await claimSlug(ctx, body.username)
  const row = await insertAccount(ctx, {
    id: newId('usr'),
    kind: 'user',
    slug: body.username,
    name: body.name ?? null,
    email: body.email.toLowerCase(),
    plan: ctx.deps.config.defaultPlan,
  })
  await assignInvitationsToUser(ctx, row.email!, row.id)
  return showOperatorUser(row)
}

/** Creates a team whose owner becomes its OWNER. Refuses: unknown_user 400, slug_taken 409. */
export async function createTeam(ctx: DbCtx, _: undefined, { body }: Input<unknown, NewTeam>) {
  await mustBeUser(ctx, body.ownerId)
  return insertTeam(ctx, body, 'founder')
}

/** Inserts a team. `consent`: `accepted` when the owner creates it, `founder` when it is created for them. Refuses: slug_taken 409. */
export async function insertTeam(ctx: DbCtx, body: NewTeam, consent: 'accepted' | 'founder') {
  const plan = body.plan ?? ctx.deps.config.defaultPlan
  await claimSlug(ctx, body.slug, body.ownerId)
  const row = await insertAccount(ctx, {
    id: newId('team'),
    kind: 'team',
    slug: body.slug,
    name: body.name,
    email: null,
    plan,
  })
  await addMember(ctx, row.id, body.ownerId, 'OWNER', consent)
  return { id: row.id, slug: row.slug, name: row.name ?? row.slug, plan: row.plan }
}

type NewAccount = Pick<Row<'account'>, 'id' | 'kind' | 'slug' | 'name' | 'email' | 'plan'>

async function insertAccount(ctx: DbCtx, account: NewAccount): Promise<Row<'account'>> {
  return unlessTaken(account, () =>
    ctx.db
      .insertInto('account')
      .values({ ...account, add_ons_json: '[]', created_stamp: ctx.stamp })
      .returningAll()
      .executeTakeFirstOrThrow(),
  )
}

/**
 * Adds a user to a team without an invitation, with an audit entry of its own, or changes the role. Below MEMBER it disables the user's
 * installations. Refuses: not_found 404, unknown_user 400, last_owner 409.
 */
export async function setMember(ctx: OperatorCtx, team: Row<'account'>, { params, body }: Input<unknown, SetMember>) {
  const userId = params.userId!
  await mustBeUser(ctx, userId)
  if (await addMember(ctx, team.id, userId, body.role, 'placed')) await notePlaced(ctx, team.id, userId)
  else await changeRole(ctx, team, userId, body.role)
  return { teamId: team.id, userId, role: body.role }
}

function notePlaced(ctx: OperatorCtx, teamId: string, userId: string): Promise<void> {
  return appendAuditEntry(ctx, {
    stamp: ctx.deps.clock.stamp(),
    account_id: teamId,
    actor_kind: ctx.actor.kind,
    actor_id: ctx.actor.id,
    token_id: null,
    type: 'placed by operator',
    subject_id: userId,
    fields_json: '["role"]',
  })
}

/** Removes a user from a team. Refuses: not_found 404, last_owner 409. */
export async function removeMember(ctx: OperatorCtx, team: Row<'account'>, { params }: Input): Promise<void> {
  await endMembership(ctx, team, params.userId!)
}

/**
 * Changes the fields in the body. A new email ends the links sent to the old one; the old username stays reserved for 90 days. Refuses:
 * not_found 404, unknown_team 400 (unknown, or without the user), slug_taken 409, email_taken 409, too_many_slugs 409.
 */
export async function updateUser(ctx: OperatorCtx, user: Row<'account'>, { body }: Input<unknown, PatchUser>) {
  const { defaultTeamId = user.default_team_id, name = user.name, username: slug = user.slug } = body
  const email = body.email?.toLowerCase() ?? user.email
  if (defaultTeamId !== null && !(await membership(ctx, defaultTeamId, user.id))) {
    refuse('unknown_team', `The user is not a member of a team "${defaultTeamId}".`)
  }
  if (slug !== user.slug) {
    await claimSlug(ctx, slug, user.id)
    await reserveSlug(ctx, user.slug, user.id)
  }
  const columns = {
    default_team_id: defaultTeamId,
    name,
    slug,
    email,
    operator_at: momentFor(body.operator, user.operator_at, ctx.now),
  }
  if (body.operator && user.operator_at === null) await shortenSessions(ctx, user.id)
  if (body.suspended !== undefined) await setSuspended(ctx, user, body.suspended)
  if (body.suspended) await markOperatorSuspension(ctx, user.id)
  if (body.suspended === false) await restartChecks(ctx, user.id)
  const row = await unlessTaken(columns, () => changeAccount(ctx, user.id, columns))
  if (email !== null && email !== user.email) await followNewEmail(ctx, user.id, email)
  return showOperatorUser(row)
}

/** Ends the links that were emailed to the former address of a user, and gives the user the invitations to the new one. */
export async function followNewEmail(ctx: Pick<OperatorCtx, 'db' | 'now'>, userId: string, email: string) {
  for (const table of ['password_link', 'identity_link'] as const)
    await ctx.db.deleteFrom(table).where('user_id', '=', userId).execute()
  await assignInvitationsToUser(ctx, email, userId)
}

/** Sets plan, add-ons, and the flags for a block and missing payment. Refuses: not_found 404. */
export async function updateAccount(ctx: OperatorCtx, account: Row<'account'>, { body }: Input<unknown, PatchAccount>) {
  const row = await changeAccount(ctx, account.id, {
    plan: body.plan ?? account.plan,
    add_ons_json: body.addOns === undefined ? account.add_ons_json : JSON.stringify(body.addOns),
    soft_blocked_at: momentFor(body.softBlocked, account.soft_blocked_at, ctx.now),
    payment_missing_at: momentFor(body.paymentMissing, account.payment_missing_at, ctx.now),
  })
  return {
    id: row.id,
    plan: row.plan,
    softBlocked: row.soft_blocked_at !== null,
    paymentMissing: row.payment_missing_at !== null,
    addOns: JSON.parse(row.add_ons_json) as string[],
  }
}

/** A flag as the time since which it is set. Setting it again keeps the time. */
function momentFor(flag: boolean | undefined, since: number | null, now: number): number | null {
  if (flag === undefined) return since
  return flag ? (since ?? now) : null
}

function changeAccount(ctx: DbCtx, id: string, columns: Partial<Row<'account'>>): Promise<Row<'account'>> {
  return ctx.db.updateTable('account').set(columns).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
}

async function mustBeUser(ctx: DbCtx, id: string): Promise<void> {
  const row = await ctx.db.selectFrom('account').select('kind').where('id', '=', id).executeTakeFirst()
  if (row?.kind !== 'user') refuse('unknown_user', `User "${id}" not found.`)
}

export type OperatorUser = {
  id: string
  email: string
  username: string
  name: string | null
  defaultTeamId: string | null
  suspended: boolean
  operator: boolean
}

function showOperatorUser(row: Row<'account'>): OperatorUser {
  return {
    id: row.id,
    email: row.email ?? '',
    username: row.slug,
    name: row.name,
    defaultTeamId: row.default_team_id,
    suspended: row.suspended_at !== null,
    operator: row.operator_at !== null,
  }
}
