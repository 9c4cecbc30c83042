/** Deployments: what the build system registers, and what people read of them. docs/spec/operator-api.md; docs/deployments.md. */
import { seesProject } from '../access/guards.ts'
import type { Ctx, EventOwner, Input, OperatorCtx, Params } from '../context.ts'
import type { ReadyState } from '../db/deployment-tables.ts'
import type { Row } from '../db/schema.ts'
import type { EventName } from '../events.ts'
import { newId } from '../ids.ts'
import { foldDeployments, namesOf } from '../model/deployment-summary.ts'
import { environmentOf } from '../model/environment.ts'
import { findProject } from '../model/project.ts'
import { refuse } from '../refusal.ts'
import { takeOver } from '../serving/production.ts'
import { canonicalUrl, mustNotBeDomain, readMeta, readOrigin } from '../serving/validate.ts'
import { writeMeta } from './meta.ts'
import { type Deployment, type NewDeployment, type PatchDeployment, showDeployment, showToOperator } from './schema.ts'

type Owned = { project: Row<'project'>; owner: Row<'account'> }

/** What registering a deployment, or a change of its state, may tell. */
export const DEPLOYMENT_EVENTS = [
  'deployment.created',
  'deployment.ready',
  'deployment.succeeded',
  'deployment.error',
  'deployment.canceled',
] as const satisfies EventName[]

/** The project that the path says, of whatever account, and that account. Refuses: not_found 404. */
export async function findProjectOfAny(ctx: OperatorCtx, params: Params): Promise<Owned> {
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
 * Registers a deployment; one that is READY takes over the domains that are its to take (`takeOver`).
 * Refuses: bad_request 400 (`url`, `upstream`, `meta`, `customEnvironmentId`), deployment_url_taken 409 (by the unique index, or by a verified domain).
 */
export async function createDeployment(
  ctx: OperatorCtx,
  { project, owner }: Owned,
  { body }: Input<unknown, NewDeployment>,
) {
  const url = canonicalUrl(body.url, ctx.deps.config.domains)
  await mustNotBeDomain(ctx, url)
  const row = await ctx.db
    .insertInto('deployment')
    .values({
      id: newId('dpl'),
      account_id: project.account_id,
      project_id: project.id,
      name: project.name,
      url,
      target: body.target ?? 'preview',
      ready_state: body.readyState,
      git_branch: body.gitBranch ?? null,
      custom_environment_id: readEnvironment(project, body),
      meta_json: readMeta(body.meta ?? {}),
      upstream: readOrigin(body.upstream ?? null),
      plan: owner.plan,
      created_stamp: ctx.stamp,
      ...momentsOf(body.readyState, ctx.now),
    })
    .onConflict((conflict) => conflict.column('url').doNothing())
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) refuse('deployment_url_taken', `Another deployment has the url "${url}".`)
  await writeMeta(ctx, row)
  tell(ctx, 'deployment.created', row, owner)
  await settle(ctx, project, owner, row)
  // The project is written last, as everywhere: those that meet on it hold nothing that the other waits for.
  await ctx.db
    .updateTable('project')
    .set({ updated_stamp: ctx.stamp })
    .where('account_id', '=', project.account_id)
    .where('id', '=', project.id)
    .execute()
  return showToOperator(await readBack(ctx, row))
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

/** The deployment that the path says, with its project and account. Refuses: not_found 404. */
export async function findDeploymentOfAny(
  ctx: OperatorCtx,
  params: Params,
): Promise<Owned & { deployment: Row<'deployment'> }> {
  const id = params.id ?? ''
  const deployment = await ctx.db.selectFrom('deployment').selectAll().where('id', '=', id).executeTakeFirst()
  if (deployment === undefined) refuse('not_found', `No deployment "${id.slice(0, 100)}".`)
  return { deployment, ...(await ownedProject(ctx, deployment.project_id)) }
}

/**
 * Changes the state of a deployment, or where its visitors are sent. READY, ERROR and CANCELED are ends: saying one again
 * changes nothing. Refuses: deployment_ended 409, bad_request 400 (`upstream`).
 */
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
      ...(changes && momentsOf(readyState, ctx.now)),
    })
    .where('id', '=', deployment.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (!changes) return showToOperator(row)
  await settle(ctx, project, owner, row)
  return showToOperator(await readBack(ctx, row))
}

