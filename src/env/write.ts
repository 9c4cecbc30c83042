/**
 * Writing variables: the rows, the places they take, what they add up to, their history and their events, together. A place
 * is (key, target, branch) of a project, and the primary key of env_target says that it is taken once.
 */
import { momentOf } from '../clock.ts'
import type { Ctx, EventOwner, OperatorCtx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { slices } from '../db/slices.ts'
import { newId } from '../ids.ts'
import { refuse } from '../refusal.ts'
import { changesOf, forgetValues, recordHistory } from './history-log.ts'
import { actorId, type Wanted } from './rules.ts'
import { showTargets, targetsIn } from './shape.ts'
import { countedIn, fits, readUsage, tally, type Usage, writeUsage } from './usage.ts'
import { openSafeToWrite, type Safe } from './values.ts'

type Place = Pick<OperatorCtx, 'db'>
type Named = Pick<Row<'project'>, 'id' | 'name'>
type Extras = {
  comment: string | null
  edge_config_id: string | null
  edge_config_token_id: string | null
  content_hint_json: string | null
}
/** A variable as it is to be stored, with what has no rule of its own. */
export type Draft = Wanted & { extras: Partial<Extras> }
export type NotMade = 'env_already_exists' | 'env_limit'

const NO_EXTRAS: Extras = { comment: null, edge_config_id: null, edge_config_token_id: null, content_hint_json: null }

/**
 * Makes variables that do not share a key and branch among themselves. Each answer is the row, or why there is none: then
 * nothing of that one is left behind.
 */
export async function insertVariables(
  ctx: Ctx,
  project: Row<'project'>,
  drafts: readonly Draft[],
): Promise<(Row<'env_var'> | NotMade)[]> {
  if (drafts.length === 0) return []
  const safe = await openSafeToWrite(ctx, project.id)
  const rows = drafts.map((draft) => newRow(ctx, project, draft, safe))
  const placed = await takePlaces(ctx, rows)
  const usage = await readUsage(ctx, project.id)
  const added: Usage = new Map()
  const outcome = rows.map((row) => {
    if (!placed.has(row.id)) return 'env_already_exists'
    if (!fits(usage, targetsIn(row), row.value_bytes)) return 'env_limit'
    tally(usage, targetsIn(row), row.value_bytes)
    tally(added, targetsIn(row), row.value_bytes)
    return row
  })
  const made = outcome.filter((end) => typeof end === 'object')
  await leavePlaces(
    ctx,
    project.id,
    rows.filter((_, at) => typeof outcome[at] === 'string'),
  )
  for (const slice of slices(made)) await ctx.db.insertInto('env_var').values(slice).execute()
  await writeUsage(ctx, project.id, added)
  await recordHistory(ctx, made, 'created', [])
  for (const row of made) tell(ctx, ctx.account, project, 'project.env-variable.created', row)
  return outcome
}

function newRow(ctx: Ctx, project: Row<'project'>, draft: Draft, safe: Safe) {
  const id = newId('env')
  const by = actorId(ctx)
  const stamp = ctx.deps.clock.stamp()
  return {
    project_id: project.id,
    id,
    key: draft.key,
    type: draft.type,
    targets: draft.targets.join(','),
    git_branch: draft.gitBranch,
    sealed_value: safe.seal(id, 1, draft.value),
    value_version: 1,
    value_bytes: Buffer.byteLength(draft.value),
    ...NO_EXTRAS,
    ...draft.extras,
    configuration_id: ctx.who.configurationId,
    version: 1,
    created_by: by,
    updated_by: by,
    created_stamp: stamp,
    updated_at: momentOf(stamp),
  } satisfies Row<'env_var'>
}

/** The ids of the rows that got every place they want. */
async function takePlaces(ctx: Ctx, rows: readonly Row<'env_var'>[]): Promise<Set<string>> {
  const got = new Map<string, number>()
  for (const slice of slices(rows.flatMap(placesOf))) {
    const taken = await ctx.db
      .insertInto('env_target')
      .values(slice)
      .onConflict((conflict) => conflict.doNothing())
      .returning('env_id')
      .execute()
    for (const { env_id } of taken) got.set(env_id, (got.get(env_id) ?? 0) + 1)
  }
  return new Set(rows.filter((row) => (got.get(row.id) ?? 0) === targetsIn(row).length).map((row) => row.id))
}

async function leavePlaces(ctx: Place, projectId: string, rows: readonly Row<'env_var'>[]): Promise<void> {
  for (const slice of slices(rows)) {
    await ctx.db
      .deleteFrom('env_target')
      .where('project_id', '=', projectId)
      .where('key', 'in', [...new Set(slice.map((row) => row.key))])
      .where(
        'env_id',
        'in',
        slice.map((row) => row.id),
      )
      .execute()
  }
}

function placesOf(row: Row<'env_var'>): Row<'env_target'>[] {
  const { project_id, key, git_branch, id: env_id } = row
  return targetsIn(row).map((target) => ({ project_id, key, target, git_branch, env_id }))
}

/** What is to change of a variable. A `value` that is given is sealed anew, bound to the new version. */
export type Change = Partial<Omit<Wanted, 'value'>> & { value?: string | undefined; extras?: Partial<Extras> }

/**
 * Changes a variable; its id stays and its version goes up by one, unless nothing changes. Refuses: env_conflict 400 (one
 * of the places is taken), env_limit 400.
 */
export async function changeVariable(
  ctx: Ctx,
  project: Row<'project'>,
  row: Row<'env_var'>,
  change: Change,
  action: 'updated' | 'restored' = 'updated',
): Promise<Row<'env_var'>> {
  const safe = await openSafeToWrite(ctx, project.id)
  const version = row.version + 1
  const next: Row<'env_var'> = {
    ...row,
    key: change.key ?? row.key,
    type: change.type ?? row.type,
    targets: change.targets?.join(',') ?? row.targets,
    git_branch: change.gitBranch ?? row.git_branch,
    ...change.extras,
    ...(change.value !== undefined && {
      sealed_value: safe.seal(row.id, version, change.value),
      value_version: version,
      value_bytes: Buffer.byteLength(change.value),
    }),
  }
  const changed = changesOf(row, next)
  if (changed.length === 0) return row
  Object.assign(next, { version, updated_by: actorId(ctx), updated_at: ctx.now })
  await movePlaces(ctx, row, next)
  await moveUsage(ctx, row, next)
  const { project_id: _, id, ...columns } = next
  await ctx.db.updateTable('env_var').set(columns).where('project_id', '=', project.id).where('id', '=', id).execute()
  await recordHistory(ctx, [next], action, changed)
  tell(ctx, ctx.account, project, 'project.env-variable.updated', next)
  return next
}

async function movePlaces(ctx: Ctx, row: Row<'env_var'>, next: Row<'env_var'>): Promise<void> {
  if (row.key === next.key && row.targets === next.targets && row.git_branch === next.git_branch) return
  await leavePlaces(ctx, row.project_id, [row])
  if ((await takePlaces(ctx, [next])).size > 0) return
  const { target, customEnvironmentIds } = showTargets(targetsIn(next))
  const extra = { key: next.key, envVarKey: next.key, target }
  refuse('env_conflict', `Another variable has the key "${next.key}" in one of these targets and on this branch.`, {
    ...extra,
    ...(customEnvironmentIds.length > 0 && { customEnvironmentIds }),
    ...(next.git_branch !== '' && { gitBranch: next.git_branch }),
  })
}

/** Refuses only what grows: a variable over a limit can still be made smaller. */
async function moveUsage(ctx: Ctx, row: Row<'env_var'>, next: Row<'env_var'>): Promise<void> {
  const before = countedIn(row)
  const after = countedIn(next)
  if (row.targets === next.targets && row.value_bytes === next.value_bytes) return
  const usage = await readUsage(ctx, row.project_id)
  const change: Usage = new Map()
  for (const [targets, { value_bytes }, sign] of [
    [before, row, -1],
    [after, next, 1],
  ] as const) {
    tally(change, targets, value_bytes, sign)
  }
  tally(usage, before, row.value_bytes, -1)
  const grown = after.filter((target) => !before.includes(target) || next.value_bytes > row.value_bytes)
  if (!fits(usage, grown, next.value_bytes)) refuse('env_limit')
  await writeUsage(ctx, row.project_id, change)
}

/**
 * Removes variables for good: their values go from the history too, which keeps who and when for a while. `owner`: the
 * account of the project, which hears of it.
 */
export async function removeVariables(
  ctx: OperatorCtx,
  owner: EventOwner,
  project: Named,
  rows: readonly Row<'env_var'>[],
): Promise<void> {
  const freed: Usage = new Map()
  for (const slice of slices(rows)) {
    const ids = slice.map((row) => row.id)
    await leavePlaces(ctx, project.id, slice)
    await ctx.db.deleteFrom('env_var').where('project_id', '=', project.id).where('id', 'in', ids).execute()
    await forgetValues(ctx, project.id, ids)
  }
  for (const row of rows) tally(freed, countedIn(row), row.value_bytes, -1)
  await writeUsage(ctx, project.id, freed)
  await recordHistory(
    ctx,
    rows.map((row) => ({ ...row, version: row.version + 1 })),
    'deleted',
    [],
  )
  for (const row of rows) tell(ctx, owner, project, 'project.env-variable.deleted', row)
}

type EnvEvent = `project.env-variable.${'created' | 'updated' | 'deleted'}`

function tell(ctx: OperatorCtx, owner: EventOwner, project: Named, type: EnvEvent, row: Row<'env_var'>): void {
  const { target, customEnvironmentIds } = showTargets(targetsIn(row))
  const custom = customEnvironmentIds.length > 0 && { customEnvironmentIds }
  const envVar = { id: row.id, key: row.key, target, ...custom }
  const about = { projectId: project.id, madeBy: row.configuration_id }
  ctx.emit(type, { project: { id: project.id, name: project.name }, envVar }, about, owner)
}
