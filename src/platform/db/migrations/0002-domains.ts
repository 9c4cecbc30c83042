import { type Kysely, sql } from 'kysely'

/**
 * Domains of projects. `project_domain_verified` is the promise that a name has at most one verified holder, over all
 * accounts. Every writer looks for a holder first, so that PostgreSQL tells two that race "run it again", not "taken".
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('project_domain')
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('apex_name', 'text', (c) => c.notNull())
    .addColumn('git_branch', 'text')
    .addColumn('redirect', 'text')
    .addColumn('redirect_status_code', 'integer')
    .addColumn('challenge_token', 'text', (c) => c.notNull())
    .addColumn('verified_at', 'bigint')
    .addColumn('proven_at', 'bigint')
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('project_domain_pk', ['account_id', 'name'])
    .execute()
  await createIndexes(db)
}

async function createIndexes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('project_domain_verified')
    .unique()
    .on('project_domain')
    .column('name')
    .where(sql.ref('verified_at'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('project_domain_stamp')
    .unique()
    .on('project_domain')
    .columns(['account_id', 'created_stamp'])
    .execute()
  await db.schema
    .createIndex('project_domain_list')
    .on('project_domain')
    .columns(['account_id', 'project_id', 'created_stamp'])
    .execute()
  await db.schema
    .createIndex('project_domain_redirect')
    .on('project_domain')
    .columns(['account_id', 'project_id', 'redirect'])
    .where(sql.ref('redirect'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('project_domain_apex')
    .on('project_domain')
    .columns(['apex_name', 'account_id', 'created_stamp'])
    .execute()
  await db.schema
    .createIndex('project_domain_proof')
    .on('project_domain')
    .columns(['apex_name', 'proven_at'])
    .where(sql.ref('proven_at'), 'is not', null)
    .execute()
}
