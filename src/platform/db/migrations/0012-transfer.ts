import { type Kysely, sql } from 'kysely'

/** Transfer of projects between accounts. A project has one code at most, so its id is the key. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('transfer_request')
    .addColumn('project_id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('created_by', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('accepted_at', 'bigint')
    .addColumn('accepted_by', 'text')
    .addColumn('new_name', 'text')
    .execute()
  await db.schema.createIndex('transfer_request_expiry').on('transfer_request').column('expires_at').execute()
  await db.schema
    .createIndex('project_in_transfer')
    .on('project')
    .column('transfer_started_at')
    .where(sql.ref('transfer_started_at'), 'is not', null)
    .where(sql.ref('transfer_completed_at'), 'is', null)
    .execute()
  await db.schema.alterTable('project_domain').addColumn('inherited_at', 'bigint').execute()
}
