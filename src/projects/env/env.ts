/** Environment variables of a project: create, list, get, edit, delete. Specification: operations 16 to 20. */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { environmentOf } from '../../model/environment.ts'
import { findProject } from '../../model/project.ts'
import { prefetchedVariables } from '../../platform/access/prefetch.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { paginate, stampBefore } from '../../platform/http/pagination.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBox, openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import {
  canReadValue,
  isVisible,
  mustHaveTargetPermission,
  mustHaveWritePermission,
  readValue,
  visibleTo,
} from './access.ts'
import { type PreparedPlan, planOf, preparePlan } from './prepare.ts'
import { createDrafts, draftOf, effectiveType, parseTargets, validateVariable } from './rules.ts'
import {
  addLogos,
  type CreatedEnv,
  type CreateEnv,
  type CreateEnvQuery,
  type EditEnv,
  type EnvList,
  type EnvVar,
  type ListEnvQuery,
  showEnv,
  showTargets,
  type Target,
  targetsIn,
} from './schema.ts'
import { changeVariable } from './store.ts'
import { isSameValue, type Plan, planUpsert, storePlan } from './upsert.ts'

const FIRST_VERSION_WITH_ARRAYS = 10

export type ProjectWithVariable = Row<'project'> & { variable: Row<'env_var'> }

/** Returns a variable of the project that the caller can see. Refuses: not_found 404. */
export async function findEnv(ctx: Ctx, params: Params): Promise<ProjectWithVariable> {
  const project = await findProject(ctx, params)
  const id = params.id ?? ''
  const variable = await ctx.db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('id', '=', id)
    .where(visibleTo(ctx.caller))
    .executeTakeFirst()
  if (variable === undefined) refuse('not_found', `The project has no variable "${id.slice(0, 100)}".`)
  return { ...project, variable }
}

type CreateInput = Input<Static<typeof CreateEnvQuery>, CreateEnv>

/** Plans the creation of many variables before its transaction. Refuses invalid requests, and rate_limited 429. */
export async function prepareEnv(
  ctx: Ctx,
  project: Row<'project'>,
  { body, query }: CreateInput,
): Promise<PreparedPlan<Plan> | undefined> {
  const drafts = createDrafts(ctx, project, body)
  // Check the write limit before planning, so a limited caller costs nothing.
  await ctx.countRows(drafts.length)
  const ids = drafts.map(({ id }) => id)
  return preparePlan(ctx, project, ids, (box) =>
    planUpsert(ctx, box, project, { drafts, replace: query.upsert === true }),
  )
}

/**
 * Creates one variable, or several from an array (paths from /v10 on). With `upsert`, updates existing variables. A taken slot
 * refuses a single variable; of several, `failed` lists conflicts. An invalid request is refused completely. Refuses:
 * env_already_exists 403, bad_request 400 (an array below v10), and as `createDrafts`.
 */
export async function createEnv(
  ctx: Ctx,
  project: Row<'project'>,
  { body, query, version }: CreateInput,
  prepared: PreparedPlan<Plan> | undefined,
): Promise<CreatedEnv> {
  const many = Array.isArray(body)
  if (many && version !== undefined && version < FIRST_VERSION_WITH_ARRAYS) {
    refuse('bad_request', 'Invalid request: should be object.')
  }
  const replace = query.upsert === true
  const box = await openSecretBoxToWrite(ctx, project.id, prepared?.box)
  const plan = await planOf(ctx, project, box, prepared, async () => {
    const drafts = createDrafts(ctx, project, body, prepared?.ids)
    await ctx.countRows(drafts.length)
    return planUpsert(ctx, box, project, { drafts, replace, ...(!many && !replace && { existing: [] }) })
  })
  const outcomes = await storePlan(ctx, project, plan)
  const created = outcomes.flatMap((outcome) =>
    'row' in outcome ? [showEnv(outcome.row, readValue(ctx, box, outcome.row, false))] : [],
  )
  const failed = outcomes.flatMap((outcome) => ('failed' in outcome ? [outcome] : []))
  if (many) return { created, failed: failed.map(({ error }) => ({ error })) }
  if (failed[0] !== undefined) refuse(failed[0].failed, undefined, failed[0].error)
  return { created: created[0]!, failed: [] }
}

/**
 * Lists the variables that the caller can see, newest first: all, or a page with `limit`. An unknown custom environment has none.
 * Refuses: bad_request 400 (such a one as `target`).
 */
