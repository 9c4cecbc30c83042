import type { Kysely } from 'kysely'

/** Repository links with the credentials that providers ask for, and the secrets by which automation passes a protection. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['link_json', 'bypass_json']) {
    await db.schema.alterTable('project').addColumn(column, 'text').execute()
  }
  await db.schema
    .createTable('git_credential')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('provider', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('base_url', 'text', (c) => c.notNull())
    .addColumn('username', 'text')
    .addColumn('sealed_token', 'text', (c) => c.notNull())
    .addColumn('webhook_url', 'text', (c) => c.notNull())
    .addColumn('sealed_webhook_secret', 'text')
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('git_credential_pk', ['account_id', 'provider'])
    .execute()
}
