/** Routing of a domain: production, a branch, a custom environment, or a redirect to another domain of the project. */

import type { Ctx, OperatorCtx } from '../../context.ts'
import { canonicalName, isWildcard } from '../../model/domain-name.ts'
import { environmentOf } from '../../model/environment.ts'
import { linkOf } from '../../model/link.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal, refuse } from '../../platform/refusals/refusal.ts'
import type { UpdateDomain } from './schema.ts'

export type Routing = Pick<
  Row<'project_domain'>,
  'git_branch' | 'custom_environment_id' | 'redirect' | 'redirect_status_code'
>

export const PRODUCTION: Routing = {
  git_branch: null,
  custom_environment_id: null,
  redirect: null,
  redirect_status_code: null,
}

/** Browsers stop after about twenty redirects, and real chains are short. The limit also bounds the walk. */
const MAX_HOPS = 10

/**
 * Returns `before` with the fields of the body applied. Null and empty text clear; clearing a redirect clears its status code.
 * Refuses: environment_of_domain 400 (the project has none such, or the domain has a branch or redirect), branch_and_redirect
 * 400, production_branch 400, redirect_to_itself 400, invalid_redirect 400 (not a domain of the project, or in a circle),
 * bad_request 400 (a status code without a redirect).
 */
export async function readRouting(
  ctx: Ctx,
  project: Row<'project'>,
  name: string,
  before: Routing,
  body: UpdateDomain,
): Promise<Routing> {
  // Forms and Terraform send empty text for no branch.
  const gitBranch = body.gitBranch === '' ? null : body.gitBranch
  const said = body.redirect === '' ? null : body.redirect
  const target = said && canonicalTarget(ctx, said)
  const redirect = target === undefined ? before.redirect : target
  const statusCode = redirect === null && said === null ? null : before.redirect_status_code
  const routing = {
    git_branch: gitBranch === undefined ? before.git_branch : gitBranch,
    custom_environment_id: readEnvironment(project, before, body.customEnvironmentId),
    redirect,
    redirect_status_code: body.redirectStatusCode === undefined ? statusCode : body.redirectStatusCode,
  }
  if (routing.git_branch !== null && redirect !== null) refuse('branch_and_redirect')
  if (routing.custom_environment_id !== null && (routing.git_branch !== null || redirect !== null))
    refuse('environment_of_domain')
  if (gitBranch && gitBranch === linkOf(project)?.productionBranch) refuse('production_branch')
  if (routing.redirect_status_code !== null && redirect === null)
    refuse('bad_request', 'Invalid request: `redirectStatusCode` needs a `redirect`.')
  if (target) await mustLeadSomewhere(ctx, project, name, target)
  return routing
}

/** Returns the id of the requested environment. Null clears; undefined keeps the former one. */
function readEnvironment(project: Row<'project'>, before: Routing, idOrSlug: UpdateDomain['customEnvironmentId']) {
  if (idOrSlug === undefined) return before.custom_environment_id
  if (idOrSlug === null) return null
  const environment = environmentOf(project, idOrSlug)
  if (environment !== undefined) return environment.id
  return refuse('environment_of_domain', `The project has no custom environment "${idOrSlug}".`)
}

/** Checks that the latest production deployment has not failed. Specification: operation 10. Refuses: production_deployment_failed 400. */
export async function mustNotHaveFailedProduction(ctx: Ctx, project: Row<'project'>): Promise<void> {
  if (project.deployments_json === null) return
  const latest = await ctx.db
    .selectFrom('deployment')
    .select('ready_state')
    .where('project_id', '=', project.id)
    .where('target', '=', 'production')
    .orderBy('created_stamp', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (latest?.ready_state === 'ERROR' || latest?.ready_state === 'CANCELED') refuse('production_deployment_failed')
}

/** Clears redirects to a domain that leaves the project. Returns the former rows. */
export async function clearRedirectsTo(
  ctx: Pick<OperatorCtx, 'db' | 'stamp'>,
  domain: Row<'project_domain'>,
): Promise<Row<'project_domain'>[]> {
  const before = await findDirectRedirects(ctx, domain, [domain.name])
  await ctx.db
    .updateTable('project_domain')
    .set({ redirect: null, redirect_status_code: null, updated_at: stampToMs(ctx.stamp) })
    .where('account_id', '=', domain.account_id)
    .where('project_id', '=', domain.project_id)
    .where('redirect', '=', domain.name)
    .execute()
  return before
}

/** Returns domains of the project that redirect to one of these names, oldest first. */
export async function findDirectRedirects(
  ctx: Pick<OperatorCtx, 'db'>,
  domain: Row<'project_domain'>,
  names: string[],
): Promise<Row<'project_domain'>[]> {
  const rows = await ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', domain.account_id)
    .where('project_id', '=', domain.project_id)
    .where('redirect', 'in', names)
    .execute()
  // Sorted here, because SQLite would sort by scanning all domains of the project.
  return rows.sort((a, b) => a.created_stamp - b.created_stamp)
}

/** A redirect target is any name except a wildcard. */
function canonicalTarget(ctx: Ctx, text: string): string {
  try {
    const target = canonicalName(text, ctx.deps.config.domains)
    if (!isWildcard(target)) return target
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
  return refuse('invalid_redirect', `\`redirect\` must be a domain of the same project, not "${text.slice(0, 100)}".`)
}

async function mustLeadSomewhere(ctx: Ctx, project: Row<'project'>, name: string, target: string): Promise<void> {
  if (target === name) refuse('redirect_to_itself')
  let at = target
  for (let hop = 1; hop <= MAX_HOPS; hop++) {
    const next = await ctx.db
      .selectFrom('project_domain')
      .select('redirect')
      .where('account_id', '=', project.account_id)
      .where('name', '=', at)
      .where('project_id', '=', project.id)
      .executeTakeFirst()
    if (next === undefined)
      refuse('invalid_redirect', `\`redirect\` must be a domain of the same project; add "${target}" to it first.`)
    if (next.redirect === null) return
    if (next.redirect === name)
      refuse('invalid_redirect', `Redirecting to "${target}" would create a loop: it redirects back to "${name}".`)
    at = next.redirect
  }
  refuse('invalid_redirect', `"${target}" is redirected more than ${MAX_HOPS} times; redirect to where that ends.`)
}
