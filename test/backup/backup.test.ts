/** Backup and restore by the real program: under write load, across engines, with damage, without keys. docs/spec/reliability.md F10, F32, T55. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
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
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { migrate } from '../../src/db/db.ts'
import { openPostgresAlone } from '../../src/db/postgres/open.ts'
import { openSqliteFile } from '../../src/db/sqlite/open.ts'
import { berth } from '../support/command.ts'
import {
  allNames,
  ask,
  credentialsOf,
  ended,
  type Home,
  newHome,
  processOnBothEngines,
  type Running,
  start,
} from '../support/process.ts'
import { root } from '../support/root.ts'
import { MANY } from '../support/rounds.ts'
import { ENGINES, type Engine } from '../support/world.ts'

/** Rows of 2 KB that the store of the drill has before: more than the heap that backup and restore get holds. */
const FILLING = Number(process.env.BERTH_DRILL_ROWS ?? 20_000)
const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=32' }

const SECRET = 'variables-of-the-drill'

/** A store with some projects, each with a sealed variable, and a backup of it; the service is stopped. */
async function backedUp(t: TestContext, engine: Engine, words: string[] = []) {
  const home = await newHome(t, engine)
  const running = await start(t, home)
  const { token } = credentialsOf(home)
  for (const name of ['one', 'two', 'three']) assert.equal(await create(running, token, name), 200)
  const { code, out, err } = await berth(['backup', join(home.folder, 'copies/'), '--json', ...words], home.env)
  assert.equal(code, 0, err)
  assert.equal(await running.kill('SIGTERM'), 0)
  const told = JSON.parse(out)
  return { home, token, file: told.file as string, told }
}

/** A project, its event and its variable: one transaction. */
async function create(running: Running, token: string, name: string): Promise<number | undefined> {
  const environmentVariables = [{ key: 'SECRET', value: `${SECRET} ${name}`, target: 'preview', type: 'encrypted' }]
  return (await ask(running, token, 'POST', '/v10/projects', { name, environmentVariables }))?.status
}

/** A fresh home of an engine, with the keyring of another one where it is wanted. */
async function freshHome(t: TestContext, engine: Engine, keysOf?: Home): Promise<Home> {
  const home = await newHome(t, engine)
  mkdirSync(home.folder, { mode: 0o700 })
  if (keysOf !== undefined) copyFileSync(join(keysOf.folder, 'keys.json'), join(home.folder, 'keys.json'))
  return home
}

async function secretOf(running: Running, token: string, name: string): Promise<string | undefined> {
  const answer = await ask(running, token, 'GET', `/v9/projects/${name}/env?decrypt=true`)
  return (answer?.body as { envs?: { value: string }[] } | undefined)?.envs?.[0]?.value
}

/** Creates projects on several connections until it is told to stop. */
function writeOn(running: Running, token: string) {
  const acknowledged = new Set<string>()
  const waits: { at: number; ms: number }[] = []
  let goes = true
  const lane = async (of: number) => {
    for (let at = 0; goes; at++) {
      const name = `p${of}-${at}`
      const began = Date.now()
      if ((await create(running, token, name)) === 200) acknowledged.add(name)
      waits.push({ at: began, ms: Date.now() - began })
    }
  }
  const lanes = Array.from({ length: 8 }, (_, of) => lane(of))
  return {
    acknowledged,
    async until(count: number) {
      while (acknowledged.size < count) await sleep(5)
    },
    async stop() {
      goes = false
      await Promise.all(lanes)
      return waits
    },
  }
}

