/** Resolves a token and `teamId`/`slug` to a caller with an account and permissions. Specification: Authentication. */
import { timingSafeEqual } from 'node:crypto'
import { fingerprint } from '../base/ids.ts'
import { preparedQuery, type Queries } from '../db/db.ts'
import type { Permission } from '../permissions/roles.ts'
import { permissionsOf } from '../permissions/scopes.ts'
import { refuse } from '../refusals/refusal.ts'
import { type InstallationCaller, readInstallation } from './installation.ts'
import { type AheadColumns, isProjectId, withPrefetchedProject } from './prefetch.ts'
import { mustHaveSecondFactor } from './second-factor.ts'
import {
  type ById,
  type BySlug,
  bySlug,
  byTeamId,
  type CallerRow,
  type TokenAndAccount,
  type TokenRow,
  withRole,
  withRoleLocked,
} from './token-query.ts'
import type { Account, Caller } from './who.ts'

/** Credentials of a request: a bearer token, or the session secret of a console page. */
export type Credentials = {
  authorization: string | undefined
  session?: string | undefined
  teamId: string | undefined
  slug: string | undefined
}

const findByTeamId = preparedQuery<ById, TokenRow>((db, value) => withRole(byTeamId(db, value)))
const findBySlug = preparedQuery<BySlug, TokenRow>((db, value) => withRole(bySlug(db, value)))
const aheadByTeamId = aheadBy<ById>(byTeamId)
const aheadBySlug = aheadBy<BySlug>(bySlug)
const holdByTeamId = preparedQuery<ById, TokenRow>((db, value) => withRoleLocked(byTeamId(db, value)))
const holdBySlug = preparedQuery<BySlug, TokenRow>((db, value) => withRoleLocked(bySlug(db, value)))

/**
 * Identifies the caller by a bearer token. A missing team and a foreign team get the same response. Membership is read each time, so leaving a team
 * takes effect with the commit. A write on PostgreSQL locks token and membership until the commit. `idOrName`: the project to prefetch (PostgreSQL,
 * GET). Refuses: missing_token 401, invalid_token 401 (unknown, expired, revoked, uninstalled), integration_configuration_disabled 403,
 * team_id_required 403, team_forbidden 403, second_factor_required 403.
 */
export async function identifyByToken(
  db: Queries,
  credentials: Credentials,
  now: number,
  idOrName?: string,
): Promise<Caller> {
  const token = parseBearer(credentials.authorization)
  if (token === undefined) refuse('missing_token', undefined, { missingToken: true })
  const { teamId, slug } = credentials
  const hash = fingerprint(token)
  const [row] = await readToken(db, { hash, teamId, slug, idOrName })
  if (row === undefined || (row.expires_at !== null && row.expires_at <= now)) {
    refuse('invalid_token', undefined, { invalidToken: true })
  }
  const installation = row.configuration_id === null ? undefined : await readInstallation(db, row.configuration_id)
  const asksForTeam = teamId !== undefined || slug !== undefined
  if (installation && row.team_id !== null && !asksForTeam) refuse('team_id_required')
  const may = installation ? isInstalledOn(row, slug) : canActFor(row, slug)
  if (row.account_id === null || !may) refuse('team_forbidden')
  const caller = toCaller(row as CallerRow, installation)
  if (idOrName === undefined) return caller
  const { project, variables } = row as TokenRow & AheadColumns
  return { ...caller, prefetched: { idOrName, project, variables } }
}

type Asked = { hash: string; teamId: string | undefined; slug: string | undefined; idOrName: string | undefined }

function readToken(db: Queries, { hash, teamId, slug, idOrName }: Asked): Promise<TokenRow[]> {
  const hold = db.isTransaction
  if (slug === undefined || teamId !== undefined) {
    const by = { hash, team: teamId ?? null }
    return idOrName === undefined ? (hold ? holdByTeamId : findByTeamId)(db, by) : aheadByTeamId(db, by, idOrName)
  }
  const by = { hash, slug }
  return idOrName === undefined ? (hold ? holdBySlug : findBySlug)(db, by) : aheadBySlug(db, by, idOrName)
}

