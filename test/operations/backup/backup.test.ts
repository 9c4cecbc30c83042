/** Backup and restore by the real program: under write load, across engines, with damage, without keys. docs/spec/reliability.md F10, F32, T55. */
import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { migrate } from '../../../src/platform/db/db.ts'
import { openPostgresConnection } from '../../../src/platform/db/postgres/open.ts'
import { openSqliteFile } from '../../../src/platform/db/sqlite/open.ts'
import { berth } from '../../support/clients/command.ts'
import {
  allNames,
  credentialsOf,
  newHome,
  processOnBothEngines,
  runUntilExit,
  type ServiceHome,
  startService,
} from '../../support/process.ts'
import { ENGINES, type Engine } from '../../support/world.ts'
import { backedUp, create, freshHome, SECRET, secretOf } from './backup-world.ts'

processOnBothEngines(
  'a backup that is not as it was written is refused, and nothing is restored',
  async (t, engine) => {
    const { file, home } = await backedUp(t, 'sqlite')
    const fresh = await freshHome(t, engine, home)
    const refused = async (wanted: RegExp) => {
      const { code, err } = await berth(['restore', file], fresh.env)
      assert.equal(code, 1)
      assert.match(err, wanted)
      assert.equal(existsSync(join(fresh.folder, 'berth.db')), false)
      assert.deepEqual(await tablesThere(fresh, engine), [])
    }
    const whole = readFileSync(file)
    for (const at of [100, whole.length >> 1, whole.length - 1]) {
      const flipped = Buffer.from(whole)
      flipped[at]! ^= 1
      writeFileSync(file, flipped)
      await refused(/is not as it was written/)
    }
    writeFileSync(file, whole)
    truncateSync(file, whole.length - 4096)
    await refused(/is not as it was written/)
    writeFileSync(file, whole)
    const manifest = readFileSync(`${file}.json`, 'utf8')
    writeFileSync(`${file}.json`, manifest.replace('"format": 1', '"format": 2'))
    await refused(/use a newer one/)
    writeFileSync(`${file}.json`, '{}')
    await refused(/is not the manifest/)
    writeFileSync(`${file}.json`, manifest)
    assert.equal((await berth(['restore', file], fresh.env)).code, 0)
  },
)

/** What tables an embedded home, or a database, has; none where there is no file. */
async function tablesThere({ env }: ServiceHome, engine: Engine): Promise<string[]> {
  if (engine === 'sqlite') return []
  const client = new pg.Client({ connectionString: env.DATABASE_URL! })
  await client.connect()
  const { rows } = await client.query("select table_name from information_schema.tables where table_schema = 'public'")
  await client.end()
  return rows.map((row) => row.table_name)
}

processOnBothEngines(
  'a missing key of the keyring is named by its id, and the store waits for it',
  async (t, engine) => {
    const { file, home, token, told } = await backedUp(t, engine)
    const [id] = told.manifest.keyIds
    const fresh = await freshHome(t, engine)
    const without = await berth(['restore', file, '--json'], fresh.env)
    assert.equal(without.code, 1)
    assert.deepEqual(JSON.parse(without.out).keys.missing, [id])
    assert.match(without.err, new RegExp(`does not have the key ${id}`))
    assert.equal((await runUntilExit(t, fresh)).code, 78)
    const doctor = await berth(['doctor', '--json'], fresh.env)
    assert.equal(doctor.code, 1)

    const stranger = await freshHome(t, engine)
    const key = Buffer.alloc(32, 7).toString('base64')
    const keys = JSON.stringify({ keys: [{ id, key }] })
    const wrong = await berth(['restore', file, '--json'], { ...stranger.env, BERTH_KEYS: keys })
    assert.deepEqual([wrong.code, JSON.parse(wrong.out).keys.wrong], [1, [id]])

    copyFileSync(join(home.folder, 'keys.json'), join(fresh.folder, 'keys.json'))
    const running = await startService(t, fresh)
    assert.equal(await secretOf(running, token, 'two'), `${SECRET} two`)
  },
)

