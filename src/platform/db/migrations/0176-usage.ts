import type { Kysely } from 'kysely'

const COUNTS = ['requests', 'status_2xx', 'status_3xx', 'status_4xx', 'status_5xx', 'bytes']

/** What deployments answered to their visitors, by the hour, and the last report of each sites server that is in these counts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  let usage = db.schema
    .createTable('deployment_usage')
    .addColumn('deployment_id', 'text', (column) => column.notNull())
    .addColumn('hour', 'bigint', (column) => column.notNull())
  for (const name of COUNTS) usage = usage.addColumn(name, 'bigint', (column) => column.notNull())
  await usage.addPrimaryKeyConstraint('deployment_usage_pk', ['deployment_id', 'hour']).execute()
  await db.schema.createIndex('deployment_usage_hour').on('deployment_usage').column('hour').execute()
  await db.schema
    .createTable('usage_report')
    .addColumn('server', 'text', (column) => column.primaryKey())
    .addColumn('sequence', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('usage_report_expiry').on('usage_report').column('expires_at').execute()
}
