/** How often an account may ask: figures, headers, windows, overrides, the bound on memory; and that docs/limits.md says the same. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BadSetting, readConfig } from '../../../src/config.ts'
import { LIMITS, type LimitName } from '../../../src/limits.ts'
import { createLimiter, type Limiter, type LimitStatus } from '../../../src/platform/limiter/limiter.ts'
import { ROUTES } from '../../../src/routes.ts'
import { root } from '../../support/root.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'

const ON = { BERTH_RATE_LIMITS: 'on' }
const FEW = {
  BERTH_RATE_LIMITS: '{"env-create": 3, "env-read": {"total": 2, "seconds": 10}, "read": 4, "team-read": null}',
}

const variable = (key: string) => ({ key, value: 'x', type: 'plain', target: ['production'] })

/** Takes one, where memory alone counts. */
function takeNow(limiter: Limiter, owner: string, now: number): LimitStatus | undefined {
  const taken = limiter.consume('env-create', owner, now)
  assert.ok(!(taken instanceof Promise))
  return taken
}

async function makeProject(world: World, name = 'web'): Promise<void> {
  assert.equal((await world.call('POST', '/v10/projects', { name })).status, 200)
}

function told(answer: ApiResponse): number[] {
  return ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => Number(answer.headers[name]))
}