processOnBothEngines(
  'a restore is refused while a service runs, and over a store that holds something',
  async (t, engine) => {
    const { file, home, token } = await backedUp(t, engine)
    const busy = await freshHome(t, engine, home)
    const running = await startService(t, busy, { BERTH_TIMERS: 'off', BERTH_EDGE_PORT: 'off' })
    assert.equal(await create(running, credentialsOf(busy).token, 'mine'), 200)
    for (const words of [[], ['--force']]) {
      const { code, err } = await berth(['restore', file, ...words], busy.env)
      assert.equal(code, 1)
      assert.match(
        err,
        /another process \(pid \d+\) has .*: stop the service first|a service runs on this database: stop every instance/,
      )
    }
    assert.deepEqual([...(await allNames(running, credentialsOf(busy).token))], ['mine'])
    assert.equal(await running.kill('SIGTERM'), 0)
    const full = await berth(['restore', file], busy.env)
    assert.deepEqual([full.code, /is not empty: .*--force/.test(full.err)], [1, true], full.err)
    const forced = await berth(['restore', file, '--force', '--json'], {
      ...busy.env,
      BERTH_KEYS: join(home.folder, 'keys.json'),
    })
    assert.equal(forced.code, 0, forced.err)
    const { putAside } = JSON.parse(forced.out)
    assert.equal(putAside !== undefined, engine === 'sqlite')
    if (putAside !== undefined) {
      const aside = new DatabaseSync(putAside, { readOnly: true })
      assert.deepEqual({ ...aside.prepare('select name from project').get() }, { name: 'mine' })
      aside.close()
    }
    const again = await startService(t, busy, { BERTH_KEYS: join(home.folder, 'keys.json') })
    assert.deepEqual([...(await allNames(again, token))].sort(), ['one', 'three', 'two'])
  },
)
for (const engine of ENGINES) {
  test(`a backup of an older schema is brought up to date, and one of a newer is refused [${engine}]`, async (t) => {
    const { home, token } = await backedUp(t, 'sqlite')
    const old = await newHome(t, engine)
    mkdirSync(old.folder, { mode: 0o700 })
    copyFileSync(join(home.folder, 'keys.json'), join(old.folder, 'keys.json'))
    const store =
      engine === 'sqlite'
        ? openSqliteFile(join(old.folder, 'berth.db'), false)
        : openPostgresConnection(old.env.DATABASE_URL!)
    await migrate(store, '0003-env')
    const account = {
      plan: 'pro',
      add_ons_json: '[]',
      kind: 'team',
      slug: 'old',
      created_stamp: 1,
      name: 'Old',
      id: 'team_old',
    } as const
    await store
      .insertInto('account')
      .values({ ...account, email: null })
      .execute()
    await store.destroy()
    const made = await berth(['backup', join(old.folder, 'old.db'), '--json'], old.env)
    assert.equal(made.code, 0, made.err)
    assert.equal(JSON.parse(made.out).manifest.migrations.at(-1), '0003-env')
    for (const target of ENGINES) {
      const fresh = await freshHome(t, target, home)
      const restored = await berth(['restore', join(old.folder, 'old.db'), '--json'], fresh.env)
      assert.equal(restored.code, 0, restored.err)
      assert.equal(JSON.parse(restored.out).migrated[0], '0004-integrations')
      assert.equal((await berth(['doctor', '--json'], fresh.env)).code, 0)
    }

    const newer = await backedUpNewer(t, engine)
    for (const target of ENGINES) {
      const fresh = await freshHome(t, target, home)
      const refused = await berth(['restore', newer], fresh.env)
      assert.deepEqual(
        [refused.code, /from a newer version of Berth .*9999-later/.test(refused.err)],
        [1, true],
        refused.err,
      )
      assert.deepEqual(await tablesThere(fresh, target), [])
    }
    assert.ok(token)
  })
}

/** A backup whose tables a later Berth made. On PostgreSQL such a store is refused, so its file comes from SQLite. */
async function backedUpNewer(t: TestContext, engine: Engine): Promise<string> {
  const home = await newHome(t, engine)
  assert.equal((await berth(['migrate'], home.env)).code, 0)
  const store =
    engine === 'sqlite'
      ? openSqliteFile(join(home.folder, 'berth.db'), false)
      : openPostgresConnection(home.env.DATABASE_URL!)
  const mark = { name: '9999-later', timestamp: '2099-01-01' }
  // biome-ignore lint/suspicious/noExplicitAny: the table is Kysely's own
  await (store as any).insertInto('kysely_migration').values(mark).execute()
  await store.destroy()
  const file = join(home.folder, 'newer.db')
  const { code, err } = await berth(['backup', file], home.env)
  if (engine === 'sqlite') {
    assert.equal(code, 0, err)
    return file
  }
  assert.deepEqual([code, /a newer version of Berth/.test(err), existsSync(file)], [1, true, false], err)
  return backedUpNewer(t, 'sqlite')
}

