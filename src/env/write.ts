/**
 * Writing variables: the rows, the places they take, what they add up to, their history and their events, together. A place
 * is (key, target, branch) of a project, and the primary key of env_target says that it is taken once.
 */
import { momentOf } from '../clock.ts'
import type { Ctx, EventOwner, OperatorCtx } from '../context.ts'
import { openPace, slices } from '../db/chunks.ts'
import type { Row } from '../db/schema.ts'
import { newId } from '../ids.ts'
import { openSafeToWrite, type Safe } from '../secrets/data-keys.ts'
import { forgetValues, recordHistory } from './history-log.ts'
import { actorId, type Wanted } from './rules.ts'
import { showTargets, targetsIn } from './schema.ts'
import { countedIn, fits, readUsage, tally, type Usage, writeUsage } from './usage.ts'

type Place = Pick<OperatorCtx, 'db'>
type Named = Pick<Row<'project'>, 'id' | 'name'>
export type Extras = {
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
  const rows: Row<'env_var'>[] = []
  const pace = openPace()
  for (const draft of drafts) {
    rows.push(newRow(ctx, project, draft, safe))
    await pace()
  }
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
  for (const slice of slices(made)) {
    await ctx.db.insertInto('env_var').values(slice).execute()
    await pace()
  }
  await writeUsage(ctx, project.id, added)
  await recordHistory(
    ctx,
    made.map((row) => ({ row, changed: [] })),
    'created',
  )
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
    configuration_id: ctx.who.installationId,
    version: 1,
    created_by: by,
    updated_by: by,
    created_stamp: stamp,
    updated_at: momentOf(stamp),
  } satisfies Row<'env_var'>
}

/** The ids of the rows that got every place they want. */
export async function takePlaces(ctx: Ctx, rows: readonly Row<'env_var'>[]): Promise<Set<string>> {
  const got = new Map<string, number>()
  const pace = openPace()
  for (const slice of slices(rows.flatMap(placesOf))) {
    const taken = await ctx.db
      .insertInto('env_target')
      .values(slice)
      .onConflict((conflict) => conflict.doNothing())
      .returning('env_id')
      .execute()
    for (const { env_id } of taken) got.set(env_id, (got.get(env_id) ?? 0) + 1)
    await pace()
  }
  return new Set(rows.filter((row) => (got.get(row.id) ?? 0) === targetsIn(row).length).map((row) => row.id))
}

export async function leavePlaces(ctx: Place, projectId: string, rows: readonly Row<'env_var'>[]): Promise<void> {
  const pace = openPace()
  for (const slice of slices(rows)) {
    await pace()
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
  const pace = openPace()
  for (const slice of slices(rows)) {
    const ids = slice.map((row) => row.id)
    await leavePlaces(ctx, project.id, slice)
    await ctx.db.deleteFrom('env_var').where('project_id', '=', project.id).where('id', 'in', ids).execute()
    await forgetValues(ctx, project.id, slice)
    await pace()
  }
  for (const row of rows) tally(freed, countedIn(row), row.value_bytes, -1)
  await writeUsage(ctx, project.id, freed)
  await recordHistory(
    ctx,
    rows.map((row) => ({ row: { ...row, version: row.version + 1 }, changed: [] })),
    'deleted',
  )
  for (const row of rows) tell(ctx, owner, project, 'project.env-variable.deleted', row)
}

type EnvEvent = `project.env-variable.${'created' | 'updated' | 'deleted'}`

export function tell(ctx: OperatorCtx, owner: EventOwner, project: Named, type: EnvEvent, row: Row<'env_var'>): void {
  const { target, customEnvironmentIds } = showTargets(targetsIn(row))
  const custom = customEnvironmentIds.length > 0 && { customEnvironmentIds }
  const envVar = { id: row.id, key: row.key, target, ...custom }
  const about = { projectId: project.id, madeBy: row.configuration_id }
  ctx.emit(type, { project: { id: project.id, name: project.name }, envVar }, about, owner)
}
