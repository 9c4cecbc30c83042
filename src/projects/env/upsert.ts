/** Upserts variables: plans everything in memory, then stores it together. docs/spec/decisions.md: Upsert. */
import type { Ctx } from '../../context.ts'
import { REFUSALS } from '../../errors.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'
import { createYielder } from '../../platform/db/chunks.ts'
import { preparedQuery } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { SecretBox } from '../../platform/secrets/data-keys.ts'
import { isVisible, mustHaveWritePermission } from './access.ts'
import type { VariableChange } from './change.ts'
import { type Draft, effectiveType, validateVariable } from './rules.ts'
import { type EnvType, type FailedEnv, showTargets, type Target, targetsIn } from './schema.ts'
import { applyVariableChanges, createChange, deleteChange, updateChange } from './store.ts'
import { addIfFits, differenceOf, readUsage, type Usage } from './usage.ts'

type Variable = Row<'env_var'>
type Failure = { failed: 'env_already_exists' | 'env_limit'; error: FailedEnv['error'] }
export type UpsertOutcome = { row: Variable } | Failure

export type Upsert = {
  drafts: readonly Draft[]
  /** Update the variable in the slot; otherwise the draft fails. */
  replace: boolean
  /** Variables that lose targets first. */
  withdrawn?: readonly { row: Variable; targets: readonly Target[] }[]
  /** Existing variables with the keys of the drafts. Not needed for a single draft without `replace`: its insert detects conflicts. */
  existing?: readonly Variable[]
}

export type Plan = { drafts: readonly Draft[]; changes: VariableChange[]; outcomes: UpsertOutcome[] }

/**
 * Carries out the plan of an upsert. Each draft applies after those before it; a failed one changes nothing and does not affect
 * others. Refuses: env_already_exists 403 (a slot was taken since the plan).
 */
export async function storePlan(
  ctx: Ctx,
  project: Row<'project'>,
  { drafts, changes, outcomes }: Plan,
): Promise<UpsertOutcome[]> {
  const unplaced = await applyVariableChanges(ctx, ctx.account, project, changes)
  if (unplaced === undefined) return outcomes
  const draft = drafts.find(({ key }) => key === unplaced.key)!
  const [holder] = conflictingVariables(await findByKeys(ctx, project.id, [draft]), draft)
  refuse('env_already_exists', undefined, failure(ctx, draft, 'env_already_exists', holder).error)
}

/** Plans an upsert from the current state without writing. Refuses: missing_permission 403, and what no variable may be. */
export async function planUpsert(
  ctx: Ctx,
  box: SecretBox,
  project: Row<'project'>,
  { drafts, replace, withdrawn = [], existing }: Upsert,
): Promise<Plan> {
  const rows = existing ?? (await findByKeys(ctx, project.id, drafts))
  const there = Map.groupBy(rows, (row) => spotOf(row.key, row.git_branch))
  const usage = await readUsage(ctx, project.id)
  const all: VariableChange[] = withdrawn.map(({ row, targets }) => withoutTargets(ctx, box, row, targets))
  addIfFits(usage, differenceOf(all))
  const outcomes: UpsertOutcome[] = []
  const pace = createYielder()
  for (const draft of drafts) {
    const changes = changesFor(ctx, box, project, draft, { replace, there, usage })
    if ('failed' in changes) outcomes.push(changes)
    else {
      for (const change of changes) follow(there, change)
      all.push(...changes)
      outcomes.push({ row: changes.at(-1)!.after! })
    }
    await pace()
  }
  return { drafts, changes: all, outcomes }
}

/** The state while drafts are planned in order: variables by key and branch, and their usage. */
type There = { replace: boolean; there: Map<string, Variable[]>; usage: Usage }

/** The changes of a draft; the last one is of the variable itself. Refuses: missing_permission 403, and what no variable may be. */
function changesFor(
  ctx: Ctx,
  box: SecretBox,
  project: Row<'project'>,
  draft: Draft,
  { replace, there, usage }: There,
): VariableChange[] | Failure {
  const holders = conflictingVariables(there.get(spotOf(draft.key, draft.gitBranch)), draft)
  const isTaken = replace ? holders.some((row) => !isVisible(ctx.caller, row)) : holders.length > 0
  if (isTaken) return failure(ctx, draft, 'env_already_exists', holders[0])
  const type = typeOver(ctx, draft, holders)
  const inside = holders.find((row) => targetsIn(row).every((target) => draft.targets.includes(target)))
  const others = holders.filter((row) => row !== inside)
  const changes = others.map((row) => withoutTargets(ctx, box, row, draft.targets))
  if (inside === undefined) changes.push(createChange(ctx, box, project, { ...draft, type }))
  else {
    const value = isSameValue(box, inside, draft.value) ? undefined : draft.value
    changes.push(updateChange(ctx, box, inside, { ...draft, type, value }))
  }
  return addIfFits(usage, differenceOf(changes)) ? changes : failure(ctx, draft, 'env_limit')
}

