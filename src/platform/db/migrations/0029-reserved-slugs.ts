/** Slugs that were given up are kept for who had them. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('reserved_slug')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('slug_hash', 'text', (c) => c.notNull())
    .addColumn('holder_id', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('reserved_slug_hash').on('reserved_slug').column('slug_hash').execute()
  await db.schema.createIndex('reserved_slug_holder').on('reserved_slug').columns(['holder_id', 'expires_at']).execute()
  await db.schema.createIndex('reserved_slug_expiry').on('reserved_slug').column('expires_at').execute()
}
