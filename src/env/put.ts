/** Putting variables: made where the place is free; with upsert, in the place of what is there. decisions.md: `upsert=true` replaces. */
import type { Ctx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { slices } from '../db/slices.ts'
import { REFUSALS } from '../errors.ts'
import { isVisible, mustBeVariable, mustChange, typeIn } from './rules.ts'
import { type EnvType, type FailedEnv, showTargets, type Target, targetsIn } from './shape.ts'
import { fits, readUsage, tally } from './usage.ts'
import { openSafe, type Safe } from './values.ts'
import { changeVariable, type Draft, insertVariables, type NotMade, removeVariables } from './write.ts'

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
  const known = upsert ? await findByKeys(ctx, project.id, drafts) : []
  const times = new Map<string, number>()
  for (const draft of drafts) times.set(spot(draft), (times.get(spot(draft)) ?? 0) + 1)
  // Drafts that nothing else touches are made together; the others one after another, each seeing the one before.
  const apart = new Set(drafts.filter((draft) => times.get(spot(draft)) === 1 && holdersOf(known, draft).length === 0))
  const made = await insertVariables(ctx, project, [...apart])
  const ends = new Map([...apart].map((draft, at) => [draft, made[at]!]))
  for (const draft of drafts) {
    if (apart.has(draft)) continue
    ends.set(
      draft,
      upsert ? await upsertVariable(ctx, project, draft) : (await insertVariables(ctx, project, [draft]))[0]!,
    )
  }
  return explain(ctx, project, drafts, ends)
}

function spot({ key, gitBranch }: Draft): string {
  return `${key}\0${gitBranch}`
}

/** The variable that lies within the wanted targets is changed in place; others give up what overlaps, and keep the rest. */
async function upsertVariable(ctx: Ctx, project: Row<'project'>, draft: PutDraft): Promise<Row<'env_var'> | NotMade> {
  const holders = holdersOf(await findByKeys(ctx, project.id, [draft]), draft)
  if (holders.some((row) => !isVisible(ctx.who, row))) return 'env_already_exists'
  for (const row of holders) mustChange(ctx.who, row)
  const inside = holders.find((row) => targetsIn(row).every((target) => draft.targets.includes(target)))
  const type = typeIn(ctx.account, typeFor(draft, holders), draft.targets)
  mustBeVariable({ ...draft, type })

  const usage = await readUsage(ctx, project.id)
  for (const row of holders) tally(usage, overlap(row, draft.targets), row.value_bytes, -1)
  if (!fits(usage, draft.targets, Buffer.byteLength(draft.value))) return 'env_limit'
  for (const row of holders) if (row !== inside) await giveUp(ctx, project, row, draft.targets)
  if (inside === undefined) return (await insertVariables(ctx, project, [{ ...draft, type }]))[0]!
  const safe = await openSafe(ctx, project.id)
  const { value, ...rest } = { ...draft, type }
  return changeVariable(ctx, project, inside, { ...rest, ...(!isSameValue(safe, inside, value) && { value }) })
}

/** The type that a draft gets in the place of these variables: of several, the one that shows the least. */
export function typeFor(draft: Pick<PutDraft, 'keepType' | 'type'>, holders: readonly Row<'env_var'>[]): EnvType {
  const kept = draft.keepType ? LEAST_SHOWN_FIRST.find((type) => holders.some((row) => row.type === type)) : undefined
  return kept ?? draft.type
}

/** Takes these targets from a variable. One that has none left is removed. */
export async function giveUp(
  ctx: Ctx,
  project: Row<'project'>,
  row: Row<'env_var'>,
  targets: readonly Target[],
): Promise<void> {
  const rest = targetsIn(row).filter((target) => !targets.includes(target))
  if (rest.length === 0) await removeVariables(ctx, ctx.account, project, [row])
  else await changeVariable(ctx, project, row, { targets: rest })
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
  }
  return found
}

function holdersOf(rows: readonly Row<'env_var'>[], { key, gitBranch, targets }: Draft): Row<'env_var'>[] {
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
  ends: Map<PutDraft, Row<'env_var'> | NotMade>,
): Promise<Outcome[]> {
  const refused = drafts.filter((draft) => ends.get(draft) === 'env_already_exists')
  const holders = refused.length === 0 ? [] : await findByKeys(ctx, project.id, refused)
  return drafts.map((draft) => {
    const end = ends.get(draft)!
    if (typeof end === 'object') return { row: end }
    return { failed: end, error: errorOf(ctx, draft, end, holdersOf(holders, draft)[0]) }
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
