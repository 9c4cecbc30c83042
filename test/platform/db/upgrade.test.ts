/** A store that any earlier schema wrote is opened by today's program: everything is there, and works. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import { fingerprint, newId, newToken } from '../../../src/platform/base/ids.ts'
import { MIGRATIONS } from '../../../src/platform/db/migrations.ts'
import { sqliteDialect } from '../../../src/platform/db/sqlite/dialect.ts'
import { MANY } from '../../support/iterations.ts'
import { storesFolder } from '../../support/postgres.ts'
import { ENGINES, type Engine, newDatabase, openWorld } from '../../support/world.ts'

const NAMES = Object.keys(MIGRATIONS)
const PROJECTS = 120
const BORN = 1_700_000_000_000

type Old = { url: string; token: string; userId: string; teamId: string; folder: string }

const folders = mkdtempSync(join(storesFolder(), 'berth-old-'))
after(() => rmSync(folders, { recursive: true, force: true }))

/** A store as the program of the first `count` migrations left it, with rows that every schema has. */
async function oldStore(engine: Engine, count: number): Promise<Old> {
  const folder = mkdtempSync(join(folders, 'store-'))
  const url = await copyOf(engine, await emptyStore(engine, count), join(folder, 'berth.db'))
  const db = openAlone(engine, url)
  const old = { url, folder, token: newToken(), userId: newId('usr'), teamId: newId('team') }
  await db.transaction().execute((tx) => fill(tx, old, NAMES.slice(0, count)))
  await db.destroy()
  return old
}

const EMPTY: Record<Engine, Promise<string>[]> = { sqlite: [], postgres: [] }

/** The URL of an empty store of the first `count` migrations: the store of the schema that is tested before it, and the migrations since. */
function emptyStore(engine: Engine, count: number): Promise<string> {
  const make = async () => {
    const file = join(folders, `empty-${count}.db`)
    if (count === 0) return engine === 'postgres' ? newDatabase() : `sqlite:${file}`
    const before = schemasOn(engine).findLast((at) => at + 1 < count)
    const url = await copyOf(engine, await emptyStore(engine, before === undefined ? 0 : before + 1), file)
    const db = openAlone(engine, url)
    const known = Object.fromEntries(NAMES.slice(0, count).map((name) => [name, MIGRATIONS[name]!]))
    const { error } = await new Migrator({ db, provider: { getMigrations: async () => known } }).migrateToLatest()
    assert.equal(error, undefined)
    await db.destroy()
    return url
  }
  EMPTY[engine][count] ??= make()
  return EMPTY[engine][count]
}

async function copyOf(engine: Engine, url: string, file: string): Promise<string> {
  if (engine === 'postgres') return newDatabase(new URL(url).pathname.slice(1))
  const source = url.replace('sqlite:', '')
  // A store without any migration has no file yet.
  if (existsSync(source)) copyFileSync(source, file)
  return `sqlite:${file}`
}

function openAlone(engine: Engine, url: string): Kysely<unknown> {
  const dialect =
    engine === 'postgres'
      ? new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 1 }) })
      : sqliteDialect(new DatabaseSync(url.replace('sqlite:', '')))
  return new Kysely<unknown>({ dialect })
}

async function fill(db: Kysely<unknown>, { token, userId, teamId }: Old, schema: string[]): Promise<void> {
  const stamp = (at: number) => (BORN + at) * 1024
  const [came, when] = schema.includes('0016-members') ? ['created_stamp', stamp(3)] : ['created_at', BORN]
  const say = (text: ReturnType<typeof sql>) => text.execute(db)
  await say(sql`insert into fact (name, value) values ('bootstrapped', ${String(BORN)})`)
  await say(sql`insert into account (id, kind, slug, name, email, default_team_id, plan, add_ons_json, created_stamp)
    values (${userId}, 'user', 'olga', 'Olga', 'olga@example.com', ${teamId}, 'pro', '[]', ${sql.lit(stamp(1))}),
      (${teamId}, 'team', 'olds', 'Olds', null, null, 'enterprise', '["x"]', ${sql.lit(stamp(2))})`)
  await say(
    sql`insert into member (team_id, user_id, role, ${sql.ref(came)}) values (${teamId}, ${userId}, 'OWNER', ${sql.lit(when)})`,
  )
  await say(sql`insert into token (id, hash, user_id, created_stamp)
    values (${newId('tok')}, ${fingerprint(token)}, ${userId}, ${sql.lit(stamp(3))})`)
  const hasDeployments = schema.includes('0010-deployments') && !schema.includes('0034-deployment-meta')
  // A statement for each table and not for each row: a store is made for every schema there was.
  const projects = Array.from({ length: PROJECTS }, () => newId('prj'))
  const each = (row: (at: number, id: string) => ReturnType<typeof sql>) =>
    sql.join(projects.map((id, at) => row(at, id)))
  const paused = (at: number) => sql.lit(at === 7 ? BORN : null)
  await say(sql`insert into project (id, account_id, name, git_fork_protection, settings_json, paused_at, created_at, updated_stamp)
    values ${each((at, id) => sql`(${id}, ${teamId}, ${`old-${at}`}, 1, '{"framework":"nextjs"}', ${paused(at)}, ${sql.lit(BORN + at)}, ${sql.lit(stamp(10 + at))})`)}`)
  if (hasDeployments) {
    const meta = (at: number) => JSON.stringify({ githubCommitSha: `sha-${at}`, githubCommitRef: 'main' })
    await say(sql`insert into deployment (id, account_id, project_id, name, url, target, ready_state, meta_json, plan, created_stamp)
      values ${each((at, id) => sql`(${newId('dpl')}, ${teamId}, ${id}, ${`old-${at}`}, ${`old-${at}.host.test`}, 'preview', 'READY', ${meta(at)}, 'pro', ${sql.lit(stamp(10 + at))})`)}`)
  }
  await say(sql`insert into audit (stamp, account_id, actor_kind, actor_id, type, fields_json)
    values ${each((at) => sql`(${sql.lit(stamp(10 + at))}, ${teamId}, 'user', ${userId}, 'createProject', '["name"]')`)}`)
  await say(sql`insert into event (stamp, id, account_id, type, payload_json)
    values ${each((at) => sql`(${sql.lit(stamp(10 + at))}, ${newId('evt')}, ${teamId}, 'project.created', '{}')`)}`)
}

