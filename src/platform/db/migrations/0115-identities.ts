/** Who a person is at the provider of single sign-on, and letters by which somebody who is here already confirms that it is them. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('identity')
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('sub', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('refresh_token', 'text')
    .addColumn('checked_at', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addPrimaryKeyConstraint('identity_pkey', ['issuer', 'sub'])
    .execute()
  await db.schema.createIndex('identity_user').unique().on('identity').columns(['user_id']).execute()
  await db.schema.createIndex('identity_due').on('identity').columns(['due_at']).execute()
  await db.schema
    .createTable('identity_link')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('sub', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('identity_link_user').on('identity_link').columns(['user_id']).execute()
  await db.schema.createIndex('identity_link_expires').on('identity_link').columns(['expires_at']).execute()
}
