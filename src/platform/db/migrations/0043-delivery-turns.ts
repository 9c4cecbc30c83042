import { type Kysely, sql } from 'kysely'

/** What waits, by account and endpoint, so that accounts take turns and what each has is counted. It takes the place of `delivery_due`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('delivery_waiting')
    .on('delivery')
    .columns(['account_id', 'endpoint_id', 'due_at'])
    .where(sql<boolean>`status = 'pending'`)
    .execute()
  await db.schema.dropIndex('delivery_due').execute()
}
