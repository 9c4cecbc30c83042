/** Writes the history: one row per version, with its encrypted value. */
import type { Ctx, OperatorCtx } from '../../context.ts'
import { deleteRows, insertRows, jsonArrayValues } from '../../platform/db/bulk.ts'
import { chunksByWeight, createYielder } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { rejectIfExceeded } from '../../platform/limiter/limiter.ts'
import type { VariableChange } from './change.ts'
import { showTargets, targetsIn } from './schema.ts'

/** With `spend` where an account writes. */
type Writing = Pick<OperatorCtx, 'actor' | 'db' | 'now'> & Partial<Pick<Ctx, 'spend'>>

const VERSIONS_KEPT = 100
/** History rows changed per statement: some milliseconds. */
const VERSIONS_AT_ONCE = 500
const DAY_MS = 86_400_000
const DELETED_RETENTION_MS = 30 * DAY_MS

/** Recorded fields with their user-facing names, and how two versions are compared. Targets are two fields in the row. */
const FIELDS: readonly [string, (before: Row<'env_var'>, after: Row<'env_var'>) => boolean][] = [
  ['key', (before, after) => before.key !== after.key],
  ['type', (before, after) => before.type !== after.type],
  ['target', (before, after) => areOthers(before, after, 'target')],
  ['customEnvironmentIds', (before, after) => areOthers(before, after, 'customEnvironmentIds')],
  ['gitBranch', (before, after) => before.git_branch !== after.git_branch],
  ['value', (before, after) => before.sealed_value !== after.sealed_value],
  ['comment', (before, after) => before.comment !== after.comment],
  ['edgeConfigId', (before, after) => before.edge_config_id !== after.edge_config_id],
  ['edgeConfigTokenId', (before, after) => before.edge_config_token_id !== after.edge_config_token_id],
  ['contentHint', (before, after) => before.content_hint_json !== after.content_hint_json],
]

function areOthers(before: Row<'env_var'>, after: Row<'env_var'>, which: 'target' | 'customEnvironmentIds'): boolean {
  if (before.targets === after.targets) return false
  return showTargets(targetsIn(before))[which].join() !== showTargets(targetsIn(after))[which].join()
}

/** Returns the names of fields that differ between two versions of a variable. */
export function changesOf(before: Row<'env_var'>, after: Row<'env_var'>): string[] {
  return FIELDS.filter(([, differ]) => differ(before, after)).map(([name]) => name)
}

/**
 * Inserts a version for each change, including deletions. Keeps the newest versions of each variable. Refuses: rate_limited 429
 * (too many bytes of versions in a day).
 */
export async function recordHistory(ctx: Writing, changes: readonly VariableChange[]): Promise<void> {
  const versions = changes.map((change) => versionOf(ctx, change))
  const bytes = versions.reduce((sum, version) => sum + bytesOf(version), 0)
  rejectIfExceeded(await ctx.spend?.('history-bytes', bytes), ctx.now, 'bytes of versions')
  await insertRows(ctx.db, 'env_history', versions)
  const outdated = versions
    .filter(({ version }) => version > VERSIONS_KEPT)
    .map(({ project_id, env_id, version }) => ({ project_id, env_id, version: version - VERSIONS_KEPT }))
  await deleteRows(ctx.db, 'env_history', outdated)
}

/** Of a deletion none, which makes room: it is never refused. */
function bytesOf(version: Row<'env_history'>): number {
  if (version.sealed_value === null) return 0
  const texts = Object.values(version).filter((value) => typeof value === 'string')
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

function versionOf(ctx: Writing, { before, after, fields, action }: VariableChange): Row<'env_history'> {
  const row = (after ?? before)!
  const removed = after === undefined
  return {
    project_id: row.project_id,
    env_id: row.id,
    version: removed ? row.version + 1 : row.version,
    action,
    changed_json: JSON.stringify(fields),
    key: row.key,
    type: row.type,
    targets: row.targets,
    git_branch: row.git_branch,
    sealed_value: removed ? null : row.sealed_value,
    value_version: row.value_version,
    comment: row.comment,
    configuration_id: row.configuration_id,
    actor_kind: ctx.actor.kind,
    actor_id: ctx.actor.id,
    at: ctx.now,
    expires_at: removed ? ctx.now + DELETED_RETENTION_MS : null,
  }
}

/** Erases the values of deleted variables immediately; their history stays for 30 days. Each statement changes few rows. */
export async function eraseValues(ctx: Writing, projectId: string, rows: readonly Versioned[]): Promise<void> {
  const pace = createYielder()
  const versionsOf = ({ version }: Versioned) => Math.min(version, VERSIONS_KEPT)
  for (const some of chunksByWeight(rows, versionsOf, VERSIONS_AT_ONCE)) {
    const ids = some.map(({ id }) => id)
    await ctx.db
      .updateTable('env_history')
      .set({ sealed_value: null, expires_at: ctx.now + DELETED_RETENTION_MS })
      .where('project_id', '=', projectId)
      .where('env_id', 'in', jsonArrayValues(ctx.db, JSON.stringify(ids)))
      .execute()
    await pace()
  }
}

type Versioned = Pick<Row<'env_var'>, 'id' | 'version'>

/** Deletes the history of a project in batches; optionally only that of integrations' variables. */
export async function removeHistory(
  { db }: Pick<OperatorCtx, 'db'>,
  projectId: string,
  ofIntegrations = false,
): Promise<void> {
  const pace = createYielder()
  for (let after: string | undefined = ''; after !== undefined; ) {
    const next: string | undefined = await lastOfStep(db, projectId, after)
    let step = db.deleteFrom('env_history').where('project_id', '=', projectId).where('env_id', '>', after)
    if (next !== undefined) step = step.where('env_id', '<=', next)
    if (ofIntegrations) step = step.where('configuration_id', 'is not', null)
    await step.execute()
    await pace()
    after = next
  }
}

/** The last variable of the batch after `after`; undefined for the final batch. */
async function lastOfStep(db: Queries, projectId: string, after: string): Promise<string | undefined> {
  const [row] = await db
    .selectFrom('env_history')
    .select('env_id')
    .where('project_id', '=', projectId)
    .where('env_id', '>', after)
    .orderBy('env_id')
    .orderBy('version')
    .offset(VERSIONS_AT_ONCE)
    .limit(1)
    .execute()
  return row?.env_id
}

/** Sweep: purges the history of variables that were deleted long ago. */
export async function purgeDeletedHistory(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = await ctx.db
    .selectFrom('env_history')
    .select(['project_id', 'env_id', 'version'])
    .where('expires_at', '<=', ctx.now)
    .limit(limit)
    .execute()
  await deleteRows(ctx.db, 'env_history', old)
  return old.length
}
