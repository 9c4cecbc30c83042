/** When a person last proved in a session that it is them: what shows secrets asks for it. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('session').addColumn('confirmed_at', 'bigint').execute()
}
