import { type Kysely, sql } from 'kysely'

/** How many bytes the lines of a log drain have, so that what waits for a drain and for an account is added up without reading the lines. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('delivery').addColumn('body_bytes', 'integer').execute()
  await sql`update delivery set body_bytes = octet_length(body) where status = 'pending' and body is not null`.execute(
    db,
  )
  await db.schema
    .createIndex('delivery_bytes')
    .on('delivery')
    .columns(['account_id', 'endpoint_id', 'body_bytes'])
    .where(sql<boolean>`status = 'pending' and body_bytes > 0`)
    .execute()
}
