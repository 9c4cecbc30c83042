/** Releases outputs of removed deployments. Outputs without references are removed later (delivery/deploys/output-rows.ts). */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'

/** Releases the outputs of deployments, in the transaction that removes these. */
export async function releaseOutputs(
  { db }: Pick<OperatorCtx, 'db'>,
  rows: readonly Pick<Row<'deployment'>, 'output_id'>[],
): Promise<void> {
  const held = rows.map((row) => row.output_id).filter((id) => id !== null)
  for (const [id, own] of Map.groupBy(held, (one) => one))
    await db
      .updateTable('output')
      .set({ refs: sql<number>`refs - ${own.length}` })
      .where('id', '=', id)
      .execute()
}

/** Releases the outputs of all deployments of a project. */
export async function releaseOutputsOfProject({ db }: Pick<OperatorCtx, 'db'>, projectId: string): Promise<void> {
  const own = db.selectFrom('deployment').where('project_id', '=', projectId)
  const count = sql<number>`(select count(*) from deployment where output_id = output.id and project_id = ${projectId})`
  await db
    .updateTable('output')
    .set({ refs: sql<number>`refs - ${count}` })
    .where('id', 'in', own.select('output_id').where('output_id', 'is not', null))
    .execute()
}