processOnBothEngines(
  'the drill: a backup under write load is restored to both engines, and nothing that was acknowledged before is missing',
  async (t, engine) => {
    const home = await newHome(t, engine)
    await fill(home, engine)
    const running = await start(t, home)
    const { token } = credentialsOf(home)
    const load = writeOn(running, token)
    await load.until(200)
    const before = new Set(load.acknowledged)
    const began = Date.now()
    const words = ['backup', join(home.folder, 'copies/'), '--json']
    const { code, out, err } = await berth(words, { ...home.env, ...SMALL_HEAP })
    const over = Date.now()
    assert.equal(code, 0, err)
    const meanwhile = load.acknowledged.size - before.size
    await load.until(before.size + meanwhile + 20)
    const waits = await load.stop()
    assert.ok(meanwhile > 0, 'writes went on while the copy was made')
    const worst = (part: typeof waits) => Math.max(...part.map(({ ms }) => ms))
    const during = waits.filter(({ at, ms }) => at + ms > began && at < over)
    t.diagnostic(
      `${engine}, ${statSync(JSON.parse(out).file).size >> 20} MiB: ${over - began} ms, ${meanwhile} writes meanwhile, the slowest ${worst(during)} ms (${worst(waits.filter((wait) => !during.includes(wait)))} ms otherwise)`,
    )
    await running.kill('SIGKILL')

    const { file, manifest } = JSON.parse(out)
    const database = new DatabaseSync(file, { readOnly: true })
    const count = (sql: string) => Number(Object.values(database.prepare(sql).get()!)[0])
    const projects = count('select count(*) from project')
    assert.equal(count("select count(*) from event where type = 'project.created'"), projects, 'no half transaction')
    assert.equal(count('select count(*) from env_var'), projects, 'no half transaction')
    assert.equal(count('select count(*) from project_key'), projects, 'no half transaction')
    assert.equal(manifest.rows.project, projects)
    database.close()

    for (const target of ENGINES) {
      const fresh = await freshHome(t, target, home)
      const began = Date.now()
      const restored = await berth(['restore', file, '--json'], { ...fresh.env, ...SMALL_HEAP })
      assert.equal(restored.code, 0, restored.err)
      assert.deepEqual(JSON.parse(restored.out).keys.missing, [])
      t.diagnostic(`restored to ${target} in ${Date.now() - began} ms`)
      const again = await start(t, fresh)
      const names = await allNames(again, token)
      for (const name of before) assert.ok(names.has(name), `${name} was acknowledged before, and is not there`)
      assert.equal(names.size, projects)
      for (const name of [...names].slice(0, 20)) assert.equal(await secretOf(again, token, name), `${SECRET} ${name}`)
      assert.equal(await create(again, token, 'after'), 200)
      assert.equal(await again.kill('SIGTERM'), 0)
    }
  },
  600_000,
)

/** History of a project that is not there: rows that nothing reads. */
async function fill(home: Home, engine: Engine): Promise<void> {
  assert.equal((await berth(['migrate'], home.env)).code, 0)
  const values = `'none', 'env_none', n, 'updated', '[]', 'KEY', 'plain', 'preview', '', 1, 'user', 'none', 1`
  const insert = `insert into env_history (project_id, env_id, version, action, changed_json, key, type, targets, git_branch,
    value_version, actor_kind, actor_id, at, sealed_value)`
  if (engine === 'sqlite') {
    const database = new DatabaseSync(join(home.folder, 'berth.db'))
    database.exec(`with recursive all_n(n) as (select 1 union all select n + 1 from all_n where n < ${FILLING})
      ${insert} select ${values}, hex(randomblob(1000)) from all_n`)
    return database.close()
  }
  const client = new pg.Client({ connectionString: home.env.DATABASE_URL! })
  await client.connect()
  await client.query(
    `${insert} select ${values}, repeat(md5(random()::text), 62) from generate_series(1, ${FILLING}) n`,
  )
  await client.end()
}

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
    await refused(/is no manifest/)
    writeFileSync(`${file}.json`, manifest)
    assert.equal((await berth(['restore', file], fresh.env)).code, 0)
  },
)

/** What tables an embedded home, or a database, has; none where there is no file. */
async function tablesThere({ env }: Home, engine: Engine): Promise<string[]> {
  if (engine === 'sqlite') return []
  const client = new pg.Client({ connectionString: env.DATABASE_URL! })
  await client.connect()
  const { rows } = await client.query("select table_name from information_schema.tables where table_schema = 'public'")
  await client.end()
  return rows.map((row) => row.table_name)
}

