import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** Files of accounts by their content, the names under which clients upload them, and how much each account has. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  await db.schema
    .createTable('blob')
    .addColumn('id', isSqlite ? 'integer' : 'bigint', (c) =>
      isSqlite ? c.primaryKey() : c.primaryKey().generatedByDefaultAsIdentity(),
    )
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('sha256', 'text', (c) => c.notNull())
    .addColumn('size', 'bigint', (c) => c.notNull())
    .addColumn('refs', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('condemned_at', 'bigint')
    .addUniqueConstraint('blob_content', ['account_id', 'sha256'])
    .execute()
  // The sweep looks at what nothing refers to, and never at all the others.
  await sql`create index blob_idle on blob (id) where refs = 0 and condemned_at is null`.execute(db)
  await sql`create index blob_condemned on blob (condemned_at) where condemned_at is not null`.execute(db)
  await db.schema
    .createTable('upload')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('sha1', 'text', (c) => c.notNull())
    .addColumn('blob_id', 'bigint', (c) => c.notNull())
    .addColumn('touched_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('upload_pk', ['account_id', 'sha1'])
    .execute()
  await db.schema.createIndex('upload_blob').on('upload').column('blob_id').execute()
  await db.schema
    .createTable('file_usage')
    .addColumn('account_id', 'text', (c) => c.primaryKey())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .execute()
}
