/** Stores changes of variables. A slot is (key, target, branch) of a project; the primary key of env_target makes it unique. */

import type { Ctx, EventAccount, OperatorCtx } from '../../context.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { deleteRows, insertMissingRows, insertRows, updateRows } from '../../platform/db/bulk.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { SecretBox } from '../../platform/secrets/data-keys.ts'
import { actorId } from './access.ts'
import type { Variable, VariableChange } from './change.ts'
import { changesOf, eraseValues, recordHistory } from './history-log.ts'
import type { Draft, Extras } from './rules.ts'
import { showTargets, targetsIn } from './schema.ts'
import { differenceOf, writeUsage } from './usage.ts'

type Named = Pick<Row<'project'>, 'id' | 'name'>

/** Changed fields of a variable. A `value` is encrypted again, bound to the new version. */
export type VariablePatch = Partial<Pick<Draft, 'key' | 'type' | 'targets' | 'gitBranch' | 'extras'>> & {
  value?: string | undefined
}

const NO_EXTRAS: Extras = { comment: null, edge_config_id: null, edge_config_token_id: null, content_hint_json: null }

/** A change may be planned before its transaction, and `applyVariableChanges` sets its timestamps. */
const UNDATED = 0

/** Returns the change that creates a variable. */
export function createChange(
  ctx: Ctx,
  box: SecretBox,
  project: Named,
  draft: Draft,
): VariableChange & { after: Variable } {
  const by = actorId(ctx)
  const after = {
    project_id: project.id,
    id: draft.id,
    key: draft.key,
    type: draft.type,
    targets: draft.targets.join(','),
    git_branch: draft.gitBranch,
    sealed_value: box.seal(draft.id, 1, draft.value),
    value_version: 1,
    value_bytes: Buffer.byteLength(draft.value),
    ...NO_EXTRAS,
    ...draft.extras,
    configuration_id: ctx.caller.installationId,
    version: 1,
    created_by: by,
    updated_by: by,
    created_stamp: UNDATED,
    updated_at: UNDATED,
  } satisfies Variable
  return { after, fields: [], action: 'created' }
}

/** Returns the change that updates a variable and increments its version. Without differences, the variable stays and no field is named. */
export function updateChange(
  ctx: Ctx,
  box: SecretBox,
  before: Variable,
  difference: VariablePatch,
  action: 'updated' | 'restored' = 'updated',
): VariableChange & { after: Variable } {
  const { key, type, targets, gitBranch, value, extras = {} } = difference
  const version = before.version + 1
  // Explicit columns: several times as fast as a spread for a thousand rows.
  const after: Variable = {
    project_id: before.project_id,
    id: before.id,
    key: key ?? before.key,
    type: type ?? before.type,
    targets: targets?.join(',') ?? before.targets,
    git_branch: gitBranch ?? before.git_branch,
    sealed_value: value === undefined ? before.sealed_value : box.seal(before.id, version, value),
    value_version: value === undefined ? before.value_version : version,
    value_bytes: value === undefined ? before.value_bytes : Buffer.byteLength(value),
    comment: extras.comment === undefined ? before.comment : extras.comment,
    configuration_id: before.configuration_id,
    edge_config_id: extras.edge_config_id === undefined ? before.edge_config_id : extras.edge_config_id,
    edge_config_token_id:
      extras.edge_config_token_id === undefined ? before.edge_config_token_id : extras.edge_config_token_id,
    content_hint_json: extras.content_hint_json === undefined ? before.content_hint_json : extras.content_hint_json,
    version,
    created_by: before.created_by,
    updated_by: actorId(ctx),
    created_stamp: before.created_stamp,
    updated_at: UNDATED,
  }
  const fields = changesOf(before, after)
  return { before, after: fields.length === 0 ? before : after, fields, action }
}

/** Returns the change that deletes a variable. Its values are erased from the history, which keeps author and time for a while. */
export function deleteChange(before: Variable): VariableChange {
  return { before, fields: [], action: 'deleted' }
}

/** Changes one variable and returns it. Refuses: env_conflict 400 (another variable has one of the slots), env_limit 400. */
export async function changeVariable(
  ctx: Ctx,
  box: SecretBox,
  project: Row<'project'>,
  before: Variable,
  difference: VariablePatch,
  action?: 'restored',
): Promise<Variable> {
  const change = updateChange(ctx, box, before, difference, action)
  const unplaced = await applyVariableChanges(ctx, ctx.account, project, [change])
  if (unplaced === undefined) return change.after
  const { key, git_branch } = unplaced
  const { target, customEnvironmentIds } = showTargets(targetsIn(unplaced))
  refuse('env_conflict', `Another variable has the key "${key}" in one of these targets and on this branch.`, {
    key,
    envVarKey: key,
    target,
    ...(customEnvironmentIds.length > 0 && { customEnvironmentIds }),
    ...(git_branch !== '' && { gitBranch: git_branch }),
  })
}

