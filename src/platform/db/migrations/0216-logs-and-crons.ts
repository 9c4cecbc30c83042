import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** Log lines of functions, in pieces. The cron jobs of production, and their runs. Deployments without system variables. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('frozen_env')
    .addColumn('hides_system', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await createLogs(db)
  await createCrons(db)
}

async function createLogs(db: Kysely<unknown>): Promise<void> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  await db.schema
    .createTable('runtime_log')
    .addColumn('id', isSqlite ? 'integer' : 'bigint', (c) =>
      isSqlite ? c.primaryKey() : c.primaryKey().generatedByDefaultAsIdentity(),
    )
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('deployment_id', 'text', (c) => c.notNull())
    .addColumn('first_at', 'bigint', (c) => c.notNull())
    .addColumn('last_at', 'bigint', (c) => c.notNull())
    .addColumn('lines', 'integer', (c) => c.notNull())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('text', 'text', (c) => c.notNull())
    .execute()
  const index = (name: string, ...columns: string[]) =>
    db.schema.createIndex(name).on('runtime_log').columns(columns).execute()
  await index('runtime_log_deployment', 'deployment_id', 'last_at')
  await index('runtime_log_project', 'project_id', 'last_at')
  // With the bytes, so that a sum reads no text.
  await index('runtime_log_account', 'account_id', 'id', 'bytes')
  await index('runtime_log_age', 'last_at')
}

async function createCrons(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('output').addColumn('crons_json', 'text').execute()
  await db.schema.alterTable('project').addColumn('crons_of', 'text').execute()
  // Outputs of before have none.
  await sql`update project set crons_of = live_deployment_id`.execute(db)
  await sql`create index project_crons_changed on project (id)
    where coalesce(crons_of, '') <> coalesce(live_deployment_id, '')`.execute(db)
  await db.schema
    .createTable('cron_job')
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('place', 'integer', (c) => c.notNull())
    .addColumn('deployment_id', 'text', (c) => c.notNull())
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('schedule', 'text', (c) => c.notNull())
    .addColumn('next_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('cron_job_pk', ['project_id', 'place'])
    .execute()
  await db.schema.createIndex('cron_job_due').on('cron_job').column('next_at').execute()
  await db.schema
    .createTable('cron_run')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('deployment_id', 'text', (c) => c.notNull())
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('schedule', 'text', (c) => c.notNull())
    .addColumn('due_at', 'bigint', (c) => c.notNull())
    .addColumn('began_at', 'bigint', (c) => c.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('status', 'integer')
    .addColumn('fault', 'text')
    .execute()
  await db.schema.createIndex('cron_run_project').on('cron_run').columns(['project_id', 'began_at']).execute()
}
