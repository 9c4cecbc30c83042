import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { openedHost } from '../../model/addresses.ts'
import { customTarget, environmentOf, TargetName } from '../../model/environment.ts'
import { canSeeProject } from '../../platform/access/guards.ts'
import { isAmong } from '../../platform/db/bulk.ts'
import { READY_STATES, type ReadyState } from '../../platform/db/deployment-tables.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { DEFAULT_LIMIT, paginate, stampAfter, stampBefore } from '../../platform/http/pagination.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { CommaSeparated, PageQuery } from '../../platform/schema/fields.ts'
import { findMetaMatches, hasMeta, MAX_SORTED_MATCHES, metaFilters } from './meta.ts'
import { type DeploymentList, showDeploymentInList } from './schema.ts'

const Text = Type.Optional(Type.String({ maxLength: 256 }))
const Since = Type.Optional(Type.Integer({ minimum: 0, description: 'only those made after this timestamp' }))
export const ListDeploymentsQuery = Type.Object(
  {
    ...PageQuery,
    since: Since,
    from: Type.Optional(Type.Integer({ minimum: 0, description: 'as `since`' })),
    to: Type.Optional(Type.Integer({ minimum: 0, description: 'as `until`' })),
    projectId: Text,
    projectIds: Type.Optional(
      CommaSeparated(Type.String({ minLength: 1, maxLength: 256 }), 'ids or names of projects: any of them'),
    ),
    app: Type.Optional(Type.String({ maxLength: 256, description: 'the name of a project' })),
    target: Type.Optional(TargetName),
    state: Type.Optional(
      Type.String({
        maxLength: 256,
        description: `comma-separated, of ${READY_STATES.join(', ')}; case does not count`,
      }),
    ),
    branch: Text,
    sha: Type.Optional(
      Type.String({ maxLength: 1000, description: 'the commit, as `meta` has it of GitHub, GitLab or Bitbucket' }),
    ),
    users: Type.Optional(
      Type.String({
        maxLength: 4096,
        description: 'ids of its creator, comma-separated: the account itself, or no user',
      }),
    ),
    customEnvironmentSlugOrId: Type.Optional(
      Type.String({ maxLength: 256, description: 'the id of one, or the slug where `projectId` names the project' }),
    ),
    rollbackCandidate: Type.Optional(
      Type.Boolean({ description: '`true`: only those that served production before and do not now' }),
    ),
  },
  {
    patternProperties: {
      '^meta-.': {
        type: 'string',
        maxLength: 1000,
        description: 'only those whose `meta` has this value in this field',
      },
    },
  },
)
export type ListDeploymentsQuery = Static<typeof ListDeploymentsQuery>

type Builder = ExpressionBuilder<Schema, 'deployment' | 'project'>

/**
 * Lists the account's deployments, newest first, of projects that the token can see. Refuses: bad_request 400 (`state`, more than
 * 20 fields of the meta, the slug of an environment without a project, a `target` that the project lacks).
 */
export async function listDeployments(
  ctx: Ctx,
  _: undefined,
  { query }: Input<ListDeploymentsQuery>,
): Promise<Static<typeof DeploymentList>> {
  const { limit = DEFAULT_LIMIT, until = query.to, since = query.from } = query
  const states = readStates(query.state)
  const environments = await environmentsWanted(ctx, query)
  const meta = metaFilters(query)
  const few = meta.length > 0 ? await findMetaMatches(ctx, meta) : undefined
  if (few?.length === 0) return { deployments: [], pagination: { count: 0, next: null, prev: null } }
  const rows = await (few === undefined ? ctx.db.selectFrom('deployment') : ctx.db.selectFrom(theseAlone(ctx, few)))
    .innerJoin('project', (join) =>
      join.onRef('project.account_id', '=', 'deployment.account_id').onRef('project.id', '=', 'deployment.project_id'),
    )
    .selectAll('deployment')
    .select('project.live_deployment_id')
    .where('deployment.account_id', '=', ctx.account.id)
    .where((eb) => eb.and([...placed(eb, until, since), ...filters(eb, ctx, query, { states, environments })]))
    .where((eb) => eb.and(meta.map((marks) => hasMeta(eb, marks))))
    .orderBy('deployment.created_stamp', 'desc')
    .limit(limit + 1)
    .execute()
  const { rows: items, pagination } = paginate(rows, limit, until, (row) => row.created_stamp)
  return {
    deployments: items.map((row) =>
      showDeploymentInList(row, openedHost(row.url, ctx.deps.config), ctx.account, row.live_deployment_id),
    ),
    pagination,
  }
}

/** The bound keeps both engines from scanning all deployments of the account. */
function theseAlone({ db }: Ctx, ids: readonly string[]) {
  return db
    .selectFrom('deployment')
    .selectAll()
    .where('id', 'in', ids)
    .limit(sql.lit(MAX_SORTED_MATCHES))
    .as('deployment')
}

