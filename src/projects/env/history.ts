/** Reads the history of a variable and restores earlier versions. Values stay encrypted and are never shown. */

import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { findProject } from '../../model/project.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import { isVisible, mustHaveTargetPermission, mustHaveWritePermission } from './access.ts'
import type { ProjectWithVariable } from './env.ts'
import { effectiveType, findTarget, validateVariable } from './rules.ts'
import { ENV_TYPES, type EnvVar, showEnv, showTargets, TARGETS, targetsIn } from './schema.ts'
import { changeVariable, type VariablePatch } from './store.ts'

const Version = Type.Object({
  version: Type.Integer(),
  action: OneOf('created', 'updated', 'restored', 'deleted'),
  changed: Type.Array(Type.String(), { description: 'names of fields' }),
  at: Timestamp,
  by: Type.Object({ kind: Type.String(), id: Type.String() }),
  key: Type.String(),
  type: OneOf(...ENV_TYPES),
  target: Type.Array(OneOf(...TARGETS)),
  customEnvironmentIds: Type.Array(Type.String()),
  gitBranch: Type.Optional(Type.String()),
  comment: Type.Optional(Type.String()),
  restorable: Type.Boolean(),
})
export const EnvHistory = Type.Object({ history: Type.Array(Version) })

/** Returns the versions of a variable, newest first; of a deleted one for 30 days. Refuses: not_found 404. */
export async function findHistory(ctx: Ctx, params: Params): Promise<Row<'env_history'>[]> {
  const project = await findProject(ctx, params)
  const id = params.id ?? ''
  const rows = await ctx.db
    .selectFrom('env_history')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('env_id', '=', id)
    .orderBy('version', 'desc')
    .execute()
  if (rows[0] === undefined || !isVisible(ctx.caller, rows[0])) {
    refuse('not_found', `The project has no variable "${id.slice(0, 100)}".`)
  }
  return rows
}

/** Lists changes with author and time; at most the last 100 versions. */
export function listHistory(_ctx: Ctx, rows: Row<'env_history'>[]): Static<typeof EnvHistory> {
  return {
    history: rows.map((row, at) => ({
      version: row.version,
      action: row.action,
      changed: JSON.parse(row.changed_json) as string[],
      at: row.at,
      by: { kind: row.actor_kind, id: row.actor_id },
      key: row.key,
      type: row.type,
      ...showTargets(targetsIn(row)),
      ...(row.git_branch !== '' && { gitBranch: row.git_branch }),
      ...(row.comment !== null && { comment: row.comment }),
      restorable: at > 0 && row.sealed_value !== null,
    })),
  }
}

/**
 * Restores key, value, type, target, branch and comment as a new version, which can be undone too. Skips custom environments that
 * no longer exist. A variable that was write-only since then stays write-only. Refuses: not_found 404 (no such version), what no
 * variable may be (it would be in no environment), env_conflict 400 (its slot is taken), env_limit 400, missing_permission 403,
 * internal_server_error 500 (does not open).
 */
export async function restoreEnv(ctx: Ctx, subject: ProjectWithVariable, { params }: Input): Promise<EnvVar> {
  const { variable: row } = subject
  const version = /^\d{1,9}$/.test(params.version ?? '') ? Number(params.version) : 0
  const since = await ctx.db
    .selectFrom('env_history')
    .selectAll()
    .where('project_id', '=', subject.id)
    .where('env_id', '=', row.id)
    .where('version', '>=', version)
    .orderBy('version')
    .execute()
  const previous = since[0]
  if (previous === undefined || previous.version !== version || previous.sealed_value === null) {
    refuse('not_found', `The variable has no version "${params.version?.slice(0, 20)}" to go back to.`)
  }
  mustHaveWritePermission(ctx.caller, row)
  const targets = targetsIn(previous).filter((target) => findTarget(subject, target) !== undefined)
  mustHaveTargetPermission(ctx.caller, targets)
  const box = await openSecretBoxToWrite(ctx, subject.id)
  const value = box.open(row.id, previous.value_version, previous.sealed_value)
  if (value === undefined) refuse('internal_server_error')
  const leastShown = since.some((later) => later.type === 'sensitive') ? 'sensitive' : previous.type
  const type = effectiveType(ctx.account, leastShown, targets)
  const before = { key: previous.key, type, targets, gitBranch: previous.git_branch }
  validateVariable({ ...before, value })
  await ctx.countRows(1)
  const change: VariablePatch = { ...before, extras: { comment: previous.comment } }
  if (previous.value_version !== row.value_version) change.value = value
  return showEnv(await changeVariable(ctx, box, subject, row, change, 'restored'), 'hidden')
}