export async function listEnv(
  ctx: Ctx,
  project: Row<'project'>,
  { query }: Input<Static<typeof ListEnvQuery>>,
): Promise<Static<typeof EnvList>> {
  const { decrypt = false, limit, until } = query
  const variables = await readList(ctx, project, query)
  const { rows, pagination } = paginate(variables, limit ?? variables.length, until, (row) => row.created_stamp)
  const box = rows.some((row) => canReadValue(ctx, row, decrypt)) ? await openSecretBox(ctx, project.id) : undefined
  const envs = rows.map((row) => ({ ...showEnv(row, readValue(ctx, box, row, decrypt)), securityIssues: [] }))
  await addLogos(ctx.db, envs)
  return { envs, pagination }
}

async function readList(
  ctx: Ctx,
  project: Row<'project'>,
  query: Static<typeof ListEnvQuery>,
): Promise<Row<'env_var'>[]> {
  const { limit, until, gitBranch, target, customEnvironmentId, customEnvironmentSlug } = query
  const ahead = prefetchedVariables(ctx, project.id)
  const isWhole = [limit, until, gitBranch, target, customEnvironmentId, customEnvironmentSlug].every((value) => !value)
  if (ahead !== undefined && isWhole) return ahead.filter((row) => isVisible(ctx.caller, row))
  let select = ctx.db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', project.id)
    .where(visibleTo(ctx.caller))
    .orderBy('created_stamp', 'desc')
  if (until !== undefined) select = select.where('created_stamp', '<', stampBefore(until))
  if (gitBranch !== undefined) select = select.where('git_branch', '=', gitBranch)
  if (target !== undefined) select = select.where(within(project, parseTargets(project, [target], 'target')[0]))
  if (limit !== undefined) select = select.limit(limit + 1)
  for (const name of [customEnvironmentId, customEnvironmentSlug]) {
    if (name) select = select.where(within(project, environmentOf(project, name)?.id))
  }
  return select.execute()
}

function within({ id }: Row<'project'>, target: Target | undefined) {
  return (eb: ExpressionBuilder<Schema, 'env_var'>): Expression<SqlBool> =>
    eb(
      'id',
      'in',
      eb
        .selectFrom('env_target')
        .select('env_id')
        .where('project_id', '=', id)
        .where('target', '=', target ?? ''),
    )
}

/** Returns one variable, decrypted if the caller may read it. Refuses: internal_server_error 500 (a value that does not open is an internal error). */
export async function getEnv(ctx: Ctx, { variable }: ProjectWithVariable): Promise<EnvVar> {
  const reading = readValue(ctx, await openSecretBox(ctx, variable.project_id), variable, true)
  if (reading === 'broken') refuse('internal_server_error')
  const reply = showEnv(variable, reading)
  await addLogos(ctx.db, [reply])
  return reply
}

/** Changes fields. Refuses: what no variable may be, env_stays_sensitive 400, env_conflict 400, env_limit 400, missing_permission 403. */
export async function editEnv(
  ctx: Ctx,
  subject: ProjectWithVariable,
  { body }: Input<unknown, EditEnv>,
): Promise<EnvVar> {
  const { variable: row } = subject
  const before = showTargets(targetsIn(row))
  const alone = body.customEnvironmentIds === undefined && body.customEnvironmentId !== undefined
  const customEnvironmentIds = alone ? [] : body.customEnvironmentIds
  const moved = body.target !== undefined || customEnvironmentIds !== undefined
  const { value, ...draft } = draftOf(subject, {
    ...body,
    key: body.key ?? row.key,
    value: body.value ?? '',
    type: body.type ?? row.type,
    target: body.target === undefined ? before.target : body.target,
    customEnvironmentIds: customEnvironmentIds === undefined ? before.customEnvironmentIds : customEnvironmentIds,
    gitBranch: body.gitBranch === undefined ? row.git_branch : body.gitBranch,
  })
  // A change of comment or name keeps the type, even under a newer policy.
  const isWritten = moved || body.value !== undefined || body.type !== undefined
  const rest = isWritten ? { ...draft, type: effectiveType(ctx.account, draft.type, draft.targets) } : draft
  mustHaveWritePermission(ctx.caller, row)
  mustHaveTargetPermission(ctx.caller, rest.targets)
  if (row.type === 'sensitive' && rest.type !== 'sensitive') refuse('env_stays_sensitive')
  const box = await openSecretBoxToWrite(ctx, subject.id)
  const clear = () => box.open(row.id, row.value_version, row.sealed_value) ?? ''
  const checked = body.value === undefined && rest.type === 'system' ? clear() : value
  validateVariable({ ...rest, value: checked })
  const fresh = body.value !== undefined && !isSameValue(box, row, value)
  await ctx.countRows(1)
  const next = await changeVariable(ctx, box, subject, row, { ...rest, ...(fresh && { value }) })
  return showEnv(next, readValue(ctx, box, next, false))
}
