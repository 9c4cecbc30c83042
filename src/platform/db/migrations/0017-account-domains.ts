import { type Kysely, sql } from 'kysely'

/** Apex domains that an account proves as a whole. `account_domain_proven`: a proof of an apex is one account's at a time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('account_domain')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('challenge_token', 'text', (c) => c.notNull())
    .addColumn('proven_at', 'bigint')
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('account_domain_pk', ['account_id', 'name'])
    .execute()
  await db.schema
    .createIndex('account_domain_stamp')
    .unique()
    .on('account_domain')
    .columns(['account_id', 'created_stamp'])
    .execute()
  await db.schema
    .createIndex('account_domain_proven')
    .unique()
    .on('account_domain')
    .column('name')
    .where(sql.ref('proven_at'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('account_domain_token')
    .on('account_domain')
    .columns(['name', 'challenge_token'])
    .execute()
}
