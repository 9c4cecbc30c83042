/** Stores of earlier versions, kept in test/fixtures/stores, are opened: their responses are the same, and writes work. docs/upgrading.md. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { FIXED, type KeptAnswer } from '../../../scripts/store-fixture/fill.ts'
import { readConfig } from '../../../src/config.ts'
import type { Queries } from '../../../src/platform/db/db.ts'
import { migratePostgres, openPostgresConnection } from '../../../src/platform/db/postgres/open.ts'
import { migrateSqlite, openSqliteFile } from '../../../src/platform/db/sqlite/open.ts'
import { openSecretBox } from '../../../src/platform/secrets/data-keys.ts'
import { MIGRATED, storesFolder } from '../../support/postgres.ts'
import { root } from '../../support/root.ts'
import { ENGINES, type Engine, newDatabase, openWorld, type World } from '../../support/world.ts'

const FIXTURES = join(root, 'test', 'fixtures', 'stores')
/** TABLE what answers no longer say, each with its reason. */
const NO_LONGER_SAID: readonly { said: RegExp; why: string }[] = [
  {
    said: /^\/v2\/user \.user\.limited was /,
    why: 'SDKs that know no such field of a user took the smaller shape of it, and lost the rest',
  },
  {
    said: /^\/v13\/deployments\/\S+ \.aliasAssigned was false and is true$/,
    why: 'a deployment that is READY has an address of its own, and command lines wait until it says so',
  },
]
/** What the fixture sealed as `sensitive`: no response has it, so it is opened as a build opens it. */
const SENSITIVE = 'nobody reads this'

for (const commit of readdirSync(FIXTURES).filter((name) => /^[0-9a-f]{7}$/.test(name))) {
  for (const engine of ENGINES) {
    test(`the store that ${commit} wrote has the same responses, value by value, and takes writes [${engine}]`, async (t) => {
      const { world, answers } = await openFixture(t, join(FIXTURES, commit, engine), engine)
      assert.equal(world.firstStart, false)
      const lost: string[] = []
      for (const { token, path, body } of answers) {
        const now = await world.as(token)('GET', path as '/v9/projects')
        assert.equal(now.status, 200, `${path}: ${now.text}`)
        lost.push(...missing(body, now.body).map((where) => `${path} ${where}`))
      }
      assert.deepEqual(
        lost.filter((line) => !NO_LONGER_SAID.some(({ said }) => said.test(line))),
        [],
      )
      assert.ok(answers.length > 30, `${answers.length}`)
      await mustOpenSealed(world)
      await mustTakeWrites(world)
      const { body: chain } = await world.operator('GET', '/operator/v1/audit/verify')
      assert.deepEqual([chain.verified, chain.entries > 10], [true, true])
    })
  }
}

