/** Platform addresses of production and branches, which are aliases without a domain. docs/deploying-sites.md: Addresses. */
import type { OperatorCtx } from '../../context.ts'
import { isOfSuffix, movingAddress, OF_BRANCH, OF_PRODUCTION } from '../../model/addresses.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'

type Ctx = Pick<OperatorCtx, 'db' | 'deps' | 'stamp'>
type Project = Pick<Row<'project'>, 'id' | 'account_id' | 'name'>
type Deployment = Pick<Row<'deployment'>, 'id' | 'target' | 'output_id'>

/** Points the production address to the production deployment. */
export async function pointProductionAddress(ctx: Ctx, project: Project, live: Deployment): Promise<void> {
  await pointAddress(ctx, project, undefined, live)
}

/** Points the address of a git branch to its newest READY deployment, or removes it without one. `branch` null: no branch. */
export async function followBranch(ctx: Ctx, project: Project, branch: string | null): Promise<void> {
  if (branch === null) return
  const newest = await ctx.db
    .selectFrom('deployment')
    .select(['id', 'target', 'output_id'])
    .where('project_id', '=', project.id)
    .where('git_branch', '=', branch)
    .where('ready_state', '=', 'READY')
    .orderBy('created_stamp', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (newest !== undefined) return pointAddress(ctx, project, branch, newest)
  await addressOf(ctx, project, branch).deleteAlias.execute()
}

/** Updates the branch addresses of deleted deployments, like `followBranch`. */
export async function leaveBranches(
  ctx: Ctx,
  project: Project,
  deleted: readonly Pick<Row<'deployment'>, 'git_branch'>[],
): Promise<void> {
  for (const branch of new Set(deleted.map(({ git_branch }) => git_branch))) await followBranch(ctx, project, branch)
}

/** An assigned address stays, even if the project changes its name or account, unless the platform's suffix changes. */
async function pointAddress(
  ctx: Ctx,
  project: Project,
  branch: string | undefined,
  { id, target, output_id }: Deployment,
): Promise<void> {
  const { domains } = ctx.deps.config
  const leads = { deployment_id: id, target, updated_at: stampToMs(ctx.stamp) }
  const address = await addressOf(ctx, project, branch).select.executeTakeFirst()
  if (address !== undefined && isOfSuffix(address.name, domains)) {
    if (address.deployment_id === id) return
    await ctx.db.updateTable('alias').set(leads).where('name', '=', address.name).execute()
    return
  }
  if (address !== undefined) await ctx.db.deleteFrom('alias').where('name', '=', address.name).execute()
  else if (output_id === null) return
  await ctx.db
    .insertInto('alias')
    .values({
      ...leads,
      name: await freeName(ctx, project, branch),
      address_of: kindOf(branch),
      account_id: project.account_id,
      project_id: project.id,
      // One deployment may have two addresses, each with its own list position.
      created_stamp: ctx.deps.clock.stamp(),
    })
    .execute()
}

function kindOf(branch: string | undefined): string {
  return branch === undefined ? OF_PRODUCTION : OF_BRANCH + branch
}

function addressOf({ db }: Ctx, project: Project, branch: string | undefined) {
  const kind = kindOf(branch)
  return {
    select: db
      .selectFrom('alias')
      .select(['name', 'deployment_id'])
      .where('project_id', '=', project.id)
      .where('address_of', '=', kind),
    deleteAlias: db.deleteFrom('alias').where('project_id', '=', project.id).where('address_of', '=', kind),
  }
}

const MAX_ATTEMPTS = 10

/** The first unused name: older domains under the suffix, urls from build systems and other addresses may occupy names. */
async function freeName(ctx: Ctx, { id, account_id, name: projectName }: Project, branch: string | undefined) {
  const of = { accountId: account_id, projectId: id, projectName, branch }
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const name = movingAddress({ ...of, attempt }, ctx.deps.config.domains)
    if (!(await isTaken(ctx, name))) return name
  }
  throw new Error(`${MAX_ATTEMPTS} addresses of ${id} are taken`)
}

async function isTaken({ db }: Ctx, name: string): Promise<boolean> {
  const rows = await Promise.all([
    db.selectFrom('alias').select('name').where('name', '=', name).executeTakeFirst(),
    db.selectFrom('project_domain').select('name').where('name', '=', name).limit(1).executeTakeFirst(),
    db.selectFrom('deployment').select('id').where('url', '=', name).executeTakeFirst(),
  ])
  return rows.some((row) => row !== undefined)
}
