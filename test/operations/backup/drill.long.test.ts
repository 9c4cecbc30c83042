/** Backup under write load, and a restore that is killed, by the real program on both engines. docs/backup.md. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { berth } from '../../support/clients/command.ts'
import { MANY } from '../../support/iterations.ts'
import {
  allNames,
  credentialsOf,
  newHome,
  processOnBothEngines,
  type RunningService,
  type ServiceHome,
  startService,
} from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { ENGINES, type Engine } from '../../support/world.ts'
import { backedUp, create, freshHome, SECRET, secretOf } from './backup-world.ts'

/** Rows of 2 KB that the store of the drill has before: more than the heap that backup and restore get holds. */
const FILLING = Number(process.env.BERTH_DRILL_ROWS ?? 20_000)

const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=32' }

/** Creates projects on several connections until it is stopped. */
function writeOn(running: RunningService, token: string) {
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
    const running = await startService(t, home)
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
      const again = await startService(t, fresh)
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
async function fill(home: ServiceHome, engine: Engine): Promise<void> {
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

processOnBothEngines('a restore that is killed at any time leaves the store empty or complete', async (t, engine) => {
  const { file, home, token } = await backedUp(t, engine === 'sqlite' ? 'postgres' : 'sqlite')
  const fresh = await freshHome(t, engine, home)
  for (const afterMs of MANY ? [250, 350, 450, 550, 650] : [350, 550]) {
    const child = spawn(process.execPath, [join(root, 'bin', 'berth.mjs'), 'restore', file], {
      env: { PATH: process.env.PATH, ...fresh.env },
      stdio: 'ignore',
    })
    const closed = once(child, 'close')
    // The kill comes at any time of the restore.
    await sleep(afterMs)
    child.kill('SIGKILL')
    await closed
  }
  const last = await berth(['restore', file], fresh.env)
  if (last.code !== 0) assert.match(last.err, /is not empty/)
  const running = await startService(t, fresh)
  assert.deepEqual([...(await allNames(running, token))].sort(), ['one', 'three', 'two'])
  assert.equal(await secretOf(running, token, 'two'), `${SECRET} two`)
})
