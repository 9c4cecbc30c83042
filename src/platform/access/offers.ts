/**
 * Offers that another user accepts later. The acceptance checks in its transaction whether the giver still has the right to offer. Offers of a
 * suspended, removed or demoted user are void. docs/accounts.md: Offers.
 */
import type { OperatorCtx } from '../../context.ts'
import type { Queries } from '../db/db.ts'
import type { Schema } from '../db/schema.ts'
import { canOwnInstallations, type Permission, ROLE_PERMISSIONS, type Role } from '../permissions/roles.ts'
import { hasSecondFactor } from './second-factor.ts'

/** An offer: its table, and the roles in the account that can make it. The user of a personal account is its OWNER. */
type OfferKind = { table: keyof Schema; may: (role: Role) => boolean }

/** TABLE Offers */
export const OFFERS = {
  'transfer code': { table: 'transfer_request', may: needs('project:transfer') },
  invitation: { table: 'invitation', may: needs('member:write') },
  /** Counts as given by the current owner of the installation: a new OWNER consents by the transfer. */
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
 * User, account (their own or a team) and token of the offer; `tokenId` is null without a token. `operatorId`: the operator who made the offer for
 * them; null for none and for the operator token.
 */
export type Giver = { userId: string; accountId: string; tokenId: string | null; operatorId?: string | null }

/**
 * Whether the giver of an offer can still make it: not suspended, with the required role and second factor, and with a valid token. An operator who
 * made it for them must still be one. A write on PostgreSQL locks these rows until the commit, so no acceptance commits after a confirmed revocation.
 */
export async function canStillGive(ctx: Pick<OperatorCtx, 'db' | 'now'>, offer: Offer, giver: Giver): Promise<boolean> {
  const role = await roleOf(ctx.db, giver)
  if (role === undefined || !OFFERS[offer].may(role)) return false
  return (await isTokenGood(ctx, giver)) && (await isStillOperator(ctx.db, giver))
}

/** Returns the role of the giver in the account; undefined without access. */
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

/** Returns the user unless suspended. */
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
