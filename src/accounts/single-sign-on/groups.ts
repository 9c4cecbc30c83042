/** Team roles and the operator role by groups of the provider. docs/single-sign-on.md: Groups. */
import type { OperatorCtx } from '../../context.ts'
import { membership } from '../../model/account.ts'
import type { Row } from '../../platform/db/schema.ts'
import { appendAuditEntry } from '../../platform/outbox/audit-chain.ts'
import { ROLES, type Role } from '../../platform/permissions/roles.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import type { GroupRule } from '../../platform/settings/sign-in.ts'
import { addMember, changeRole, endMembership } from '../members/members.ts'
import { shortenSessions } from '../sign-in/sessions.ts'

type Team = Pick<Row<'account'>, 'id' | 'slug'>

/** Applies the group rules to a user's memberships. Leaves teams without a rule and the last OWNER of a team unchanged. */
export async function applyGroups(ctx: OperatorCtx, userId: string, groups: readonly string[]): Promise<void> {
  const { groups: rules } = ctx.deps.config.singleSignOn!
  const given = new Set(groups)
  const held = rules.filter(({ group }) => given.has(group))
  if (rules.some(({ gives }) => gives === 'operator')) await applyOperator(ctx, userId, held)
  for (const slug of new Set(rules.flatMap(({ gives }) => (gives === 'operator' ? [] : [gives.team])))) {
    const team = await findTeam(ctx, slug)
    if (team === undefined) ctx.deps.log.warn({ team: slug }, 'BERTH_OIDC_GROUPS names a team that is not there')
    else await applyRole(ctx, team, userId, roleIn(slug, held))
  }
}

/** Marks memberships that the provider granted as accepted, because the user signed in with it. docs/single-sign-on.md: Groups. */
export async function acceptPlaces({ db, deps }: OperatorCtx, userId: string): Promise<void> {
  const slugs = deps.config.singleSignOn!.groups.flatMap(({ gives }) => (gives === 'operator' ? [] : [gives.team]))
  if (slugs.length === 0) return
  const teams = db.selectFrom('account').select('id').where('kind', '=', 'team').where('slug', 'in', slugs)
  const places = db.updateTable('member').set({ placed_at: null }).where('user_id', '=', userId)
  await places.where('placed_at', 'is not', null).where('team_id', 'in', teams).execute()
}

async function applyOperator(ctx: OperatorCtx, userId: string, held: readonly GroupRule[]): Promise<void> {
  const isOperator = held.some(({ gives }) => gives === 'operator')
  const change = ctx.db.updateTable('account').where('id', '=', userId)
  if (isOperator) {
    const [promoted] = await change
      .set({ operator_at: ctx.now })
      .where('operator_at', 'is', null)
      .returning('id')
      .execute()
    if (promoted !== undefined) await shortenSessions(ctx, userId)
  } else await change.set({ operator_at: null }).where('operator_at', 'is not', null).execute()
}

/** Returns the strongest of several roles, which is first in ROLES. */
function roleIn(slug: string, held: readonly GroupRule[]): Role | undefined {
  const roles = held.flatMap(({ gives }) => (gives !== 'operator' && gives.team === slug ? [gives.role] : []))
  return ROLES.find((role) => roles.includes(role))
}

async function applyRole(ctx: OperatorCtx, team: Team, userId: string, role: Role | undefined): Promise<void> {
  const before = await membership(ctx, team.id, userId)
  if (before === role) return
  try {
    if (role === undefined) await endMembership(ctx, team, userId)
    else if (before === undefined) await place(ctx, team, userId, role)
    else await changeRole(ctx, team, userId, role)
  } catch (error) {
    if (!(error instanceof Refusal) || error.key !== 'last_owner') throw error
    ctx.deps.log.warn(
      { team: team.slug, userId },
      'the last OWNER of a team keeps the role that their groups no longer grant',
    )
  }
}

async function place(ctx: OperatorCtx, team: Team, userId: string, role: Role): Promise<void> {
  await addMember(ctx, team.id, userId, role, 'placed')
  await appendAuditEntry(ctx, {
    stamp: ctx.deps.clock.stamp(),
    account_id: team.id,
    actor_kind: ctx.actor.kind,
    actor_id: ctx.actor.id,
    token_id: null,
    type: 'placed by single sign-on',
    subject_id: userId,
    fields_json: '["role"]',
  })
}

function findTeam({ db }: OperatorCtx, slug: string): Promise<Team | undefined> {
  return db
    .selectFrom('account')
    .select(['id', 'slug'])
    .where('slug', '=', slug)
    .where('kind', '=', 'team')
    .executeTakeFirst()
}