processOnBothEngines(
  'a key that the keyring lacks is told by its id, and the store waits for it',
  async (t, engine) => {
    const { file, home, token, told } = await backedUp(t, engine)
    const [id] = told.manifest.keyIds
    const fresh = await freshHome(t, engine)
    const without = await berth(['restore', file, '--json'], fresh.env)
    assert.equal(without.code, 1)
    assert.deepEqual(JSON.parse(without.out).keys.missing, [id])
    assert.match(without.err, new RegExp(`lacks the key ${id}`))
    assert.equal((await ended(t, fresh)).code, 78)
    const doctor = await berth(['doctor', '--json'], fresh.env)
    assert.equal(doctor.code, 1)

    const stranger = await freshHome(t, engine)
    const key = Buffer.alloc(32, 7).toString('base64')
    const keys = JSON.stringify({ keys: [{ id, key }] })
    const wrong = await berth(['restore', file, '--json'], { ...stranger.env, BERTH_KEYS: keys })
    assert.deepEqual([wrong.code, JSON.parse(wrong.out).keys.wrong], [1, [id]])

    copyFileSync(join(home.folder, 'keys.json'), join(fresh.folder, 'keys.json'))
    const running = await start(t, fresh)
    assert.equal(await secretOf(running, token, 'two'), `${SECRET} two`)
  },
)

processOnBothEngines(
  'a restore is refused while a service runs, and over a store that holds something',
  async (t, engine) => {
    const { file, home, token } = await backedUp(t, engine)
    const busy = await freshHome(t, engine, home)
    const running = await start(t, busy, { BERTH_TIMERS: 'off', BERTH_EDGE_PORT: 'off' })
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
    const again = await start(t, busy, { BERTH_KEYS: join(home.folder, 'keys.json') })
    assert.deepEqual([...(await allNames(again, token))].sort(), ['one', 'three', 'two'])
  },
)

processOnBothEngines('a restore that is killed at any moment leaves the store empty or whole', async (t, engine) => {
  const { file, home, token } = await backedUp(t, engine === 'sqlite' ? 'postgres' : 'sqlite')
  const fresh = await freshHome(t, engine, home)
  for (const afterMs of MANY ? [250, 350, 450, 550, 650] : [350, 550]) {
    const child = spawn(process.execPath, [join(root, 'bin', 'berth.mjs'), 'restore', file], {
      env: { PATH: process.env.PATH, ...fresh.env },
      stdio: 'ignore',
    })
    const closed = once(child, 'close')
    await sleep(afterMs)
    child.kill('SIGKILL')
    await closed
  }
  const last = await berth(['restore', file], fresh.env)
  if (last.code !== 0) assert.match(last.err, /is not empty/)
  const running = await start(t, fresh)
  assert.deepEqual([...(await allNames(running, token))].sort(), ['one', 'three', 'two'])
  assert.equal(await secretOf(running, token, 'two'), `${SECRET} two`)
})

for (const engine of ENGINES) {
  test(`a backup of an older schema is brought up to date, and one of a newer is refused [${engine}]`, async (t) => {
    const { home, token } = await backedUp(t, 'sqlite')
    const old = await newHome(t, engine)
    mkdirSync(old.folder, { mode: 0o700 })
    copyFileSync(join(home.folder, 'keys.json'), join(old.folder, 'keys.json'))
    const store =
      engine === 'sqlite'
        ? openSqliteFile(join(old.folder, 'berth.db'), false)
        : openPostgresAlone(old.env.DATABASE_URL!)
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
      : openPostgresAlone(home.env.DATABASE_URL!)
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

processOnBothEngines('the keyring is never in a backup, and beside it only when it is asked for', async (t, engine) => {
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
  assert.deepEqual([taken.code, /is there already/.test(taken.err)], [1, true])
  const nowhere = await berth(['backup', '/dev/null/x.db'], home.env)
  assert.equal(nowhere.code, 1)
  const empty = await newHome(t, engine)
  const none = await berth(['backup', join(home.folder, 'none.db')], empty.env)
  assert.deepEqual([none.code, /no store/.test(none.err)], [1, true], none.err)
  assert.deepEqual(
    readdirSync(home.folder).filter((name) => /none|part/.test(name)),
    [],
  )
})
