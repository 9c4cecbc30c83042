/** The token by which a transfer code or an invitation was made: what was offered by a token ends with it. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('transfer_request').addColumn('token_id', 'text').execute()
  await db.schema.alterTable('invitation').addColumn('token_id', 'text').execute()
}