/** A service over a copy of a fixture, with its keyring and its users. */
async function openFixture(t: TestContext, from: string, engine: Engine) {
  const folder = mkdtempSync(join(storesFolder(), 'berth-fixture-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  // Git keeps no mode of a file but whether it runs, and a keyring that others can read is refused.
  for (const name of ['keys.json', 'credentials.json'])
    writeFileSync(join(folder, name), readFileSync(join(from, name)), { mode: 0o600 })
  const unpacked = (name: string) => gunzipSync(readFileSync(join(from, name)))
  const url = engine === 'sqlite' ? `sqlite:${join(folder, 'berth.db')}` : await newDatabase()
  if (engine === 'sqlite') writeFileSync(join(folder, 'berth.db'), unpacked('store.db.gz'))
  else await runStatements(url, unpacked('store.sql.gz').toString())
  const answers: KeptAnswer[] = JSON.parse(unpacked('answers.json.gz').toString())
  const settings = { BERTH_DATA: folder, DATABASE_URL: url, ...FIXED }
  const world = await openWorld(engine, settings)
  t.after(() => world.close())
  return { world, answers }
}

async function runStatements(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(text).finally(() => client.end())
}

/** Where `now` lacks what `then` had, or has something else. Fields that only `now` has are new, and are ignored. */
function missing(then: unknown, now: unknown, where = ''): string[] {
  if (typeof then !== 'object' || then === null || typeof now !== 'object' || now === null)
    return Object.is(then, now) ? [] : [`${where} was ${JSON.stringify(then)} and is ${JSON.stringify(now)}`]
  if (Array.isArray(then) && then.length !== (now as unknown[]).length) return [`${where} has another length`]
  const inside = (name: string) => (Array.isArray(then) ? `${where}[${name}]` : `${where}.${name}`)
  return Object.entries(then).flatMap(([name, value]) =>
    missing(value, (now as Record<string, unknown>)[name], inside(name)),
  )
}

/** Opens every sealed value of the store with the keyring next to it. */
async function mustOpenSealed(world: World): Promise<void> {
  const rows = await world.deps.db.read.selectFrom('env_var').selectAll().execute()
  const opened: (string | undefined)[] = []
  for (const row of rows) {
    const box = await openSecretBox({ db: world.deps.db.read, deps: world.deps }, row.project_id)
    opened.push(box.open(row.id, row.value_version, row.sealed_value))
  }
  assert.equal(opened.includes(undefined), false)
  assert.ok(opened.includes(SENSITIVE))
}

async function mustTakeWrites(world: World): Promise<void> {
  const team = `teamId=${world.credentials.teamId}`
  const env = { key: 'SEALED', value: 'written now', target: ['preview'] }
  assert.equal((await world.call('POST', `/v10/projects/shop/env?upsert=true&${team}`, env)).status, 201)
  assert.equal((await world.call('PATCH', `/v9/projects/shop?${team}`, { framework: 'astro' })).status, 200)
  const domain = await world.call('POST', `/v10/projects/docs/domains?${team}`, { name: 'docs.berth.test' })
  assert.deepEqual([domain.status, domain.body.verified], [200, true])
  assert.equal((await world.call.try('POST', `/v10/projects?${team}`, { name: 'docs' })).status, 409)
  assert.equal((await world.call('DELETE', `/v9/projects/docs?${team}`)).status, 204)
  const { body: deployments } = await world.call('GET', `/v6/deployments?${team}`)
  const { projectId, uid } = deployments.deployments[0] as { projectId: string; uid: string }
  const promoted = await world.call('POST', `/v10/projects/${projectId}/promote/${uid}?${team}`)
  assert.equal(promoted.status, 201, promoted.text)
  assert.equal((await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})).status, 200)
}

for (const engine of ENGINES) {
  test(`a store that a newer version wrote is refused with the way out, and left as it is [${engine}]`, async (t) => {
    const url = engine === 'postgres' ? await newDatabase(MIGRATED) : `sqlite:${copyOfMigrated(t)}`
    const { database } = readConfig({ DATABASE_URL: url })
    const open = () =>
      database.engine === 'sqlite' ? openSqliteFile(database.file, false) : openPostgresConnection(url)
    const newer = open()
    // biome-ignore lint/suspicious/noExplicitAny: the table is Kysely's own
    const ran = (store: Queries) => (store as any).selectFrom('kysely_migration').selectAll().orderBy('name').execute()
    // biome-ignore lint/suspicious/noExplicitAny: as above
    await (newer as any).insertInto('kysely_migration').values({ name: '9999-later', timestamp: '2099' }).execute()
    const before = await ran(newer)
    await newer.destroy()
    const migrating = database.engine === 'sqlite' ? migrateSqlite(database.file) : migratePostgres(url)
    await assert.rejects(
      migrating,
      /newer version of Berth: it has 9999-later, which .* Start the newer .* restore a backup/,
    )
    const store = open()
    assert.deepEqual(await ran(store), before)
    await store.destroy()
  })
}

function copyOfMigrated(t: TestContext): string {
  const folder = mkdtempSync(join(storesFolder(), 'berth-newer-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  copyFileSync(process.env.BERTH_TEST_SQLITE!, join(folder, 'berth.db'))
  return join(folder, 'berth.db')
}
