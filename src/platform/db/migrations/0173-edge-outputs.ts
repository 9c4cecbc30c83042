import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * The edge reads a deployment anew when it gets an output, or another one. An output is found by its manifest, which sites servers fetch, and
 * those that no deployment shows are found by the sweep.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const trigger = 'create trigger edge_deployment_output after update on deployment'
  if (db.getExecutor().adapter instanceof SqliteAdapter) {
    await sql
      .raw(`${trigger} when old.output_id is not new.output_id begin
insert into edge_change (key, stamp) values ('deployment ' || new.id, max(cast(unixepoch('subsec') * 1000 as integer), coalesce((select max(stamp) + 1 from edge_change), 0)))
on conflict (key) do update set stamp = excluded.stamp; end`)
      .execute(db)
  } else {
    await sql
      .raw(`${trigger} for each row when (old.output_id is distinct from new.output_id)
execute function edge_deployment_changed()`)
      .execute(db)
  }
  await db.schema.createIndex('output_manifest').on('output').column('manifest_id').execute()
  await sql`create index output_idle on output (id) where refs = 0`.execute(db)
}