/** Reads a token together with a project of its account. */
function aheadBy<By extends Record<string, string | null>>(find: (db: Queries, value: By) => TokenAndAccount) {
  const by = (column: 'id' | 'name') =>
    preparedQuery<By & { idOrName: string }, TokenRow>((db, value) =>
      withPrefetchedProject(withRole(find(db, value)), column, value.idOrName),
    )
  const [byId, byName] = [by('id'), by('name')]
  return (db: Queries, value: By, idOrName: string) =>
    (isProjectId(idOrName) ? byId : byName)(db, { ...value, idOrName })
}

/** Checks that the caller has all the permissions. Refuses: missing_permission 403, which names the missing ones. */
export function permit(caller: Caller, needs: readonly Permission[]): void {
  const lacking = needs.filter((permission) => !caller.permissions.has(permission))
  if (lacking.length > 0) {
    refuse('missing_permission', `You don't have permission to do this: it needs ${lacking.join(' and ')}.`)
  }
}

/** Checks the operator token in constant time. Refuses: operator_only 401. */
export function authenticateOperator(authorization: string | undefined, operatorTokenHash: string): void {
  if (!isOperator(authorization, operatorTokenHash)) refuse('operator_only')
}

/** Whether an `Authorization` header holds the operator token. Takes constant time. */
export function isOperator(authorization: string | undefined, operatorTokenHash: string): boolean {
  const digest = Buffer.from(fingerprint(parseBearer(authorization) ?? ''))
  return timingSafeEqual(digest, Buffer.from(operatorTokenHash))
}

/** Returns the token of an `Authorization` header; undefined without a well-formed one. */
export function parseBearer(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1]
}

/** A personal token can act for its user and their teams; a token bound to a team only for that team. */
export function canActFor(token: TokenRow, slug: string | undefined): boolean {
  if (token.team_id !== null && token.account_id !== token.team_id) return false
  if (slug !== undefined && token.slug !== slug) return false
  if (token.kind === 'team') return token.role !== null
  // Clients send `teamId` even for the user's own account.
  return slug === undefined && token.account_id === token.user_id
}

function isInstalledOn(token: TokenRow, slug: string | undefined): boolean {
  if (slug !== undefined && token.slug !== slug) return false
  return token.team_id !== null ? token.account_id === token.team_id : token.account_id === token.user_id
}

/** Builds the caller of a row. An installation is not a user, so no team requires a factor of it. Refuses: second_factor_required 403. */
export function toCaller(row: CallerRow, installation: InstallationCaller | undefined): Caller {
  const shareId = row.holder_id ?? row.account_id
  const acts = { account: accountOf(row), shareId, tokenTeamId: row.team_id, tokenExpiresAt: row.expires_at }
  if (installation) {
    const actor = { kind: 'integration', id: installation.installationId!, tokenId: row.token_id } as const
    return { ...acts, ...installation, actor, role: 'OWNER' }
  }
  mustHaveSecondFactor(row)
  const role = row.role ?? 'OWNER'
  return {
    ...acts,
    actor: { kind: 'user', id: row.user_id, tokenId: row.token_id },
    userId: row.user_id,
    role,
    permissions: permissionsOf(role, row.scopes_json),
    installationId: null,
    projectIds: row.project_ids_json === null ? null : JSON.parse(row.project_ids_json),
  }
}

function accountOf(row: CallerRow): Account {
  return {
    id: row.account_id,
    kind: row.kind,
    slug: row.slug,
    name: row.name,
    email: row.email,
    plan: row.plan,
    softBlocked: row.soft_blocked_at !== null,
    paymentMissing: row.payment_missing_at !== null,
    addOns: JSON.parse(row.add_ons_json),
    sensitiveEnv: row.sensitive_env_policy === 'on',
  }
}
