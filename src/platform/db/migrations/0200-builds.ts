import { type Kysely, sql } from 'kysely'

const COUNTS = ['log_acknowledged', 'log_lines', 'log_bytes', 'log_date', 'cancel_requested', 'attempt']

/** Sources of deployments, why a build failed, the queue of builds with its leases, and the index of their logs. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('deployment').addColumn('source_id', 'bigint').execute()
  await db.schema.alterTable('deployment').addColumn('error_code', 'text').execute()
  await db.schema.alterTable('deployment').addColumn('error_message', 'text').execute()
  await sql`create index deployment_source on deployment (source_id) where source_id is not null`.execute(db)
  let build = db.schema
    .createTable('build')
    .addColumn('deployment_id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('is_production', 'integer', (column) => column.notNull())
    .addColumn('takes_domains', 'integer', (column) => column.notNull())
    .addColumn('git_branch', 'text')
    .addColumn('runner', 'text')
    .addColumn('token_hash', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('queued_at', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addColumn('sealed_env', 'text')
    .addColumn('settings_json', 'text', (column) => column.notNull())
  for (const name of COUNTS) build = build.addColumn(name, 'bigint', (column) => column.notNull().defaultTo(0))
  await build.execute()
  // Most builds have ended, and the queue never reads those.
  await sql`create index build_waiting on build (account_id, queued_at) where state = 'waiting'`.execute(db)
  await sql`create index build_leased on build (lease_until) where state = 'leased'`.execute(db)
  await db.schema.createIndex('build_started').on('build').columns(['account_id', 'started_at']).execute()
  await db.schema.createIndex('build_project').on('build').column('project_id').execute()
  await db.schema
    .createTable('build_log')
    .addColumn('deployment_id', 'text', (column) => column.notNull())
    .addColumn('first_serial', 'bigint', (column) => column.notNull())
    .addColumn('lines', 'integer', (column) => column.notNull())
    .addColumn('last_date', 'bigint', (column) => column.notNull())
    .addColumn('blob_id', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('build_log_pk', ['deployment_id', 'first_serial'])
    .execute()
  await db.schema.createIndex('build_log_blob').on('build_log').column('blob_id').execute()
}
