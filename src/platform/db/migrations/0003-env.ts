import type { Kysely } from 'kysely'

/** Environment variables: the variables, the places they take, what they add up to, their history, and the keys that seal them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createKeys(db)
  await createVariables(db)
  await createHistory(db)
}

async function createKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('root_key')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('sealed_check', 'text', (c) => c.notNull())
    .addColumn('activated_stamp', 'bigint')
    .execute()
  await db.schema.createIndex('root_key_stamp').unique().on('root_key').column('activated_stamp').execute()
  await db.schema
    .createTable('project_key')
    .addColumn('project_id', 'text', (c) => c.primaryKey())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('root_key_id', 'text', (c) => c.notNull())
    .addColumn('wrapped_key', 'text', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('project_key_root').on('project_key').column('root_key_id').execute()
}

async function createVariables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('env_var')
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('targets', 'text', (c) => c.notNull())
    .addColumn('git_branch', 'text', (c) => c.notNull())
    .addColumn('sealed_value', 'text', (c) => c.notNull())
    .addColumn('value_version', 'integer', (c) => c.notNull())
    .addColumn('value_bytes', 'integer', (c) => c.notNull())
    .addColumn('comment', 'text')
    .addColumn('configuration_id', 'text')
    .addColumn('edge_config_id', 'text')
    .addColumn('edge_config_token_id', 'text')
    .addColumn('content_hint_json', 'text')
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('created_by', 'text')
    .addColumn('updated_by', 'text')
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('env_var_pk', ['project_id', 'id'])
    .execute()
  await db.schema.createIndex('env_var_stamp').unique().on('env_var').columns(['project_id', 'created_stamp']).execute()
  await db.schema
    .createTable('env_target')
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('git_branch', 'text', (c) => c.notNull())
    .addColumn('env_id', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('env_target_pk', ['project_id', 'key', 'target', 'git_branch'])
    .execute()
  await db.schema
    .createTable('env_usage')
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('variables', 'integer', (c) => c.notNull())
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('env_usage_pk', ['project_id', 'target'])
    .execute()
}

async function createHistory(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('env_history')
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('env_id', 'text', (c) => c.notNull())
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('changed_json', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('targets', 'text', (c) => c.notNull())
    .addColumn('git_branch', 'text', (c) => c.notNull())
    .addColumn('sealed_value', 'text')
    .addColumn('value_version', 'integer', (c) => c.notNull())
    .addColumn('comment', 'text')
    .addColumn('configuration_id', 'text')
    .addColumn('actor_kind', 'text', (c) => c.notNull())
    .addColumn('actor_id', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint')
    .addPrimaryKeyConstraint('env_history_pk', ['project_id', 'env_id', 'version'])
    .execute()
  await db.schema.createIndex('env_history_expiry').on('env_history').column('expires_at').execute()
}
