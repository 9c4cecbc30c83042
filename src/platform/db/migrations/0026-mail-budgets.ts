/** How many letters a person gets is counted by address and kind: those that somebody asked for, and those that Berth writes by itself. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('mail')
    .addColumn('asked', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema.alterTable('mail').addColumn('topic', 'text').execute()
  await db.schema.createIndex('mail_recipient').on('mail').columns(['recipient', 'asked', 'created_stamp']).execute()
}
