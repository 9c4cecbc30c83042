/**
 * What people offer now and somebody accepts later. Whoever accepts asks here, in the transaction of the acceptance, whether its giver may
 * still give it: a person who was suspended, removed or demoted gives nothing, however early they offered it. docs/accounts.md: Offers.
 */
import type { OperatorCtx } from '../../context.ts'
import type { Queries } from '../db/db.ts'
import type { Schema } from '../db/schema.ts'
import { canOwnInstallations, type Permission, ROLE_PERMISSIONS, type Role } from '../permissions/roles.ts'
import { hasSecondFactor } from './second-factor.ts'

/** An offer: its table, and the roles in the giving account that may make it. On a personal account its user is an OWNER. */
type OfferKind = { table: keyof Schema; may: (role: Role) => boolean }

/** TABLE what can be offered. */
export const OFFERS = {
  'transfer code': { table: 'transfer_request', may: needs('project:transfer') },
  invitation: { table: 'invitation', may: needs('member:write') },
  /** Given by whoever owns the installation now: an OWNER who took it over consented to it by that. */
  'authorization code': { table: 'authorization_code', may: canOwnInstallations },
  'password link': { table: 'password_link', may: anybody },
  'email link': { table: 'email_change', may: anybody },
  'identity link': { table: 'identity_link', may: anybody },
} as const satisfies Record<string, OfferKind>
function needs(permission: Permission): OfferKind['may'] {
  return (role) => ROLE_PERMISSIONS[role].includes(permission)
}

function anybody(): boolean {
  return true
}

export type Offer = keyof typeof OFFERS

/**
 * Who offered, for which account (their own, or a team), and by which token; null: by none. `operatorId`: the operator who made the offer
 * for them; null: none did, or the operator token.
 */
export type Giver = { userId: string; accountId: string; tokenId: string | null; operatorId?: string | null }

/**
 * Whether the giver of an offer may still make it: not suspended (by the operator or because the identity provider no longer vouches), with
 * the role for it in the account and the second factor that the team demands, by a token that has not ended; and whether an operator who
 * made it for them is still one. Within a write on PostgreSQL what was read stays so until the commit, so that no acceptance is committed
 * after the end of the giver was answered.
 */
export async function mayStillGive(ctx: Pick<OperatorCtx, 'db' | 'now'>, offer: Offer, giver: Giver): Promise<boolean> {
  const role = await roleOf(ctx.db, giver)
  if (role === undefined || !OFFERS[offer].may(role)) return false
  return (await isTokenGood(ctx, giver)) && (await isStillOperator(ctx.db, giver))
}

/** The role in which the giver is let into the account; undefined: they are not let in. */
async function roleOf(db: Queries, { userId, accountId }: Giver): Promise<Role | undefined> {
  if ((await findLetIn(db, userId)) === undefined) return undefined
  if (accountId === userId) return 'OWNER'
  const places = db.selectFrom('member').select('role').where('team_id', '=', accountId).where('user_id', '=', userId)
  const place = await (db.isTransaction ? places.forShare() : places).executeTakeFirst()
  const team = await db
    .selectFrom('account')
    .select('factor_demanded_at')
    .where('id', '=', accountId)
    .executeTakeFirst()
  const lacksFactor = team?.factor_demanded_at != null && !(await hasSecondFactor(db, userId))
  return lacksFactor ? undefined : place?.role
}

/** A person who is not suspended. */
async function findLetIn(db: Queries, userId: string): Promise<{ operator_at: number | null } | undefined> {
  const query = db
    .selectFrom('account')
    .select('operator_at')
    .where('id', '=', userId)
    .where('suspended_at', 'is', null)
  return (db.isTransaction ? query.forShare() : query).executeTakeFirst()
}

async function isStillOperator(db: Queries, { operatorId = null }: Giver): Promise<boolean> {
  if (operatorId === null) return true
  const operator = await findLetIn(db, operatorId)
  return operator !== undefined && operator.operator_at !== null
}

async function isTokenGood({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, { tokenId }: Giver): Promise<boolean> {
  if (tokenId === null) return true
  const query = db.selectFrom('token').select('expires_at').where('id', '=', tokenId)
  const token = await (db.isTransaction ? query.forKeyShare() : query).executeTakeFirst()
  return token !== undefined && (token.expires_at === null || token.expires_at > now)
}
