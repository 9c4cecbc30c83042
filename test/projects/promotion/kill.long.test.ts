/** A promote that is killed half-way, again and again, ends after a restart, and maps no domain twice. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
import {
  credentialsOf,
  newHome,
  processOnBothEngines,
  type RunningService,
  type ServiceHome,
  startService,
} from '../../support/process.ts'
import type { Engine } from '../../support/world.ts'

const DOMAINS = { sqlite: 1500, postgres: 500 }
/** This many domains lose their verification during the promote, as when another account verifies them. */
const LOST = 3

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the service said
type Json = any

async function speak(
  { address }: Pick<RunningService, 'address'>,
  token: string,
  method: string,
  path: string,
  body?: object,
) {
  const answer = await fetch(`${address}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert.ok(answer.ok, `${method} ${path}: ${text}`)
  return text === '' ? undefined : (JSON.parse(text) as Json)
}

/** Runs statements outside the service; on SQLite while it is stopped. Returns the rows of the last. */
async function besides(home: ServiceHome, engine: Engine, ...statements: string[]): Promise<Record<string, unknown>[]> {
  if (engine === 'postgres') {
    const client = new pg.Client({ connectionString: home.env.DATABASE_URL })
    await client.connect()
    try {
      let rows: Record<string, unknown>[] = []
      for (const statement of statements) rows = (await client.query(statement)).rows
      return rows
    } finally {
      await client.end()
    }
  }
  const database = new DatabaseSync(join(home.folder, 'berth.db'))
  try {
    let rows: Record<string, unknown>[] = []
    for (const statement of statements) rows = database.prepare(statement).all()
    return rows
  } finally {
    database.close()
  }
}

/** The database itself notes every name that is mapped, in the transaction that maps it. It takes its time for it, so that a kill comes half-way. */
const COUNTING: Record<Engine, string[]> = {
  sqlite: [
    'create table mapped (name text)',
    'create view slow as with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 10000) select count(*) as many from numbers',
    'create trigger count_mapped after update on alias begin insert into mapped select new.name from slow where many > 0; end',
  ],
  postgres: [
    'create table mapped (name text)',
    "create function count_mapped() returns trigger language plpgsql as 'begin insert into mapped values (new.name); perform pg_sleep(0.003); return new; end'",
    'create trigger count_mapped after update on alias for each row execute function count_mapped()',
  ],
}

/** Creates a project with many domains on a first deployment, and a second deployment. Returns both ids. */
async function prepare(t: TestContext, home: ServiceHome, engine: Engine, env: Record<string, string>) {
  const running = await startService(t, home, { ...env, BERTH_TIMERS: 'off' })
  const { token, operatorToken } = credentialsOf(home)
  const { id } = await speak(running, token, 'POST', '/v10/projects', { name: 'web' })
  const names = Array.from({ length: DOMAINS[engine] }, (_, at) => `l${at}.apps.example.net`)
  for (let at = 0; at < names.length; at += 10) {
    // At most as many as there are connections: a request that waits two seconds for one gets 503.
    const batch = names.slice(at, at + 10)
    await Promise.all(batch.map((name) => speak(running, token, 'POST', `/v10/projects/${id}/domains`, { name })))
  }
  const deploy = (url: string) =>
    speak(running, operatorToken, 'POST', `/operator/v1/projects/${id}/deployments`, {
      url,
      target: 'production',
      readyState: 'READY',
    })
  await deploy('one.host.test')
  await speak(running, token, 'PATCH', `/v9/projects/${id}`, { autoAssignCustomDomains: false })
  const second = await deploy('two.host.test')
  assert.equal(await running.kill('SIGTERM'), 0)
  return { id: id as string, second: second.id as string, token }
}

async function countOf(home: ServiceHome, engine: Engine, status: string): Promise<number> {
  const sql = `select count(*) as many from alias_mapping where status = '${status}'`
  return Number((await besides(home, engine, sql))[0]!.many)
}

processOnBothEngines(
  'a promote that is killed halfway, twice, completes after a restart and maps nothing twice',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const domains = DOMAINS[engine] - LOST
    const env = { BERTH_PLATFORM_SUFFIX: 'apps.example.net' }
    const { id, second, token } = await prepare(t, home, engine, env)
    await besides(home, engine, ...COUNTING[engine])

    let running = await startService(t, home, env)
    await speak(running, token, 'POST', `/v10/projects/${id}/promote/${second}`, {})
    const status = async () => (await speak(running, token, 'GET', '/v9/projects/web')).lastAliasRequest.jobStatus
    // The oldest domains are mapped first: once this one is, the work has begun and is far from its end.
    const early = async () => (await speak(running, token, 'GET', '/v4/aliases/l0.apps.example.net')).deploymentId
    await eventually(async () => (await early()) === second)
    await running.kill('SIGKILL')
    const before = await countOf(home, engine, 'completed')
    assert.ok(before > 0 && before < domains, `half-way: ${before} of ${domains}`)
    const last = Array.from({ length: LOST }, (_, at) => `'l${domains + at}.apps.example.net'`)
    await besides(home, engine, `update project_domain set verified_at = null where name in (${last})`)

    running = await startService(t, home, env)
    const { token: same } = credentialsOf(home)
    assert.equal(same, token)
    // No request is sent: the sweep finds the promote on its own, a second after the start.
    await sleep(1100)
    await running.kill('SIGKILL')
    assert.ok((await countOf(home, engine, 'completed')) >= before)

    running = await startService(t, home, env)
    // Where several instances share a store, both go on with it at once.
    const other = engine === 'postgres' ? await startService(t, home, env) : undefined
    await eventually(async () => ['succeeded', 'failed'].includes(await status()))
    assert.equal(await status(), 'failed')
    const { aliases } = await speak(running, token, 'GET', `/v1/projects/${id}/promote/aliases?failedOnly=true`)
    assert.equal(aliases.length, LOST)
    await running.kill('SIGTERM')
    await other?.kill('SIGTERM')

    assert.equal(await countOf(home, engine, 'completed'), domains)
    const rows = await besides(home, engine, 'select name from mapped')
    assert.deepEqual([rows.length, new Set(rows.map(({ name }) => name)).size], [domains, domains])
    const left = `select count(*) as many from alias where deployment_id <> '${second}'`
    assert.equal(Number((await besides(home, engine, left))[0]!.many), LOST)
  },
)
