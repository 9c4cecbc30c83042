/** What becomes of variables when a custom environment is made or removed. docs/custom-environments.md: Removing takes no right to variables. */
import { permit } from '../access/authenticate.ts'
import type { Ctx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import type { RefusalKey } from '../errors.ts'
import type { EnvironmentId } from '../model/environment.ts'
import { refuse } from '../refusal.ts'
import { openSafe } from '../secrets/data-keys.ts'
import { changeVariables } from './change.ts'
import { mayChange, mustTouch, targetsNamed, typeIn, visibleTo } from './rules.ts'
import { type Target, targetsIn } from './schema.ts'
import { fits, readUsage, UNASSIGNED } from './usage.ts'
import { type Draft, insertVariables, removeVariables } from './write.ts'

/** What `copyEnv` refuses with. */
export const COPY_REFUSALS = ['bad_request', 'missing_permission', 'env_limit'] as const satisfies readonly RefusalKey[]

/**
 * Copies the variables that the caller sees of an environment to one that was just made; those of branches stay behind. A
 * write-only value is copied without being shown. Refuses: bad_request 400 (there is no environment `from`),
 * missing_permission 403 (to write variables, or to decrypt one of these), internal_server_error 500 (a value does not open).
 */
export async function copyEnv(ctx: Ctx, project: Row<'project'>, from: string, to: EnvironmentId): Promise<void> {
  permit(ctx.who, ['env:write'])
  const [source] = targetsNamed(project, [from], 'copyEnvVarsFrom')
  mustTouch(ctx.who, [source!])
  const rows = (await variablesIn(ctx, project, source!)).filter((row) => row.git_branch === '')
  for (const row of rows) mustCarry(ctx, row)
  const safe = await openSafe(ctx, project.id)
  const copies = rows.map(({ id, key, type, value_version, sealed_value, ...row }): Draft => {
    const value = safe.open(id, value_version, sealed_value) ?? refuse('internal_server_error')
    const { comment, edge_config_id, edge_config_token_id, content_hint_json } = row
    const extras = { comment, edge_config_id, edge_config_token_id, content_hint_json }
    return { key, value, type: typeIn(ctx.account, type, [to]), targets: [to], gitBranch: '', extras }
  })
  ctx.countRows(copies.length)
  await insertVariables(ctx, project, copies)
}

/** Whose value is not open to all must not come to where the caller could read it. Refuses: missing_permission 403. */
function mustCarry({ who }: Ctx, row: Row<'env_var'>): void {
  if (row.type === 'plain' || row.type === 'system') return
  permit(who, ['env:decrypt'])
  mustTouch(who, targetsIn(row))
}

/**
 * Takes a custom environment that is being removed from every variable, whoever made it. One that was in no other stays, in
 * no environment; with `deleteUnassigned` it is deleted where the caller may change it. Refuses: env_limit 400 (more stay in
 * no environment than a project may have).
 */
export async function leaveEnvironment(
  ctx: Ctx,
  project: Row<'project'>,
  id: EnvironmentId,
  deleteUnassigned: boolean,
): Promise<void> {
  const rows = await variablesIn(ctx, project, id, true)
  ctx.countRows(rows.length)
  const alone = rows.filter(({ targets }) => targets === id)
  const going = deleteUnassigned ? alone.filter((row) => mayChange(ctx.who, row)) : []
  await removeVariables(ctx, ctx.account, project, going)
  const staying = alone.filter((row) => !going.includes(row))
  const bytes = staying.reduce((sum, row) => sum + row.value_bytes, 0)
  if (staying.length > 0 && !fits(await readUsage(ctx, project.id), [UNASSIGNED], bytes, staying.length)) {
    refuse(
      'env_limit',
      'More than 1,000 variables, or 64 KiB of values, would be in no environment. Say `deleteUnassignedEnvironmentVariables`, or delete some first.',
    )
  }
  const gone = new Set(going)
  const steps = rows
    .filter((row) => !gone.has(row))
    .map((row) => ({ row, change: { targets: targetsIn(row).filter((target) => target !== id) } }))
  await changeVariables(ctx, project, steps)
  await ctx.db.deleteFrom('env_usage').where('project_id', '=', project.id).where('target', '=', id).execute()
}

/** The variables of an environment, oldest first: those that the caller sees, or all. */
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
  return (all ? rows : rows.where(visibleTo(ctx.who))).execute()
}
