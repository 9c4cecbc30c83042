import type { Kysely } from 'kysely'

/** Members of an account who came into one of its protected sites: a code first, and then the cookie of that host. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('site_session')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('challenge', 'text')
    .addColumn('host', 'text', (column) => column.notNull())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('session_hash', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('site_session_user').on('site_session').columns(['user_id', 'expires_at']).execute()
  await db.schema.createIndex('site_session_project').on('site_session').column('project_id').execute()
  await db.schema.createIndex('site_session_expiry').on('site_session').column('expires_at').execute()
}
