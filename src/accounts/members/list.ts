import type { Static } from 'typebox'
import { BUDGETS } from '../../budgets.ts'
import type { Ctx, Input } from '../../context.ts'
import { matchesAccountSearch } from '../../model/account.ts'
import { secondFactorColumn } from '../../platform/access/second-factor.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { DEFAULT_LIMIT, newestRows, paginate, stampAfter, stampBefore } from '../../platform/http/pagination.ts'
import { ROLE_PERMISSIONS, ROLES, type Role } from '../../platform/permissions/roles.ts'
import { pendingOf } from './invitations.ts'
import type { MembersQuery, ProjectMemberList, ProjectMembersQuery, ProjectRole } from './schema.ts'

const MAX_IDS = 100

/**
 * Lists the members and pending invitations of a team, newest first, filtered by the query. `showsFactors`: with whether each member has a second
 * factor.
 */
export async function listMembersAndInvitations(ctx: Ctx, teamId: string, query: MembersQuery, showsFactors: boolean) {
  const members = (await findMembers(ctx, teamId, query, ROLES)).map((row) => ({
    ...showMember(row),
    confirmed: true,
    ...(showsFactors && { secondFactor: row.has_factor === 1 }),
    row,
  }))
  const invited = (await findInvited(ctx, teamId, query)).map((row) => ({ ...showMember(row), confirmed: false, row }))
  const entries = [...members, ...invited].sort((a, b) => b.row.created_stamp - a.row.created_stamp)
  const { rows, pagination } = pageOf(query, entries, ({ row }) => row.created_stamp)
  return { rows: rows.map(({ row: _, ...entry }) => entry), pagination }
}

/** Reads one row more than the page holds. */
function findMembers(ctx: Ctx, teamId: string, query: MembersQuery, roles: readonly Role[]) {
  const { search, role, filterByUserIds } = query
  let members = ctx.db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.user_id')
    .select(['account.id', 'account.slug', 'account.name', 'account.email', 'member.role', 'member.created_stamp'])
    .select(secondFactorColumn('account.id'))
    .where('member.team_id', '=', teamId)
    .where('member.role', 'in', role === undefined ? roles : [role])
  if (search) members = members.where(matchesAccountSearch(search))
  if (filterByUserIds !== undefined) {
    members = members.where('account.id', 'in', filterByUserIds.split(',').slice(0, MAX_IDS))
  }
  return newestRows(members, query, 'member.created_stamp')
}

/** Not paged: a team has few. Hides the name of a user who has not accepted. */
async function findInvited(ctx: Ctx, teamId: string, query: MembersQuery) {
  const { until, since, search, role, filterByUserIds } = query
  const pending = await pendingOf(ctx, teamId)
    .leftJoin('account', 'account.id', 'invitation.user_id')
    .select(['invitation.id as invitation_id', 'invitation.user_id', 'account.slug', 'invitation.email'])
    .select(['invitation.role', 'invitation.created_stamp'])
    .limit(BUDGETS.invitations.max)
    .execute()
  const ids = filterByUserIds?.split(',').slice(0, MAX_IDS)
  return pending
    .map((row) => ({ ...row, id: row.user_id ?? row.invitation_id, slug: row.slug ?? '', name: null }))
    .filter((row) => until === undefined || row.created_stamp < stampBefore(until))
    .filter((row) => since === undefined || row.created_stamp > stampAfter(since))
    .filter((row) => role === undefined || row.role === role)
    .filter((row) => !search || [row.slug, row.email].some((text) => text.includes(search.toLowerCase())))
    .filter((row) => ids === undefined || ids.includes(row.id))
}

function pageOf<T>({ limit = DEFAULT_LIMIT, until }: MembersQuery, entries: T[], stampOf: (row: T) => number) {
  const { rows, pagination } = paginate(entries, limit, until, stampOf)
  return { rows, pagination: { ...pagination, hasNext: pagination.next !== null } }
}

function showMember(
  row: Pick<Row<'account'>, 'id' | 'slug' | 'name' | 'email'> & Pick<Row<'member'>, 'role' | 'created_stamp'>,
) {
  return {
    uid: row.id,
    email: row.email ?? '',
    username: row.slug,
    ...(row.name !== null && { name: row.name }),
    role: row.role,
    createdAt: stampToMs(row.created_stamp),
  }
}

type InProject = Static<typeof ProjectRole>
const IN_PROJECT: Record<Role, InProject | undefined> = {
  OWNER: 'ADMIN',
  MEMBER: 'ADMIN',
  DEVELOPER: 'PROJECT_DEVELOPER',
  VIEWER: 'PROJECT_VIEWER',
  BILLING: undefined,
}
const SEE_PROJECTS = ROLES.filter((role) => ROLE_PERMISSIONS[role].includes('project:read'))

/** Lists the users who can see a project, with the project role that their team role grants. On a personal account, that is its user. */
export async function listProjectMembers(
  ctx: Ctx,
  project: Row<'project'>,
  { query }: Input<ProjectMembersQuery>,
): Promise<Static<typeof ProjectMemberList>> {
  if (ctx.account.kind === 'user') return { members: [await userOf(ctx)], pagination: ONE }
  const members = await findMembers(ctx, project.account_id, query, SEE_PROJECTS)
  const { rows, pagination } = pageOf(query, members, (row) => row.created_stamp)
  return { members: rows.map((row) => inProject(showMember(row))), pagination }
}

const ONE = { count: 1, next: null, prev: null, hasNext: false }

async function userOf({ db, account }: Ctx) {
  const row = await db.selectFrom('account').selectAll().where('id', '=', account.id).executeTakeFirstOrThrow()
  return inProject(showMember({ ...row, role: 'OWNER' }))
}

function inProject(member: ReturnType<typeof showMember>) {
  const role = IN_PROJECT[member.role]!
  return { ...member, role, computedProjectRole: role, teamRole: member.role }
}