/** In `npm test` PostgreSQL opens some of the schemas: a migration says the same to both, and each is a copy of a database. */
function schemasOn(engine: Engine): number[] {
  const all = [...NAMES.keys()]
  return engine === 'sqlite' || MANY ? all : all.filter((at) => at % 10 === 0 || at >= NAMES.length - 5)
}

for (const engine of ENGINES) {
  for (const count of schemasOn(engine)) {
    const name = NAMES[count]!
    test(`a store of the schema ${name} is migrated with everything in it [${engine}]`, async (t) => {
      const old = await oldStore(engine, count + 1)
      const world = await openWorld(engine, { DATABASE_URL: old.url, BERTH_DATA: old.folder })
      t.after(() => world.close())
      assert.equal(world.firstStart, false)
      const call = world.as(old.token)
      const team = `teamId=${old.teamId}`

      const names: string[] = []
      for (let until = ''; ; ) {
        const { body } = await call('GET', `/v9/projects?limit=100&${team}${until}`)
        names.push(...body.projects.map((project: { name: string }) => project.name))
        if (body.pagination.next === null) break
        until = `&until=${body.pagination.next}`
      }
      assert.deepEqual(
        names,
        Array.from({ length: PROJECTS }, (_, at) => `old-${PROJECTS - 1 - at}`),
      )
      const { body: seventh } = await call('GET', `/v9/projects/old-7?${team}`)
      assert.deepEqual([seventh.framework, seventh.paused, seventh.createdAt], ['nextjs', true, BORN + 7])
      assert.equal((await call('GET', '/v2/user')).body.user.email, 'olga@example.com')

      const schema = NAMES.slice(0, count + 1)
      if (schema.includes('0010-deployments') && !schema.includes('0034-deployment-meta')) {
        const { body: found } = await call('GET', `/v6/deployments?meta-githubCommitSha=sha-7&${team}`)
        assert.deepEqual(
          found.deployments.map(({ name }: { name: string }) => name),
          ['old-7'],
        )
        assert.equal(
          (await call('GET', `/v6/deployments?meta-githubCommitRef=main&limit=100&${team}`)).body.deployments.length,
          100,
        )
      }

      assert.equal((await call('POST', `/v1/projects/old-7/unpause?${team}`)).status, 200)
      const env = { key: 'TOKEN', value: 'secret', target: ['production'] }
      assert.equal((await call('POST', `/v10/projects/old-8/env?${team}`, env)).status, 201)
      const domain = await call('POST', `/v10/projects/old-8/domains?${team}`, { name: 'www.example.com' })
      assert.equal(domain.status, 200, domain.text)
      assert.equal((await call.try('POST', `/v10/projects?${team}`, { name: 'old-9' })).status, 409)
      assert.equal((await call('POST', `/v10/projects?${team}`, { name: 'new' })).status, 200)
      assert.equal((await call('DELETE', `/v9/projects/old-10?${team}`)).status, 204)
      assert.equal((await world.as(undefined)('GET', '/readyz')).status, 200)

      const audit = await world.operator(
        'GET',
        `/operator/v1/audit?accountId=${old.teamId}&type=createProject&limit=100`,
      )
      assert.equal(audit.body.entries.length, 100)
      assert.equal((await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})).status, 200)
      const { body: chain } = await world.operator('GET', '/operator/v1/audit/verify')
      assert.deepEqual([chain.verified, chain.late, chain.entries >= PROJECTS + 5], [true, 0, true])
    })
  }
}
