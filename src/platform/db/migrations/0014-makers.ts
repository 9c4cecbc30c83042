/** Who made the variable that an event is about: asked again when the event is sent. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('event').addColumn('made_by', 'text').execute()
}
