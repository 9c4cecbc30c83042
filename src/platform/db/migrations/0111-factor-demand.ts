/** Teams that demand a second factor of their members. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('account').addColumn('factor_demanded_at', 'bigint').execute()
}
