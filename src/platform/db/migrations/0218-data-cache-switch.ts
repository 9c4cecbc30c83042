import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** The edge reads a project again when its data cache is switched on or off. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const trigger = 'create trigger edge_project_data_cache after update on project'
  if (db.getExecutor().adapter instanceof SqliteAdapter)
    await sql
      .raw(`${trigger} when old.data_cache_disabled_at is not new.data_cache_disabled_at begin
insert into edge_change (key, stamp) values ('project ' || new.id, max(cast(unixepoch('subsec') * 1000 as integer), coalesce((select max(stamp) + 1 from edge_change), 0)))
on conflict (key) do update set stamp = excluded.stamp; end`)
      .execute(db)
  else
    await sql
      .raw(`${trigger} for each row when (old.data_cache_disabled_at is distinct from new.data_cache_disabled_at)
execute function edge_project_changed()`)
      .execute(db)
}
