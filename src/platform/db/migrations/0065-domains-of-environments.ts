import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * A domain may show a custom environment of its project, and a deployment may be of one. Null: production or a branch, and
 * production or preview. The edge reads a domain anew when this changes too.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('project_domain').addColumn('custom_environment_id', 'text').execute()
  await db.schema.alterTable('deployment').addColumn('custom_environment_id', 'text').execute()
  await db.schema
    .createIndex('deployment_environment')
    .on('deployment')
    .columns(['project_id', 'custom_environment_id', 'ready_state', 'created_stamp'])
    .where(sql.ref('custom_environment_id'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('project_domain_environment')
    .on('project_domain')
    .columns(['account_id', 'project_id', 'custom_environment_id'])
    .where(sql.ref('custom_environment_id'), 'is not', null)
    .execute()
  const trigger = 'create trigger edge_project_domain_environment after update on project_domain'
  if (db.getExecutor().adapter instanceof SqliteAdapter) {
    await sql
      .raw(`${trigger} when old.custom_environment_id is not new.custom_environment_id begin
insert into edge_change (key, stamp) values ('domain ' || new.name, max(cast(unixepoch('subsec') * 1000 as integer), coalesce((select max(stamp) + 1 from edge_change), 0)))
on conflict (key) do update set stamp = excluded.stamp; end`)
      .execute(db)
    return
  }
  await sql
    .raw(`${trigger} for each row when (old.custom_environment_id is distinct from new.custom_environment_id)
execute function edge_project_domain_changed()`)
    .execute(db)
}
