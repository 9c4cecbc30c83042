/** Deletes environment variables of a project. Specification: operations 18 and 20. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { environmentOf } from '../../model/environment.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'
import { preparedQuery } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { isVisible, mustHaveWritePermission } from './access.ts'
import type { ProjectWithVariable } from './env.ts'
import {
  type DeletedEnvs,
  type DeleteEnvQuery,
  type DeleteEnvs,
  type EnvVar,
  MAX_VARIABLES,
  showEnv,
  targetsIn,
} from './schema.ts'
import { applyVariableChanges, deleteChange } from './store.ts'

/** Deletes a variable and returns it without its value. Refuses: not_found 404 (not had in the custom environment that the query says). */
export async function deleteEnv(
  ctx: Ctx,
  subject: ProjectWithVariable,
  { query }: Input<Static<typeof DeleteEnvQuery>>,
): Promise<EnvVar> {
  const { variable } = subject
  const { customEnvironmentId: name } = query
  const environment = name === undefined ? undefined : environmentOf(subject, name)
  if (name !== undefined && !(environment && targetsIn(variable).includes(environment.id)))
    refuse('not_found', `The variable "${variable.key}" is not in the custom environment "${name}".`)
  mustHaveWritePermission(ctx.caller, variable)
  await ctx.countRows(1)
  await applyVariableChanges(ctx, ctx.account, subject, [deleteChange(variable)])
  return showEnv(variable, 'hidden')
}

/** Deletes several variables, and returns those that existed. Refuses: env_too_many_ids 400, bad_request 400 (no id), missing_permission 403. */
export async function deleteEnvs(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, Static<typeof DeleteEnvs>>,
): Promise<Static<typeof DeletedEnvs>> {
  if (body.ids.length > MAX_VARIABLES) refuse('env_too_many_ids')
  const ids = [...new Set(body.ids)]
  if (ids.length === 0) refuse('bad_request', 'Invalid request: `ids` should name at least one variable.')
  const variables = await selectByIds(ctx.db, { projectId: project.id, ids: JSON.stringify(ids) })
  const rows = variables.filter((row) => isVisible(ctx.caller, row))
  for (const row of rows) mustHaveWritePermission(ctx.caller, row)
  await ctx.countRows(rows.length)
  await applyVariableChanges(ctx, ctx.account, project, rows.map(deleteChange))
  const removedIds = new Set(rows.map((row) => row.id))
  return { deleted: rows.length, ids: ids.filter((id) => removedIds.has(id)) }
}

const selectByIds = preparedQuery<{ projectId: string; ids: string }, Row<'env_var'>>((db, value) =>
  db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', value.projectId)
    .where('id', 'in', jsonArrayValues(db, value.ids)),
)
