/** Putting variables: made where the place is free; with upsert, in the place of what is there. docs/spec/decisions.md: Upsert. */
import type { Ctx } from '../context.ts'
import { openPace, slices } from '../db/chunks.ts'
import type { Row } from '../db/schema.ts'
import { REFUSALS } from '../errors.ts'
import { openSafe, type Safe } from '../secrets/data-keys.ts'
import { changeVariables, type Step } from './change.ts'
import { isVisible, mustBeVariable, mustChange, typeIn } from './rules.ts'
import { type EnvType, type FailedEnv, showTargets, type Target, targetsIn } from './schema.ts'
import { fits, readUsage, tally, type Usage } from './usage.ts'
import { type Draft, insertVariables, type NotMade, removeVariables } from './write.ts'

/** What came of a draft: the variable, or what `failed` says of it. */
export type Outcome = { row: Row<'env_var'> } | { failed: NotMade; error: FailedEnv['error'] }
export type PutDraft = Draft & {
  /** Nothing was said of the type: variables that are there keep theirs. */
  keepType: boolean
}

const LEAST_SHOWN_FIRST: readonly EnvType[] = ['sensitive', 'secret', 'encrypted', 'system', 'plain']

/** Puts the drafts, in their order. Those that the store says no to leave nothing behind; the others stand. */
export async function putVariables(
  ctx: Ctx,
  project: Row<'project'>,
  drafts: readonly PutDraft[],
  upsert: boolean,
): Promise<Outcome[]> {
  ctx.countRows(drafts.length)
  const known = Map.groupBy(upsert ? await findByKeys(ctx, project.id, drafts) : [], keyOf)
  const spots = Map.groupBy(drafts, spot)
  const alone = drafts.filter((draft) => spots.get(spot(draft))!.length === 1)
  // Drafts that nothing else touches are made together, and those that take the place of others; the rest one after another, each
  // seeing the one before.
  const free = alone.filter((draft) => holdersOf(known.get(draft.key), draft).length === 0)
  const made = await insertVariables(ctx, project, free)
  const ends = new Map(free.map((draft, at) => [draft, made[at]!]))
  await upsertAll(
    ctx,
    project,
    alone.filter((draft) => !ends.has(draft)),
    known,
    ends,
  )
  for (const draft of drafts) {
    if (ends.has(draft)) continue
    if (upsert)
      await upsertAll(ctx, project, [draft], Map.groupBy(await findByKeys(ctx, project.id, [draft]), keyOf), ends)
    else ends.set(draft, (await insertVariables(ctx, project, [draft]))[0]!)
  }
  return explain(ctx, project, drafts, ends)
}

type End = Row<'env_var'> | NotMade
type ByKey = Map<string, Row<'env_var'>[]>

function keyOf({ key }: { key: string }): string {
  return key
}

function spot({ key, gitBranch }: Draft): string {
  return `${key}\0${gitBranch}`
}

/**
 * Puts drafts, no two of one key and branch, in the place of what is there: the variable that lies within the wanted targets is changed in
 * place; others give up what overlaps, and keep the rest. It is decided in the order of the drafts, and then written together.
 */
async function upsertAll(
  ctx: Ctx,
  project: Row<'project'>,
  drafts: readonly PutDraft[],
  known: ByKey,
  ends: Map<PutDraft, End>,
): Promise<void> {
  if (drafts.length === 0) return
  const usage = await readUsage(ctx, project.id)
  const safe = await openSafe(ctx, project.id)
  const pace = openPace()
  const changes: (Step & { draft: PutDraft })[] = []
  const leaving: { row: Row<'env_var'>; targets: readonly Target[] }[] = []
  const fresh: { draft: PutDraft; made: PutDraft }[] = []
  for (const draft of drafts) {
    const holders = holdersOf(known.get(draft.key), draft)
    if (holders.some((row) => !isVisible(ctx.who, row))) {
      ends.set(draft, 'env_already_exists')
      continue
    }
    const wanted = { ...draft, type: typeToPut(ctx, draft, holders) }
    if (!takesPlace(usage, holders, draft)) {
      ends.set(draft, 'env_limit')
      continue
    }
    const inside = holders.find((row) => targetsIn(row).every((target) => draft.targets.includes(target)))
    for (const row of holders) if (row !== inside) leaving.push({ row, targets: draft.targets })
    const { value, ...rest } = wanted
    if (inside === undefined) fresh.push({ draft, made: wanted })
    else changes.push({ draft, row: inside, change: { ...rest, ...(!isSameValue(safe, inside, value) && { value }) } })
    await pace()
  }
  await giveUp(ctx, project, leaving)
  const changed = await changeVariables(ctx, project, changes)
  for (const [at, { draft }] of changes.entries()) ends.set(draft, changed[at]!)
  const wanted = fresh.map((one) => one.made)
  const made = await insertVariables(ctx, project, wanted)
  for (const [at, { draft }] of fresh.entries()) ends.set(draft, made[at]!)
}

