import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** Outputs of deployments, the files that each has, and which output a deployment shows. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  await db.schema
    .createTable('output')
    .addColumn('id', isSqlite ? 'integer' : 'bigint', (c) =>
      isSqlite ? c.primaryKey() : c.primaryKey().generatedByDefaultAsIdentity(),
    )
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('sha256', 'text', (c) => c.notNull())
    .addColumn('manifest_id', 'bigint', (c) => c.notNull())
    .addColumn('refs', 'integer', (c) => c.notNull().defaultTo(0))
    .addUniqueConstraint('output_content', ['account_id', 'sha256'])
    .execute()
  await db.schema
    .createTable('output_blob')
    .addColumn('output_id', 'bigint', (c) => c.notNull())
    .addColumn('blob_id', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('output_blob_pk', ['output_id', 'blob_id'])
    .execute()
  await db.schema.alterTable('deployment').addColumn('output_id', 'bigint').execute()
  await sql`create index deployment_output on deployment (output_id) where output_id is not null`.execute(db)
}
