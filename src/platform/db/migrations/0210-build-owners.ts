import { type Kysely, sql } from 'kysely'

/** Builds take turns by the owner of their account too, one head for each account, and keep the variables of their project. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('build')
    .addColumn('owner_id', 'text', (column) => column.notNull().defaultTo(''))
    .execute()
  await db.schema.alterTable('build').addColumn('variables_json', 'text').execute()
  await sql`update build set owner_id = account_id`.execute(db)
  await sql`drop index build_waiting`.execute(db)
  await sql`create index build_head on build (account_id, is_production desc, queued_at, deployment_id)
    where state = 'waiting'`.execute(db)
  await sql`create index build_owner_waiting on build (owner_id) where state = 'waiting'`.execute(db)
  await db.schema.createIndex('build_owner_started').on('build').columns(['owner_id', 'started_at']).execute()
}