/** The deployment of the account that `idOrUrl` (or `id`) says, by its id or host name. Refuses: not_found 404. */
export async function findDeployment(ctx: Ctx, params: Params): Promise<Row<'deployment'>> {
  const idOrUrl = (params.idOrUrl ?? params.id ?? params.deploymentId ?? '').replace(/^https:\/\/|\/$/g, '')
  const row = await ctx.db
    .selectFrom('deployment')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where(idOrUrl.startsWith('dpl_') ? 'id' : 'url', '=', idOrUrl.startsWith('dpl_') ? idOrUrl : idOrUrl.toLowerCase())
    .executeTakeFirst()
  if (row === undefined || !seesProject(ctx.who, row.project_id)) {
    refuse('not_found', `Deployment "${idOrUrl.slice(0, 100)}" not found.`)
  }
  return row
}

/** The answer for one deployment. */
export async function answerDeployment(ctx: Ctx, row: Row<'deployment'>): Promise<Deployment> {
  return showDeployment(row, ctx.account, await namesOf(ctx, row.id))
}

/** What an event tells of a deployment. docs/spec/wire.md 3.8. */
export function showDeploymentEvent(ctx: Pick<OperatorCtx, 'deps'>, row: Row<'deployment'>) {
  const { id, url, name } = row
  return {
    deployment: { id, meta: JSON.parse(row.meta_json) as Record<string, string>, url, name },
    links: { deployment: `https://${url}`, project: `${ctx.deps.origin()}/v9/projects/${row.project_id}` },
    target: row.target === 'production' ? ('production' as const) : null,
    project: { id: row.project_id },
    plan: row.plan,
    regions: [],
  }
}

/** What follows from the state that a deployment now has: domains, events, and what the project shows. */
async function settle(ctx: OperatorCtx, project: Row<'project'>, owner: EventOwner, row: Row<'deployment'>) {
  if (row.ready_state === 'READY') {
    await takeOver(ctx, project, row)
    tell(ctx, 'deployment.ready', row, owner)
    tell(ctx, 'deployment.succeeded', row, owner)
  }
  if (row.ready_state === 'ERROR') tell(ctx, 'deployment.error', row, owner)
  if (row.ready_state === 'CANCELED') tell(ctx, 'deployment.canceled', row, owner)
  await foldDeployments(ctx, project.id)
}

function tell(
  ctx: OperatorCtx,
  type: (typeof DEPLOYMENT_EVENTS)[number],
  row: Row<'deployment'>,
  { id, kind }: EventOwner,
): void {
  ctx.emit(type, showDeploymentEvent(ctx, row), row.project_id, { id, kind })
}

function readBack(ctx: OperatorCtx, { id }: Row<'deployment'>): Promise<Row<'deployment'>> {
  return ctx.db.selectFrom('deployment').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

function isEnd(state: ReadyState): boolean {
  return state === 'READY' || state === 'ERROR' || state === 'CANCELED'
}

function momentsOf(state: ReadyState, now: number) {
  if (state === 'BUILDING') return { building_at: now }
  if (state === 'READY') return { ready_at: now }
  return state === 'ERROR' || state === 'CANCELED' ? { failed_at: now } : {}
}

export type OfProject = { project: Row<'project'>; deployment: Row<'deployment'> }

/** The project and, of its deployments, the one that the path says. Refuses: not_found 404. */
export async function findDeploymentOfProject(ctx: Ctx, params: Params): Promise<OfProject> {
  const project = await findProject(ctx, params)
  const deployment = await findDeployment(ctx, params)
  if (deployment.project_id !== project.id) {
    refuse('not_found', `Deployment "${params.deploymentId!.slice(0, 100)}" not found.`)
  }
  return { project, deployment }
}
