/** A migration that is killed half-way leaves the old schema or the new one, from every earlier schema. docs/spec/reliability.md F24. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import pg from 'pg'
import { openPostgres } from '../../src/platform/db/postgres/open.ts'
import { sqliteDialect } from '../../src/platform/db/sqlite/dialect.ts'
import { openSqlite } from '../../src/platform/db/sqlite/open.ts'
import { launch, newHome, type ServiceHome } from '../support/process.ts'
import { newDatabase } from '../support/world.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { startAndCount } from './kill.ts'
import { withClient } from './postgres-server.ts'
import { type Rows, withStore } from './store.ts'

const SCHEMA = {
  sqlite: "select type, name, sql from sqlite_master where name not like '%kysely%' order by type, name",
  postgres: `select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable as name from information_schema.columns
    where table_schema = 'public' and table_name not like 'kysely%'
    union all select indexname || ' ' || indexdef from pg_indexes where schemaname = 'public' and tablename not like 'kysely%'
    union all select tgname::text from pg_trigger where not tgisinternal and tgname not like 'note\\_%' order by 1`,
}
/** What notes changes is a step of its own, after the migrations: src/platform/db/postgres/change-triggers.ts. */
const NOTES = "select tgname::text from pg_trigger where tgname like 'note\\_%' order by 1"
const NAMES = 'select name from kysely_migration order by name'
/** From the first visible effect of the migration to after its end. */
const MAX_MS = { sqlite: 250, postgres: 400 }

export const migration: Fault = { name: 'migration killed', engines: ['sqlite', 'postgres'], run: killMigrations }

async function killMigrations(run: Run): Promise<void> {
  const { found, engine } = run
  const home = await newHome(run, engine)
  await (await startAndCount(run, home)).kill('SIGTERM')
  const { newest, notes, names } = await withStore(home, async (rows) => ({
    newest: await textOf(rows, SCHEMA[engine]),
    notes: await notesIn(rows, engine),
    names: (await rows(NAMES)).map(({ name }) => String(name)),
  }))
  const seen = { old: 0, new: 0 }
  await repeat(run, run.short ? 4 : 50, async (at) => {
    const many = at % names.length
    const old = await makeOld(run, names.slice(0, many))
    const before = await withStore(old, (rows) => textOf(rows, SCHEMA[engine]))
    const running = launch(run, old)
    await untilBegun(run, old)
    await sleep(Math.random() ** 2 * MAX_MS[engine])
    await running.kill('SIGKILL')
    if (engine === 'postgres') await untilAlone(old)
    const [after, notesAfter] = await withStore(old, async (rows) => [
      await textOf(rows, SCHEMA[engine]),
      await notesIn(rows, engine),
    ])
    if (after === before) seen.old++
    else if (after === newest) seen.new++
    else {
      found.halfDone++
      found.broken.push(
        `kill ${at + 1}: from the first ${many} migrations, the schema is neither the old nor the new one`,
      )
    }
    if (notesAfter !== '' && !(notesAfter === notes && after === newest)) {
      found.halfDone++
      found.broken.push(
        `kill ${at + 1}: from the first ${many} migrations, the triggers of notes are made in part or too soon`,
      )
    }
    await goOn(run, old, newest + notes, at)
  })
  found.notes.push(`killed before the end ${seen.old} times, after it ${seen.new} times`)
  if (!run.short && (seen.old === 0 || seen.new === 0)) found.broken.push('the kills all fell on one side of the end')
}

async function textOf(rows: Rows, query: string): Promise<string> {
  return (await rows(query)).map((row) => JSON.stringify(row)).join('\n')
}

/** Nothing on SQLite, which has no triggers of notes. */
async function notesIn(rows: Rows, engine: Run['engine']): Promise<string> {
  return engine === 'postgres' ? textOf(rows, NOTES) : ''
}

/** A store as an earlier version left it: with the first migrations only. */
async function makeOld(run: Run, names: string[]): Promise<ServiceHome> {
  const home = await newOldHome(run)
  const url = home.env.DATABASE_URL!
  const file = join(home.folder, 'berth.db')
  const dialect =
    run.engine === 'sqlite'
      ? sqliteDialect(openWal(file))
      : new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 1 }) })
  const db = new Kysely<unknown>({ dialect })
  const loaded = await Promise.all(
    names.map(
      async (name) => [name, (await import(`../../src/platform/db/migrations/${name}.ts`)) as Migration] as const,
    ),
  )
  const migrator = new Migrator({ db, provider: { getMigrations: async () => Object.fromEntries(loaded) } })
  if (names.length > 0) {
    const { error } = await migrator.migrateToLatest()
    if (error !== undefined) throw error
  }
  await db.destroy()
  return home
}

async function newOldHome(run: Run): Promise<ServiceHome> {
  const home = await newHome(run, 'sqlite')
  mkdirSync(home.folder, { mode: 0o700 })
  if (run.engine === 'postgres') home.env.DATABASE_URL = await newDatabase()
  run.after(() => rmSync(join(home.folder, '..'), { recursive: true, force: true }))
  return home
}

function openWal(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  database.exec('pragma journal_mode = wal')
  return database
}

/** Waits until the program has begun with the store: on SQLite it has locked it, on PostgreSQL a transaction is open. */
async function untilBegun(run: Run, home: ServiceHome): Promise<void> {
  const isThere = () => existsSync(join(home.folder, 'berth.db-lock'))
  const until = async (ask: () => Promise<boolean>) => {
    for (let waited = 0; waited < 10_000 && !(await ask()); waited++) await sleep(1)
  }
  if (run.engine === 'sqlite') return until(async () => isThere())
  await withClient(home.env.DATABASE_URL!, (client) =>
    until(async () => {
      const sql = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
        and xact_start is not null`
      return (await client.query(sql)).rows.length > 0
    }),
  )
}

/** A commit that was on its way when its client died arrives, or does not. */
async function untilAlone(home: ServiceHome): Promise<void> {
  await withClient(home.env.DATABASE_URL!, async (client) => {
    const sql = 'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    for (let waited = 0; waited < 500 && (await client.query(sql)).rows.length > 0; waited++) await sleep(20)
  })
}

/** The next start goes on: mostly by the program's own opener, now and then the whole program. */
async function goOn(run: Run, home: ServiceHome, wanted: string, at: number): Promise<void> {
  if (at % 10 === 0) await (await startAndCount(run, home)).kill('SIGTERM')
  else {
    const fault = (error: unknown) => {
      throw error
    }
    const url = home.env.DATABASE_URL!
    const db = await (url.startsWith('sqlite:')
      ? openSqlite({ file: join(home.folder, 'berth.db'), onDiskError: fault })
      : openPostgres(url, () => {}))
    await db.close()
  }
  const { engine } = run
  const after = await withStore(
    home,
    async (rows) => (await textOf(rows, SCHEMA[engine])) + (await notesIn(rows, engine)),
  )
  if (after !== wanted) run.found.broken.push(`kill ${at + 1}: the next start does not bring the store to the schema`)
}
