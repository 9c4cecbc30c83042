/** Manual alias assignment: a domain of the project points to a given deployment. docs/deployments.md: Assigning by hand. */

import type { Ctx, Input, Params } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { canonicalName } from '../../model/domain-name.ts'
import { environmentOf } from '../../model/environment.ts'
import { findProject } from '../../model/project.ts'
import { guard, notInTransfer } from '../../platform/access/guards.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { findDeployment } from '../deployments/deployments.ts'
import { addDomain, readDomain, updateDomain } from '../domains/domains.ts'
import { assignDomains } from '../serving/domain-assignment.ts'
import { aliasId } from './aliases.ts'
import type { AssignAlias, AssignedAlias } from './schema.ts'

type Assignment = { project: Row<'project'>; deployment: Row<'deployment'> }
type Domain = Row<'project_domain'>

/** Returns the deployment of the path and its project. Refuses: not_found 404. */
export async function findAssignment(ctx: Ctx, params: Params): Promise<Assignment> {
  const deployment = await findDeployment(ctx, params)
  return { deployment, project: await findProject(ctx, { projectId: deployment.project_id }) }
}

/** `notInTransfer`, but never 409: the CLI reads 409 as success. */
export const assignmentNotInTransfer = guard(['alias_in_transfer'], (ctx: Ctx, { project }: Assignment, input) =>
  without409('alias_in_transfer', async () => notInTransfer(ctx, project, input)),
)

/**
 * Points a name to a deployment until a later deployment or promote. A name without a project is added to the deployment's if it
 * needs no verification; for a preview, to its custom environment or branch. With `redirect` the name redirects to another domain
 * of the project. Refuses: alias_not_ready 400, alias_in_use 403, alias_not_verified 403, alias_not_allowed 403 (what adding
 * refuses with 409), and what adding or a redirect refuse else.
 */
export async function assignAlias(
  ctx: Ctx,
  { project, deployment }: Assignment,
  { body }: Input<unknown, AssignAlias>,
): Promise<AssignedAlias> {
  if (deployment.ready_state !== 'READY')
    refuse('alias_not_ready', `The deployment is ${deployment.ready_state}; only one that is READY can have an alias.`)
  const name = nameOf(ctx, body.alias)
  const before = await ctx.db
    .selectFrom('alias')
    .select('deployment_id')
    .where('name', '=', name)
    .where('account_id', '=', ctx.account.id)
    .executeTakeFirst()
  const domain = await takeDomain(ctx, project, deployment, name)
  const row = await setRedirect(ctx, project, domain, body.redirect ?? null)
  if (row.redirect === null) await assignDomains(ctx, [row], deployment)
  await refreshDeploymentSummary(ctx, project.id)
  return {
    uid: aliasId(name),
    alias: name,
    created: new Date(ctx.now).toISOString(),
    oldDeploymentId: before?.deployment_id ?? null,
  }
}

/** A single label is under the platform's suffix. */
function nameOf(ctx: Ctx, text: string): string {
  const settings = ctx.deps.config.domains
  const { platformSuffix } = settings
  const label = !text.includes('.') && platformSuffix !== undefined
  return canonicalName(label ? `${text}.${platformSuffix}` : text, settings)
}

/** Returns the domain of this name on the project. Adds it if no project of the account has it. */
async function takeDomain(ctx: Ctx, project: Row<'project'>, deployment: Row<'deployment'>, name: string) {
  const previous = await readDomain(ctx, name)
  if (previous === undefined) {
    const place = placeOf(project, deployment)
    await without409('alias_not_allowed', () => addDomain(ctx, project, { body: { name, ...place } }))
  }
  const domain = previous ?? (await readDomain(ctx, name))!
  if (domain.project_id !== project.id)
    refuse('alias_in_use', `"${name}" is on another project of your account. Move it to "${project.name}" first.`)
  if (domain.verified_at === null)
    refuse('alias_not_verified', `"${name}" is not verified. Add it to "${project.name}" and verify it first.`)
  return domain
}

/** The target of a new name: the deployment's environment if it still exists, else its branch, else production. */
function placeOf(project: Row<'project'>, { target, git_branch, custom_environment_id: id }: Row<'deployment'>) {
  if (target === 'production') return {}
  if (id !== null && environmentOf(project, id) !== undefined) return { customEnvironmentId: id }
  return { gitBranch: git_branch }
}

async function setRedirect(
  ctx: Ctx,
  project: Row<'project'>,
  domain: Domain,
  redirect: string | null,
): Promise<Domain> {
  if (redirect === domain.redirect) return domain
  const body =
    redirect === null
      ? { redirect }
      : { gitBranch: null, customEnvironmentId: null, redirect, redirectStatusCode: 307 as const }
  await updateDomain(ctx, { project, domain }, { body })
  return (await readDomain(ctx, domain.name))!
}

async function without409<T>(key: 'alias_in_transfer' | 'alias_not_allowed', act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof Refusal && error.status === 409) refuse(key, error.message)
    throw error
  }
}
