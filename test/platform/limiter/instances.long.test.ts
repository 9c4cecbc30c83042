/** Four processes on one PostgreSQL, asked at the same time: limits, failures and Idempotency-Key are those of one. docs/limits.md: Several instances. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
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

const INSTANCES = 4
const TOTAL = 200
const LIMITS = JSON.stringify({
  'env-read': { total: TOTAL, seconds: 600 },
  'rows-written': { total: 200, seconds: 600 },
  'token-failures': { total: 100, seconds: 600 },
  'client-failures': { total: 10, seconds: 600 },
  'sign-in-failures': { total: 12, seconds: 600 },
})
const TIMEOUT_MS = 300_000

type Said = { status: number; text: string; headers: Headers }

async function say(
  { address }: Pick<RunningService, 'address'>,
  method: string,
  path: string,
  token?: string,
  body?: object | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Said> {
  const answer = await fetch(`${address}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && !(body instanceof URLSearchParams) && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: body instanceof URLSearchParams ? body : JSON.stringify(body) }),
  })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

/** Asks each instance so often, all at the same time with `lanes` requests at once at each. Gives how often each status came. */
async function askAll(
  instances: Pick<RunningService, 'address'>[],
  times: number,
  lanes: number,
  ask: (instance: Pick<RunningService, 'address'>) => Promise<number | undefined>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const lane = async (instance: Pick<RunningService, 'address'>, count: number) => {
    for (let at = 0; at < count; at++) {
      const status = String((await ask(instance).catch(() => undefined)) ?? 'broken')
      counts[status] = (counts[status] ?? 0) + 1
    }
  }
  const all = instances.flatMap((instance) => Array.from({ length: lanes }, () => lane(instance, times / lanes)))
  await Promise.all(all)
  return counts
}

async function startAll(t: { after(run: () => void): void }): Promise<{ home: ServiceHome; all: RunningService[] }> {
  const home = await newHome(t, 'postgres')
  const env = { BERTH_RATE_LIMITS: LIMITS }
  const first = await startService(t, home, env)
  const others = await Promise.all(Array.from({ length: INSTANCES - 1 }, () => startService(t, home, env)))
  return { home, all: [first, ...others] }
}

async function portionsAsked(all: RunningService[], operatorToken: string): Promise<number> {
  const told = await Promise.all(all.map((instance) => say(instance, 'GET', '/metrics', operatorToken)))
  return told.reduce((sum, { text }) => sum + Number(/^berth_limit_portions_total (\d+)$/m.exec(text)?.[1] ?? 0), 0)
}

/** A team with a project of its own: what it asks is limited apart from the others. */
async function newAccount({ all, home }: { all: RunningService[]; home: ServiceHome }): Promise<string> {
  const { operatorToken, token, userId } = credentialsOf(home)
  const slug = `team-${randomBytes(4).toString('hex')}`
  const made = await say(all[0]!, 'POST', '/operator/v1/teams', operatorToken, { slug, name: slug, ownerId: userId })
  assert.equal(made.status, 201, made.text)
  const teamId = JSON.parse(made.text).id
  const project = await say(all[0]!, 'POST', `/v10/projects?teamId=${teamId}`, token, { name: 'web' })
  assert.equal(project.status, 200, project.text)
  return teamId
}

/** Four instances give at most a tenth more, and no fifth less. */
function isNear(accepted: number | undefined, total: number, what: string): void {
  assert.ok(accepted! <= 1.1 * total, `${what}: ${accepted} of ${total}`)
  assert.ok(accepted! >= 0.8 * total, `${what}: only ${accepted} of ${total}`)
}

