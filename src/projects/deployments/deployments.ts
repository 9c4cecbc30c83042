/** Deployments: registered by the build system, read by users. docs/spec/operator-api.md; docs/deployments.md. */

import type { Ctx, Input, OperatorCtx, Params } from '../../context.ts'
import { openedHost } from '../../model/addresses.ts'
import { readDeploymentDomains } from '../../model/deployment-summary.ts'
import { hostsSaid } from '../../model/domain-name.ts'
import { environmentOf } from '../../model/environment.ts'
import { findProject } from '../../model/project.ts'
import { canSeeProject } from '../../platform/access/guards.ts'
import { newId } from '../../platform/base/ids.ts'
import type { ReadyState } from '../../platform/db/deployment-tables.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { canonicalUrl, readMeta, readOrigin } from '../serving/validate.ts'
import { isEnd, momentsOf, registerDeployment, settle } from './register.ts'
import { type Deployment, type NewDeployment, type PatchDeployment, showDeployment, showToOperator } from './schema.ts'

type Owned = { project: Row<'project'>; owner: Row<'account'> }

/** Returns the project of the path, in any account, with that account. Refuses: not_found 404. */
export async function findAnyProjectWithAccount(ctx: OperatorCtx, params: Params): Promise<Owned> {
  return ownedProject(ctx, params.projectId ?? '')
}

async function ownedProject(ctx: OperatorCtx, projectId: string): Promise<Owned> {
  const project = await ctx.db.selectFrom('project').selectAll().where('id', '=', projectId).executeTakeFirst()
  if (project === undefined) refuse('not_found', `No project "${projectId.slice(0, 100)}".`)
  const owner = await ctx.db
    .selectFrom('account')
    .selectAll()
    .where('id', '=', project.account_id)
    .executeTakeFirstOrThrow()
  return { project, owner }
}

/**
 * Registers a deployment. One that is READY gets its domains (`assignReadyDeployment`). Refuses: bad_request 400 (`url`,
 * `upstream`, `meta`, `customEnvironmentId`, `errorMessage`), deployment_url_taken 409 (by the unique index, or by a verified domain).
 */
export async function createDeployment(
  ctx: OperatorCtx,
  { project, owner }: Owned,
  { body }: Input<unknown, NewDeployment>,
) {
  const row = await registerDeployment(ctx, project, owner, {
    id: newId('dpl'),
    url: canonicalUrl(body.url, ctx.deps.config.domains),
    target: body.target ?? 'preview',
    ready_state: body.readyState,
    git_branch: body.gitBranch ?? null,
    custom_environment_id: readEnvironment(project, body),
    meta_json: readMeta(body.meta ?? {}),
    upstream: readOrigin(body.upstream ?? null),
    error_message: readErrorMessage(body.errorMessage, body.readyState),
    ...momentsOf(body.readyState, ctx.now),
  })
  return showToOperator(row)
}

function readErrorMessage(message: string | undefined, state: ReadyState): string | null {
  if (message === undefined) return null
  if (state === 'ERROR' || state === 'CANCELED') return message
  return refuse('bad_request', 'Invalid request: `errorMessage` is for a `readyState` of ERROR or CANCELED.')
}

function readEnvironment(
  project: Row<'project'>,
  { customEnvironmentId: idOrSlug, target }: NewDeployment,
): string | null {
  if (idOrSlug === undefined || idOrSlug === null) return null
  if (target === 'production')
    refuse('bad_request', 'Invalid request: `customEnvironmentId` is for a preview; leave `target` out.')
  const environment = environmentOf(project, idOrSlug)
  if (environment !== undefined) return environment.id
  return refuse(
    'bad_request',
    `Invalid request: \`customEnvironmentId\` should be of the project; it has no "${idOrSlug}".`,
  )
}

/** Returns the deployment of the path with its project and account. Refuses: not_found 404. */
export async function findAnyDeployment(
  ctx: OperatorCtx,
  params: Params,
): Promise<Owned & { deployment: Row<'deployment'> }> {
  const id = params.id ?? ''
  const deployment = await ctx.db.selectFrom('deployment').selectAll().where('id', '=', id).executeTakeFirst()
  if (deployment === undefined) refuse('not_found', `No deployment "${id.slice(0, 100)}".`)
  return { deployment, ...(await ownedProject(ctx, deployment.project_id)) }
}

