import { type Kysely, sql } from 'kysely'

/** After how many days the deployments of a project expire, and whether its cron jobs are to run. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('project').addColumn('expiration_json', 'text').execute()
  await db.schema.alterTable('project').addColumn('expiration_checked_at', 'bigint').execute()
  await db.schema.alterTable('project').addColumn('crons_json', 'text').execute()
  await db.schema
    .createIndex('project_expiration')
    .on('project')
    .column('expiration_checked_at')
    .where(sql<boolean>`expiration_checked_at is not null`)
    .execute()
}
