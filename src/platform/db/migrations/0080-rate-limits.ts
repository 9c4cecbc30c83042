/**
 * What owners took of rate limits in windows that run. On PostgreSQL it is what all instances count by. On the embedded store, which one process
 * counts for in memory, it keeps failures over a restart.
 */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('rate_limit')
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('owner', 'text', (c) => c.notNull())
    .addColumn('ends_at', 'bigint', (c) => c.notNull())
    .addColumn('used', 'bigint', (c) => c.notNull())
    .addColumn('granted', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('rate_limit_pk', ['name', 'owner'])
    .execute()
  await db.schema.createIndex('rate_limit_end').on('rate_limit').column('ends_at').execute()
}
