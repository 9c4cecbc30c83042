import type { Kysely } from 'kysely'

/** Processes that build, as they named themselves, and what the operator decided about each. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('runner')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('hostname', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('first_seen_at', 'bigint', (column) => column.notNull())
    .addColumn('last_seen_at', 'bigint', (column) => column.notNull())
    .addColumn('drained_at', 'bigint')
    .addColumn('removed_at', 'bigint')
    .execute()
}
