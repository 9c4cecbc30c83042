import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * PostgreSQL walks the names of an account in the order of its list, without a row, as the embedded store does since 0150: a search stops when its page
 * is full.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (db.getExecutor().adapter instanceof SqliteAdapter) return
  await db.schema.dropIndex('project_stamp').execute()
  await sql`create unique index project_stamp on project (account_id, updated_stamp) include (name)`.execute(db)
}
