/** Changing variables that are there: one, or many by statements that carry many. A place is taken once, as in write.ts. */
import type { Ctx } from '../context.ts'
import { openPace, slices } from '../db/chunks.ts'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusal.ts'
import { openSafeToWrite, type Safe } from '../secrets/data-keys.ts'
import { changesOf, recordHistory } from './history-log.ts'
import { actorId, type Wanted } from './rules.ts'
import { showTargets, targetsIn } from './schema.ts'
import { countedIn, fits, readUsage, tally, type Usage, writeUsage } from './usage.ts'
import { type Extras, leavePlaces, takePlaces, tell } from './write.ts'

/** What is to change of a variable. A `value` that is given is sealed anew, bound to the new version. */
export type Change = Partial<Omit<Wanted, 'value'>> & { value?: string | undefined; extras?: Partial<Extras> }
/** A variable of the project, and what is to change of it. */
export type Step = { row: Row<'env_var'>; change: Change }
type Action = 'updated' | 'restored'
type Pair = { row: Row<'env_var'>; next: Row<'env_var'>; changed: string[] }

/** Changes one variable, as `changeVariables` does. Gives it as it is then. */
export async function changeVariable(
  ctx: Ctx,
  project: Row<'project'>,
  row: Row<'env_var'>,
  change: Change,
  action?: Action,
): Promise<Row<'env_var'>> {
  return (await changeVariables(ctx, project, [{ row, change }], action))[0]!
}

/**
 * Changes variables, none of them twice, in one go: their ids stay, and the version of each goes up by one, unless nothing of it changes.
 * Gives them as they are then, in the order of the steps. Refuses: env_conflict 400 (one of the places is taken), env_limit 400.
 */
export async function changeVariables(
  ctx: Ctx,
  project: Row<'project'>,
  steps: readonly Step[],
  action: Action = 'updated',
): Promise<Row<'env_var'>[]> {
  if (steps.length === 0) return []
  const safe = await openSafeToWrite(ctx, project.id)
  const by = actorId(ctx)
  const pace = openPace()
  const ends: Row<'env_var'>[] = []
  const pairs: Pair[] = []
  for (const { row, change } of steps) {
    const next = nextOf(safe, row, change)
    const changed = changesOf(row, next)
    if (changed.length > 0) {
      Object.assign(next, { version: row.version + 1, updated_by: by, updated_at: ctx.now })
      pairs.push({ row, next, changed })
    }
    ends.push(changed.length > 0 ? next : row)
    await pace()
  }
  await movePlaces(ctx, project, pairs)
  await moveUsage(ctx, project, pairs)
  await writeRows(ctx, project, pairs)
  const versions = pairs.map(({ next, changed }) => ({ row: next, changed }))
  await recordHistory(ctx, versions, action)
  for (const { next } of pairs) tell(ctx, ctx.account, project, 'project.env-variable.updated', next)
  return ends
}

function nextOf(safe: Safe, row: Row<'env_var'>, change: Change): Row<'env_var'> {
  const version = row.version + 1
  return {
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
}

/** Of many, the rows are written anew in the place of the old ones: a statement that changes many, each otherwise, is another for each engine. */
async function writeRows(ctx: Ctx, project: Row<'project'>, pairs: readonly Pair[]): Promise<void> {
  if (pairs.length === 1) {
    const { project_id: _, id, ...columns } = pairs[0]!.next
    await ctx.db.updateTable('env_var').set(columns).where('project_id', '=', project.id).where('id', '=', id).execute()
    return
  }
  const pace = openPace()
  for (const slice of slices(pairs)) {
    const ids = slice.map(({ row }) => row.id)
    await ctx.db.deleteFrom('env_var').where('project_id', '=', project.id).where('id', 'in', ids).execute()
    const rows = slice.map(({ next }) => next)
    await ctx.db.insertInto('env_var').values(rows).execute()
    await pace()
  }
}

async function movePlaces(ctx: Ctx, project: Row<'project'>, pairs: readonly Pair[]): Promise<void> {
  const moved = pairs.filter(
    ({ row, next }) => row.key !== next.key || row.targets !== next.targets || row.git_branch !== next.git_branch,
  )
  if (moved.length === 0) return
  const before = moved.map(({ row }) => row)
  await leavePlaces(ctx, project.id, before)
  const after = moved.map(({ next }) => next)
  const placed = await takePlaces(ctx, after)
  const next = after.find((one) => !placed.has(one.id))
  if (next === undefined) return
  const { target, customEnvironmentIds } = showTargets(targetsIn(next))
  const extra = { key: next.key, envVarKey: next.key, target }
  refuse('env_conflict', `Another variable has the key "${next.key}" in one of these targets and on this branch.`, {
    ...extra,
    ...(customEnvironmentIds.length > 0 && { customEnvironmentIds }),
    ...(next.git_branch !== '' && { gitBranch: next.git_branch }),
  })
}

/** Refuses only what grows: a variable over a limit can still be made smaller. */
async function moveUsage(ctx: Ctx, project: Row<'project'>, pairs: readonly Pair[]): Promise<void> {
  const moved = pairs.filter(({ row, next }) => row.targets !== next.targets || row.value_bytes !== next.value_bytes)
  if (moved.length === 0) return
  const usage = await readUsage(ctx, project.id)
  const change: Usage = new Map()
  for (const { row, next } of moved) {
    const before = countedIn(row)
    const after = countedIn(next)
    tally(usage, before, row.value_bytes, -1)
    const grown = after.filter((target) => !before.includes(target) || next.value_bytes > row.value_bytes)
    if (!fits(usage, grown, next.value_bytes)) refuse('env_limit')
    tally(usage, after, next.value_bytes)
    tally(change, before, row.value_bytes, -1)
    tally(change, after, next.value_bytes)
  }
  await writeUsage(ctx, project.id, change)
}
