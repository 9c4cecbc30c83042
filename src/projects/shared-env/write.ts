/** Shared variables: create, change, delete, unlink. Each request is atomic. docs/shared-variables.md. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { findProject } from '../../model/project.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import { rowCount } from '../../platform/db/db.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBoxToWrite, type SecretBox } from '../../platform/secrets/data-keys.ts'
import { actorId, mustHaveTargetPermission, mustHaveWritePermission } from '../env/access.ts'
import { effectiveType, validateVariable } from '../env/rules.ts'
import { type StandardTarget, TARGETS } from '../env/schema.ts'
import { projectsOf, setProjects } from './links.ts'
import { deleteRow, releaseSlots } from './remove.ts'
import {
  type CreatedShared,
  type CreateShared,
  type DeletedShared,
  type DeleteShared,
  MAX_SHARED_VARIABLES,
  type SharedRow,
  sharedTargets,
  showShared,
  type Update,
  type UpdatedShared,
  type UpdateShared,
} from './schema.ts'
import { findShared } from './shared-env.ts'

export const WRITE_REFUSALS = [
  'missing_permission',
  'bad_request',
  'env_key_characters',
  'env_key_length',
  'env_key_reserved',
  'env_value_length',
  'env_system_value',
  'env_missing_target',
  'shared_env_exists',
  'env_limit',
  'in_transfer',
] as const

/** Creates variables of one type and target for the same projects. Refuses: WRITE_REFUSALS. */
export async function createShared(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, CreateShared>,
): Promise<Static<typeof CreatedShared>> {
  mustNotBeInCustom(body)
  await ctx.countRows(body.evs.length * (1 + (body.projectId?.length ?? 0)))
  const box = await openSecretBoxToWrite(ctx, ctx.account.id)
  const created = []
  for (const { key, value, comment } of body.evs) {
    const target = targetsOf(ctx, body)
    const draft = { key, value, type: sharedType(ctx, body.type ?? 'encrypted', target), target }
    mustBeShared(ctx, draft)
    const row = newRow(ctx, box, draft, comment || null)
    await takePlaces(ctx, row)
    await ctx.db.insertInto('shared_env_var').values(row).execute()
    await setProjects(ctx, row, body.projectId ?? [], undefined)
    created.push(showShared(row, [...new Set(body.projectId)].sort(), 'hidden'))
  }
  await mustNotBeTooMany(ctx)
  return { created, failed: [] }
}

/** Without a target: all targets that the type supports. */
function targetsOf(ctx: Ctx, { target, type }: Pick<CreateShared, 'target' | 'type'>): StandardTarget[] {
  const list = target === undefined || target === null ? undefined : [target].flat()
  const secret = type === 'sensitive' || ctx.account.sensitiveEnv
  return TARGETS.filter((name) => list?.includes(name) ?? !(secret && name === 'development'))
}

/** Refuses: bad_request 400. */
function mustNotBeInCustom({ applyToAllCustomEnvironments }: Pick<CreateShared, 'applyToAllCustomEnvironments'>): void {
  if (applyToAllCustomEnvironments !== true) return
  refuse(
    'bad_request',
    'Invalid request: `applyToAllCustomEnvironments` cannot be true. Shared variables are in production, preview and development.',
  )
}

/** Like `effectiveType`: a team policy may force `sensitive` for production and preview. */
function sharedType(ctx: Ctx, type: SharedRow['type'], target: StandardTarget[]): SharedRow['type'] {
  return effectiveType(ctx.account, type, target) === 'sensitive' ? 'sensitive' : 'encrypted'
}

type Draft = { key: string; value: string; type: SharedRow['type']; target: StandardTarget[] }

function mustBeShared(ctx: Ctx, { key, value, type, target }: Draft): void {
  validateVariable({ key, value, type, targets: target, gitBranch: '' })
  mustHaveTargetPermission(ctx.caller, target)
}

function newRow(ctx: Ctx, box: SecretBox, { key, value, type, target }: Draft, comment: string | null): SharedRow {
  const id = newId('env')
  const stamp = ctx.deps.clock.stamp()
  return {
    account_id: ctx.account.id,
    id,
    key,
    type,
    targets: target.join(','),
    sealed_value: box.seal(id, 1, value),
    value_version: 1,
    value_bytes: Buffer.byteLength(value),
    comment,
    configuration_id: ctx.caller.installationId,
    version: 1,
    created_by: actorId(ctx),
    updated_by: actorId(ctx),
    created_stamp: stamp,
    updated_at: stampToMs(stamp),
  }
}

/** Refuses: shared_env_exists 409, by the primary key. */
async function takePlaces(ctx: Ctx, row: SharedRow): Promise<void> {
  const places = sharedTargets(row).map((target) => ({
    account_id: row.account_id,
    key: row.key,
    target,
    variable_id: row.id,
  }))
  const rows = await ctx.db
    .insertInto('shared_env_target')
    .values(places)
    .onConflict((conflict) => conflict.doNothing())
    .returning('target')
    .execute()
  if (rows.length === places.length) return
  const extra = { key: row.key, envVarKey: row.key, target: sharedTargets(row) }
  refuse('shared_env_exists', `The account has a shared variable "${row.key}" in one of these targets already.`, extra)
}

