import type { Kysely } from 'kysely'

/** How large the store was, by day. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('store_size')
    .addColumn('day', 'text', (c) => c.primaryKey())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .execute()
}
