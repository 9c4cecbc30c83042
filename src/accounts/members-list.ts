/** Lists of members: of a team, and of those who see a project. */

import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Static } from 'typebox'
import { ROLE_PERMISSIONS, ROLES, type Role } from '../access/roles.ts'
import { momentOf } from '../clock.ts'
import type { Ctx } from '../context.ts'
import type { Row, Schema } from '../db/schema.ts'
import { DEFAULT_LIMIT, page, stampAfter, stampBefore } from '../http/page.ts'
import type { Input } from '../http/route.ts'
import type { MembersQuery, ProjectMemberList, ProjectMembersQuery, ProjectRole } from './member-shape.ts'

const MOST_IDS = 100

/** A page of the members of a team, the last who came first, as the query narrows them. */
export async function listMembers(ctx: Ctx, teamId: string, query: MembersQuery, roles: readonly Role[] = ROLES) {
  const { limit = DEFAULT_LIMIT, until, since, search, role, filterByUserIds } = query
  let members = ctx.db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.user_id')
    .select(['account.id', 'account.slug', 'account.name', 'account.email', 'member.role', 'member.created_stamp'])
    .where('member.team_id', '=', teamId)
    .where('member.role', 'in', role === undefined ? roles : [role])
  if (until !== undefined) members = members.where('member.created_stamp', '<', stampBefore(until))
  if (since !== undefined) members = members.where('member.created_stamp', '>', stampAfter(since))
  if (search) members = members.where(isCalled(search))
  if (filterByUserIds !== undefined) {
    members = members.where('account.id', 'in', filterByUserIds.split(',').slice(0, MOST_IDS))
  }
  const found = await members
    .orderBy('member.created_stamp', 'desc')
    .limit(limit + 1)
    .execute()
  const { rows, pagination } = page(found, limit, until, (row) => row.created_stamp)
  return { rows: rows.map(showMember), pagination: { ...pagination, hasNext: pagination.next !== null } }
}

/** Part of username, email or name. The first two are lower case; a name is lowered as far as the engine lowers. */
function isCalled(search: string) {
  const part = `%${search.toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`
  return (eb: ExpressionBuilder<Schema, 'member' | 'account'>): Expression<SqlBool> =>
    eb.or([
      sql<boolean>`account.slug like ${part} escape '!'`,
      sql<boolean>`account.email like ${part} escape '!'`,
      sql<boolean>`lower(account.name) like ${part} escape '!'`,
    ])
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
    createdAt: momentOf(row.created_stamp),
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

/** Who sees a project, with what their role in the team is worth there. Of a personal account: its user. */
export async function listProjectMembers(
  ctx: Ctx,
  project: Row<'project'>,
  { query }: Input<ProjectMembersQuery>,
): Promise<Static<typeof ProjectMemberList>> {
  if (ctx.account.kind === 'user') return { members: [await userOf(ctx)], pagination: ONE }
  const { rows, pagination } = await listMembers(ctx, project.account_id, query, SEE_PROJECTS)
  return { members: rows.map(inProject), pagination }
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