/** Refuses: env_limit 400. */
async function mustNotBeTooMany({ db, account }: Ctx): Promise<void> {
  const count = await rowCount(db.selectFrom('shared_env_var').where('account_id', '=', account.id))
  if (count > MAX_SHARED_VARIABLES)
    refuse('env_limit', `An account has at most ${MAX_SHARED_VARIABLES} shared variables.`)
}

/** Changes variables. `projectId` replaces their projects. Refuses: not_found 404, env_stays_sensitive 400, WRITE_REFUSALS. */
export async function updateShared(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, UpdateShared>,
): Promise<Static<typeof UpdatedShared>> {
  const box = await openSecretBoxToWrite(ctx, ctx.account.id)
  const updated = []
  for (const [id, update] of Object.entries(body.updates)) {
    mustNotBeInCustom(update)
    const row = await findShared(ctx, { id })
    mustHaveWritePermission(ctx.caller, row)
    const projectIds = (await projectsOf(ctx, ctx.account.id, [id])).get(id)!
    const idsAfter = projectsWanted(projectIds, update)
    await ctx.countRows(1 + new Set([...projectIds, ...idsAfter]).size)
    const next = changed(ctx, box, row, update)
    if (next.key !== row.key || next.targets !== row.targets) {
      await releaseSlots(ctx, row)
      await takePlaces(ctx, next)
    }
    await setProjects(ctx, next, idsAfter, { row, projectIds })
    const { account_id: _account, id: _id, ...columns } = next
    await ctx.db
      .updateTable('shared_env_var')
      .set(columns)
      .where('account_id', '=', row.account_id)
      .where('id', '=', id)
      .execute()
    updated.push(showShared(next, idsAfter, 'hidden'))
  }
  return { updated, failed: [] }
}

function projectsWanted(had: readonly string[], { projectId, projectIdUpdates }: Update): string[] {
  const ids = new Set([...(projectId ?? had), ...(projectIdUpdates?.link ?? [])])
  for (const id of projectIdUpdates?.unlink ?? []) ids.delete(id)
  return [...ids].sort()
}

/** Returns the changed row. A sensitive variable stays sensitive. */
function changed(ctx: Ctx, box: SecretBox, row: SharedRow, update: Update): SharedRow {
  const { key = row.key, value, comment } = update
  if (row.type === 'sensitive' && update.type === 'encrypted') refuse('env_stays_sensitive')
  const target = update.target === undefined || update.target === null ? sharedTargets(row) : targetsOf(ctx, update)
  // A change of comment, name or link keeps the type, even under a newer team policy.
  const typed = value !== undefined || update.type !== undefined || update.target !== undefined
  const type = typed && row.type !== 'sensitive' ? sharedType(ctx, update.type ?? row.type, target) : row.type
  if (typed || update.key !== undefined) mustBeShared(ctx, { key, value: value ?? '', type, target })
  else mustHaveTargetPermission(ctx.caller, target)
  const version = row.version + 1
  return {
    ...row,
    key,
    type,
    targets: target.join(','),
    ...(comment !== undefined && { comment: comment || null }),
    ...(value !== undefined && {
      sealed_value: box.seal(row.id, version, value),
      value_version: version,
      value_bytes: Buffer.byteLength(value),
    }),
    version,
    updated_by: actorId(ctx),
    updated_at: ctx.now,
  }
}

/** Deletes variables permanently, from all their projects. Refuses: not_found 404 (one of them), missing_permission 403, in_transfer 409. */
export async function deleteShared(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, DeleteShared>,
): Promise<Static<typeof DeletedShared>> {
  const ids = [...new Set(body.ids)]
  const links = await projectsOf(ctx, ctx.account.id, ids)
  await ctx.countRows(ids.length + [...links.values()].flat().length)
  for (const id of ids) {
    const row = await findShared(ctx, { id })
    mustHaveWritePermission(ctx.caller, row)
    await setProjects(ctx, row, [], { row, projectIds: links.get(id)! })
    await deleteRow(ctx, row)
  }
  return { deleted: ids, failed: [] }
}

/** Returns the project id and the shared variable of the path. Refuses: not_found 404. */
export async function findLink(ctx: Ctx, params: Params): Promise<{ projectId: string; row: SharedRow }> {
  const project = await findProject(ctx, params)
  return { projectId: project.id, row: await findShared(ctx, params) }
}

/** Unlinks a variable from one project; without a link nothing changes. Refuses: missing_permission 403, in_transfer 409. */
export async function unlinkShared(ctx: Ctx, { projectId, row }: { projectId: string; row: SharedRow }) {
  mustHaveWritePermission(ctx.caller, row)
  const projectIds = (await projectsOf(ctx, ctx.account.id, [row.id])).get(row.id)!
  await ctx.countRows(1)
  const others = projectIds.filter((id) => id !== projectId)
  await setProjects(ctx, row, others, { row, projectIds })
  return { id: row.id }
}
