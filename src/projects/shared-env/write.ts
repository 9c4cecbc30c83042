/** Shared variables: make, change, delete, unlink. Every request is done whole or not at all. docs/shared-variables.md. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { findProject } from '../../model/project.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
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

/** What writing one may refuse. */
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

/** Makes variables of one type and target, for the same projects. Refuses: WRITE_REFUSALS. */
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

/** Without a target: all that the type goes with. */
function targetsOf(ctx: Ctx, { target, type }: Pick<CreateShared, 'target' | 'type'>): StandardTarget[] {
  const list = target === undefined || target === null ? undefined : [target].flat()
  const secret = type === 'sensitive' || ctx.account.sensitiveEnv
  return TARGETS.filter((one) => list?.includes(one) ?? !(secret && one === 'development'))
}

/** Refuses: bad_request 400. */
function mustNotBeInCustom({ applyToAllCustomEnvironments }: Pick<CreateShared, 'applyToAllCustomEnvironments'>): void {
  if (applyToAllCustomEnvironments !== true) return
  refuse(
    'bad_request',
    'Invalid request: `applyToAllCustomEnvironments` cannot be true. Shared variables are in production, preview and development.',
  )
}

/** As `effectiveType`: a team may say that all of production and preview is sensitive. */
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
  const { count } = await db
    .selectFrom('shared_env_var')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('account_id', '=', account.id)
    .executeTakeFirstOrThrow()
  if (Number(count) > MAX_SHARED_VARIABLES)
    refuse('env_limit', `An account has at most ${MAX_SHARED_VARIABLES} shared variables.`)
}

/**
 * Changes the given fields of each variable. `projectId` is all projects that have it then; `projectIdUpdates` adds and takes away.
 * Refuses: not_found 404, env_stays_sensitive 400, WRITE_REFUSALS.
 */
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

/** The row as it is then. What is sensitive stays so, for good. */
function changed(ctx: Ctx, box: SecretBox, row: SharedRow, update: Update): SharedRow {
  const { key = row.key, value, comment } = update
  if (row.type === 'sensitive' && update.type === 'encrypted') refuse('env_stays_sensitive')
  const target = update.target === undefined || update.target === null ? sharedTargets(row) : targetsOf(ctx, update)
  // A comment, a name or a link alone leaves a variable as it is, also under a policy of the team that came after it.
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

/** Deletes variables for good, from every project that has them. Refuses: not_found 404 (one of them), missing_permission 403, in_transfer 409. */
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

/** A project and a shared variable, as the path says them. Refuses: not_found 404. */
export async function findLink(ctx: Ctx, params: Params): Promise<{ projectId: string; row: SharedRow }> {
  const project = await findProject(ctx, params)
  return { projectId: project.id, row: await findShared(ctx, params) }
}

/** Takes a variable from one project; from one that does not have it, nothing. Refuses: missing_permission 403, in_transfer 409. */
export async function unlinkShared(ctx: Ctx, { projectId, row }: { projectId: string; row: SharedRow }) {
  mustHaveWritePermission(ctx.caller, row)
  const projectIds = (await projectsOf(ctx, ctx.account.id, [row.id])).get(row.id)!
  await ctx.countRows(1)
  const others = projectIds.filter((id) => id !== projectId)
  await setProjects(ctx, row, others, { row, projectIds })
  return { id: row.id }
}
