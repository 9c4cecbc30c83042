import type { Kysely } from 'kysely'

/** What share of the log lines a drain gets, by environment. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('log_drain').addColumn('sampling_json', 'text').execute()
}
