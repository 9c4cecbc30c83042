import { type Kysely, sql } from 'kysely'

/**
 * Deployments, the aliases that lead to them, and the requests that remap aliases. A project says in one column what its
 * answer shows of them, so that reading a project stays one query (docs/decisions/0040).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [column, type] of [
    ['live_deployment_id', 'text'],
    ['deployments_json', 'text'],
    ['auto_assign_off_at', 'bigint'],
  ] as const) {
    await db.schema.alterTable('project').addColumn(column, type).execute()
  }
  // The edge names a domain by its name alone, verified or not.
  await db.schema.createIndex('project_domain_name').on('project_domain').column('name').execute()
  // The operator names a project by its id alone.
  await db.schema.createIndex('project_by_id').on('project').column('id').execute()
  await createDeployment(db)
  await createAlias(db)
  await createRequest(db)
}

async function createDeployment(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('deployment')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('url', 'text', (c) => c.notNull().unique())
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('ready_state', 'text', (c) => c.notNull())
    .addColumn('git_branch', 'text')
    .addColumn('meta_json', 'text', (c) => c.notNull())
    .addColumn('upstream', 'text')
    .addColumn('plan', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('building_at', 'bigint')
    .addColumn('ready_at', 'bigint')
    .addColumn('failed_at', 'bigint')
    .addColumn('promoted_at', 'bigint')
    .execute()
  await db.schema
    .createIndex('deployment_stamp')
    .unique()
    .on('deployment')
    .columns(['account_id', 'created_stamp'])
    .execute()
  await db.schema.createIndex('deployment_list').on('deployment').columns(['project_id', 'created_stamp']).execute()
  await db.schema
    .createIndex('deployment_target')
    .on('deployment')
    .columns(['project_id', 'target', 'created_stamp'])
    .execute()
  await db.schema
    .createIndex('deployment_branch')
    .on('deployment')
    .columns(['project_id', 'git_branch', 'ready_state', 'created_stamp'])
    .where(sql.ref('git_branch'), 'is not', null)
    .execute()
}

async function createAlias(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('alias')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('deployment_id', 'text', (c) => c.notNull())
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('alias_list').on('alias').columns(['account_id', 'created_stamp']).execute()
  await db.schema.createIndex('alias_project').on('alias').columns(['project_id', 'created_stamp']).execute()
  await db.schema.createIndex('alias_deployment').on('alias').columns(['deployment_id', 'created_stamp']).execute()
}

async function createRequest(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('alias_request')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('from_deployment_id', 'text')
    .addColumn('to_deployment_id', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('requested_stamp', 'bigint', (c) => c.notNull())
    .addColumn('advanced_stamp', 'bigint', (c) => c.notNull())
    .addColumn('finished_at', 'bigint')
    .execute()
  await db.schema
    .createIndex('alias_request_last')
    .on('alias_request')
    .columns(['project_id', 'requested_stamp'])
    .execute()
  await db.schema
    .createIndex('alias_request_open')
    .on('alias_request')
    .column('advanced_stamp')
    .where(sql.ref('finished_at'), 'is', null)
    .execute()
  await db.schema
    .createTable('alias_mapping')
    .addColumn('request_id', 'text', (c) => c.notNull())
    .addColumn('place', 'bigint', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('alias_mapping_pk', ['request_id', 'place'])
    .execute()
  await db.schema
    .createIndex('alias_mapping_status')
    .on('alias_mapping')
    .columns(['request_id', 'status', 'place'])
    .execute()
}
