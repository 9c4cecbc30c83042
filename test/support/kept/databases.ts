/**
 * Databases that one world has after another, with their connections. To make one and to connect to it costs PostgreSQL more than most
 * tests do. Between two worlds it is emptied; one that is not as it was made is dropped. docs/testing.md: Shared data.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openConnections } from '../../../src/platform/db/postgres/open.ts'
import type { Connections } from '../../../src/platform/db/postgres/pipeline.ts'
import { MIGRATED } from '../postgres.ts'

/** `connect`: for `openService`. `release`: after that service is closed. `end`: ends the connections for good, before it is closed. */
export type Lent = { url: string; connect: typeof openConnections; release(): Promise<void>; end(): void }

/** `isLost`: the server ended a connection. `onLost`: of the service that uses it. */
type Kept = {
  url: string
  connections?: Connections
  options?: string
  isLost: boolean
  onLost: (error: Error) => void
}
type Makes = { make: () => Promise<string>; drop: (url: string) => void }

const idle: Kept[] = []

/** Returns a database that is migrated and otherwise empty. `make` and `drop`: for databases that are not reused. */
export async function lendDatabase({ make, drop }: Makes): Promise<Lent> {
  let found = idle.pop()
  while (found !== undefined && !(await isEmptied(found).catch(() => false))) {
    await discard(found, drop)
    found = idle.pop()
  }
  const kept: Kept = found ?? { url: await make(), isLost: false, onLost: () => {} }
  let ends = false
  return {
    url: kept.url,
    connect(url, onLost, options) {
      const wanted = JSON.stringify(options)
      if (kept.connections !== undefined && kept.options !== wanted) return openConnections(url, onLost, options)
      const lose = (error: Error) => {
        kept.isLost = true
        kept.onLost(error)
      }
      kept.onLost = onLost
      kept.options = wanted
      kept.connections ??= openConnections(url, lose, options)
      return lendConnections(kept.connections, () => ends)
    },
    end() {
      ends = true
    },
    async release() {
      if (ends) drop(kept.url)
      else if (kept.isLost || kept.connections === undefined) await discard(kept, drop)
      else idle.push(kept)
    },
  }
}

/** Ends the connections of unused databases, and drops these. */
export async function dropKept(drop: Makes['drop']): Promise<void> {
  for (const kept of idle.splice(0)) await discard(kept, drop)
}

async function discard({ url, connections }: Kept, drop: Makes['drop']): Promise<void> {
  if (connections !== undefined) {
    const { pool, pipeline, apart } = connections
    await Promise.all([pool.end(), pipeline.close(), apart.close()])
  }
  drop(url)
}

/** The same connections, which stay open when the service closes its store, unless they are to end. */
function lendConnections({ pool, pipeline, apart, names, idle }: Connections, ends: () => boolean): Connections {
  const close = (pipeline: Connections['pipeline']) => async () => (ends() ? pipeline.close() : undefined)
  return {
    pool: {
      options: pool.options,
      connect: () => pool.connect(),
      end: async () => (ends() ? pool.end() : undefined),
      get totalCount() {
        return pool.totalCount
      },
      get idleCount() {
        return pool.idleCount
      },
      get waitingCount() {
        return pool.waitingCount
      },
    } as Connections['pool'],
    pipeline: { ...pipeline, close: close(pipeline) },
    apart: { ...apart, close: close(apart) },
    names,
    idle,
  }
}

/** Empties every table. Throws where the database does not allow it. Returns whether the database is then as it was created, without another connection. */
async function isEmptied({ connections }: Kept): Promise<boolean> {
  const { pool, pipeline, apart } = connections!
  if (pool.totalCount !== pool.idleCount) return false
  const clients = await Promise.all(Array.from({ length: Math.max(1, pool.idleCount) }, () => pool.connect()))
  try {
    await Promise.all(clients.map((client) => client.query('reset all; unlisten *')))
    const own = clients.length + pipeline.open() + apart.open()
    if (!(await isAlone(clients[0]!, own))) return false
    madeShape ??= readMadeShape()
    if ((await shapeOf(clients[0]!)) !== (await madeShape)) return false
    await clients[0]!.query(EMPTY)
    return true
  } finally {
    for (const client of clients) client.release()
  }
}

/** Returns whether the database has only these connections. Waits for those that just ended. */
async function isAlone(client: pg.ClientBase, own: number): Promise<boolean> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const { connected, held } = (await client.query(CONNECTED)).rows[0]
    if (held > 0) return false
    if (connected <= own) return true
    await sleep(5)
  }
  return false
}

const CONNECTED = `
  select
    (select count(*) from pg_stat_activity where datid = own.oid and backend_type = 'client backend') as connected,
    (select count(*) from pg_locks where database = own.oid and locktype = 'advisory') as held
  from pg_database own where datname = current_database()`

/** Its triggers do not run, and nothing is published. Deleting a few rows is faster than creating new files for the table. */
const EMPTY = `do $$
declare
  entry record;
begin
  set local session_replication_role = replica;
  for entry in
    select oid::regclass as name, pg_relation_size(oid) as bytes from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like 'kysely%'
  loop
    if entry.bytes > 262144 then
      execute format('truncate %s', entry.name);
    elsif entry.bytes > 0 then
      execute format('delete from %s', entry.name);
    end if;
  end loop;
end $$`

/** A fingerprint of the schema and settings of a database: copies of the migrated one have the same. */
let madeShape: Promise<string> | undefined

async function readMadeShape(): Promise<string> {
  const client = new pg.Client({ connectionString: `${process.env.BERTH_TEST_POSTGRES}/${MIGRATED}` })
  await client.connect()
  return shapeOf(client).finally(() => client.end())
}

async function shapeOf(client: pg.ClientBase): Promise<string> {
  return String((await client.query(SHAPE)).rows[0].shape)
}

const SHAPE = `
  select sum(hashtext(part)::bigint) as shape from (
    select concat('class', oid, relname, relkind, reloptions) as part from pg_class where relnamespace = 'public'::regnamespace
    union all
    select concat('column', attrelid, attname, atttypid, attnotnull, attisdropped) from pg_attribute
    where attrelid >= 16384 and attnum > 0
    union all select concat('trigger', oid, tgname, tgenabled) from pg_trigger
    union all select concat('function', oid, proname, md5(prosrc)) from pg_proc where pronamespace = 'public'::regnamespace
    union all select concat('constraint', oid, conname, convalidated) from pg_constraint where connamespace = 'public'::regnamespace
    union all select concat('schema', nspname) from pg_namespace where nspname not like 'pg\\_%'
    union all select concat('database', datallowconn, datdba) from pg_database where datname = current_database()
    union all select concat('migration', name) from kysely_migration
    union all
    select concat('setting', setrole, setconfig) from pg_db_role_setting
    where setdatabase = (select oid from pg_database where datname = current_database())
  ) parts`