onBothEngines(
  "upstream's figures hold as they are: the 61st delete of a variable in a minute is 429, and another group is not touched",
  async (world) => {
    await makeProject(world)
    const url = '/v9/projects/web/env/none'
    const answers = await Promise.all(Array.from({ length: 75 }, () => world.call.try('DELETE', url)))
    const counted = answers.filter(({ status }) => status === 404)
    assert.equal(counted.length, 60)
    const left = counted.map(({ headers }) => Number(headers['x-ratelimit-remaining'])).sort((a, b) => a - b)
    assert.deepEqual(
      left,
      Array.from({ length: 60 }, (_, at) => at),
      'a request that is refused for its content is counted, and has the remaining number',
    )
    const malformed = await world.call.try('POST', '/v10/projects/web/env', { key: 1 })
    assert.equal(malformed.status, 400)
    assert.equal(Number(malformed.headers['x-ratelimit-remaining']), Number(malformed.headers['x-ratelimit-limit']) - 1)
    const refused = answers.filter(({ status }) => status === 429)
    assert.equal(refused.length, 15)
    for (const { headers, body } of refused) {
      const wait = Number(headers['retry-after'])
      assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60, `${headers['retry-after']}`)
      const { code, name, limit, message } = body.error
      assert.deepEqual([code, name, limit.total, limit.remaining], ['rate_limited', 'env-delete', 60, 0])
      assert.match(message, new RegExp(`^Too many requests - try again in ${wait} seconds? \\(more than 60`))
      const now = world.deps.clock.now()
      assert.ok(limit.reset * 1000 > now && limit.reset * 1000 <= now + 61_000)
      assert.equal(Math.ceil(limit.resetMs / 1000), limit.reset)
      assert.deepEqual([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']], ['60', '0'])
      assert.equal(headers['x-ratelimit-reset'], String(limit.reset))
      assert.equal(headers.ratelimit, `"env-delete";r=0;t=${wait}`)
      assert.equal(headers['ratelimit-policy'], '"env-delete";q=60;w=60')
    }
    assert.equal((await world.call('POST', '/v10/projects/web/env', variable('A'))).status, 201)
    const other = await world.user('other')
    assert.equal((await other.call.try('DELETE', url)).status, 404, 'another account has its own')
  },
  ON,
)

onBothEngines(
  'a request above the limit changes nothing, and the window of the limit ends',
  async (world) => {
    await makeProject(world)
    const put = (key: string) => world.call.try('POST', '/v10/projects/web/env', variable(key))
    assert.deepEqual(told(await put('A')).slice(0, 2), [3, 2])
    assert.deepEqual(told(await put('B')).slice(0, 2), [3, 1])
    const last = await put('C')
    assert.deepEqual([last.status, ...told(last).slice(0, 2)], [201, 3, 0])
    const refused = await put('D')
    assert.equal(refused.status, 429)
    const names = ({ body }: ApiResponse<{ envs: { key: string }[] }>) => body.envs.map(({ key }) => key).sort()
    const list = await world.call.try('GET', '/v9/projects/web/env')
    assert.deepEqual(names(list), ['A', 'B', 'C'])
    assert.match(String(list.headers.ratelimit), /^"env-read";r=1;t=([1-9]|10)$/)
    assert.equal(list.headers['retry-after'], undefined)

    const now = world.deps.clock.now()
    world.deps.clock.set(now + Number(refused.headers['retry-after']) * 1000)
    assert.equal((await put('D')).status, 201, 'Retry-After is long enough')
    // A clock that was ahead limits no caller until the time that it had.
    for (const key of ['E', 'F']) await put(key)
    assert.equal((await put('G')).status, 429)
    world.deps.clock.set(now - 24 * 3_600_000)
    assert.equal((await put('G')).status, 201)
  },
  FEW,
)

onBothEngines(
  'a team and its members ask from one share, whichever token they show',
  async (world) => {
    const { teamId, userId } = world.credentials
    const url = `/v9/projects?teamId=${teamId}` as const
    const second = await world.token({ teamId, scopes: ['read:project'] })
    const mate = await world.user('mate')
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${mate.id}`, { role: 'VIEWER' })
    assert.equal((await world.call('GET', url)).status, 200)
    assert.equal((await second('GET', '/v9/projects')).status, 200)
    assert.equal((await mate.call('GET', url)).status, 200)
    // The list comes from the cache here, and is still counted.
    assert.equal((await world.call('GET', url)).status, 200)
    for (const call of [world.call, mate.call]) assert.equal((await call.try('GET', url)).status, 429)
    assert.equal((await second.try('GET', '/v9/projects')).status, 429)
    assert.equal((await world.call('GET', '/v9/projects')).status, 200, `the account ${userId} has its own`)
    const unlimited = await world.call('GET', `/v2/teams/${teamId}`)
    assert.deepEqual([unlimited.status, unlimited.headers['x-ratelimit-limit']], [200, undefined])
  },
  FEW,
)

onBothEngines(
  'a refused caller uses nothing of the limit, and the operator has none',
  async (world) => {
    await makeProject(world)
    const stranger = await world.token({ scopes: [] })
    for (let at = 0; at < 6; at++) {
      assert.equal((await stranger.try('GET', '/v9/projects')).status, 403)
      const answer = await world.operator('GET', '/operator/v1/audit')
      assert.deepEqual([answer.status, answer.headers.ratelimit], [200, undefined])
    }
    for (const left of [3, 2, 1, 0]) assert.equal(told(await world.call.try('GET', '/v9/projects'))[1], left)
    assert.equal((await world.call.try('GET', '/v9/projects')).status, 429)
  },
  FEW,
)

onBothEngines(
  'tokens: 32 in an hour, not in a minute',
  async (world) => {
    const make = () => world.call.try('POST', '/v3/user/tokens', { name: 'ci' })
    const statuses = (await Promise.all(Array.from({ length: 33 }, make))).map(({ status }) => status)
    assert.deepEqual(statuses.sort().slice(-2), [200, 429])
    world.deps.clock.set(world.deps.clock.now() + 59 * 60_000)
    assert.equal((await make()).status, 429)
    world.deps.clock.set(world.deps.clock.now() + 61_000)
    assert.equal((await make()).status, 200)
  },
  ON,
)

onBothEngines(
  'the name servers of a domain are asked 20 times a minute for one account',
  async (world) => {
    await makeProject(world)
    const added = await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
    assert.equal(added.body.verified, false)
    let asked = 0
    world.deps.adapters.dns.readTxt = async () => {
      asked++
      return []
    }
    const verify = () => world.call.try('POST', '/v9/projects/web/domains/www.example.com/verify')
    const statuses = (await Promise.all(Array.from({ length: 30 }, verify))).map(({ status }) => status)
    assert.deepEqual(
      [statuses.filter((one) => one === 400).length, statuses.filter((one) => one === 429).length],
      [20, 10],
    )
    assert.equal(asked, 20)
  },
  ON,
)

test('the setting is on, off or figures for known limits; anything else ends the start', () => {
  assert.equal(readConfig({ BERTH_RATE_LIMITS: 'off' }).rateLimits, 'off')
  for (const text of ['', 'on', '{}']) assert.deepEqual(readConfig({ BERTH_RATE_LIMITS: text }).rateLimits, {})
  assert.deepEqual(readConfig({ BERTH_RATE_LIMITS: '{"env-create":5,"write":null}' }).rateLimits, {
    'env-create': { total: 5, seconds: 60 },
    write: { total: null, seconds: 60 },
  })
  const wrong = [
    'yes',
    '{',
    '[]',
    '5',
    'null',
    '{"env":5}',
    '{"env-create":0}',
    '{"env-create":1.5}',
    '{"env-create":"5"}',
    '{"env-create":{"seconds":5}}',
    '{"env-create":{"total":5,"seconds":0}}',
    '{"env-create":{"total":5,"per":1}}',
    '{"toString":5}',
    '{"__proto__":5}',
    '{"env-create":1e10}',
    '{"env-create":{"total":null}}',
    '{"env-create":true}',
  ]
  for (const text of wrong) {
    assert.throws(
      () => readConfig({ BERTH_RATE_LIMITS: text }),
      (error) => error instanceof BadSetting && error.message.startsWith('BERTH_RATE_LIMITS '),
      text,
    )
  }
})

test('the number of counted owners is bounded: a million take no more memory than ten thousand, and each is counted right', () => {
  const limiter = createLimiter({ 'env-create': { total: 2, seconds: 60 } })
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  for (let at = 0; at < 10_000; at++) takeNow(limiter, `team_${at}`, 0)
  const before = heap()
  for (let at = 10_000; at < 1_000_000; at++) takeNow(limiter, `team_${at}`, 0)
  assert.ok(heap() - before < 8_000_000, `${heap() - before} bytes more`)
  assert.equal(takeNow(limiter, 'team_990000', 1)?.remaining, 0, 'ten thousand are known')
  assert.equal(takeNow(limiter, 'team_999999', 1)?.remaining, 0)
  assert.equal(takeNow(limiter, 'team_999999', 1)?.exceeded, true)
  assert.equal(takeNow(limiter, 'team_5', 1)?.remaining, 1, 'evicted: it starts again')
})

test('requests are counted in any order of their times, and a clock that was set back starts again', () => {
  const limiter = createLimiter({ 'env-create': { total: 3, seconds: 60 } })
  const remaining = [100_000, 99_990, 100_005, 99_980].map((now) => takeNow(limiter, 'team', now))
  assert.deepEqual(
    remaining.map((taken) => taken?.remaining),
    [2, 1, 0, 0],
  )
  assert.equal(remaining[3]?.exceeded, true)
  assert.equal(takeNow(limiter, 'team', 80_000)?.remaining, 2)
})

test('every operation of the table is a public one and in one group', () => {
  const known = new Map(ROUTES.map((route) => [route.operationId, route]))
  const named = Object.values(LIMITS).flatMap((row) => ('operations' in row ? [...row.operations] : []))
  assert.equal(new Set(named).size, named.length)
  for (const operation of named) assert.equal(known.get(operation)?.auth, 'public', operation)
})

test('docs/limits.md says the figures of the code', () => {
  const [, text = ''] = readFileSync(join(root, 'docs', 'limits.md'), 'utf8').split(/^## /m)
  const rows = [...text.matchAll(/^\| `([\w-]+)`\s*\| ([\w ,]+?)\s*\|/gm)].map(([, name, figure]) => [name, figure])
  const periods: Record<number, string> = { 60: 'a minute', 3600: 'an hour', 86400: 'a day' }
  const figure = ({ total, seconds }: { total: number | null; seconds: number }) =>
    total === null ? 'none' : `${total} ${periods[seconds]}`
  const expected = Object.entries(LIMITS).map(([name, row]) => [name as LimitName, figure(row)])
  assert.deepEqual(rows, expected)
})
