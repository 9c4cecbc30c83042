/** Releases outputs and sources of removed deployments. Those without references are removed later (delivery/deploys/output-rows.ts). */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'

type Held = Pick<Row<'deployment'>, 'output_id' | 'source_id'>

/** Releases the outputs and sources of deployments, in the transaction that removes these. */
export async function releaseOutputs({ db }: Pick<OperatorCtx, 'db'>, rows: readonly Held[]): Promise<void> {
  const held = rows.flatMap((row) => [row.output_id, row.source_id]).filter((id) => id !== null)
  for (const [id, own] of Map.groupBy(held, (one) => one))
    await db
      .updateTable('output')
      .set({ refs: sql<number>`refs - ${own.length}` })
      .where('id', '=', id)
      .execute()
}

/** Releases the outputs and sources of all deployments of a project. */
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
}
