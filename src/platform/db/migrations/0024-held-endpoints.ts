/** Since when a webhook or log drain is held because who made it has no access any more, and why. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['webhook', 'log_drain']) {
    await db.schema.alterTable(table).addColumn('held_at', 'bigint').execute()
    await db.schema.alterTable(table).addColumn('held_reason', 'text').execute()
    await db.schema
      .createIndex(`${table}_held`)
      .on(table)
      .column('held_at')
      .where(sql.ref('held_at'), 'is not', null)
      .execute()
  }
}
