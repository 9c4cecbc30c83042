/** A store of PostgreSQL lies in one schema, whatever tables, functions and migrations other programs have in the others. docs/operations.md: Shared database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { migratePostgres } from '../../../src/platform/db/postgres/open.ts'
import { newDatabase, openWorld } from '../../support/world.ts'

const SCHEMA = 'berth'

/** What of Berth's is in a schema: tables, and the triggers that note changes. */
const COUNTS = `select
  (select count(*) from pg_tables where schemaname = $1)::integer as tables,
  (select count(*) from pg_trigger g join pg_class c on c.oid = g.tgrelid
    where c.relnamespace = $1::regnamespace and not g.tgisinternal)::integer as triggers`

/** What others may have in the schema that all users share. */
const OTHERS: Record<string, (client: pg.Client, url: string) => Promise<void>> = {
  'the migrations of another application': async (client) => {
    await client.query(
      `create table public.kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)`,
    )
    await client.query(
      `create table public.kysely_migration_lock (id varchar(255) primary key, is_locked integer not null)`,
    )
    await client.query(
      `insert into public.kysely_migration values ('001_shop', '2026-01-01'), ('002_shop', '2026-01-02')`,
    )
    await client.query(`insert into public.kysely_migration_lock values ('migration_lock', 0)`)
    await client.query('create table public.account (id integer primary key, name text)')
    await client.query('create table public.project (id integer primary key, name text)')
  },
  'another Berth': (_, url) => migratePostgres(url).then(() => {}),
}

for (const [what, make] of Object.entries(OTHERS))
  for (const path of [SCHEMA, `${SCHEMA}, public`])
    test(`Berth starts in a schema of its own next to ${what}, with the search path ${path} [postgres]`, async (t) => {
      const url = await newDatabase()
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      t.after(() => client.end())
      await make(client, url)
      const before = await client.query(COUNTS, ['public'])
      await client.query(`create schema ${SCHEMA}`)
      await client.query(`alter database ${new URL(url).pathname.slice(1)} set search_path = ${path}`)
      const world = await openWorld('postgres', { DATABASE_URL: url })
      try {
        await world.call('POST', '/v10/projects', { name: 'one' })
        assert.equal((await world.call('GET', '/v9/projects/one')).body.name, 'one')
        const { tables, triggers } = (await client.query(COUNTS, [SCHEMA])).rows[0]
        assert.ok(tables > 30 && triggers > 5, `${tables} tables, ${triggers} triggers`)
        assert.equal((await world.app.inject({ url: '/readyz' })).statusCode, 200)
      } finally {
        await world.close()
      }
      assert.deepEqual((await client.query(COUNTS, ['public'])).rows, before.rows, 'nothing of the others changed')
      assert.deepEqual(await migratePostgres(url), [], 'the next start finds all migrations')
    })

test('where another program has its migrations in the schema, the start says so and writes nothing [postgres]', async (t) => {
  const url = await newDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  await OTHERS['the migrations of another application']!(client, url)
  const before = await client.query(COUNTS, ['public'])
  await assert.rejects(migratePostgres(url), /^Error: another program keeps .* its migrations are 001_shop, 002_shop, /)
  assert.deepEqual((await client.query(COUNTS, ['public'])).rows, before.rows)
})
