import { type Kysely, sql } from 'kysely'

/**
 * An alias may be an address that Berth gave, and no domain: `production`, or `branch ` and the git branch. A project has one of each. Those
 * that lead to a deployment are few, and found by it when it goes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('alias').addColumn('address_of', 'text').execute()
  await db.schema
    .createIndex('alias_address')
    .unique()
    .on('alias')
    .columns(['project_id', 'address_of'])
    .where(sql.ref('address_of'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('alias_address_name')
    .on('alias')
    .column('name')
    .where(sql.ref('address_of'), 'is not', null)
    .execute()
}
