/** Webhooks of installations that ended hear of that end, so they go after it; and what is held for people is found by its endpoint. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('webhook').addColumn('ended_at', 'bigint').execute()
  await db.schema
    .createIndex('webhook_ended')
    .on('webhook')
    .column('ended_at')
    .where(sql.ref('ended_at'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('delivery_held_endpoint')
    .on('delivery')
    .columns(['endpoint_id', 'created_stamp'])
    .where(sql<boolean>`held_at is not null and configuration_id is null`)
    .execute()
}
