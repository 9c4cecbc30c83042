import type { Kysely } from 'kysely'

/** The project that an audit entry is about, by which the activity of a project is filtered. Earlier entries have none. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('audit').addColumn('project_id', 'text').execute()
}
