import type { Kysely } from 'kysely'

/** Whether a deployment was created with skew protection, which its builds and functions learn by a variable. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('frozen_env')
    .addColumn('skew_protection', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}