test('four instances give at most 1.1 of one limit, and ask the database rarely', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const set = await startAll(t)
  const { all, home } = set
  const { token, operatorToken } = credentialsOf(home)

  await t.test('reads, asked of all alike', async () => {
    const teamId = await newAccount(set)
    const before = await portionsAsked(all, operatorToken)
    const read = async (one: Pick<RunningService, 'address'>) =>
      (await say(one, 'GET', `/v9/projects/web/env?teamId=${teamId}`, token)).status
    const counts = await askAll(all, 80, 8, read)
    const asked = (await portionsAsked(all, operatorToken)) - before
    t.diagnostic(`alike: ${JSON.stringify(counts)}, ${asked} portions`)
    isNear(counts[200], TOTAL, 'alike')
    assert.equal(counts[200]! + counts[429]!, 320)
    assert.ok(asked <= TOTAL / 4, `${asked} statements for ${TOTAL} reads`)
  })

  await t.test('reads, asked of one first and of the others after it', async () => {
    const teamId = await newAccount(set)
    const read = async (one: Pick<RunningService, 'address'>) =>
      (await say(one, 'GET', `/v9/projects/web/env?teamId=${teamId}`, token)).status
    const few = await askAll(all, 4, 1, read)
    const first = await askAll(all.slice(0, 1), TOTAL, 8, read)
    const rest = await askAll(all.slice(1), 40, 4, read)
    const accepted = few[200]! + first[200]! + (rest[200] ?? 0)
    t.diagnostic(`one after another: ${JSON.stringify([few, first, rest])}`)
    isNear(accepted, TOTAL, 'one after another')
  })

  await t.test('rows written', async () => {
    const teamId = await newAccount(set)
    let made = 0
    const counts = await askAll(all, 32, 4, async (one) => {
      const variables = Array.from({ length: 5 }, () => ({
        key: `K${made++}`,
        value: 'x',
        type: 'plain',
        target: ['production'],
      }))
      return (await say(one, 'POST', `/v10/projects/web/env?teamId=${teamId}`, token, variables)).status
    })
    t.diagnostic(`rows: ${JSON.stringify(counts)}`)
    isNear(counts[201]! * 5, 200, 'rows')
  })

  await t.test(
    'while the database answers late, no account gets more than its limit and none is refused for it',
    async () => {
      const teamId = await newAccount(set)
      const read = async (one: Pick<RunningService, 'address'>) =>
        (await say(one, 'GET', `/v9/projects/web/env?teamId=${teamId}`, token)).status
      const holder = new pg.Client({ connectionString: home.env.DATABASE_URL! })
      await holder.connect()
      const loading = askAll(all, 80, 8, read)
      for (let round = 0; round < 4; round++) {
        await holder.query('begin; lock table rate_limit in access exclusive mode')
        // So late the database answers what it is asked meanwhile.
        await sleep(300)
        await holder.query('commit')
        // Then it answers at once for a while.
        await sleep(50)
      }
      const counts = await loading
      await holder.end()
      t.diagnostic(`late: ${JSON.stringify(counts)}`)
      isNear(counts[200], TOTAL, 'late')
      assert.equal(counts[200]! + counts[429]!, 320)
    },
  )

  await t.test('unknown tokens and wrong client secrets are counted as by one, to the last', async () => {
    const guess = async (one: Pick<RunningService, 'address'>) =>
      (await say(one, 'GET', '/v2/user', 'berth_guess')).status
    assert.deepEqual(await askAll(all, 50, 5, guess), { 401: 100, 429: 100 })
    const wrong = async (one: Pick<RunningService, 'address'>) => {
      const form = new URLSearchParams({ client_id: 'oac_x', client_secret: 'wrong', token: 'x' })
      return (await say(one, 'POST', '/v2/oauth/introspect', undefined, form)).status
    }
    assert.deepEqual(await askAll(all, 6, 6, wrong), { 401: 10, 429: 14 })
  })

  await t.test('wrong passwords are counted as by one instance, and a right one refunds what it consumed', async () => {
    const attempt = async (one: Pick<RunningService, 'address'>) => {
      const page = await say(one, 'GET', '/sign-in')
      const cookie = page.headers
        .getSetCookie()
        .map((line) => line.split(';')[0])
        .join('; ')
      const csrfToken = /name="form" value="([^"]+)"/.exec(page.text)![1]!
      const form = new URLSearchParams({
        form: csrfToken,
        name: `x${randomBytes(3).toString('hex')}`,
        password: 'wrong',
      })
      return (await say(one, 'POST', '/sign-in', undefined, form, { cookie })).status
    }
    assert.deepEqual(await askAll(all, 5, 5, attempt), { 403: 12, 429: 8 })
  })

  await t.test('one key, asked of all at the same time: one effect', async () => {
    for (let round = 0; round < 5; round++) {
      const body = { name: `once-${round}` }
      const headers = { 'idempotency-key': `key-${round}` }
      const ids = new Set<string>()
      const counts = await askAll(all, 5, 5, async (one) => {
        const answer = await say(one, 'POST', '/v10/projects', token, body, headers)
        if (answer.status === 200) ids.add(JSON.parse(answer.text).id)
        return answer.status
      })
      assert.equal(ids.size, 1, JSON.stringify(counts))
      assert.equal(counts[200]! + (counts[409] ?? 0), 20, JSON.stringify(counts))
    }
  })

  await t.test('one is killed: what it counted stays counted', async () => {
    const teamId = await newAccount(set)
    const read = async (one: Pick<RunningService, 'address'>) =>
      (await say(one, 'GET', `/v9/projects/web/env?teamId=${teamId}`, token)).status
    let answered = 0
    const loading = askAll(all, 80, 8, (one) => read(one).finally(() => answered++))
    // In the middle of the load: a quarter of the limit is given, and most is still asked for.
    await eventually(() => answered >= TOTAL / 4)
    await all[3]!.kill('SIGKILL')
    const counts = await loading
    const next = await startService(t, home, { BERTH_RATE_LIMITS: LIMITS })
    const after = await askAll([next, ...all.slice(0, 3)], 40, 8, read)
    t.diagnostic(`killed: ${JSON.stringify([counts, after])}`)
    isNear(counts[200]! + (after[200] ?? 0), TOTAL, 'killed')
    const guess = await say(next, 'GET', '/v2/user', 'berth_guess')
    assert.equal(guess.status, 429, 'an instance that starts knows of failures at others')
  })
})

processOnBothEngines('failures are counted on over a kill and a start', async (t, engine) => {
  const home = await newHome(t, engine)
  const env = { BERTH_RATE_LIMITS: LIMITS }
  const running = await startService(t, home, env)
  const guess = async (one: Pick<RunningService, 'address'>) =>
    (await say(one, 'GET', '/v2/user', 'berth_guess')).status
  assert.deepEqual(await askAll([running], 60, 6, guess), { 401: 60 })
  if (engine === 'sqlite') await eventually(() => keptFailures(home) === 60)
  await running.kill('SIGKILL')
  const next = await startService(t, home, env)
  assert.deepEqual(await askAll([next], 60, 6, guess), { 401: 40, 429: 20 })
  await next.kill('SIGTERM')
  const last = await startService(t, home, env)
  assert.deepEqual(await askAll([last], 6, 6, guess), { 429: 6 })
})

/** How many failures the embedded store has: it writes counts within a second. */
function keptFailures({ folder }: ServiceHome): number {
  const store = new DatabaseSync(join(folder, 'berth.db'), { readOnly: true })
  try {
    return Number(store.prepare("select sum(used) as used from rate_limit where name = 'token-failures'").get()!.used)
  } finally {
    store.close()
  }
}
