/** Releases outputs, sources and variables of removed deployments. Those without references are removed later (delivery/deploys/output-rows.ts). */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'

type Held = Pick<Row<'deployment'>, 'output_id' | 'source_id' | 'env_id'>

/** Releases the outputs, sources and variables of deployments, in the transaction that removes these. */
export async function releaseOutputs({ db }: Pick<OperatorCtx, 'db'>, rows: readonly Held[]): Promise<void> {
  const held = rows.flatMap((row) => [row.output_id, row.source_id]).filter((id) => id !== null)
  for (const [id, own] of Map.groupBy(held, (one) => one))
    await db
      .updateTable('output')
      .set({ refs: sql<number>`refs - ${own.length}` })
      .where('id', '=', id)
      .execute()
  const envs = Map.groupBy(
    rows.map((row) => row.env_id).filter((id) => id !== null),
    (one) => one,
  )
  for (const [id, own] of envs) await releaseEnv(db, id, own.length)
}

/** Variables without a deployment go at once, and what they count is released. */
async function releaseEnv(db: Queries, id: number, count: number): Promise<void> {
  await db
    .updateTable('frozen_env')
    .set({ refs: sql<number>`refs - ${count}` })
    .where('id', '=', id)
    .execute()
  const deleted = await db
    .deleteFrom('frozen_env')
    .where('id', '=', id)
    .where('refs', '<=', 0)
    .returning(['account_id', 'bytes'])
    .execute()
  await giveBack(db, deleted)
}

async function giveBack(
  db: Queries,
  deleted: readonly Pick<Row<'frozen_env'>, 'account_id' | 'bytes'>[],
): Promise<void> {
  for (const [accountId, rows] of Map.groupBy(deleted, (row) => row.account_id)) {
    const bytes = rows.reduce((sum, row) => sum + Number(row.bytes), 0)
    await db
      .updateTable('file_usage')
      .set({ bytes: sql<number>`bytes - ${bytes}` })
      .where('account_id', '=', accountId)
      .execute()
  }
}

/** Releases the outputs, sources and variables of all deployments of a project. */
export async function releaseOutputsOfProject({ db }: Pick<OperatorCtx, 'db'>, projectId: string): Promise<void> {
  const own = db.selectFrom('deployment').where('project_id', '=', projectId)
  for (const column of ['output_id', 'source_id'] as const) {
    const same = sql`${sql.ref(column)} = output.id and project_id = ${projectId}`
    await db
      .updateTable('output')
      .set({ refs: sql<number>`refs - (select count(*) from deployment where ${same})` })
      .where('id', 'in', own.select(column).where(column, 'is not', null))
      .execute()
  }
  const envs = db.deleteFrom('frozen_env').where('project_id', '=', projectId)
  await giveBack(db, await envs.returning(['account_id', 'bytes']).execute())
}