test('an older program cannot empty a PostgreSQL of a newer one, and says where to restore [postgres]', async (t) => {
  const { file, home } = await backedUp(t, 'sqlite')
  const newer = await freshHome(t, 'postgres', home)
  assert.equal((await berth(['migrate'], newer.env)).code, 0)
  const store = openPostgresConnection(newer.env.DATABASE_URL!)
  // biome-ignore lint/suspicious/noExplicitAny: the table is Kysely's own
  await (store as any).insertInto('kysely_migration').values({ name: '9999-later', timestamp: '2099-01-01' }).execute()
  await store.destroy()
  for (const words of [[], ['--force']]) {
    const { code, err } = await berth(['restore', file, ...words], newer.env)
    assert.equal(code, 1)
    assert.match(err, /tables of a newer version of Berth \(9999-later\), .*: set DATABASE_URL to a new database/)
  }
})

processOnBothEngines('the keyring is never in a backup, and next to it only when requested', async (t, engine) => {
  const { file, home } = await backedUp(t, engine)
  const keyring = readFileSync(join(home.folder, 'keys.json'), 'utf8')
  const { key } = JSON.parse(keyring).keys[0]
  const bytes = readFileSync(file)
  for (const secret of [
    key,
    Buffer.from(key, 'base64'),
    SECRET,
    credentialsOf(home).token,
    credentialsOf(home).operatorToken,
  ])
    assert.equal(bytes.includes(secret), false)
  assert.deepEqual(readdirSync(join(home.folder, 'copies')).length, 2)
  const other = join(home.folder, 'with.db')
  const made = await berth(['backup', other, '--with-keys'], home.env)
  assert.equal(made.code, 0, made.err)
  assert.equal(readFileSync(`${other}.keys.json`, 'utf8'), keyring)
  for (const path of [file, other, `${file}.json`, `${other}.keys.json`])
    assert.equal(statSync(path).mode & 0o777, 0o600)
  const taken = await berth(['backup', other], home.env)
  assert.deepEqual([taken.code, /exists already/.test(taken.err)], [1, true])
  const nowhere = await berth(['backup', '/dev/null/x.db'], home.env)
  assert.equal(nowhere.code, 1)
  const empty = await newHome(t, engine)
  const none = await berth(['backup', join(home.folder, 'none.db')], empty.env)
  assert.deepEqual([none.code, /no database at|holds no store/.test(none.err)], [1, true], none.err)
  assert.deepEqual(
    readdirSync(home.folder).filter((name) => /none|part/.test(name)),
    [],
  )
})

for (const engine of ENGINES) {
  test(`a foreign table is reported, not copied silently [${engine}]`, async (t) => {
    const home = await newHome(t, engine)
    assert.equal((await berth(['migrate'], home.env)).code, 0)
    const store =
      engine === 'sqlite'
        ? openSqliteFile(join(home.folder, 'berth.db'), false)
        : openPostgresConnection(home.env.DATABASE_URL!)
    await sql`create table mine (id text)`.execute(store)
    await store.destroy()
    const file = join(home.folder, 'odd.db')
    const backup = await berth(['backup', file], home.env)
    const odd = /do not have the same tables: mine\(id\) is in one of them only/
    if (engine === 'postgres')
      return assert.deepEqual(
        [backup.code, /mine is left out: it is not a table/.test(backup.err)],
        [0, true],
        backup.err,
      )
    // The file of SQLite is a copy of the whole store.
    assert.equal(backup.code, 0, backup.err)
    const restored = await berth(['restore', file], (await freshHome(t, 'postgres')).env)
    assert.deepEqual([restored.code, odd.test(restored.err)], [1, true], restored.err)
  })
}

processOnBothEngines(
  'a store that was migrated and never started is empty: a backup is restored into it',
  async (t, engine) => {
    const { file, home } = await backedUp(t, 'sqlite')
    const fresh = await freshHome(t, engine, home)
    assert.equal((await berth(['migrate'], fresh.env)).code, 0)
    const restored = await berth(['restore', file, '--json'], fresh.env)
    assert.deepEqual([restored.code, 'putAside' in JSON.parse(restored.out)], [0, false], restored.err)
  },
)

test('a log next to the store, which would be read into the restored one, belongs to another program', async (t) => {
  const { file, home } = await backedUp(t, 'sqlite')
  const fresh = await freshHome(t, 'sqlite', home)
  const store = join(fresh.folder, 'berth.db')
  writeFileSync(`${store}-wal`, '')
  const { code, err } = await berth(['restore', file], fresh.env)
  assert.deepEqual([code, /another program has .*berth\.db open/.test(err), existsSync(store)], [1, true, false], err)
})
