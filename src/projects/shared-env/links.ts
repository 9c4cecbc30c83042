/** Links shared variables to projects, and counts them in the usage of each project. docs/shared-variables.md. */

import type { Ctx, OperatorCtx } from '../../context.ts'
import { canSeeProject } from '../../platform/access/guards.ts'
import { chunks } from '../../platform/db/chunks.ts'
import { rowCount } from '../../platform/db/db.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { addIfFits, differenceOf, type Usage } from '../env/usage.ts'
import { MAX_LINKS, MAX_PROJECTS_PER_VARIABLE, type SharedRow } from './schema.ts'

type Writing = Pick<OperatorCtx, 'db'>
type Weight = Pick<SharedRow, 'targets' | 'value_bytes'>

/** Returns the projects of each variable. */
export async function projectsOf(
  { db }: Writing,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const byId = new Map(ids.map((id) => [id, [] as string[]]))
  for (const chunk of chunks(ids)) {
    const links = await db
      .selectFrom('shared_env_link')
      .select(['variable_id', 'project_id'])
      .where('account_id', '=', accountId)
      .where('variable_id', 'in', chunk)
      .orderBy('project_id')
      .execute()
    for (const { variable_id, project_id } of links) byId.get(variable_id)!.push(project_id)
  }
  return byId
}

/**
 * Sets the projects of a variable. `before`: the variable with its former projects; undefined for a new one. Refuses: bad_request
 * 400 (unknown or too many projects), in_transfer 409, env_limit 400.
 */
export async function setProjects(
  ctx: Ctx,
  row: SharedRow,
  projectIds: readonly string[],
  before: { row: Weight; projectIds: readonly string[] } | undefined,
): Promise<void> {
  const had = new Set(before?.projectIds)
  const has = new Set(projectIds)
  if (has.size > MAX_PROJECTS_PER_VARIABLE)
    refuse('bad_request', `Invalid request: at most ${MAX_PROJECTS_PER_VARIABLE} projects have one variable.`)
  const added = [...has].filter((id) => !had.has(id))
  const removed = [...had].filter((id) => !has.has(id))
  await mustBeProjects(ctx, [...added, ...removed])
  if (before !== undefined) {
    await weigh(ctx, removed, before.row, undefined)
    await weigh(
      ctx,
      [...has].filter((id) => had.has(id)),
      before.row,
      row,
    )
  }
  await weigh(ctx, added, undefined, row)
  for (const chunk of chunks(removed)) await deleteLinks(ctx, row, chunk)
  for (const chunk of chunks(added)) {
    const links = chunk.map((project_id) => ({ account_id: row.account_id, variable_id: row.id, project_id }))
    await ctx.db.insertInto('shared_env_link').values(links).execute()
  }
  if (added.length > 0) await mustNotBeTooMany(ctx)
}

/** Unlinks a variable from all its projects and reduces their usage. */
export async function unlinkAllProjects(ctx: Writing, row: SharedRow, projectIds: readonly string[]): Promise<void> {
  await weigh(ctx, projectIds, row, undefined)
  for (const chunk of chunks(projectIds)) await deleteLinks(ctx, row, chunk)
}

async function deleteLinks(ctx: Writing, row: SharedRow, projectIds: readonly string[]): Promise<void> {
  await ctx.db
    .deleteFrom('shared_env_link')
    .where('account_id', '=', row.account_id)
    .where('variable_id', '=', row.id)
    .where('project_id', 'in', projectIds)
    .execute()
}

/** Refuses: bad_request 400 (not in the account, or not visible to the caller), in_transfer 409. */
async function mustBeProjects(ctx: Ctx, ids: readonly string[]): Promise<void> {
  for (const chunk of chunks(ids)) {
    let projects = ctx.db
      .selectFrom('project')
      .select(['id', 'transfer_started_at', 'transfer_completed_at'])
      .where('account_id', '=', ctx.account.id)
      .where('id', 'in', chunk)
    // Locked against the start of a transfer, like in `notInTransfer`.
    if (ctx.deps.db.engine === 'postgres') projects = projects.forNoKeyUpdate()
    const projectById = new Map((await projects.execute()).map((project) => [project.id, project]))
    for (const id of chunk) {
      const project = projectById.get(id)
      if (project === undefined || !canSeeProject(ctx.caller, id))
        refuse('bad_request', `Invalid request: \`projectId\` names "${id}", which is not a project of the account.`)
      if (project.transfer_started_at !== null && project.transfer_completed_at === null) refuse('in_transfer')
    }
  }
}

/** Counts a variable in the usage of each project per target. Refuses growth above the limit: env_limit 400. */
async function weigh(
  ctx: Writing,
  projectIds: readonly string[],
  before: Weight | undefined,
  after: Weight | undefined,
): Promise<void> {
  const difference = differenceOf([{ before, after }])
  const changes = [...difference].filter(([, { variables, bytes }]) => variables !== 0 || bytes !== 0)
  if (changes.length === 0) return
  for (const chunk of chunks(projectIds)) {
    const usages = await usagesOf(ctx, chunk)
    for (const projectId of chunk)
      if (!addIfFits(usages.get(projectId) ?? new Map(), difference))
        refuse('env_limit', `The project "${projectId}" has no room for the variable.`)
    const all = chunk.flatMap((projectId) =>
      changes.map(([target, sum]) => ({ project_id: projectId, target, ...sum })),
    )
    for (const rows of chunks(all)) {
      await ctx.db
        .insertInto('env_usage')
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(['project_id', 'target']).doUpdateSet((eb) => ({
            variables: eb('env_usage.variables', '+', eb.ref('excluded.variables')),
            bytes: eb('env_usage.bytes', '+', eb.ref('excluded.bytes')),
          })),
        )
        .execute()
    }
  }
}

async function usagesOf(ctx: Writing, projectIds: readonly string[]): Promise<Map<string, Usage>> {
  const rows = await ctx.db.selectFrom('env_usage').selectAll().where('project_id', 'in', projectIds).execute()
  const usages = new Map<string, Usage>()
  for (const { project_id, target, variables, bytes } of rows) {
    const usage: Usage = usages.get(project_id) ?? new Map()
    usage.set(target, { variables, bytes })
    usages.set(project_id, usage)
  }
  return usages
}

/** Refuses: env_limit 400. */
async function mustNotBeTooMany({ db, account }: Ctx): Promise<void> {
  const links = await rowCount(db.selectFrom('shared_env_link').where('account_id', '=', account.id))
  if (links > MAX_LINKS)
    refuse('env_limit', `The shared variables of an account are linked ${MAX_LINKS} times at most.`)
}
