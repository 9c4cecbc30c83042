/** Members are listed in pages, by the stamp of when they came; teams have settings. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('member')
    .addColumn('created_stamp', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute()
  // Members of one team who came in one millisecond, in the order of their ids.
  await sql`update member set created_stamp = created_at * 1024 + (
    select count(*) from member as other
    where other.team_id = member.team_id and other.created_at = member.created_at and other.user_id < member.user_id
  )`.execute(db)
  await db.schema.alterTable('member').dropColumn('created_at').execute()
  await db.schema.createIndex('member_stamp').unique().on('member').columns(['team_id', 'created_stamp']).execute()
  for (const column of ['description', 'sensitive_env_policy', 'settings_json']) {
    await db.schema.alterTable('account').addColumn(column, 'text').execute()
  }
}
