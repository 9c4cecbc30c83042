/** What happens to the build of a deployment that ends or goes. delivery/builds makes and runs builds. docs/building.md: States. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import { releaseRefs } from './outputs.ts'

/**
 * Ends the build of a deployment that ended otherwise: by a cancel, or by the operator. A waiting one ends at once. A runner that has
 * the lease reads of it in the answer to its next beat.
 */
export async function endBuildOf({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, deploymentId: string): Promise<void> {
  await db
    .updateTable('build')
    .set({
      cancel_requested: 1,
      ended_at: sql<number | null>`case when state = 'waiting' then ${now} else ended_at end`,
      state: sql<'ended'>`case when state = 'waiting' then 'ended' else state end`,
    })
    .where('deployment_id', '=', deploymentId)
    .where('state', '!=', 'ended')
    .execute()
}

/** Deletes the builds of deployments and releases the files of their logs, in the transaction that removes the deployments. */
export async function deleteBuilds({ db }: Pick<OperatorCtx, 'db'>, deploymentIds: readonly string[]): Promise<void> {
  for (const ids of chunks(deploymentIds)) {
    const deleted = await db.deleteFrom('build').where('deployment_id', 'in', ids).returning('deployment_id').execute()
    if (deleted.length === 0) continue
    const logs = await db.deleteFrom('build_log').where('deployment_id', 'in', ids).returning('blob_id').execute()
    await releaseChunks(db, logs)
  }
}

/** Releases the files of deleted rows of logs, in the same transaction. Equal chunks of logs share a file. */
export function releaseChunks(db: Queries, rows: readonly { blob_id: number }[]): Promise<void> {
  return releaseRefs(
    db,
    'blob',
    rows.map(({ blob_id }) => blob_id),
  )
}
