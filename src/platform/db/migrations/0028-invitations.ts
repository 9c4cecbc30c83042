/** Membership by consent: who is invited waits in a table of their own and is in no team; who the operator placed is marked. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('invitation')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('team_id', 'text', (c) => c.notNull())
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text')
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('invited_by', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('invitation_place').unique().on('invitation').columns(['team_id', 'email']).execute()
  await db.schema.createIndex('invitation_stamp').on('invitation').columns(['team_id', 'created_stamp']).execute()
  await db.schema.createIndex('invitation_user').on('invitation').columns(['user_id', 'created_stamp']).execute()
  await db.schema.createIndex('invitation_email').on('invitation').column('email').execute()
  await db.schema.createIndex('invitation_expiry').on('invitation').column('expires_at').execute()
  // Those who are members today count as if they had accepted.
  for (const column of ['placed_at', 'owner_put_at']) {
    await db.schema.alterTable('member').addColumn(column, 'bigint').execute()
  }
}
