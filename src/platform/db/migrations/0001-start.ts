import { type Kysely, SqliteAdapter } from 'kysely'

/** The first schema. Keys lead with the account and ids are random, so that rows spread over a distributed engine. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('account')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('slug', 'text', (c) => c.notNull().unique())
    .addColumn('name', 'text')
    .addColumn('email', 'text', (c) => c.unique())
    .addColumn('default_team_id', 'text')
    .addColumn('plan', 'text', (c) => c.notNull())
    .addColumn('soft_blocked_at', 'bigint')
    .addColumn('payment_missing_at', 'bigint')
    .addColumn('add_ons_json', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('account_stamp').unique().on('account').column('created_stamp').execute()
  await db.schema
    .createTable('member')
    .addColumn('team_id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('member_pk', ['team_id', 'user_id'])
    .execute()
  await db.schema.createIndex('member_of_user').on('member').columns(['user_id', 'team_id']).execute()
  await db.schema
    .createTable('token')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('team_id', 'text')
    .addColumn('name', 'text')
    .addColumn('scopes_json', 'text')
    .addColumn('project_ids_json', 'text')
    .addColumn('expires_at', 'bigint')
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('token_stamp').unique().on('token').columns(['user_id', 'created_stamp']).execute()
  await db.schema.createIndex('token_expiry').on('token').column('expires_at').execute()
  await createProject(db)
  await createLedgers(db)
}

async function createProject(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('project')
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('git_fork_protection', 'integer', (c) => c.notNull())
    .addColumn('repo', 'text')
    .addColumn('repo_id', 'text')
    .addColumn('repo_url', 'text')
    .addColumn('settings_json', 'text', (c) => c.notNull())
    .addColumn('password_hash', 'text')
    .addColumn('data_cache_disabled_at', 'bigint')
    .addColumn('paused_at', 'bigint')
    .addColumn('resumed_at', 'bigint')
    .addColumn('transfer_started_at', 'bigint')
    .addColumn('transfer_completed_at', 'bigint')
    .addColumn('transfer_to_account_id', 'text')
    .addColumn('transferred_from_account_id', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_stamp', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('project_pk', ['account_id', 'id'])
    .execute()
  await db.schema.createIndex('project_name').unique().on('project').columns(['account_id', 'name']).execute()
  await db.schema.createIndex('project_stamp').unique().on('project').columns(['account_id', 'updated_stamp']).execute()
}

/** What is only ever added to: the stamp is the key, so that a new row touches one page and no other index. */
async function createLedgers(db: Kysely<unknown>): Promise<void> {
  // Only a column that SQLite calls exactly "integer" can be the key that its rows are stored by.
  const stamp = db.getExecutor().adapter instanceof SqliteAdapter ? 'integer' : 'bigint'
  await db.schema
    .createTable('event')
    .addColumn('stamp', stamp, (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text')
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('payload_json', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('event_stamp', ['stamp'])
    .execute()
  await db.schema
    .createTable('audit')
    .addColumn('stamp', stamp, (c) => c.notNull())
    .addColumn('account_id', 'text')
    .addColumn('actor_kind', 'text', (c) => c.notNull())
    .addColumn('actor_id', 'text', (c) => c.notNull())
    .addColumn('token_id', 'text')
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('subject_id', 'text')
    .addColumn('fields_json', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('audit_stamp', ['stamp'])
    .execute()
  await db.schema
    .createTable('fact')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('value', 'text', (c) => c.notNull())
    .execute()
}
