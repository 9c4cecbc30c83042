import type { Kysely } from 'kysely'

/** When an unverified domain is looked up next, and until when. The turns of accounts to be looked up. projects/domain-verification/checks.ts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['check_due', 'checked_until'])
    await db.schema.alterTable('project_domain').addColumn(column, 'bigint').execute()
  await db.schema
    .createIndex('project_domain_check')
    .on('project_domain')
    .columns(['account_id', 'check_due'])
    .where('check_due' as never, 'is not', null)
    .execute()
  await db.schema
    .createTable('domain_turn')
    .addColumn('account_id', 'text', (c) => c.primaryKey())
    .addColumn('due_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('domain_turn_due').on('domain_turn').column('due_at').execute()
}
