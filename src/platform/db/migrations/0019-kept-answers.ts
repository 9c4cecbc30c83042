/** Answers to requests that brought an Idempotency-Key, kept for 24 hours. docs/decisions/0118. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('kept_answer')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('asked', 'text', (c) => c.notNull())
    .addColumn('status', 'integer', (c) => c.notNull())
    .addColumn('sealed_body', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('kept_answer_age').on('kept_answer').column('created_at').execute()
}