function placed(eb: Builder, until: number | undefined, since: number | undefined): Expression<SqlBool>[] {
  return [
    ...(until === undefined ? [] : [eb('deployment.created_stamp', '<', stampBefore(until))]),
    ...(since === undefined ? [] : [eb('deployment.created_stamp', '>', stampAfter(since))]),
  ]
}

function filters(
  eb: Builder,
  { db, caller, account }: Ctx,
  query: ListDeploymentsQuery,
  { states, environments }: { states: ReadyState[] | undefined; environments: string[] },
): Expression<SqlBool>[] {
  const all: Expression<SqlBool>[] = []
  if (caller.projectIds !== null) all.push(isAmong(db, 'deployment.project_id', caller.projectIds))
  if (query.projectId !== undefined) all.push(ofProjects(eb, [query.projectId]))
  if (query.projectIds !== undefined) all.push(ofProjects(eb, query.projectIds))
  if (query.app !== undefined) all.push(eb('project.name', '=', query.app))
  if (isStandard(query.target)) all.push(eb('deployment.target', '=', query.target))
  if (query.branch !== undefined) all.push(eb('deployment.git_branch', '=', query.branch))
  if (states !== undefined) all.push(eb('deployment.ready_state', 'in', states))
  // The account is shown as the creator of its deployments.
  if (query.users !== undefined) all.push(eb.lit(query.users.split(',').includes(account.id)))
  for (const id of environments) all.push(eb('deployment.custom_environment_id', '=', id))
  if (query.rollbackCandidate) {
    all.push(eb('deployment.promoted_at', 'is not', null))
    // Null while nothing serves production.
    all.push(eb('deployment.id', 'is distinct from', eb.ref('project.live_deployment_id')))
  }
  return all
}

function isStandard(target: string | undefined): target is 'production' | 'preview' {
  return target === 'production' || target === 'preview'
}

/**
 * Ids of environments in the filters `target` and `customEnvironment`. For an unknown one, an id that no deployment has. Refuses:
 * bad_request 400 (a slug without a project; a `target` that the project does not have).
 */
async function environmentsWanted(ctx: Ctx, query: ListDeploymentsQuery): Promise<string[]> {
  const { customEnvironmentSlugOrId: slugOrId, target } = query
  const ids: string[] = []
  if (slugOrId !== undefined)
    ids.push(
      await idWanted(ctx, query, 'customEnvironmentSlugOrId', slugOrId, (row) => environmentOf(row, slugOrId)?.id),
    )
  if (target === 'development') ids.push('')
  else if (target && !isStandard(target))
    ids.push(await idWanted(ctx, query, 'target', target, (row) => customTarget(row, target)))
  return ids
}

async function idWanted(
  ctx: Ctx,
  { projectId, projectIds, app }: ListDeploymentsQuery,
  field: string,
  slugOrId: string,
  find: (project: Pick<Row<'project'>, 'custom_environments_json'>) => string | undefined,
): Promise<string> {
  if (slugOrId.startsWith('env_')) return slugOrId
  const project = projectId ?? (projectIds?.length === 1 ? projectIds[0] : undefined) ?? app
  if (project === undefined)
    refuse(
      'bad_request',
      `Invalid request: the slug of a custom environment in \`${field}\` needs a \`projectId\`; an id needs none.`,
    )
  const row = await ctx.db
    .selectFrom('project')
    .select(['id', 'custom_environments_json'])
    .where('account_id', '=', ctx.account.id)
    .where(project.startsWith('prj_') ? 'id' : 'name', '=', project)
    .executeTakeFirst()
  return (row && canSeeProject(ctx.caller, row.id) && find(row)) || ''
}

/** Each is an id or a name. No name is an id. */
function ofProjects(eb: Builder, idsOrNames: readonly string[]): Expression<SqlBool> {
  const ids = idsOrNames.filter((value) => value.startsWith('prj_'))
  const names = idsOrNames.filter((value) => !value.startsWith('prj_'))
  if (names.length === 0) return eb('deployment.project_id', 'in', ids)
  if (ids.length === 0) return eb('project.name', 'in', names)
  return eb.or([eb('deployment.project_id', 'in', ids), eb('project.name', 'in', names)])
}

function readStates(list: string | undefined): ReadyState[] | undefined {
  if (list === undefined) return undefined
  const names: readonly string[] = READY_STATES
  const states = list.toUpperCase().split(',')
  if (!states.every((state) => names.includes(state)))
    refuse('bad_request', `Invalid request: \`state\` should be of ${READY_STATES.join(', ')}, comma-separated.`)
  return states as ReadyState[]
}
