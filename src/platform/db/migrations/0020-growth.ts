/** Indexes for what had to read a whole table, or all of a large account. Most are partial: a row that has nothing there costs nothing. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['repo', 'repo_id', 'repo_url']) {
    await indexWhereSet(db, `project_${column}`, 'project', column, ['account_id', column, 'updated_stamp'])
  }
  for (const column of ['edge_config_id', 'edge_config_token_id']) {
    await indexWhereSet(db, `env_var_${column}`, 'env_var', column, [column, 'project_id'])
  }
  for (const table of ['webhook', 'log_drain']) {
    await indexWhereSet(db, `${table}_configuration`, table, 'configuration_id', ['configuration_id'])
  }
  await db.schema.createIndex('password_link_user').on('password_link').column('user_id').execute()
  await db.schema.createIndex('session_used').on('session').column('used_at').execute()
}

async function indexWhereSet(db: Kysely<unknown>, name: string, table: string, column: string, columns: string[]) {
  await db.schema.createIndex(name).on(table).columns(columns).where(sql.ref(column), 'is not', null).execute()
}