/** Refuses what the caller may not change, and what no variable may be. */
function typeToPut(ctx: Ctx, draft: PutDraft, holders: readonly Row<'env_var'>[]): EnvType {
  for (const row of holders) mustChange(ctx.who, row)
  const type = typeIn(ctx.account, typeFor(draft, holders), draft.targets)
  mustBeVariable({ ...draft, type })
  return type
}

/** Whether the draft fits in the place of these; then `usage` is what it is afterwards. */
function takesPlace(usage: Usage, holders: readonly Row<'env_var'>[], draft: PutDraft): boolean {
  const bytes = Buffer.byteLength(draft.value)
  for (const row of holders) tally(usage, overlap(row, draft.targets), row.value_bytes, -1)
  const room = fits(usage, draft.targets, bytes)
  if (room) tally(usage, draft.targets, bytes)
  else for (const row of holders) tally(usage, overlap(row, draft.targets), row.value_bytes)
  return room
}

/** The type that a draft gets in the place of these variables: of several, the one that shows the least. */
export function typeFor(draft: Pick<PutDraft, 'keepType' | 'type'>, holders: readonly Row<'env_var'>[]): EnvType {
  const kept = draft.keepType ? LEAST_SHOWN_FIRST.find((type) => holders.some((row) => row.type === type)) : undefined
  return kept ?? draft.type
}

/** Takes targets from variables, none of them named twice. One that has none left is removed. */
export async function giveUp(
  ctx: Ctx,
  project: Row<'project'>,
  leaving: readonly { row: Row<'env_var'>; targets: readonly Target[] }[],
): Promise<void> {
  const steps = leaving.map(({ row, targets }) => {
    return { row, change: { targets: targetsIn(row).filter((target) => !targets.includes(target)) } }
  })
  const over = steps.filter(({ change }) => change.targets.length === 0).map(({ row }) => row)
  if (over.length > 0) await removeVariables(ctx, ctx.account, project, over)
  const staying = steps.filter(({ change }) => change.targets.length > 0)
  await changeVariables(ctx, project, staying)
}

/** A write-only value is never held against another: the answer would tell a guesser when the guess was right. */
export function isSameValue(safe: Safe, row: Row<'env_var'>, value: string): boolean {
  return row.type !== 'sensitive' && safe.open(row.id, row.value_version, row.sealed_value) === value
}

/** The variables of these keys, oldest first. */
export async function findByKeys(
  ctx: Ctx,
  projectId: string,
  wanted: readonly { key: string }[],
): Promise<Row<'env_var'>[]> {
  const found: Row<'env_var'>[] = []
  const pace = openPace()
  for (const slice of slices([...new Set(wanted.map(({ key }) => key))])) {
    const ids = ctx.db
      .selectFrom('env_target')
      .select('env_id')
      .where('project_id', '=', projectId)
      .where('key', 'in', slice)
    const rows = await ctx.db
      .selectFrom('env_var')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('id', 'in', ids)
      .orderBy('created_stamp')
      .execute()
    found.push(...rows)
    await pace()
  }
  return found
}

function holdersOf(rows: readonly Row<'env_var'>[] = [], { key, gitBranch, targets }: Draft): Row<'env_var'>[] {
  return rows.filter((row) => row.key === key && row.git_branch === gitBranch && overlap(row, targets).length > 0)
}

/** The targets of a variable that are among the wanted ones. */
export function overlap(row: Row<'env_var'>, targets: readonly Target[]): Target[] {
  return targetsIn(row).filter((target) => targets.includes(target))
}

async function explain(
  ctx: Ctx,
  project: Row<'project'>,
  drafts: readonly PutDraft[],
  ends: Map<PutDraft, End>,
): Promise<Outcome[]> {
  const refused = drafts.filter((draft) => ends.get(draft) === 'env_already_exists')
  const holders = refused.length === 0 ? [] : await findByKeys(ctx, project.id, refused)
  const byKey = Map.groupBy(holders, keyOf)
  return drafts.map((draft) => {
    const end = ends.get(draft)!
    if (typeof end === 'object') return { row: end }
    return { failed: end, error: errorOf(ctx, draft, end, holdersOf(byKey.get(draft.key), draft)[0]) }
  })
}

/** What the caller cannot see is in the way without its id being told. */
function errorOf(ctx: Ctx, draft: Draft, failed: NotMade, holder: Row<'env_var'> | undefined): FailedEnv['error'] {
  const [, code, message] = REFUSALS[failed]
  const { target, customEnvironmentIds } = showTargets(draft.targets)
  return {
    code,
    message,
    key: draft.key,
    envVarKey: draft.key,
    ...(holder !== undefined && isVisible(ctx.who, holder) && { envVarId: holder.id }),
    target,
    ...(customEnvironmentIds.length > 0 && { customEnvironmentIds }),
    ...(draft.gitBranch !== '' && { gitBranch: draft.gitBranch }),
  }
}
