/** What happens to the build of a deployment that ends or goes. delivery/builds makes and runs builds. docs/building.md: States. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'

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
    await releaseChunks(
      db,
      await db.deleteFrom('build_log').where('deployment_id', 'in', ids).returning('blob_id').execute(),
    )
  }
}

/** Releases the files of deleted rows of logs, in the same transaction. */
export async function releaseChunks(db: Queries, rows: readonly { blob_id: number }[]): Promise<void> {
  for (const [refs, blobs] of Map.groupBy(countEach(rows), ([, count]) => count))
    for (const some of chunks(blobs.map(([id]) => id)))
      await db
        .updateTable('blob')
        .set({ refs: sql<number>`refs - ${refs}` })
        .where('id', 'in', some)
        .execute()
}

/** Equal chunks of logs share a file. */
function countEach(rows: readonly { blob_id: number }[]): [id: number, count: number][] {
  const counts = new Map<number, number>()
  for (const { blob_id } of rows) counts.set(Number(blob_id), (counts.get(Number(blob_id)) ?? 0) + 1)
  return [...counts]
}
