/** The statements that read a token, its account and the role of its user there. */
import { sql } from 'kysely'
import type { Queries } from '../db/db.ts'
import { missingFactorColumn } from './second-factor.ts'
import { sharedUserWriteLock } from './user-write-lock.ts'
import type { Caller } from './who.ts'

export type ById = { hash: string; team: string | null }
export type BySlug = { hash: string; slug: string }

const ACCOUNT_COLUMNS = [
  'account.id as account_id',
  'account.kind',
  'account.slug',
  'account.name',
  'account.email',
  'account.plan',
  'account.soft_blocked_at',
  'account.payment_missing_at',
  'account.add_ons_json',
  'account.sensitive_env_policy',
] as const

function tokenQuery(db: Queries) {
  return db
    .selectFrom('token')
    .select([
      'token.id as token_id',
      'token.user_id',
      'token.team_id',
      'token.scopes_json',
      'token.project_ids_json',
      'token.expires_at',
      'token.configuration_id',
    ])
}

/** By the id of the account; without one, for the team of the token or its user. */
export function byTeamId(db: Queries, { hash, team }: ById) {
  return tokenQuery(db)
    .where('token.hash', '=', hash)
    .leftJoin('account', (join) =>
      join.on('account.id', '=', sql<string>`coalesce(${team}, token.team_id, token.user_id)`),
    )
}

/** By the slug of the account. */
export function bySlug(db: Queries, { hash, slug }: BySlug) {
  return tokenQuery(db)
    .where('token.hash', '=', hash)
    .leftJoin('account', (join) => join.on('account.slug', '=', slug))
}

export type TokenAndAccount = ReturnType<typeof byTeamId>

/**
 * The OWNER who has had the account for longest and accepted it. The accounts of one holder share their concurrency limits. A team without such an
 * OWNER has its own.
 */
const HOLDER = sql<string | null>`(select holder.user_id from member as holder where holder.team_id = account.id
  and holder.role = 'OWNER' and holder.owner_put_at is null order by holder.created_stamp limit 1)`

/** Returns the owner of an account: its holder, or the account itself. */
export async function findOwnerId(db: Queries, accountId: string): Promise<string> {
  const row = await db
    .selectFrom('account')
    .select(HOLDER.as('holder_id'))
    .where('id', '=', accountId)
    .executeTakeFirst()
  return row?.holder_id ?? accountId
}

/** Adds the role of the user in the account. */
export function withRole(query: TokenAndAccount) {
  return query
    .leftJoin('member', (join) =>
      join.onRef('member.team_id', '=', 'account.id').onRef('member.user_id', '=', 'token.user_id'),
    )
    .select(ACCOUNT_COLUMNS)
    .select(['member.role', HOLDER.as('holder_id')])
    .select(missingFactorColumn('token.user_id'))
}

/** As `withRole`, and locks token and membership until the commit, after the write lock of the user (PostgreSQL only). */
export function withRoleLocked(query: TokenAndAccount) {
  return query
    .innerJoinLateral(sharedUserWriteLock('token.user_id').as('line'), (join) => join.onTrue())
    .leftJoinLateral(
      (db) =>
        db
          .selectFrom('member')
          .select('member.role')
          .whereRef('member.team_id', '=', 'account.id')
          .whereRef('member.user_id', '=', 'token.user_id')
          .where('line.held', 'is not', null)
          .forShare()
          .as('held_member'),
      (join) => join.onTrue(),
    )
    .select(ACCOUNT_COLUMNS)
    .select('held_member.role')
    .select(missingFactorColumn('token.user_id'))
    .forKeyShare('token')
}

type TokenColumns = {
  token_id: string
  user_id: string
  team_id: string | null
  scopes_json: string | null
  project_ids_json: string | null
  expires_at: number | null
  configuration_id: string | null
}
type AccountColumns = {
  account_id: string
  kind: 'user' | 'team'
  slug: string
  name: string | null
  email: string | null
  plan: 'hobby' | 'pro' | 'enterprise'
  soft_blocked_at: number | null
  payment_missing_at: number | null
  add_ons_json: string
  sensitive_env_policy: string | null
}
type Role = Caller['role']
/** `holder_id`: not read within a write. */
type FromBoth = { role: Role | null; lacks_factor: number; holder_id?: string | null }
export type CallerRow = TokenColumns & AccountColumns & FromBoth
export type TokenRow = TokenColumns & { [K in keyof AccountColumns]: AccountColumns[K] | null } & FromBoth
