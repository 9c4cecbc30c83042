import { type Kysely, SqliteAdapter } from 'kysely'

/**
 * The embedded store walks the names of an account in the order of its list, without a row: a search reads as many entries as it says. PostgreSQL is
 * another process, and keeps its index.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof SqliteAdapter)) return
  await db.schema.dropIndex('project_stamp').execute()
  await db.schema.createIndex('project_stamp').on('project').columns(['account_id', 'updated_stamp', 'name']).execute()
}
