/** `POST /v13/deployments`: deploys files, redeploys a deployment, or promotes a preview. docs/deploying-sites.md: Create a deployment. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { deploymentAddress } from '../../model/addresses.ts'
import { findProject } from '../../model/project.ts'
import { accountInGoodStanding, notInTransferUnlocked } from '../../platform/access/guards.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { findDeployment, readDeploymentReply } from '../../projects/deployments/deployments.ts'
import { registerDeployment } from '../../projects/deployments/register.ts'
import type { Deployment } from '../../projects/deployments/schema.ts'
import { requestPromote } from '../../projects/promotion/promote.ts'
import { type CreateEnv, readCreateEnv } from '../builds/create-env.ts'
import { freezeEnvironment, readCreatedEnv } from '../builds/frozen-variables.ts'
import { buildSettingsOf, createBuild } from '../builds/new-build.ts'
import { noticesOfCreate } from '../notices/create-notices.ts'
import { countStrays } from '../uploads/blobs.ts'
import { type BuiltOutput, buildOutput } from './build-output.ts'
import { type CreatedDeployment, isYes } from './create-schema.ts'
import { abandonOutput, holdOutput } from './output-rows.ts'
import {
  type CreateInput,
  createPlace,
  findPlace,
  readBranch,
  readBuildSettings,
  readClientMeta,
  readTarget,
} from './place.ts'
import { nextState } from './states.ts'

/** TABLE kinds of deployment requests. */
type Asked = 'promote' | 'redeploy' | 'files' | 'source'

function askedBy({ body: { deploymentId, target, meta, files } }: CreateInput): Asked {
  const { action } = (meta ?? {}) as { action?: unknown }
  if (deploymentId) return target === 'production' && action === 'promote' ? 'promote' : 'redeploy'
  return files === undefined ? 'source' : 'files'
}

/** Returns whether a request creates a deployment; clients retry it if they get no response. A promote is safe to repeat. */
export function makesDeployment(input: CreateInput): boolean {
  return askedBy(input) !== 'promote'
}

/**
 * Reads the files of a deployment before its transaction; undefined if the request has none. Refuses: account_soft_blocked 402,
 * payment_method_missing 402, not_built_here 400 (no files), bad_request 400 (`env`, `deploy init`), and as `findPlace` and `buildOutput` do.
 */
export async function prepareCreate(ctx: Ctx, _: undefined, input: CreateInput): Promise<BuiltOutput | undefined> {
  const asked = askedBy(input)
  if (asked !== 'promote') await accountInGoodStanding(ctx, undefined, input)
  if (asked !== 'files' && asked !== 'source') return undefined
  if ('VERCEL_MANUAL_PROVISIONING' in (input.body.build?.env ?? {})) refuse('bad_request', NO_INIT)
  // Check the project first: a client without one must not upload files yet.
  const project = await findPlace(ctx, input)
  if (asked === 'source') refuseWithoutFiles(ctx)
  readTarget(project, input.body)
  readClientMeta(input.body)
  readCreateEnv(input.body)
  const { body, query, agent } = input
  return buildOutput(ctx, { files: body.files ?? [], isPrebuilt: isYes(query.prebuilt), agent })
}

const NO_INIT =
  'Invalid request: `vercel deploy init` makes a deployment without files, for `vercel deploy continue`. Berth makes deployments of files alone. Build first, and then run `vercel deploy --prebuilt`.'

function refuseWithoutFiles({ deps }: Ctx): never {
  if (deps.config.builds.mode === 'off') refuse('not_built_here')
  refuse(
    'bad_request',
    'Invalid request: `files` is missing. A source is sent as files, by `vercel deploy`; Berth does not fetch it from a git host.',
  )
}

/** Counts the stored files of a failed request, until a collection removes them. */
export async function undoCreate(ctx: Ctx, built: BuiltOutput | undefined): Promise<void> {
  if (built?.ahead !== undefined) await abandonOutput(ctx.deps.db, built.ahead)
  await countStrays(ctx, built?.put ?? [])
}

/**
 * Deploys an output from the store, queues the build of a source, or promotes a deployment. Refuses: not_built_here 400 (redeploys
 * a source while builds are off), nothing_to_build 400 (redeploys one without files), builds_rate_limited 429, and as what it calls does.
 */
