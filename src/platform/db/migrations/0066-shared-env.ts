import { type Kysely, sql } from 'kysely'

/**
 * Variables of an account that several of its projects have. A place (key, target) of an account is taken once. Values are sealed by the
 * data key of the account.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('shared_env_var')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('targets', 'text', (c) => c.notNull())
    .addColumn('sealed_value', 'text', (c) => c.notNull())
    .addColumn('value_version', 'integer', (c) => c.notNull())
    .addColumn('value_bytes', 'integer', (c) => c.notNull())
    .addColumn('comment', 'text')
    .addColumn('configuration_id', 'text')
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('created_by', 'text', (c) => c.notNull())
    .addColumn('updated_by', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('shared_env_var_pk', ['account_id', 'id'])
    .execute()
  await db.schema
    .createIndex('shared_env_var_configuration')
    .on('shared_env_var')
    .column('configuration_id')
    .where(sql.ref('configuration_id'), 'is not', null)
    .execute()
  await db.schema
    .createTable('shared_env_target')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('variable_id', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('shared_env_target_pk', ['account_id', 'key', 'target'])
    .execute()
  await db.schema
    .createTable('shared_env_link')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('variable_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('shared_env_link_pk', ['account_id', 'variable_id', 'project_id'])
    .execute()
  await db.schema.createIndex('shared_env_link_project').on('shared_env_link').column('project_id').execute()
}
