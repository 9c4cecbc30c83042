import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** TABLE of what a row of each watched table is, and its key. */
const WATCHED = [
  ['project', 'project', 'id'],
  ['project_domain', 'domain', 'name'],
  ['alias', 'domain', 'name'],
  ['deployment', 'deployment', 'id'],
] as const

/**
 * On PostgreSQL the edge hears of rows of `edge_change` as everybody hears of changes (src/platform/db/postgres/change-triggers.ts), so the triggers that write
 * them tell nobody any more: a NOTIFY takes a lock of the whole database at the commit. An instance of an earlier version that runs on
 * meanwhile reads them every two seconds.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (db.getExecutor().adapter instanceof SqliteAdapter) return
  for (const [table, kind, id] of WATCHED)
    await sql
      .raw(`create or replace function edge_${table}_changed() returns trigger language plpgsql as $$
begin
  insert into edge_change (key, stamp)
  values (
    '${kind} ' || (case when tg_op = 'DELETE' then old.${id} else new.${id} end),
    (extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict (key) do update set stamp = excluded.stamp;
  return null;
end $$`)
      .execute(db)
}
