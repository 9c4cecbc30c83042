/** What a restore refuses at the last step, and what it finds in a backup whose bytes match its manifest. docs/backup.md. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { type Config, readConfig } from '../../../src/config.ts'
import { createBackup } from '../../../src/operations/backup/backup.ts'
import { restoreBackup } from '../../../src/operations/backup/restore.ts'
import { migratePostgres } from '../../../src/platform/db/postgres/open.ts'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { ENGINES, type Engine, newDatabase, openWorld } from '../../support/world.ts'

const silent = () => {}

/** A backup of a store with two projects, and its manifest. */
async function backedUp(t: TestContext): Promise<string> {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  for (const name of ['one', 'two']) await seedProject(world, name)
  const to = join(world.folder, 'copy.db')
  return (await createBackup(world.deps.config, { to, version: '1', withKeys: false }, silent)).file
}

async function emptyTarget(t: TestContext, engine: Engine): Promise<Config> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-restore-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const database = engine === 'postgres' ? await newDatabase() : `sqlite:${join(folder, 'berth.db')}`
  return readConfig({ BERTH_DATA: folder, DATABASE_URL: database })
}

function urlOf({ database }: Config): string {
  return database.engine === 'postgres' ? database.url : assert.fail('no PostgreSQL')
}

async function client(t: TestContext, config: Config, application_name: string): Promise<pg.Client> {
  const one = new pg.Client({ connectionString: urlOf(config), application_name })
  await one.connect()
  t.after(() => one.end())
  return one
}

const ROW = `insert into account (id, kind, slug, name, plan, add_ons_json, created_stamp)
  values ('team_x', 'team', 'x', 'X', 'pro', '[]', 1)`

for (const [what, held, comes, wanted] of [
  ['a row', ROW, async () => {}, /is not empty/],
  [
    'a service',
    'lock table account in row exclusive mode',
    (t: TestContext, config: Config) => client(t, config, 'berth'),
    /a service runs on this database/,
  ],
] as const) {
  test(`a restore that waited for its lock sees ${what} that came meanwhile, and changes nothing`, async (t) => {
    const from = await backedUp(t)
    const config = await emptyTarget(t, 'postgres')
    // Migrated already, so that what waits is the restore of the rows.
    await migratePostgres(urlOf(config))
    const other = await client(t, config, 'another program')
    await other.query('begin')
    await other.query(held)
    const restored = restoreBackup(config, { from, force: false }, silent).then(
      () => 'restored',
      (error: Error) => error.message,
    )
    const waits = "select 1 from pg_locks where relation = 'account'::regclass and not granted"
    await eventually(async () => (await other.query(waits)).rows.length > 0)
    await comes(t, config)
    await other.query('commit')
    assert.match(await restored, wanted)
    assert.deepEqual((await other.query('select * from project')).rows, [])
  })
}

test('a backup omits tables of another program in the schema, and a restore leaves them unchanged [postgres]', async (t) => {
  const world = await openWorld('postgres')
  t.after(() => world.close())
  await seedProject(world, 'one')
  const shop = async (config: Config) => {
    const other = await client(t, config, 'another program')
    await other.query('create table orders (id integer primary key generated always as identity, what text)')
    await other.query("insert into orders (what) values ('a'), ('b'), ('c')")
    await other.query("delete from orders where what = 'c'")
    return other
  }
  await shop(world.deps.config)
  const to = join(world.folder, 'copy.db')
  const { file, manifest, leftOut } = await createBackup(
    world.deps.config,
    { to, version: '1', withKeys: false },
    silent,
  )
  assert.deepEqual([manifest.rows.project, manifest.rows.orders, leftOut], [1, undefined, ['orders']])
  const config = await emptyTarget(t, 'postgres')
  const other = await shop(config)
  assert.equal((await restoreBackup(config, { from: file, force: false }, silent)).manifest.rows.project, 1)
  await other.query("insert into orders (what) values ('d')")
  assert.deepEqual(
    (await other.query('select id, what from orders order by id')).rows.map(({ id, what }) => `${id} ${what}`),
    ['1 a', '2 b', '4 d'],
  )
})

for (const engine of ENGINES) {
  test(`a backup with other rows than its manifest states is refused [${engine}]`, async (t) => {
    const from = await backedUp(t)
    const config = await emptyTarget(t, engine)
    const manifest = JSON.parse(readFileSync(`${from}.json`, 'utf8'))
    for (const [rows, said] of [
      [{ ...manifest.rows, project: 3 }, /has 2 rows in project, and its manifest says 3/],
      [{ ...manifest.rows, project: undefined }, /has 2 rows in project, and its manifest says 0/],
      [{ ...manifest.rows, planet: 9 }, /has 0 rows in planet, and its manifest says 9/],
    ] as const) {
      writeFileSync(`${from}.json`, JSON.stringify({ ...manifest, rows }))
      await assert.rejects(restoreBackup(config, { from, force: false }, silent), said)
    }
    writeFileSync(`${from}.json`, JSON.stringify(manifest))
    assert.equal((await restoreBackup(config, { from, force: false }, silent)).manifest.rows.project, 2)
  })
}

test('a backup that was damaged before its manifest was written is refused, and creates no store', async (t) => {
  const from = await backedUp(t)
  const config = await emptyTarget(t, 'sqlite')
  const database = new DatabaseSync(from, { readOnly: true })
  const { rootpage } = database.prepare("select rootpage from sqlite_schema where name = 'project_name'").get()!
  const { page_size } = database.prepare('pragma page_size').get()!
  database.close()
  // One letter in an index: every row is there, and one is not found by its name.
  const bytes = readFileSync(from)
  bytes[Number(rootpage) * Number(page_size) - 4]! ^= 1
  writeFileSync(from, bytes)
  const manifest = JSON.parse(readFileSync(`${from}.json`, 'utf8'))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  writeFileSync(`${from}.json`, JSON.stringify({ ...manifest, sha256 }))
  await assert.rejects(restoreBackup(config, { from, force: false }, silent), /is damaged: /)
  assert.equal(existsSync(join(config.dataDirectory, 'berth.db')), false)
})
