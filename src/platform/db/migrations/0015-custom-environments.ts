import type { Kysely } from 'kysely'

/** The custom environments of a project, in its row. Variables name them by id where they name their targets. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('project').addColumn('custom_environments_json', 'text').execute()
}
