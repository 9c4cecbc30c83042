/** Puts the build of a new deployment into the queue. docs/building.md: Queue. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { showSettings } from '../../model/project-settings.ts'
import { findOwnerId } from '../../platform/access/token-query.ts'
import { rowCount } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { settle } from '../../projects/deployments/register.ts'
import { nextState } from '../deploys/states.ts'
import type { BuildSettings } from '../protocol/runner-protocol.ts'
import { refuseFull, roomLeft } from '../uploads/usage.ts'

/** TABLE waiting builds of an account, and of all accounts of an owner. */
const MAX_WAITING = { account: 100, owner: 200 } as const

type New = { settings: BuildSettings; takesDomains: boolean }

/**
 * Inserts the build of a deployment that is QUEUED, in its transaction, and cancels older waiting previews of its branch. Refuses:
 * builds_rate_limited 429 (100 builds of the account wait, or 200 of its owner), budget_used_up 409 (no room for its log).
 */
export async function createBuild(
  ctx: Ctx,
  project: Row<'project'>,
  deployment: Row<'deployment'>,
  { settings, takesDomains }: New,
): Promise<void> {
  await cancelOlder(ctx, project, deployment)
  // Read outside of the transaction: a change of members must not make creates lose races.
  const owner_id = await findOwnerId(ctx.deps.db.read, project.account_id)
  await mustHavePlace(ctx, project.account_id, owner_id)
  await mustHaveRoom(ctx, project.account_id)
  await ctx.db
    .insertInto('build')
    .values({
      deployment_id: deployment.id,
      account_id: project.account_id,
      owner_id,
      project_id: project.id,
      state: 'waiting',
      is_production: deployment.target === 'production' ? 1 : 0,
      takes_domains: takesDomains ? 1 : 0,
      git_branch: deployment.git_branch,
      runner: null,
      token_hash: null,
      lease_until: null,
      queued_at: ctx.now,
      started_at: null,
      ended_at: null,
      settings_json: JSON.stringify(settings),
    })
    .execute()
}

async function mustHavePlace({ db }: Ctx, accountId: string, ownerId: string): Promise<void> {
  const waiting = (column: 'account_id' | 'owner_id', id: string) =>
    rowCount(db.selectFrom('build').where(column, '=', id).where(sql<boolean>`state = 'waiting'`))
  const refuseFull = (max: number, whose: string) =>
    refuse('builds_rate_limited', `${max} builds of ${whose} wait already. Wait until some have ended, or cancel them.`)
  if ((await waiting('account_id', accountId)) >= MAX_WAITING.account) refuseFull(MAX_WAITING.account, 'this account')
  if ((await waiting('owner_id', ownerId)) >= MAX_WAITING.owner)
    refuseFull(MAX_WAITING.owner, 'the accounts of the owner of this account')
}

/** Read outside of the transaction too: the logs of running builds change the row. */
async function mustHaveRoom({ deps }: Ctx, accountId: string): Promise<void> {
  if ((await roomLeft({ db: deps.db.read, deps }, accountId)) === 0) refuseFull(deps, 'the log of this build')
}

/** Of a branch only the newest waiting preview is worth building. */
async function cancelOlder(ctx: Ctx, project: Row<'project'>, deployment: Row<'deployment'>): Promise<void> {
  if (deployment.git_branch === null || deployment.target === 'production') return
  const environment = deployment.custom_environment_id
  const older = await ctx.db
    .selectFrom('build')
    .innerJoin('deployment', 'deployment.id', 'build.deployment_id')
    .selectAll('deployment')
    .where('build.project_id', '=', project.id)
    .where('build.git_branch', '=', deployment.git_branch)
    .where(sql<boolean>`build.state = 'waiting'`)
    .where('build.is_production', '=', 0)
    .where('build.deployment_id', '!=', deployment.id)
    .where('deployment.custom_environment_id', environment === null ? 'is' : '=', environment)
    .execute()
  for (const build of older) {
    const next = nextState(build.ready_state, 'canceled', ctx.now)
    if (next === undefined) continue
    const row = await ctx.db
      .updateTable('deployment')
      .set({
        ...next,
        error_message: `A newer deployment of the branch ${build.git_branch} took its place in the queue.`,
      })
      .where('id', '=', build.id)
      .returningAll()
      .executeTakeFirstOrThrow()
    await settle(ctx, project, ctx.account, row)
  }
}

/** Returns the settings of a project that its build gets. `requested`: of the request, which come before them. */
export function buildSettingsOf(project: Row<'project'>, requested: object): BuildSettings {
  const shown = showSettings(project.settings_json)
  const settings: BuildSettings = {
    framework: shown.framework ?? null,
    buildCommand: shown.buildCommand ?? null,
    devCommand: shown.devCommand ?? null,
    installCommand: shown.installCommand ?? null,
    outputDirectory: shown.outputDirectory ?? null,
    rootDirectory: shown.rootDirectory ?? null,
    commandForIgnoringBuildStep: shown.commandForIgnoringBuildStep ?? null,
    nodeVersion: shown.nodeVersion,
    sourceFilesOutsideRootDirectory: shown.sourceFilesOutsideRootDirectory ?? false,
  }
  const changed = Object.entries(requested).filter(([field, value]) => field in settings && value != null)
  return { ...settings, ...Object.fromEntries(changed) }
}
