import { type Kysely, sql } from 'kysely'
import { createDeliveries } from './0004-deliveries.ts'

/** Integrations: apps, their installations and codes; people who sign in; webhooks, log drains, deliveries and mail. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createSignIn(db)
  await createIntegrations(db)
  await createConfigurations(db)
  await createGrants(db)
  await createWebhooks(db)
  await createDrains(db)
  await createDeliveries(db)
  await createMail(db)
  await db.schema.alterTable('token').addColumn('configuration_id', 'text').execute()
  await db.schema.createIndex('env_var_configuration').on('env_var').column('configuration_id').execute()
  await db.schema.createIndex('token_configuration').on('token').column('configuration_id').execute()
  await db.schema.alterTable('event').addColumn('configuration_id', 'text').execute()
}

async function createSignIn(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sign_in')
    .addColumn('user_id', 'text', (c) => c.primaryKey())
    .addColumn('password_hash', 'text')
    .addColumn('failures', 'integer', (c) => c.notNull())
    .addColumn('locked_until', 'bigint')
    .execute()
  await db.schema
    .createTable('session')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('session_user').on('session').column('user_id').execute()
  await db.schema.createIndex('session_expiry').on('session').column('expires_at').execute()
  await db.schema
    .createTable('password_link')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint')
    .execute()
  await db.schema.createIndex('password_link_expiry').on('password_link').column('expires_at').execute()
}

async function createIntegrations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('integration')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('team_id', 'text', (c) => c.notNull())
    .addColumn('slug', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('redirect_url', 'text', (c) => c.notNull())
    .addColumn('logo_url', 'text')
    .addColumn('scopes_json', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('integration_slug').unique().on('integration').column('slug').execute()
  await db.schema.createIndex('integration_stamp').unique().on('integration').column('created_stamp').execute()
  await db.schema.createIndex('integration_team').on('integration').columns(['team_id', 'created_stamp']).execute()
  await db.schema
    .createTable('integration_secret')
    .addColumn('integration_id', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('sealed_secret', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('integration_secret_pk', ['integration_id', 'id'])
    .execute()
}

async function createConfigurations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('configuration')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('integration_id', 'text', (c) => c.notNull())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('scopes_json', 'text', (c) => c.notNull())
    .addColumn('project_selection', 'text', (c) => c.notNull())
    .addColumn('source', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addColumn('completed_at', 'bigint')
    .addColumn('disabled_at', 'bigint')
    .addColumn('disabled_reason', 'text')
    .addColumn('resumed_at', 'bigint')
    .addColumn('deleted_at', 'bigint')
    .execute()
  await db.schema
    .createIndex('configuration_place')
    .unique()
    .on('configuration')
    .columns(['integration_id', 'account_id'])
    .where(sql.ref('deleted_at'), 'is', null)
    .execute()
  await db.schema
    .createIndex('configuration_stamp')
    .unique()
    .on('configuration')
    .columns(['account_id', 'created_stamp'])
    .execute()
  await db.schema.createIndex('configuration_disabled').on('configuration').column('disabled_at').execute()
}

async function createGrants(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('configuration_project')
    .addColumn('configuration_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('configuration_project_pk', ['configuration_id', 'project_id'])
    .execute()
  await db.schema
    .createIndex('configuration_project_project')
    .on('configuration_project')
    .column('project_id')
    .execute()
  await db.schema
    .createTable('authorization_code')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('configuration_id', 'text', (c) => c.notNull())
    .addColumn('integration_id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('redirect_uri', 'text', (c) => c.notNull())
    .addColumn('code_challenge', 'text')
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('used_stamp', 'bigint')
    .addColumn('token_id', 'text')
    .execute()
  await db.schema
    .createIndex('authorization_code_configuration')
    .on('authorization_code')
    .column('configuration_id')
    .execute()
  await db.schema.createIndex('authorization_code_expiry').on('authorization_code').column('expires_at').execute()
}

async function createWebhooks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('integration_id', 'text')
    .addColumn('configuration_id', 'text')
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('events_json', 'text')
    .addColumn('project_ids_json', 'text')
    .addColumn('sealed_secret', 'text')
    .addColumn('created_by', 'text')
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addColumn('failing_since', 'bigint')
    .addColumn('disabled_at', 'bigint')
    .addColumn('disabled_reason', 'text')
    .execute()
  await db.schema.createIndex('webhook_stamp').unique().on('webhook').columns(['account_id', 'created_stamp']).execute()
  await db.schema.createIndex('webhook_integration').unique().on('webhook').column('integration_id').execute()
}

async function createDrains(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('log_drain')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('configuration_id', 'text')
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('delivery_format', 'text', (c) => c.notNull())
    .addColumn('sealed_secret', 'text', (c) => c.notNull())
    .addColumn('sealed_headers', 'text')
    .addColumn('sources_json', 'text')
    .addColumn('environments_json', 'text', (c) => c.notNull())
    .addColumn('project_ids_json', 'text')
    .addColumn('created_by', 'text')
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addColumn('failing_since', 'bigint')
    .addColumn('disabled_at', 'bigint')
    .addColumn('disabled_reason', 'text')
    .execute()
  await db.schema
    .createIndex('log_drain_stamp')
    .unique()
    .on('log_drain')
    .columns(['account_id', 'created_stamp'])
    .execute()
}

async function createMail(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('mail')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('recipient', 'text', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('body_text', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('due_at', 'bigint')
    .addColumn('sent_at', 'bigint')
    .addColumn('failed_at', 'bigint')
    .addColumn('last_error', 'text')
    .execute()
  await db.schema.createIndex('mail_stamp').unique().on('mail').column('created_stamp').execute()
  await db.schema.createIndex('mail_due').on('mail').column('due_at').execute()
}
