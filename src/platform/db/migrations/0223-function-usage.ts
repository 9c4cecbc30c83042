import type { Kysely } from 'kysely'

/** What functions of deployments did, by the hour. */
export async function up(db: Kysely<unknown>): Promise<void> {
  let usage = db.schema
    .createTable('function_usage')
    .addColumn('deployment_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('hour', 'bigint', (column) => column.notNull())
  for (const name of ['invocations', 'errors', 'ms']) usage = usage.addColumn(name, 'bigint', (c) => c.notNull())
  await usage.addPrimaryKeyConstraint('function_usage_pk', ['deployment_id', 'hour', 'name']).execute()
  await db.schema.createIndex('function_usage_hour').on('function_usage').column('hour').execute()
}
