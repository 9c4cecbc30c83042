/** Variables when a custom environment is created or removed. docs/custom-environments.md: Delete an environment. */

import type { Ctx } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import type { EnvironmentId } from '../../model/environment.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { newId } from '../../platform/base/ids.ts'
import { someOf } from '../../platform/base/text.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBox, openSecretBoxToWrite, type SecretBox } from '../../platform/secrets/data-keys.ts'
import { canWriteVariable, isVisible, mustHaveTargetPermission, visibleTo } from '../env/access.ts'
import { type PreparedPlan, planOf, preparePlan, undefinedIfRefused } from '../env/prepare.ts'
import { type Draft, effectiveType, parseTargets } from '../env/rules.ts'
import { type Target, targetsIn } from '../env/schema.ts'
import { applyVariableChanges, deleteChange, updateChange } from '../env/store.ts'
import { type Plan, planUpsert, storePlan, type Upsert } from '../env/upsert.ts'
import { addIfFits, differenceOf, readUsage } from '../env/usage.ts'

export const COPY_REFUSALS = ['bad_request', 'missing_permission', 'env_limit'] as const satisfies readonly RefusalKey[]

/** Plans, before its transaction, a copy of many variables to an environment without an id yet. Refuses: rate_limited 429. */
export async function prepareCopies(
  ctx: Ctx,
  project: Row<'project'>,
  from: string,
): Promise<VariableCopy | undefined> {
  const rows = await undefinedIfRefused(() => rowsToCopy(ctx, project, from))
  const ids = (rows ?? []).map(() => newId('env'))
  const to = newId('env')
  await ctx.countRows(ids.length)
  const prepared = await preparePlan(ctx, project, ids, async (box) =>
    planUpsert(ctx, box, project, copiesOf(ctx, box, await rowsToCopy(ctx, project, from), to, ids)),
  )
  return prepared && { to, prepared }
}

export type VariableCopy = { to: EnvironmentId; prepared: PreparedPlan<Plan> }

/**
 * Copies visible variables of an environment to a new one, except those of branches. Write-only values are copied without being
 * shown. Refuses: bad_request 400 (unknown environment `from`), env_limit 400, missing_permission 403 (to write variables, or to
 * decrypt one of these), internal_server_error 500 (a value does not open).
 */
export async function copyVariables(
  ctx: Ctx,
  project: Row<'project'>,
  from: string,
  to: EnvironmentId,
  prepared: PreparedPlan<Plan> | undefined,
): Promise<void> {
  const box = await openSecretBoxToWrite(ctx, project.id, prepared?.box)
  const plan = await planOf(ctx, project, box, prepared, async () => {
    const rows = await rowsToCopy(ctx, project, from)
    await ctx.countRows(rows.length)
    return planUpsert(ctx, box, project, copiesOf(ctx, box, rows, to, prepared?.ids))
  })
  await storePlan(ctx, project, plan)
}

async function rowsToCopy(ctx: Ctx, project: Row<'project'>, from: string): Promise<Row<'env_var'>[]> {
  permit(ctx.caller, ['env:write'])
  const [source] = parseTargets(project, [from], 'copyEnvVarsFrom')
  mustHaveTargetPermission(ctx.caller, [source!])
  const rows = (await variablesIn(ctx, project, source!)).filter((row) => row.git_branch === '')
  for (const row of rows) mustCarry(ctx, row)
  return rows
}

/** The copies, in an environment without variables. Refuses: internal_server_error 500 (a value does not open). */
function copiesOf(
  ctx: Ctx,
  box: SecretBox,
  rows: readonly Row<'env_var'>[],
  to: EnvironmentId,
  ids: readonly string[] = [],
): Upsert {
  const drafts = rows.map((row, at): Draft => {
    const value = box.open(row.id, row.value_version, row.sealed_value) ?? refuse('internal_server_error')
    const { key, comment, edge_config_id, edge_config_token_id, content_hint_json } = row
    const extras = { comment, edge_config_id, edge_config_token_id, content_hint_json }
    const id = ids[at] ?? newId('env')
    const type = effectiveType(ctx.account, row.type, [to])
    return { id, key, value, type, keepType: false, targets: [to], gitBranch: '', extras }
  })
  return { drafts, replace: false, existing: [] }
}

/** Prevents a copy of a protected value to where the caller could read it. Refuses: missing_permission 403. */
function mustCarry({ caller }: Ctx, row: Row<'env_var'>): void {
  if (row.type === 'plain' || row.type === 'system') return
  permit(caller, ['env:decrypt'])
  mustHaveTargetPermission(caller, targetsIn(row))
}

/**
 * Removes a custom environment from every variable, of any creator. A variable without other environments stays, or is deleted
 * with `deleteUnassigned`. Refuses: missing_permission 403 (the caller may not change one of them), env_limit 400 (more stay in
 * no environment than a project may have).
 */
export async function detachFromVariables(
  ctx: Ctx,
  project: Row<'project'>,
  id: EnvironmentId,
  deleteUnassigned: boolean,
): Promise<void> {
  const rows = await variablesIn(ctx, project, id, true)
  mustChangeAll(ctx, rows)
  await ctx.countRows(rows.length)
  const box = await openSecretBox(ctx, project.id)
  const isDeleted = (row: Row<'env_var'>) => deleteUnassigned && row.targets === id
  const [deleted, staying] = [rows.filter(isDeleted), rows.filter((row) => !isDeleted(row))]
  const updates = staying.map((row) => {
    return updateChange(ctx, box, row, { targets: targetsIn(row).filter((target) => target !== id) })
  })
  const changes = [...deleted.map(deleteChange), ...updates]
  if (!addIfFits(await readUsage(ctx, project.id), differenceOf(changes))) {
    refuse(
      'env_limit',
      'More than 1,000 variables, or 64 KiB of values, would be in no environment. Set `deleteUnassignedEnvironmentVariables`, or delete some first.',
    )
  }
  await applyVariableChanges(ctx, ctx.account, project, changes)
  await ctx.db.deleteFrom('env_usage').where('project_id', '=', project.id).where('target', '=', id).execute()
}

/** Refuses: missing_permission 403, naming the visible obstacles. Specification: Scopes. */
function mustChangeAll({ caller }: Ctx, rows: readonly Row<'env_var'>[]): void {
  const standing = rows.filter((row) => !canWriteVariable(caller, row))
  if (standing.length === 0) return
  const keys = caller.permissions.has('env:read')
    ? standing.filter((row) => isVisible(caller, row)).map(({ key }) => key)
    : []
  const named = keys.length === 0 ? 'that you do not see' : `(${someOf(keys)})`
  const message = `You don't have permission to do this: the environment has variables ${named} that you may not change. Take them out of it first.`
  refuse('missing_permission', message)
}

/** Variables of an environment, oldest first: visible ones, or all. */
async function variablesIn(ctx: Ctx, project: Row<'project'>, target: Target, all = false): Promise<Row<'env_var'>[]> {
  const placed = ctx.db
    .selectFrom('env_target')
    .select('env_id')
    .where('project_id', '=', project.id)
    .where('target', '=', target)
  const rows = ctx.db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('id', 'in', placed)
    .orderBy('created_stamp')
  return (all ? rows : rows.where(visibleTo(ctx.caller))).execute()
}