/** The type of a draft, which may replace variables. Refuses forbidden changes, and what no variable may be. */
function typeOver(ctx: Ctx, draft: Draft, holders: readonly Variable[]): EnvType {
  for (const row of holders) mustHaveWritePermission(ctx.caller, row)
  const type = effectiveType(ctx.account, upsertedType(draft, holders), draft.targets)
  // With its own type the draft is validated already.
  if (type !== draft.type) validateVariable({ ...draft, type })
  return type
}

const MIN_SHOWN_FIRST: readonly EnvType[] = ['sensitive', 'secret', 'encrypted', 'system', 'plain']

/** Returns the type of a draft that replaces variables. If it keeps theirs, the most restrictive one. */
export function upsertedType(draft: Pick<Draft, 'keepType' | 'type'>, holders: readonly Variable[]): EnvType {
  const formerType = draft.keepType
    ? MIN_SHOWN_FIRST.find((type) => holders.some((row) => row.type === type))
    : undefined
  return formerType ?? draft.type
}

/** Removes targets from a variable, and deletes it without remaining targets. */
function withoutTargets(ctx: Ctx, box: SecretBox, row: Variable, targets: readonly Target[]): VariableChange {
  const targetsLeft = targetsIn(row).filter((target) => !targets.includes(target))
  return targetsLeft.length === 0 ? deleteChange(row) : updateChange(ctx, box, row, { targets: targetsLeft })
}

function follow(there: Map<string, Variable[]>, { before, after }: VariableChange): void {
  const { key, git_branch } = (after ?? before)!
  const spot = spotOf(key, git_branch)
  const rows = there.get(spot) ?? []
  const at = rows.findIndex((row) => row.id === before?.id)
  rows.splice(at < 0 ? rows.length : at, 1, ...(after ? [after] : []))
  there.set(spot, rows)
}

function spotOf(key: string, branch: string): string {
  return `${key}\0${branch}`
}

/** Returns the variables of the draft's key and branch that have one of its targets. */
export function conflictingVariables(rows: readonly Variable[] = [], { key, gitBranch, targets }: Draft): Variable[] {
  return rows.filter((row) => row.key === key && row.git_branch === gitBranch && overlap(row, targets).length > 0)
}

/** Returns the targets of a variable that are among the given ones. */
export function overlap(row: Pick<Variable, 'targets'>, targets: readonly Target[]): Target[] {
  return targetsIn(row).filter((target) => targets.includes(target))
}

/** Returns whether a variable has this value. Never compares write-only values, since the response would confirm a guess. */
export function isSameValue(box: SecretBox, row: Variable, value: string): boolean {
  return row.type !== 'sensitive' && box.open(row.id, row.value_version, row.sealed_value) === value
}

/** Returns the variables of these keys, oldest first. */
export async function findByKeys(ctx: Ctx, projectId: string, drafts: readonly { key: string }[]): Promise<Variable[]> {
  if (drafts.length === 0) return []
  const keys = [...new Set(drafts.map(({ key }) => key))]
  return selectByKeys(ctx.db, { projectId, keys: JSON.stringify(keys) })
}

const selectByKeys = preparedQuery<{ projectId: string; keys: string }, Variable>((db, value) =>
  db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', value.projectId)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('env_target')
        .select('env_id')
        .where('project_id', '=', value.projectId)
        .where('key', 'in', jsonArrayValues(db, value.keys)),
    )
    .orderBy('created_stamp'),
)

/** Builds the error of a draft. A conflict with an invisible variable does not reveal its id. */
function failure(ctx: Ctx, draft: Draft, failed: Failure['failed'], holder?: Variable): Failure {
  const [, code, message] = REFUSALS[failed]
  const { target, customEnvironmentIds } = showTargets(draft.targets)
  const error = {
    code,
    message,
    key: draft.key,
    envVarKey: draft.key,
    ...(holder !== undefined && isVisible(ctx.caller, holder) && { envVarId: holder.id }),
    target,
    ...(customEnvironmentIds.length > 0 && { customEnvironmentIds }),
    ...(draft.gitBranch !== '' && { gitBranch: draft.gitBranch }),
  }
  return { failed, error }
}