/**
 * Stores changes in order. `owner`: the account of the project, which is notified. Returns a variable whose slot is taken, if
 * any: then writing stops and the caller must refuse. Refuses: env_limit 400, rate_limited 429 (bytes of versions in a day).
 */
export async function applyVariableChanges(
  ctx: OperatorCtx & Partial<Pick<Ctx, 'spend'>>,
  owner: EventAccount,
  project: Named,
  all: readonly VariableChange[],
): Promise<Variable | undefined> {
  const changes = all.filter(({ before, after }) => before !== after)
  if (changes.length === 0) return undefined
  for (const change of changes) setMoments(ctx, change)
  const ends = endsOf(changes)
  const unplaced = await movePlaces(ctx, ends)
  if (unplaced !== undefined) return unplaced
  await writeUsage(ctx, project.id, differenceOf(ends))
  await writeRows(ctx, ends)
  await recordHistory(ctx, changes)
  const removed = changes.flatMap(({ before, after }) => (after === undefined && before ? [before] : []))
  await eraseValues(ctx, project.id, removed)
  for (const change of changes) emit(ctx, owner, project, change)
  return undefined
}

/** Sets a unique stamp for a created variable, and the transaction time for a changed one. */
function setMoments({ now, deps }: OperatorCtx, { before, after }: VariableChange): void {
  if (after === undefined) return
  after.created_stamp = before?.created_stamp ?? deps.clock.stamp()
  after.updated_at = before === undefined ? stampToMs(after.created_stamp) : now
}

type Ends = { before: Variable | undefined; after: Variable | undefined }

function endsOf(changes: readonly VariableChange[]): Ends[] {
  const ends = new Map<string, Ends>()
  for (const { before, after } of changes) {
    const { id } = (before ?? after)!
    const end = ends.get(id)
    ends.set(id, { before: end ? end.before : before, after })
  }
  return [...ends.values()]
}

/** Releases old slots, then takes new ones. Returns a variable that did not get all its slots. */
async function movePlaces(ctx: OperatorCtx, all: readonly Ends[]): Promise<Variable | undefined> {
  const dropped: Row<'env_target'>[] = []
  const added: Row<'env_target'>[] = []
  for (const { before, after } of all) {
    if (before?.key === after?.key && before?.targets === after?.targets && before?.git_branch === after?.git_branch)
      continue
    const [from, to] = [placesOf(before), placesOf(after)]
    dropped.push(...from.filter((place) => !to.some((b) => isSamePlace(place, b))))
    added.push(...to.filter((place) => !from.some((b) => isSamePlace(place, b))))
  }
  await deleteRows(ctx.db, 'env_target', dropped)
  const rows = await insertMissingRows(ctx.db, 'env_target', added)
  if (rows.length === added.length) return undefined
  const missing = added.find((place) => !rows.some((row) => isSamePlace(place, row)))!
  return all.find(({ after }) => after?.id === missing.env_id)?.after
}

function placesOf(row: Variable | undefined): Row<'env_target'>[] {
  if (row === undefined) return []
  const { project_id, key, git_branch, id: env_id } = row
  return targetsIn(row).map((target) => ({ project_id, key, target, git_branch, env_id }))
}

function isSamePlace(a: Row<'env_target'>, b: Row<'env_target'>): boolean {
  return a.key === b.key && a.target === b.target && a.git_branch === b.git_branch
}

async function writeRows({ db }: OperatorCtx, all: readonly Ends[]): Promise<void> {
  const creations = all.flatMap(({ before, after }) => (before === undefined && after ? [after] : []))
  const changed = all.flatMap(({ before, after }) => (before !== undefined && after ? [after] : []))
  const removed = all.flatMap(({ before, after }) => (before !== undefined && !after ? [before] : []))
  await insertRows(db, 'env_var', creations)
  await updateRows(db, 'env_var', ['project_id', 'id'], columnsChanged(all), changed)
  await deleteRows(
    db,
    'env_var',
    removed.map(({ project_id, id }) => ({ project_id, id })),
  )
}

/** The columns that differ in any variable: fewer columns need fewer index checks. */
function columnsChanged(all: readonly Ends[]): (keyof Variable)[] {
  const columns = new Set<keyof Variable>()
  for (const { before, after } of all) {
    if (before === undefined || after === undefined) continue
    for (const column of Object.keys(after) as (keyof Variable)[]) {
      if (before[column] !== after[column]) columns.add(column)
    }
  }
  return [...columns]
}

function emit(ctx: OperatorCtx, owner: EventAccount, project: Named, { before, after }: VariableChange): void {
  const row = (after ?? before)!
  const what = before === undefined ? 'created' : after === undefined ? 'deleted' : 'updated'
  const { target, customEnvironmentIds } = showTargets(targetsIn(row))
  const custom = customEnvironmentIds.length > 0 && { customEnvironmentIds }
  const envVar = { id: row.id, key: row.key, target, ...custom }
  const about = { projectId: project.id, createdBy: row.configuration_id }
  ctx.emit(`project.env-variable.${what}`, { project: { id: project.id, name: project.name }, envVar }, about, owner)
}
