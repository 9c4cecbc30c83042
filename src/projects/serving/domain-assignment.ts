/**
 * Targets of domains. A verified production domain points to the production deployment, one with a branch or custom environment
 * to its newest READY deployment, a redirect or unverified domain to none. docs/deployments.md: Targets of domains.
 */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { changeInSteps, chunks } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

type Writing = Pick<OperatorCtx, 'db' | 'stamp'>
type Domain = Row<'project_domain'>

/** Assigns a domain to its current target: after it was added, verified, changed, moved or lost. */
export async function reassignDomain(ctx: Writing, project: Row<'project'>, domain: Domain): Promise<void> {
  // A project without deployments has no targets.
  if (project.deployments_json === null) return
  const deployment = await deploymentFor(ctx, project, domain)
  if (deployment === undefined) await dropAlias(ctx, domain)
  else await assignDomains(ctx, [domain], deployment)
  await refreshDeploymentSummary(ctx, project.id)
}

/** Unassigns a domain of this account that leaves its project. */
export async function unassignDomain(ctx: Writing, project: Row<'project'>, domain: Domain): Promise<void> {
  await unassignDomains(ctx, project, [domain])
}

/** Unassigns several domains of one project. */
export async function unassignDomains(
  ctx: Writing,
  project: Row<'project'>,
  domains: readonly Domain[],
): Promise<void> {
  if (project.deployments_json === null) return
  for (const domain of domains) await dropAlias(ctx, domain)
  await refreshDeploymentSummary(ctx, project.id)
}

/** Unassigns a name that another account has just verified: its alias belonged to the losing account. */
export async function unassignLostDomain(ctx: Writing, domain: Domain): Promise<void> {
  const alias = await dropAlias(ctx, domain)
  if (alias) await refreshDeploymentSummary(ctx, domain.project_id)
}

/** Returns true if an alias existed. An unverified claim never affects the alias of the account that holds the name. */
async function dropAlias(ctx: Writing, domain: Pick<Domain, 'name' | 'account_id'>): Promise<boolean> {
  const rows = await ctx.db
    .deleteFrom('alias')
    .where('name', '=', domain.name)
    .where('account_id', '=', domain.account_id)
    .returning('name')
    .execute()
  return rows.length > 0
}

/** The target of a domain: production, a branch, or a custom environment. */
export type TargetEnvironment = Pick<Domain, 'git_branch' | 'custom_environment_id'>
export const PRODUCTION_TARGET: TargetEnvironment = { git_branch: null, custom_environment_id: null }

/** Returns whether a domain serves production. */
export function isProductionTarget({ git_branch, custom_environment_id }: TargetEnvironment): boolean {
  return git_branch === null && custom_environment_id === null
}

type Target = Pick<Row<'deployment'>, 'id' | 'project_id'>

async function deploymentFor(ctx: Writing, project: Row<'project'>, domain: Domain): Promise<Target | undefined> {
  if (domain.verified_at === null || domain.redirect !== null) return undefined
  if (!isProductionTarget(domain)) return newestPreview(ctx, project.id, domain)
  return project.live_deployment_id === null ? undefined : { id: project.live_deployment_id, project_id: project.id }
}

