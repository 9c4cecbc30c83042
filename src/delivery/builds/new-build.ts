/** Puts the build of a new deployment into the queue. docs/building.md: Queue. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { showSettings } from '../../model/project-settings.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { settle } from '../../projects/deployments/register.ts'
import { nextState } from '../deploys/states.ts'
import type { BuildSettings } from '../protocol/runner-protocol.ts'

/** Waiting builds of an account. */
const MAX_WAITING = 100

type New = { settings: BuildSettings; sealedEnv: string | null; takesDomains: boolean }

/**
 * Inserts the build of a deployment that is QUEUED, in its transaction, and cancels older waiting previews of its branch. Refuses:
 * builds_rate_limited 429 (100 builds of the account wait).
 */
export async function createBuild(
  ctx: Ctx,
  project: Row<'project'>,
  deployment: Row<'deployment'>,
  { settings, sealedEnv, takesDomains }: New,
): Promise<void> {
  await cancelOlder(ctx, project, deployment)
  await mustHavePlace(ctx, project.account_id)
  await ctx.db
    .insertInto('build')
    .values({
      deployment_id: deployment.id,
      account_id: project.account_id,
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
      sealed_env: sealedEnv,
      settings_json: JSON.stringify(settings),
    })
    .execute()
}

async function mustHavePlace({ db }: Ctx, accountId: string): Promise<void> {
  const { waiting } = await db
    .selectFrom('build')
    .select(sql<number>`count(*)`.as('waiting'))
    .where('account_id', '=', accountId)
    .where(sql<boolean>`state = 'waiting'`)
    .executeTakeFirstOrThrow()
  if (Number(waiting) >= MAX_WAITING)
    refuse(
      'builds_rate_limited',
      `${MAX_WAITING} builds of this account wait already. Wait until some have ended, or cancel them.`,
    )
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
  for (const one of older) {
    const next = nextState(one.ready_state, 'canceled', ctx.now)
    if (next === undefined) continue
    const row = await ctx.db
      .updateTable('deployment')
      .set({
        ...next,
        error_message: `A newer deployment of the branch ${one.git_branch} took its place in the queue.`,
      })
      .where('id', '=', one.id)
      .returningAll()
      .executeTakeFirstOrThrow()
    await settle(ctx, project, ctx.account, row)
  }
}

/** Returns the settings of a project that its build gets. `said`: of the request, which come before them. */
export function buildSettingsOf(project: Row<'project'>, said: object): BuildSettings {
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
  const given = Object.entries(said).filter(([field, value]) => field in settings && value != null)
  return { ...settings, ...Object.fromEntries(given) }
}
