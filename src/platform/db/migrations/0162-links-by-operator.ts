/** The operator who made a password link: it ends with their right to make it. Null: the operator token, the first start. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('password_link').addColumn('created_by', 'text').execute()
}