/** Returns the newest READY deployment of a custom environment, or of a branch without environment. */
export function newestPreview(
  ctx: Pick<Writing, 'db'>,
  projectId: string,
  { git_branch, custom_environment_id: environment }: TargetEnvironment,
): Promise<Target | undefined> {
  let previews = ctx.db
    .selectFrom('deployment')
    .select(['id', 'project_id'])
    .where('project_id', '=', projectId)
    .where('custom_environment_id', environment === null ? 'is' : '=', environment)
  if (environment === null) previews = previews.where('git_branch', '=', git_branch)
  return previews
    .where('ready_state', '=', 'READY')
    .where('target', '=', 'preview')
    .orderBy('created_stamp', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Points domains of the deployment's project to it. They must be verified and not redirects. */
export async function assignDomains(ctx: Writing, domains: readonly Domain[], deployment: Target): Promise<void> {
  for (const slice of chunks(domains)) {
    await ctx.db
      .insertInto('alias')
      .values(
        slice.map((domain) => ({
          name: domain.name,
          address_of: null,
          account_id: domain.account_id,
          project_id: domain.project_id,
          deployment_id: deployment.id,
          target: isProductionTarget(domain) ? ('production' as const) : ('preview' as const),
          created_stamp: domain.created_stamp,
          updated_at: stampToMs(ctx.stamp),
        })),
      )
      .onConflict((conflict) => conflict.column('name').doUpdateSet(REPLACED))
      .execute()
  }
}

/** Domains per step of a take-over: some milliseconds. */
const STEP = 500

/** Points every domain with this target to a deployment, in steps: there may be 50,000. */
export async function assignMatchingDomains(
  ctx: Writing,
  deployment: Target,
  environment: TargetEnvironment,
): Promise<void> {
  const { git_branch, custom_environment_id } = environment
  const domains = ctx.db
    .selectFrom('project_domain')
    .innerJoin('project', (join) =>
      join.onRef('project.account_id', '=', 'project_domain.account_id').onRef('project.id', '=', 'project_id'),
    )
    .select([
      'project_domain.name',
      'project_domain.account_id',
      'project_id',
      sql<string>`cast(${deployment.id} as text)`.as('deployment_id'),
      sql<'production'>`cast(${isProductionTarget(environment) ? 'production' : 'preview'} as text)`.as('target'),
      'project_domain.created_stamp',
      sql<number>`cast(${stampToMs(ctx.stamp)} as bigint)`.as('updated_at'),
    ])
    .where('project.id', '=', deployment.project_id)
    .where('verified_at', 'is not', null)
    .where('redirect', 'is', null)
    .where('git_branch', git_branch === null ? 'is' : '=', git_branch)
    .where('custom_environment_id', custom_environment_id === null ? 'is' : '=', custom_environment_id)
  await changeInSteps(
    async (after) => {
      const [last] = await domains
        .where('project_domain.created_stamp', '>', after)
        .orderBy('project_domain.created_stamp')
        .offset(STEP - 1)
        .limit(1)
        .execute()
      return last?.created_stamp
    },
    ({ after, end = Number.MAX_SAFE_INTEGER }) =>
      ctx.db
        .insertInto('alias')
        .columns(['name', 'account_id', 'project_id', 'deployment_id', 'target', 'created_stamp', 'updated_at'])
        .expression(
          domains.where('project_domain.created_stamp', '>', after).where('project_domain.created_stamp', '<=', end),
        )
        .onConflict((conflict) => conflict.column('name').doUpdateSet(REPLACED))
        .execute(),
  )
}

const REPLACED = {
  account_id: sql<string>`excluded.account_id`,
  project_id: sql<string>`excluded.project_id`,
  deployment_id: sql<string>`excluded.deployment_id`,
  target: sql<'production'>`excluded.target`,
  created_stamp: sql<number>`excluded.created_stamp`,
  updated_at: sql<number>`excluded.updated_at`,
}

/** Rejects host names of deployments and addresses of projects or branches as domains. Refuses: domain_not_allowed 409. */
export async function mustNotBeAddress(ctx: Pick<Writing, 'db'>, name: string): Promise<void> {
  const row = await ctx.db.selectFrom('deployment').select('id').where('url', '=', name).executeTakeFirst()
  if (row !== undefined) refuse('domain_not_allowed', `"${name}" is the own address of a deployment.`, { domain: name })
  if (await isAddress(ctx, name))
    refuse('domain_not_allowed', `"${name}" is the address of a project or of one of its branches.`, { domain: name })
}

/** Returns whether Berth assigned this name to production of a project or to a branch. */
export async function isAddress({ db }: Pick<Writing, 'db'>, name: string): Promise<boolean> {
  const assigned = db.selectFrom('alias').select('name').where('name', '=', name).where('address_of', 'is not', null)
  return (await assigned.executeTakeFirst()) !== undefined
}