/** Changes the state or upstream of a deployment. Final states stay. Refuses: deployment_ended 409, bad_request 400 (`upstream`, `errorMessage`). */
export async function updateDeployment(
  ctx: OperatorCtx,
  { project, owner, deployment }: Owned & { deployment: Row<'deployment'> },
  { body }: Input<unknown, PatchDeployment>,
) {
  const { readyState = deployment.ready_state } = body
  const changes = readyState !== deployment.ready_state
  if (changes && isEnd(deployment.ready_state)) {
    refuse('deployment_ended', `The deployment is ${deployment.ready_state} and stays so.`)
  }
  const row = await ctx.db
    .updateTable('deployment')
    .set({
      ready_state: readyState,
      upstream: body.upstream === undefined ? deployment.upstream : readOrigin(body.upstream),
      error_message: readErrorMessage(body.errorMessage, readyState) ?? deployment.error_message,
      ...(changes && momentsOf(readyState, ctx.now)),
    })
    .where('id', '=', deployment.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (!changes) return showToOperator(row)
  return showToOperator(await settle(ctx, project, owner, row))
}

/**
 * Returns the deployment of the account for `idOrUrl` (or `id`): its id, its own host name, or a name that points to it now, also
 * as a URL. A name that was reassigned resolves to its current target. Refuses: not_found 404. docs/deployments.md: Names of a
 * deployment.
 */
export async function findDeployment(ctx: Ctx, params: Params): Promise<Row<'deployment'>> {
  const text = params.idOrUrl ?? params.id ?? params.deploymentId ?? ''
  const row = await (text.startsWith('dpl_') ? findBy(ctx, 'id', [text]) : findByHost(ctx, text))
  if (row === undefined || !canSeeProject(ctx.caller, row.project_id)) {
    refuse('not_found', `Deployment "${text.slice(0, 100)}" not found.`)
  }
  return row
}

async function findByHost(ctx: Ctx, text: string): Promise<Row<'deployment'> | undefined> {
  const hosts = hostsSaid(text, ctx.deps.config.domains)
  const own = await findBy(ctx, 'url', hosts)
  if (own !== undefined) return own
  const alias = await ctx.db
    .selectFrom('alias')
    .select('deployment_id')
    .where('account_id', '=', ctx.account.id)
    .where('name', 'in', hosts)
    .executeTakeFirst()
  return alias && findBy(ctx, 'id', [alias.deployment_id])
}

function findBy(ctx: Ctx, column: 'id' | 'url', values: string[]): Promise<Row<'deployment'> | undefined> {
  const deployments = ctx.db.selectFrom('deployment').selectAll().where('account_id', '=', ctx.account.id)
  return deployments.where(column, 'in', values).executeTakeFirst()
}

/** Builds the response for one deployment. */
export async function readDeploymentReply(ctx: Ctx, row: Row<'deployment'>): Promise<Deployment> {
  const { config } = ctx.deps
  const { alias, automaticAliases } = await readDeploymentDomains(ctx, row.id)
  const opened = (names: string[]) => names.map((name) => openedHost(name, config))
  const names = { alias: opened(alias), ...(automaticAliases && { automaticAliases: opened(automaticAliases) }) }
  return showDeployment(row, openedHost(row.url, config), ctx.account, names)
}

export type DeploymentWithProject = { project: Row<'project'>; deployment: Row<'deployment'> }

/** Returns the project and its deployment of the path. Refuses: not_found 404. */
export async function findDeploymentOfProject(ctx: Ctx, params: Params): Promise<DeploymentWithProject> {
  const project = await findProject(ctx, params)
  const deployment = await findDeployment(ctx, params)
  if (deployment.project_id !== project.id) {
    refuse('not_found', `Deployment "${params.deploymentId!.slice(0, 100)}" not found.`)
  }
  return { project, deployment }
}
