/** Custom environments of a project: create, list, get, change, remove. docs/spec/wire.md 6; docs/custom-environments.md. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import {
  type Environment,
  type EnvironmentList,
  type EnvironmentsQuery,
  environmentOf,
  environmentsOf,
  MAX_ENVIRONMENTS,
  type NewEnvironment,
  type PatchEnvironment,
  type RemoveEnvironment,
  type ShownEnvironment,
  showEnvironment,
} from '../../model/environment.ts'
import { changeProject, findProject } from '../../model/project.ts'
import { newId } from '../../platform/base/ids.ts'
import { someOf } from '../../platform/base/text.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { findRedirectSources, removeDomain } from '../domains/domains.ts'
import { isStandard } from '../env/schema.ts'
import { copyVariables, detachFromVariables, prepareCopies, type VariableCopy } from './variables.ts'

const MAX_DOMAINS = 100
const SLUG = /^[a-z0-9][a-z0-9-]{0,31}$/

export type ProjectWithEnvironment = Row<'project'> & { environment: Environment }

/** Plans the copy of variables for a new environment before its transaction. Refuses nothing; `createEnvironment` does. */
export async function prepareEnvironment(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, NewEnvironment>,
): Promise<VariableCopy | undefined> {
  return body.copyEnvVarsFrom ? prepareCopies(ctx, project, body.copyEnvVarsFrom) : undefined
}

/**
 * Creates a custom environment, optionally with copies of another one's variables. Refuses: invalid_environment_slug 400,
 * environment_slug_taken 409, too_many_environments 400, and what `copyVariables` does.
 */
export async function createEnvironment(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, NewEnvironment>,
  copying: VariableCopy | undefined,
): Promise<ShownEnvironment> {
  const environments = environmentsOf(project)
  mustBeSlug(body.slug, environments)
  if (environments.length >= MAX_ENVIRONMENTS) refuse('too_many_environments')
  const environment: Environment = {
    id: copying?.to ?? newId('env'),
    slug: body.slug,
    description: body.description ?? '',
    branchMatcher: body.branchMatcher ?? null,
    createdAt: ctx.now,
    updatedAt: ctx.now,
  }
  if (body.copyEnvVarsFrom) await copyVariables(ctx, project, body.copyEnvVarsFrom, environment.id, copying?.prepared)
  await keepEnvironments(ctx, project, [...environments, environment])
  return showEnvironment(environment)
}

/** Lists the custom environments of a project, oldest first, with their limit. */
export function listEnvironments(
  _ctx: Ctx,
  project: Row<'project'>,
  { query }: Input<EnvironmentsQuery>,
): Static<typeof EnvironmentList> {
  const all = environmentsOf(project).map(showEnvironment)
  const { gitBranch } = query
  const environments = gitBranch === undefined ? all : all.filter((environment) => takesBranch(environment, gitBranch))
  return { environments, accountLimit: { total: MAX_ENVIRONMENTS } }
}

function takesBranch({ branchMatcher }: ShownEnvironment, branch: string): boolean {
  if (branchMatcher === undefined) return false
  const { type, pattern } = branchMatcher
  return type === 'equals' ? branch === pattern : branch[type](pattern)
}

/** Returns the custom environment of the path by slug or id, on its project. Refuses: not_found 404. */
export async function findEnvironment(ctx: Ctx, params: Params): Promise<ProjectWithEnvironment> {
  const project = await findProject(ctx, params)
  const slugOrId = params.environmentSlugOrId ?? ''
  const environment = environmentOf(project, slugOrId)
  if (environment === undefined) {
    refuse('not_found', `The project has no custom environment "${slugOrId.slice(0, 100)}".`)
  }
  return { ...project, environment }
}

/** Builds the response for a custom environment. */
export function getEnvironment(_ctx: Ctx, { environment }: ProjectWithEnvironment): ShownEnvironment {
  return showEnvironment(environment)
}

