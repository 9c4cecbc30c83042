import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * Two changes of one thing within a millisecond had one stamp on PostgreSQL, and the second was passed over as already seen:
 * there too a thing's stamp now rises with every change (docs/decisions/0073). On SQLite stamps always counted on.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (db.getExecutor().adapter instanceof SqliteAdapter) return
  await sql
    .raw(`create function edge_change_rises() returns trigger language plpgsql as $$
begin
  new.stamp := greatest(new.stamp, old.stamp + 1);
  return new;
end $$`)
    .execute(db)
  await sql
    .raw(
      'create trigger edge_change_rises before update on edge_change for each row execute function edge_change_rises()',
    )
    .execute(db)
}
