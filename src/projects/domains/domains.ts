/** Domains of a project: add, find, update, remove. Specification: operations 10, 12, 13 and 14. */

import type { Ctx, EventAccount, Input, OperatorCtx, Params } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import { showEvent, showRouting } from '../../model/domain.ts'
import { apexOf, canonicalName, nameToFind } from '../../model/domain-name.ts'
import { findProject } from '../../model/project.ts'
import { canSeeProject } from '../../platform/access/guards.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { newChallenge } from '../domain-verification/check-schedule.ts'
import { mustBeAllowed, verifyOrChallenge } from '../domain-verification/claim.ts'
import { releaseProofs } from '../domain-verification/released-proof.ts'
import { reassignDomain, unassignDomain } from '../serving/domain-assignment.ts'
import {
  clearRedirectsTo,
  findDirectRedirects,
  mustNotHaveFailedProduction,
  PRODUCTION,
  type Routing,
  readRouting,
} from './routing.ts'
import { type AddDomain, type ProjectDomain, type RemoveDomain, showDomain, type UpdateDomain } from './schema.ts'

export type DomainWithProject = { project: Row<'project'>; domain: Row<'project_domain'> }

export const ROUTING_REFUSALS = [
  'environment_of_domain',
  'branch_and_redirect',
  'production_branch',
  'redirect_to_itself',
  'invalid_redirect',
] as const

/** Refusals of adding a domain, in addition to those of loading the project. */
export const ADD_REFUSALS = [
  ...ROUTING_REFUSALS,
  'invalid_domain',
  'domain_forbidden',
  'domain_owned_by_your_other_account',
  'conflict_with_verified_domain',
  'domain_not_allowed',
  'production_deployment_failed',
] as const satisfies RefusalKey[]

/** Adds a domain to a project. Refuses: ADD_REFUSALS, domain_on_project 400, domain_on_other_project 409 (both decided by the primary key). */
export async function addDomain(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Pick<Input<unknown, AddDomain>, 'body'>,
): Promise<ProjectDomain> {
  const settings = ctx.deps.config.domains
  const name = canonicalName(body.name, settings)
  const routing = await readRouting(ctx, project, name, PRODUCTION, body)
  mustBeAllowed(name, settings)
  await mustNotHaveFailedProduction(ctx, project)
  const claim = await insertDomain(ctx, project, name, routing)
  if (claim === undefined) return refuseTaken(ctx, project, name)
  await mustFit(ctx, 'domains', project.account_id)
  const domain = await verifyOrChallenge(ctx, claim)
  await reassignDomain(ctx, project, domain)
  ctx.emit('project.domain.created', showEvent(project, domain), project.id)
  return showDomain(domain, settings)
}

/** Returns the domain of the path on its project. Refuses: not_found 404. */
export async function findDomain(ctx: Ctx, params: Params): Promise<DomainWithProject> {
  const { project, name, domain } = await lookUp(ctx, params, nameToFind)
  if (domain === undefined) refuse('not_found', `The domain "${name}" is not assigned to "${project.name}".`)
  return { project, domain }
}

/** Finds a domain to verify; the specification returns 400 here. Refuses: not_found 404 (the project), domain_not_assigned 400. */
export async function findDomainToVerify(ctx: Ctx, params: Params): Promise<DomainWithProject> {
  const { project, name, domain } = await lookUp(ctx, params, canonicalName)
  if (domain === undefined) refuse('domain_not_assigned', `The domain "${name}" is not assigned to "${project.name}".`)
  return { project, domain }
}

/** Returns the domain of this name, on any project that the token can see. Refuses: not_found 404. */
export async function findDomainByName(ctx: Ctx, params: Params): Promise<Row<'project_domain'>> {
  const name = nameToFind(params.domain ?? '', ctx.deps.config.domains)
  const domain = await readDomain(ctx, name)
  if (domain === undefined || !canSeeProject(ctx.caller, domain.project_id))
    refuse('not_found', `The domain "${name}" is on no project.`)
  return domain
}

/** Returns the domain of this name in the account. */
export function readDomain(ctx: Ctx, name: string): Promise<Row<'project_domain'> | undefined> {
  return ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where('name', '=', name)
    .executeTakeFirst()
}

async function lookUp(ctx: Ctx, params: Params, nameOf: typeof canonicalName) {
  const project = await findProject(ctx, params)
  const name = nameOf(params.domain ?? '', ctx.deps.config.domains)
  const domain = await readDomain(ctx, name)
  return { project, name, domain: domain?.project_id === project.id ? domain : undefined }
}

