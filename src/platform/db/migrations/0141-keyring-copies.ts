import type { Kysely } from 'kysely'

/** Which root keys an encrypted copy of the keyring at another place was seen to hold. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('keyring_copy')
    .addColumn('root_key_id', 'text', (c) => c.primaryKey())
    .addColumn('verified_at', 'bigint', (c) => c.notNull())
    .addColumn('place', 'text', (c) => c.notNull())
    .execute()
}
