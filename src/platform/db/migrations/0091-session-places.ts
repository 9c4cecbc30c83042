/** From where a session was begun, so that a person knows their sessions from those of others. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['agent', 'address']) await db.schema.alterTable('session').addColumn(column, 'text').execute()
}
