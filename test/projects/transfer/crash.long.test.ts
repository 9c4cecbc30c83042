/** kill -9 while a project moves: it is wholly on one side each time, and ends on the right one. Issue: What it must show. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
import { iterations } from '../../support/iterations.ts'
import {
  credentialsOf,
  newHome,
  processOnBothEngines,
  type RunningService,
  type ServiceHome,
  sendRequest,
  startService,
} from '../../support/process.ts'
import type { Engine } from '../../support/world.ts'

/** Among so many at least one is expected to come after the start of the transfer. */
const MAX_KILLS = 10
const KILLS = iterations(2, MAX_KILLS)
const PARTS = 120
/** From the acceptance to behind the end of the move. */
const MAX_MS = { sqlite: 25, postgres: 150 }

type Side = { id: string; token: string }

/** The account of the project and of all its parts, read in one statement outside the service. */
const WHERE = `select project.account_id as account, project.transfer_started_at as started,
  project.transfer_completed_at as completed, (select count(*) from project_domain
  where project_domain.project_id = project.id and project_domain.account_id = project.account_id) as with_it,
  (select count(*) from project_domain where project_domain.project_id = project.id) as domains,
  (select count(*) from env_var where env_var.project_id = project.id) as variables from project`

async function whereIs(home: ServiceHome, engine: Engine): Promise<{ account: string; open: boolean }> {
  const row = engine === 'postgres' ? await onPostgres(home) : onSqlite(home)
  const counts = [row.with_it, row.domains, row.variables].map(Number)
  assert.deepEqual(counts, [PARTS, PARTS, PARTS], 'half of it moved')
  return { account: String(row.account), open: row.started !== null && row.completed === null }
}

async function onPostgres(home: ServiceHome): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: home.env.DATABASE_URL })
  await client.connect()
  try {
    const { rows } = await client.query(WHERE)
    assert.equal(rows.length, 1)
    return rows[0]
  } finally {
    await client.end()
  }
}

/** Whether the server knows of no connection of the program any more. */
async function isAlone(home: ServiceHome): Promise<boolean> {
  const client = new pg.Client({ connectionString: home.env.DATABASE_URL })
  await client.connect()
  try {
    const others = 'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    return (await client.query(others)).rows.length === 0
  } finally {
    await client.end()
  }
}

function onSqlite(home: ServiceHome): Record<string, unknown> {
  const database = new DatabaseSync(join(home.folder, 'berth.db'))
  try {
    const rows = database.prepare(WHERE).all()
    assert.equal(rows.length, 1)
    return rows[0] as Record<string, unknown>
  } finally {
    database.close()
  }
}

/** A giver with a project of many parts, and a taker. */
async function fill(running: RunningService, home: ServiceHome): Promise<[Side, Side]> {
  const { operatorToken, userId, token } = credentialsOf(home)
  const asked = async (bearer: string, path: string, body: object) => {
    const answer = await sendRequest(running, bearer, 'POST', path, body)
    assert.ok(answer && answer.status < 300, JSON.stringify(answer))
    return answer.body as unknown as { id: string; token: string }
  }
  const taker = await asked(operatorToken, '/operator/v1/users', { email: 'taker@example.com', username: 'taker' })
  const made = await asked(operatorToken, '/operator/v1/tokens', { userId: taker.id })
  await asked(token, '/v10/projects', { name: 'web' })
  const variables = Array.from({ length: PARTS }, (_, at) => ({ key: `K${at}`, value: 'v', target: ['preview'] }))
  await asked(token, '/v10/projects/web/env', variables)
  for (let at = 0; at < PARTS; at++) await asked(token, '/v10/projects/web/domains', { name: `d${at}.example.com` })
  return [
    { id: userId, token },
    { id: taker.id, token: made.token },
  ]
}

/** Starts a transfer and kills the program some time after the request, or the response. Returns the response of the taker, if any. */
async function transferAndKill(
  t: TestContext,
  home: ServiceHome,
  sides: [Side, Side],
  afterMs: number,
  answered: boolean,
) {
  const running = await startService(t, home)
  const offered = await sendRequest(running, sides[0].token, 'POST', '/projects/web/transfer-request', {})
  const { code } = offered?.body as unknown as { code: string }
  const taken = sendRequest(running, sides[1].token, 'PUT', `/projects/transfer-request/${code}`, {})
  if (answered) await taken
  // The kill comes at a random time.
  await sleep(afterMs)
  await running.kill('SIGKILL')
  return taken
}

/** Starts the program and waits until nothing is on its way. */
async function settle(t: TestContext, home: ServiceHome, engine: Engine): Promise<string> {
  const running = await startService(t, home)
  await eventually(
    async () => !(await whereIs(home, engine)).open,
    () => 'the transfer was not taken up again',
  )
  const { account } = await whereIs(home, engine)
  assert.equal(await running.kill('SIGTERM'), 0)
  return account
}

processOnBothEngines(
  `a transfer that is killed at random times leaves the project complete and ends on the right side`,
  async (t, engine) => {
    const home = await newHome(t, engine)
    const first = await startService(t, home)
    let sides = await fill(first, home)
    await first.kill('SIGTERM')
    const seen = { before: 0, between: 0, after: 0 }
    for (let kill = 0; kill < KILLS || (seen.before === kill && kill < MAX_KILLS); kill++) {
      const taken = await transferAndKill(t, home, sides, Math.random() * MAX_MS[engine], kill % 2 === 0)
      // A commit that was on its way to the server when its client died arrives or does not.
      if (engine === 'postgres') await eventually(() => isAlone(home))
      const found = await whereIs(home, engine)
      const [giver, taker] = sides
      const began = found.open || found.account === taker.id
      seen[found.open ? 'between' : began ? 'after' : 'before']++
      if (taken?.status === 202) assert.ok(began, 'an answered start is lost')
      const ends = await settle(t, home, engine)
      assert.equal(ends, began ? taker.id : giver.id)
      if (ends === taker.id) sides = [taker, giver]
    }
    t.diagnostic(`killed before the start ${seen.before}, between ${seen.between}, after the move ${seen.after}`)
    assert.ok(seen.between + seen.after > 0, 'no transfer ever began')
  },
)
