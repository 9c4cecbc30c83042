import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * What visitors feel: every change of a row that the edge answers from is noted by triggers, in the transaction of the change,
 * so that no writer can forget it (docs/decisions/0073). One row a thing; its stamp is when it last changed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('edge_change')
    .addColumn('key', 'text', (c) => c.primaryKey())
    .addColumn('stamp', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('edge_change_order').on('edge_change').columns(['stamp', 'key']).execute()
  const sqlite = db.getExecutor().adapter instanceof SqliteAdapter
  for (const watched of WATCHED) await (sqlite ? watchOnSqlite : watchOnPostgres)(db, watched)
}

type Watched = { table: string; kind: string; id: string; inserts: boolean; columns: string[] }

/** A project that is new leads nowhere yet, and making one stays as fast as it was. */
const WATCHED: Watched[] = [
  {
    table: 'project',
    kind: 'project',
    id: 'id',
    inserts: false,
    columns: ['account_id', 'paused_at', 'live_deployment_id', 'settings_json', 'password_hash', 'bypass_json'],
  },
  {
    table: 'project_domain',
    kind: 'domain',
    id: 'name',
    inserts: true,
    columns: ['account_id', 'project_id', 'verified_at', 'redirect', 'redirect_status_code', 'git_branch'],
  },
  { table: 'alias', kind: 'domain', id: 'name', inserts: true, columns: ['project_id', 'deployment_id'] },
  {
    table: 'deployment',
    kind: 'deployment',
    id: 'id',
    inserts: true,
    columns: ['project_id', 'url', 'target', 'ready_state', 'upstream'],
  },
]

/** Commits come one after another: stamps only grow, whatever the clock does. */
const SQLITE_STAMP = `max(cast(unixepoch('subsec') * 1000 as integer), coalesce((select max(stamp) + 1 from edge_change), 0))`
const POSTGRES_STAMP = `(extract(epoch from clock_timestamp()) * 1000)::bigint`

async function watchOnSqlite(db: Kysely<unknown>, { table, kind, id, inserts, columns }: Watched): Promise<void> {
  const note = (row: string) =>
    `insert into edge_change (key, stamp) values ('${kind} ' || ${row}.${id}, ${SQLITE_STAMP}) on conflict (key) do update set stamp = excluded.stamp`
  const differ = columns.map((column) => `old.${column} is not new.${column}`).join(' or ')
  const verbs = [
    ...(inserts ? [['insert', 'new', '']] : []),
    ['update', 'new', `when ${differ}`],
    ['delete', 'old', ''],
  ] as const
  for (const [verb, row, when] of verbs) {
    await sql
      .raw(`create trigger edge_${table}_${verb} after ${verb} on ${table} ${when} begin ${note(row!)}; end`)
      .execute(db)
  }
}

/** PostgreSQL also tells whoever listens, once the transaction is committed; that is said once, however many rows it changed. */
async function watchOnPostgres(db: Kysely<unknown>, { table, kind, id, inserts, columns }: Watched): Promise<void> {
  await sql
    .raw(`create function edge_${table}_changed() returns trigger language plpgsql as $$
begin
  insert into edge_change (key, stamp)
  values ('${kind} ' || (case when tg_op = 'DELETE' then old.${id} else new.${id} end), ${POSTGRES_STAMP})
  on conflict (key) do update set stamp = excluded.stamp;
  perform pg_notify('berth_edge', '');
  return null;
end $$`)
    .execute(db)
  const differ = columns.map((column) => `old.${column} is distinct from new.${column}`).join(' or ')
  const come = inserts ? 'insert or delete' : 'delete'
  for (const [verbs, when] of [
    [come, ''],
    ['update', `when (${differ})`],
  ]) {
    const name = `edge_${table}_${verbs!.replaceAll(' ', '_')}`
    await sql
      .raw(
        `create trigger ${name} after ${verbs} on ${table} for each row ${when} execute function edge_${table}_changed()`,
      )
      .execute(db)
  }
}
