/** The list of deployments, with the filters that the CLI and the SDKs send. */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx } from '../context.ts'
import { READY_STATES, type ReadyState } from '../db/deployment-tables.ts'
import type { Schema } from '../db/schema.ts'
import { DEFAULT_LIMIT, page, stampAfter, stampBefore } from '../http/page.ts'
import type { Input } from '../http/route.ts'
import { refuse } from '../refusal.ts'
import { type DeploymentList, type ListDeploymentsQuery, showListed } from './shape.ts'

type Builder = ExpressionBuilder<Schema, 'deployment' | 'project'>

/** Lists the account's deployments, newest first; those of projects that the token may not see are not there. Refuses: bad_request 400 (`state`). */
export async function listDeployments(
  ctx: Ctx,
  _: undefined,
  { query }: Input<ListDeploymentsQuery>,
): Promise<Static<typeof DeploymentList>> {
  const { limit = DEFAULT_LIMIT, until = query.to, since = query.from } = query
  const states = readStates(query.state)
  const rows = await ctx.db
    .selectFrom('deployment')
    .innerJoin('project', (join) =>
      join.onRef('project.account_id', '=', 'deployment.account_id').onRef('project.id', '=', 'deployment.project_id'),
    )
    .selectAll('deployment')
    .select('project.live_deployment_id')
    .where('deployment.account_id', '=', ctx.account.id)
    .where((eb) => eb.and([...placed(eb, until, since), ...filters(eb, query, states, ctx.who.projectIds)]))
    .orderBy('deployment.created_stamp', 'desc')
    .limit(limit + 1)
    .execute()
  const { rows: shown, pagination } = page(rows, limit, until, (row) => row.created_stamp)
  return { deployments: shown.map((row) => showListed(row, ctx.account, row.live_deployment_id)), pagination }
}

function placed(eb: Builder, until: number | undefined, since: number | undefined): Expression<SqlBool>[] {
  return [
    ...(until === undefined ? [] : [eb('deployment.created_stamp', '<', stampBefore(until))]),
    ...(since === undefined ? [] : [eb('deployment.created_stamp', '>', stampAfter(since))]),
  ]
}

function filters(
  eb: Builder,
  query: ListDeploymentsQuery,
  states: ReadyState[] | undefined,
  projectIds: string[] | null,
): Expression<SqlBool>[] {
  const all: Expression<SqlBool>[] = []
  if (projectIds !== null) all.push(eb('deployment.project_id', 'in', projectIds))
  if (query.projectId !== undefined)
    all.push(eb(query.projectId.startsWith('prj_') ? 'project.id' : 'project.name', '=', query.projectId))
  if (query.app !== undefined) all.push(eb('project.name', '=', query.app))
  if (query.target !== undefined) all.push(eb('deployment.target', '=', query.target))
  if (query.branch !== undefined) all.push(eb('deployment.git_branch', '=', query.branch))
  if (states !== undefined) all.push(eb('deployment.ready_state', 'in', states))
  if (query.rollbackCandidate) {
    all.push(eb('deployment.promoted_at', 'is not', null))
    all.push(eb('deployment.id', '!=', eb.ref('project.live_deployment_id')))
  }
  return all
}

function readStates(said: string | undefined): ReadyState[] | undefined {
  if (said === undefined) return undefined
  const known: readonly string[] = READY_STATES
  const states = said.toUpperCase().split(',')
  if (!states.every((state) => known.includes(state)))
    refuse('bad_request', `Invalid request: \`state\` should be of ${READY_STATES.join(', ')}, comma-separated.`)
  return states as ReadyState[]
}
