import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** What was purged of the cached pages of a project. The edge reads a project again when it changes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('project').addColumn('purges_json', 'text').execute()
  const trigger = 'create trigger edge_project_purges after update on project'
  if (db.getExecutor().adapter instanceof SqliteAdapter)
    await sql
      .raw(`${trigger} when old.purges_json is not new.purges_json begin
insert into edge_change (key, stamp) values ('project ' || new.id, max(cast(unixepoch('subsec') * 1000 as integer), coalesce((select max(stamp) + 1 from edge_change), 0)))
on conflict (key) do update set stamp = excluded.stamp; end`)
      .execute(db)
  else
    await sql
      .raw(`${trigger} for each row when (old.purges_json is distinct from new.purges_json)
execute function edge_project_changed()`)
      .execute(db)
}