export async function createClientDeployment(
  ctx: Ctx,
  _: undefined,
  input: CreateInput,
  built: BuiltOutput | undefined,
): Promise<CreatedDeployment> {
  if (built !== undefined) return createFromFiles(ctx, input, built)
  const idOrUrl = input.body.deploymentId ?? ''
  const deployment = await findDeployment(ctx, { idOrUrl })
  const project = await findProject(ctx, { idOrName: deployment.project_id })
  await notInTransferUnlocked(ctx, project, input)
  if (askedBy(input) === 'redeploy') return redeploy(ctx, { project, deployment }, input)
  await requestPromote(ctx, { project, deployment })
  return readDeploymentReply(ctx, await findDeployment(ctx, { idOrUrl: deployment.id }))
}

async function createFromFiles(ctx: Ctx, input: CreateInput, built: BuiltOutput): Promise<CreatedDeployment> {
  const { body } = input
  const project = (await findPlace(ctx, input)) ?? (await createPlace(ctx, input))
  const held = await holdOutput(ctx, project.account_id, built, built.ahead)
  const columns = {
    ...readTarget(project, body),
    git_branch: readBranch(body),
    meta_json: readClientMeta(body),
    ...(built.isSource ? { source_id: held } : { output_id: held }),
  }
  const row = await register(ctx, project, input, columns, readCreateEnv(body))
  if (built.isSource) await queueBuild(ctx, project, row, input)
  return {
    ...(await readDeploymentReply(ctx, row)),
    notices: [...built.notices, ...(await noticesOfCreate(ctx, body))],
  }
}

type Columns = Pick<Row<'deployment'>, 'target' | 'custom_environment_id' | 'git_branch' | 'meta_json'> &
  Partial<Pick<Row<'deployment'>, 'output_id' | 'source_id'>>

/** Inserts a deployment with its variables. With a stored output it is READY, past the earlier states; with a source, QUEUED. */
async function register(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: CreateInput,
  columns: Columns,
  created: CreateEnv,
): Promise<Row<'deployment'>> {
  const id = newId('dpl')
  const env_id = await freezeEnvironment(ctx, project, { id, ...columns }, created)
  const of = { accountId: project.account_id, projectId: project.id, projectName: project.name, deploymentId: id }
  const url = deploymentAddress(of, ctx.deps.config.domains)
  const building = nextState('QUEUED', 'output_uploaded', ctx.now)!
  const stored = { ...building, ...nextState(building.ready_state, 'output_stored', ctx.now)! }
  const state = columns.source_id === undefined ? stored : { ready_state: 'QUEUED' as const }
  return registerDeployment(ctx, project, ctx.account, { id, url, env_id, ...columns, ...state }, takesDomains(body))
}

function takesDomains({ autoAssignCustomDomains }: CreateInput['body']): boolean {
  return autoAssignCustomDomains !== false
}

async function queueBuild(
  ctx: Ctx,
  project: Row<'project'>,
  row: Row<'deployment'>,
  { body, query }: CreateInput,
): Promise<void> {
  const settings = {
    ...buildSettingsOf(project, readBuildSettings(body)),
    skipsCache: isYes(query.forceNew) && !isYes(query.withCache),
  }
  await createBuild(ctx, project, row, { settings, takesDomains: takesDomains(body) })
}

type Redeployed = { project: Row<'project'>; deployment: Row<'deployment'> }

/** Rebuilds the source of a deployment with the project's current settings and variables. Without one, redeploys the output. */
async function redeploy(ctx: Ctx, { project, deployment }: Redeployed, input: CreateInput): Promise<Deployment> {
  const { body } = input
  const { output_id, source_id } = deployment
  const builds = source_id !== null && (ctx.deps.config.builds.mode !== 'off' || output_id === null)
  if (builds && ctx.deps.config.builds.mode === 'off') refuse('not_built_here')
  const held = builds ? source_id : output_id
  if (held === null) refuse('nothing_to_build')
  await ctx.db.updateTable('output').set({ refs: sql<number>`refs + 1` }).where('id', '=', held).execute()
  const isSaid = body.target != null || body.customEnvironmentSlugOrId != null
  const columns = {
    ...(isSaid ? readTarget(project, body) : targetAgain(project, deployment)),
    git_branch: deployment.git_branch,
    meta_json: readClientMeta(body, JSON.parse(deployment.meta_json)),
    ...(builds ? { source_id: held } : { output_id: held }),
  }
  const created = (await readCreatedEnv(ctx, deployment)) ?? refuse('internal_server_error')
  const row = await register(ctx, project, input, columns, created)
  if (builds) await queueBuild(ctx, project, row, input)
  return readDeploymentReply(ctx, row)
}

/** The environment of the former deployment, if it still exists. Production must be requested explicitly. */
function targetAgain(project: Row<'project'>, { custom_environment_id }: Row<'deployment'>) {
  return readTarget(project, custom_environment_id === null ? {} : { customEnvironmentSlugOrId: custom_environment_id })
}
