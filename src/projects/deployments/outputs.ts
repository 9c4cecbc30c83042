/** Releases outputs, sources and variables of removed deployments. Those without references are removed later (delivery/deploys/output-rows.ts). */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { chunks, chunksByWeight } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'

type Held = Pick<Row<'deployment'>, 'output_id' | 'source_id' | 'env_id'>

/** Releases the outputs, sources and variables of deployments, in the transaction that removes these. */
export async function releaseOutputs({ db }: Pick<OperatorCtx, 'db'>, rows: readonly Held[]): Promise<void> {
  await releaseRefs(
    db,
    'output',
    rows.flatMap((row) => [row.output_id, row.source_id]).filter((id) => id !== null),
  )
  const envs = rows.map((row) => row.env_id).filter((id) => id !== null)
  await releaseRefs(db, 'frozen_env', envs)
  await deleteEnvs(db, [...new Set(envs.map(Number))])
}

/** Subtracts from `refs` how often each id is in the list, in the transaction that removes its holders. */
export async function releaseRefs(
  db: Queries,
  table: 'output' | 'frozen_env' | 'blob',
  ids: readonly number[],
): Promise<void> {
  for (const [count, same] of Map.groupBy(countEach(ids), ([, count]) => count))
    for (const some of chunks(same.map(([id]) => id)))
      await db
        // The type of one table: the statements are the same for each.
        .updateTable(table as 'output')
        .set({ refs: sql<number>`refs - ${count}` })
        .where('id', 'in', some)
        .execute()
}

function countEach(ids: readonly number[]): [id: number, count: number][] {
  const counts = new Map<number, number>()
  for (const id of ids.map(Number)) counts.set(id, (counts.get(id) ?? 0) + 1)
  return [...counts]
}

/** Rows with variables per statement: one has up to 512 KiB. */
const ENVS = 20

/** Variables without a deployment go at once, and what they count is released. */
async function deleteEnvs(db: Queries, ids: readonly number[]): Promise<void> {
  const deleted: Pick<Row<'frozen_env'>, 'account_id' | 'bytes'>[] = []
  for (const some of chunksByWeight(ids, () => 1, ENVS)) {
    const gone = db.deleteFrom('frozen_env').where('id', 'in', some).where('refs', '<=', 0)
    deleted.push(...(await gone.returning(['account_id', 'bytes']).execute()))
  }
  for (const [accountId, rows] of Map.groupBy(deleted, (row) => row.account_id)) {
    const bytes = rows.reduce((sum, row) => sum + Number(row.bytes), 0)
    await releaseRoom(db, accountId, bytes)
  }
}

/** Counts removed files or variables of an account in the same transaction. Its row goes with the last of them. */
export async function releaseRoom(db: Queries, accountId: string, bytes: number): Promise<void> {
  await db
    .updateTable('file_usage')
    .set({ bytes: sql<number>`bytes - ${bytes}` })
    .where('account_id', '=', accountId)
    .execute()
  await db.deleteFrom('file_usage').where('account_id', '=', accountId).where('bytes', '<=', 0).execute()
}