/** Changes branch and redirect as the body specifies. Refuses: ROUTING_REFUSALS 400, bad_request 400. */
export async function updateDomain(
  ctx: Ctx,
  { project, domain }: DomainWithProject,
  { body }: Pick<Input<unknown, UpdateDomain>, 'body'>,
): Promise<ProjectDomain> {
  const routing = await readRouting(ctx, project, domain.name, domain, body)
  const row = await ctx.db
    .updateTable('project_domain')
    .set({ ...routing, updated_at: stampToMs(ctx.stamp) })
    .where('account_id', '=', domain.account_id)
    .where('name', '=', domain.name)
    .returningAll()
    .executeTakeFirstOrThrow()
  await reassignDomain(ctx, project, row)
  const payload = { ...showEvent(project, row), previous: showRouting(domain) }
  ctx.emit('project.domain.updated', payload, project.id)
  return showDomain(row, ctx.deps.config.domains)
}

/** Redirects changed per request: each row is its own statement. docs/limits.md. */
const MAX_REDIRECTS = 100

/**
 * Removes a domain. Redirects to it are cleared, or removed recursively with `removeRedirects`. The next claim gets a new
 * challenge. The verification still covers the account for 30 days. Refuses: too_many_names 409 (more than 100 would go along).
 */
export async function removeDomain(
  ctx: Ctx,
  { project, domain }: DomainWithProject,
  { body }: Pick<Input<unknown, RemoveDomain>, 'body'>,
): Promise<Record<string, never>> {
  const domains = [domain, ...(body.removeRedirects ? await findRedirectSources(ctx, domain) : [])]
  if (!body.removeRedirects) await stopRedirects(ctx, ctx.account, project, domain)
  await releaseProofs(
    ctx,
    domain.account_id,
    domains.map((row) => row.name),
  )
  for (const row of domains) {
    await ctx.db
      .deleteFrom('project_domain')
      .where('account_id', '=', row.account_id)
      .where('name', '=', row.name)
      .execute()
    await unassignDomain(ctx, project, row)
    ctx.emit('project.domain.deleted', showEvent(project, row), project.id)
  }
  return {}
}

/** Clears the redirects to a domain that leaves the project, and notifies `owner` of each. */
export async function stopRedirects(
  ctx: OperatorCtx,
  owner: EventAccount,
  project: Row<'project'>,
  domain: Row<'project_domain'>,
): Promise<void> {
  for (const row of await clearRedirectsTo(ctx, domain)) {
    const changed = { ...row, redirect: null, redirect_status_code: null }
    await reassignDomain(ctx, project, changed)
    ctx.emit(
      'project.domain.updated',
      { ...showEvent(project, changed), previous: showRouting(row) },
      project.id,
      owner,
    )
  }
}

/** Engines limit the parameters of a query. */
const NAMES_A_QUERY = 500

/** Returns every domain that redirects to this one, directly or not. Cycles do not exist. Refuses: too_many_names 409 (more than 100). */
export async function findRedirectSources(ctx: Ctx, domain: Row<'project_domain'>): Promise<Row<'project_domain'>[]> {
  const domains: Row<'project_domain'>[] = []
  const open = [domain.name]
  while (open.length > 0) {
    const next = await findDirectRedirects(ctx, domain, open.splice(0, NAMES_A_QUERY))
    domains.push(...next)
    if (domains.length > MAX_REDIRECTS) {
      const message = `More than ${MAX_REDIRECTS} domains redirect to ${domain.name}. Remove some first, or leave out \`removeRedirects\`.`
      refuse('too_many_names', message)
    }
    open.push(...next.map((row) => row.name))
  }
  return domains
}

/** Returns no row if the account already has the name. */
function insertDomain(ctx: Ctx, project: Row<'project'>, name: string, routing: Routing) {
  const now = stampToMs(ctx.stamp)
  return ctx.db
    .insertInto('project_domain')
    .values({
      account_id: project.account_id,
      name,
      project_id: project.id,
      apex_name: apexOf(name),
      ...routing,
      ...newChallenge(now),
      verified_at: null,
      proven_at: null,
      inherited_at: null,
      created_stamp: ctx.stamp,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** A project-limited token must not learn the id of another project. */
async function refuseTaken(ctx: Ctx, project: Row<'project'>, name: string): Promise<never> {
  const { project_id: projectId } = (await readDomain(ctx, name))!
  if (projectId === project.id)
    refuse('domain_on_project', `The domain "${name}" is already on this project.`, { domain: name, projectId })
  const visible = canSeeProject(ctx.caller, projectId)
  const message = `Cannot add ${name} since it's already in use by another project of your account.`
  return refuse('domain_on_other_project', message, { domain: name, ...(visible && { projectId }) })
}
