/** Who may not come in for now, who runs the service, and when people and tokens were last seen. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['suspended_at', 'operator_at']) {
    await db.schema.alterTable('account').addColumn(column, 'bigint').execute()
  }
  await db.schema
    .createTable('seen')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('seen_at').on('seen').column('at').execute()
  // The operator lists all tokens; what a person sent goes with them.
  await db.schema.createIndex('token_made').on('token').column('created_stamp').execute()
  await db.schema.createIndex('invitation_inviter').on('invitation').column('invited_by').execute()
}