/** Changes the fields in the body; null clears. The id stays. Refuses: invalid_environment_slug 400, environment_slug_taken 409. */
export async function updateEnvironment(
  ctx: Ctx,
  { environment, ...project }: ProjectWithEnvironment,
  { body }: Input<unknown, PatchEnvironment>,
): Promise<ShownEnvironment> {
  const environments = environmentsOf(project)
  const others = environments.filter(({ id }) => id !== environment.id)
  if (body.slug !== undefined) mustBeSlug(body.slug, others)
  const changed: Environment = {
    ...environment,
    ...(body.slug !== undefined && { slug: body.slug }),
    ...(body.description !== undefined && { description: body.description ?? '' }),
    ...(body.branchMatcher !== undefined && { branchMatcher: body.branchMatcher }),
    updatedAt: ctx.now,
  }
  await keepEnvironments(
    ctx,
    project,
    environments.map((environment) => (environment.id === changed.id ? changed : environment)),
  )
  return showEnvironment(changed)
}

/**
 * Removes a custom environment with its domains and domains that redirect to them, which would otherwise show production. Its
 * variables stay without environment, or are deleted (`detachFromVariables`); either needs the right to change them. Returns the
 * former environment. Refuses: env_limit 400, missing_permission 403 (domains or variables stand in the way), too_many_names 409.
 */
export async function removeEnvironment(
  ctx: Ctx,
  { environment, ...project }: ProjectWithEnvironment,
  { body }: Input<unknown, RemoveEnvironment>,
): Promise<ShownEnvironment> {
  const domains = await domainsIn(ctx, project, environment.id)
  mustChangeDomains(ctx, domains)
  for (const domain of domains) await removeDomain(ctx, { project, domain }, { body: { removeRedirects: true } })
  await detachFromVariables(ctx, project, environment.id, body.deleteUnassignedEnvironmentVariables === true)
  await keepEnvironments(
    ctx,
    project,
    environmentsOf(project).filter(({ id }) => id !== environment.id),
  )
  return showEnvironment(environment)
}

/** Refuses: missing_permission 403. Specification: Scopes. */
function mustChangeDomains({ caller }: Ctx, domains: readonly Row<'project_domain'>[]): void {
  if (domains.length === 0 || caller.permissions.has('domain:write')) return
  const named = someOf(domains.map(({ name }) => name))
  const message = `You don't have permission to do this: the environment has domains (${named}), and to remove them needs domain:write.`
  refuse('missing_permission', message)
}

/** Refuses: too_many_names 409. */
async function domainsIn(ctx: Ctx, project: Row<'project'>, id: string): Promise<Row<'project_domain'>[]> {
  const domains = await ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .where('custom_environment_id', '=', id)
    .orderBy('created_stamp')
    .limit(MAX_DOMAINS + 1)
    .execute()
  let count = domains.length
  for (const domain of domains) count += (await findRedirectSources(ctx, domain)).length
  if (count > MAX_DOMAINS) {
    const message = `More than ${MAX_DOMAINS} domains are of the environment or redirect to one that is. Remove some first.`
    refuse('too_many_names', message)
  }
  return domains
}

/** One write of the project row, so that concurrent requests lose no change and create no duplicate slug. */
async function keepEnvironments(ctx: Ctx, project: Row<'project'>, environments: Environment[]): Promise<void> {
  const columns = { custom_environments_json: environments.length === 0 ? null : JSON.stringify(environments) }
  await changeProject(ctx, project, columns)
}

/** Refuses: invalid_environment_slug 400, environment_slug_taken 409. */
function mustBeSlug(slug: string, others: readonly Environment[]): void {
  if (!SLUG.test(slug) || isStandard(slug)) refuse('invalid_environment_slug')
  if (!others.some((environment) => environment.slug === slug)) return
  refuse('environment_slug_taken', `The project has a custom environment "${slug}" already.`)
}
