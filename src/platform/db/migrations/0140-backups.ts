import type { Kysely } from 'kysely'

/** Which backups were made, where they lie, and what the last check of each found. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('backup')
    .addColumn('place', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('made_by', 'text', (c) => c.notNull())
    .addColumn('begun_at', 'bigint', (c) => c.notNull())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('sha256', 'text', (c) => c.notNull())
    .addColumn('verified_at', 'bigint')
    .addColumn('fault', 'text')
    .addPrimaryKeyConstraint('backup_pk', ['place', 'name'])
    .execute()
  await db.schema
    .createTable('backup_run')
    .addColumn('due_at', 'bigint', (c) => c.primaryKey())
    .addColumn('held_until', 'bigint', (c) => c.notNull())
    .addColumn('tries', 'integer', (c) => c.notNull())
    .addColumn('began_at', 'bigint', (c) => c.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('fault', 'text')
    .execute()
}
