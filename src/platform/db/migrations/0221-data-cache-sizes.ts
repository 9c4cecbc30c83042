import type { Kysely } from 'kysely'

/** What sites servers keep in the data caches of projects, as each reported it last. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('data_cache_size')
    .addColumn('server', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('entries', 'integer', (c) => c.notNull())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('reported_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('data_cache_size_pk', ['server', 'project_id', 'environment'])
    .execute()
  await db.schema.createIndex('data_cache_size_project').on('data_cache_size').column('project_id').execute()
  await db.schema.createIndex('data_cache_size_age').on('data_cache_size').column('reported_at').execute()
}
