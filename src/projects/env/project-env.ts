/** Variables as part of their project: `Project.env`, initial variables, and deletion with the project. */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Ctx, EventAccount, OperatorCtx, ProjectHooks } from '../../context.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { prefetchedVariables } from '../../platform/access/prefetch.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { chunksByWeight, createYielder } from '../../platform/db/chunks.ts'
import { preparedQuery } from '../../platform/db/db.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import { isVisible, visibleTo } from './access.ts'
import { removeHistory } from './history-log.ts'
import { createDrafts } from './rules.ts'
import { addLogos, type EnvVar, type NewVariable, showEnv } from './schema.ts'
import { applyVariableChanges, deleteChange } from './store.ts'
import { planUpsert, storePlan } from './upsert.ts'

/** In a list of projects, one with more slots or bytes of variables has no `env`, which bounds the page. */
const MAX_PLACES = 300
const MAX_BYTES = 48 * 1024
/** The minimum size of a hidden variable without user text: field names, ids, timestamps. */
const PLAIN_BYTES = 800
/** Slots per read of several projects, with other requests in between. */
const PLACES_AT_ONCE = 200

export const envOnProject: ProjectHooks = {
  show: async (ctx, { id }) => ({ env: await envOfProject(ctx, id) }),
  async showPage(ctx, projects) {
    const env = await envOfProjects(
      ctx,
      projects.map(({ id }) => id),
    )
    return new Map([...env].map(([id, variables]) => [id, { env: variables }]))
  },
  remove: (ctx, { id }) => deleteProjectEnv(ctx, id),
  leave: (ctx, project, from) => removeEnvOfIntegrations(ctx, from, project),
}

/** Variables of a project without decrypted values, newest first. One indexed query. */
async function envOfProject(ctx: Ctx, projectId: string): Promise<EnvVar[]> {
  const rows = prefetchedVariables(ctx, projectId) ?? (await selectOfProject(ctx.db, { projectId }))
  const variables = rows.filter((row) => isVisible(ctx.caller, row)).map((row) => showEnv(row, 'hidden'))
  await addLogos(ctx.db, variables)
  return variables
}

/** The same per project of a page. Omits projects with many or large variables. docs/limits.md. */
async function envOfProjects(ctx: Ctx, projectIds: string[]): Promise<Map<string, EnvVar[]>> {
  const all = new Map<string, EnvVar[]>(projectIds.map((id) => [id, []]))
  if (projectIds.length === 0) return all
  const sizes = await ctx.db
    .selectFrom('env_usage')
    .select(['project_id', (eb) => eb.fn.sum<number>('variables').as('places')])
    .where('project_id', 'in', projectIds)
    .groupBy('project_id')
    .execute()
  const small = sizes.filter(({ places }) => Number(places) <= MAX_PLACES)
  for (const { project_id, places } of sizes) if (Number(places) > MAX_PLACES) all.delete(project_id)
  const groups = chunksByWeight(small, ({ places }) => Number(places), PLACES_AT_ONCE)
  await mapInSlices(groups, async (projects) => {
    const ids = projects.map(({ project_id }) => project_id)
    const rows = await ctx.db
      .selectFrom('env_var')
      .selectAll()
      .where('project_id', 'in', ids)
      .where(visibleTo(ctx.caller))
      .orderBy('created_stamp', 'desc')
      .execute()
    const variables = rows.map((row) => showEnv(row, 'hidden'))
    await addLogos(ctx.db, variables)
    for (const [at, row] of rows.entries()) all.get(row.project_id)!.push(variables[at]!)
    for (const id of ids) if (isHeavy(all.get(id)!)) all.delete(id)
  })
  return all
}

/** Returns whether variables are too large for a list. Serializes them only if the estimate exceeds the limit. */
function isHeavy(variables: readonly EnvVar[]): boolean {
  let max = 0
  for (const { key, comment = '', gitBranch = '', customEnvironmentIds, ...variable } of variables) {
    const isPlain =
      variable.integration === undefined && variable.contentHint === null && variable.edgeConfigId === null
    // A character is at most six bytes of JSON.
    max += 6 * (key.length + comment.length + gitBranch.length) + 100 * customEnvironmentIds.length + PLAIN_BYTES
    if (!isPlain || max > MAX_BYTES) return Buffer.byteLength(JSON.stringify(variables)) > MAX_BYTES
  }
  return false
}

/** Creates the initial variables of a project by every rule of operation 16, all or nothing. */
export async function createFirstEnv(ctx: Ctx, project: Row<'project'>, items: readonly NewVariable[]): Promise<void> {
  if (items.length === 0) return
  permit(ctx.caller, ['env:write'])
  const drafts = createDrafts(ctx, project, items)
  const box = await openSecretBoxToWrite(ctx, project.id)
  await ctx.countRows(drafts.length)
  const plan = await planUpsert(ctx, box, project, { drafts, replace: false, existing: [] })
  for (const outcome of await storePlan(ctx, project, plan)) {
    if ('failed' in outcome) refuse(outcome.failed, undefined, outcome.error)
  }
}

/** Deletes integrations' variables of a project with their history before it moves. Notifies `owner`. */
async function removeEnvOfIntegrations(ctx: OperatorCtx, owner: EventAccount, project: Row<'project'>): Promise<void> {
  const rows = await ctx.db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('configuration_id', 'is not', null)
    .execute()
  await applyVariableChanges(ctx, owner, project, rows.map(deleteChange))
  await removeHistory(ctx, project.id, true)
}

/** Deletes all variable data of a project: rows, history and the data key, without which no copy can be decrypted. */
async function deleteProjectEnv(ctx: Ctx, projectId: string): Promise<void> {
  await removeHistory(ctx, projectId)
  const pace = createYielder()
  for (const table of ['env_target', 'env_usage', 'env_var', 'project_key'] as const) {
    await pace()
    await ctx.db.deleteFrom(table).where('project_id', '=', projectId).execute()
  }
}

/** Returns a condition for projects with a variable that names an Edge Config. */
export function hasEdgeConfig(
  eb: ExpressionBuilder<Schema, 'project'>,
  column: 'edge_config_id' | 'edge_config_token_id',
  id: string,
): Expression<SqlBool> {
  const naming = eb
    .selectFrom('env_var')
    .select('env_var.project_id')
    .where(`env_var.${column}`, '=', id)
    .whereRef('env_var.project_id', '=', 'project.id')
  return eb.exists(naming)
}

const selectOfProject = preparedQuery<{ projectId: string }, Row<'env_var'>>(
  (db, value) =>
    db.selectFrom('env_var').selectAll().where('project_id', '=', value.projectId).orderBy('created_stamp', 'desc'),
  { ownConnection: true },
)
