/** Failed attempts count by client and address, and lock no other out. docs/spec/reliability.md T19; docs/limits.md: Only failing clients wait. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { newClientSecret } from '../../../src/platform/base/ids.ts'
import { peerAddress } from '../../../src/platform/http/failure-limits.ts'
import { openClient, PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, REDIRECT, seedIntegration } from '../../support/worlds/integration-world.ts'

const ON = { BERTH_RATE_LIMITS: 'on' }
const ATTACKER = '198.51.100.7'
const CUSTOMER = '203.0.113.9'

/** A request from this address. */
async function from(
  world: World,
  remoteAddress: string,
  method: 'GET' | 'POST',
  url: string,
  token?: string,
  body?: object,
): Promise<Pick<ApiResponse, 'status' | 'headers' | 'body'>> {
  const answer = await world.app.inject({
    method,
    url,
    remoteAddress,
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { payload: body }),
  })
  return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(answer.payload || '{}') }
}

/** A sign-in on the page, from this address. */
function signInFrom(world: World) {
  return async (remoteAddress: string, name: string, password: string) => {
    const client = openClient(world)
    await client.get('/sign-in')
    const cookie = [...client.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
    return world.app.inject({
      method: 'POST',
      url: '/sign-in',
      remoteAddress,
      headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ form: client.token(), name, password }).toString(),
    })
  }
}

function counted(statuses: number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

onBothEngines(
  'wrong client secrets: ten a minute for a client and address, then 429; other addresses and right secrets are not affected',
  async (world) => {
    const app = await seedIntegration(world)
    const form = (client_secret: string, client_id = app.clientId) => ({ client_id, client_secret, token: 'x' })
    const guess = (address: string, client_secret = newClientSecret(), client_id = app.clientId) =>
      from(world, address, 'POST', '/v2/oauth/introspect', undefined, form(client_secret, client_id))
    const guesses = await Promise.all(Array.from({ length: 60 }, () => guess(ATTACKER)))
    assert.deepEqual(counted(guesses.map(({ status }) => status)), { 401: 10, 429: 50 })
    const { body, headers } = guesses.find(({ status }) => status === 429)!
    assert.deepEqual([body.error.code, body.error.name], ['rate_limited', 'client-failures'])
    assert.match(String(headers['retry-after']), /^([1-9]|[1-5]\d|60)$/)
    // The answer to a client that does not exist is the same, after as many.
    const unknown = await Promise.all(Array.from({ length: 12 }, () => guess(ATTACKER, undefined, 'oac_none')))
    assert.deepEqual(counted(unknown.map(({ status }) => status)), { 401: 10, 429: 2 })

    assert.equal((await guess(CUSTOMER, app.clientSecret)).status, 200)
    assert.equal((await guess(CUSTOMER)).status, 401, 'a failure from another address is an ordinary 401')
    assert.equal((await guess(ATTACKER, app.clientSecret)).status, 200, 'behind one proxy all share an address')
    world.deps.clock.set(world.deps.clock.now() + 61_000)
    assert.equal((await guess(ATTACKER)).status, 401)
    const lines = world
      .logged()
      .split('\n')
      .filter((line) => line.includes('failed-attempt limit reached'))
    assert.equal(lines.length, 2, 'the log says it once each')
    for (const [at, id] of [app.clientId, 'oac_none'].entries()) {
      const { limit, of } = JSON.parse(lines[at]!)
      const client = createHash('sha256').update(id).digest('hex')
      assert.deepEqual([limit, of], ['client-failures', `${client} ${ATTACKER}`])
    }
  },
  ON,
)

onBothEngines(
  'wrong secrets of many clients from one address are counted together',
  async (world) => {
    const statuses = await Promise.all(
      Array.from({ length: 130 }, async (_, at) => {
        const form = { client_id: `oac_${at}`, client_secret: newClientSecret(), token: 'x' }
        return (await from(world, ATTACKER, 'POST', '/v2/oauth/revoke', undefined, form)).status
      }),
    )
    assert.deepEqual(counted(statuses), { 401: 100, 429: 30 })
  },
  ON,
)

onBothEngines(
  'unknown codes: 60 a minute for a client and address, and a good code is still exchanged',
  async (world) => {
    const app = await seedIntegration(world)
    const { code } = await consentAndInstall(world, app)
    const exchange = (code: string) =>
      from(world, ATTACKER, 'POST', '/v2/oauth/access_token', undefined, {
        client_id: app.clientId,
        client_secret: app.clientSecret,
        redirect_uri: REDIRECT,
        code,
      })
    const statuses = []
    for (let at = 0; at < 65; at++) statuses.push((await exchange(`guess${at}`)).status)
    assert.deepEqual(counted(statuses), { 400: 60, 429: 5 })
    assert.equal((await exchange(code)).status, 200)
  },
  ON,
)

onBothEngines(
  'unknown tokens: 100 a minute for an address, over both APIs together; good tokens from there still work',
  async (world) => {
    const guess = (address: string) => from(world, address, 'GET', '/v2/user', `berth_${'g'.repeat(40)}`)
    const statuses = (await Promise.all(Array.from({ length: 120 }, () => guess(ATTACKER)))).map(({ status }) => status)
    assert.deepEqual(counted(statuses), { 401: 100, 429: 20 })
    for (const path of ['/operator/v1/audit', '/metrics'])
      assert.equal((await from(world, ATTACKER, 'GET', path, 'berth_guess')).status, 429)
    const { token, operatorToken } = world.credentials
    assert.equal((await from(world, ATTACKER, 'GET', '/v2/user', token)).status, 200)
    assert.equal((await from(world, ATTACKER, 'GET', '/operator/v1/audit', operatorToken)).status, 200)
    assert.equal((await guess(CUSTOMER)).status, 401)
    const missing = await from(world, ATTACKER, 'GET', '/v2/user')
    assert.deepEqual([missing.status, missing.body.error.missingToken], [401, true], 'nothing was guessed')
  },
  ON,
)

onBothEngines(
  'X-Forwarded-For is not trusted',
  async (world) => {
    const statuses = await Promise.all(
      Array.from({ length: 110 }, async (_, at) => {
        const headers = {
          authorization: 'Bearer berth_guess',
          'x-forwarded-for': `192.0.2.${at}`,
          forwarded: `for=192.0.2.${at}`,
        }
        return (await world.app.inject({ method: 'GET', url: '/v2/user', remoteAddress: ATTACKER, headers })).statusCode
      }),
    )
    assert.deepEqual(counted(statuses), { 401: 100, 429: 10 })
  },
  ON,
)

onBothEngines(
  'wrong passwords over many users: an address waits, also for the right one, and others do not',
  async (world) => {
    await seedPassword(world, world.credentials.userId)
    const attempt = signInFrom(world)
    // A right password takes nothing from the share.
    for (let at = 0; at < 3; at++) assert.equal((await attempt(ATTACKER, 'admin', PASSWORD)).statusCode, 303)
    const spray = await Promise.all(
      Array.from({ length: 9 }, (_, at) => attempt(ATTACKER, `user${at}`, 'a password of many')),
    )
    assert.deepEqual(counted(spray.map(({ statusCode }) => statusCode)), { 403: 5, 429: 4 })
    const refused = await attempt(ATTACKER, 'admin', PASSWORD)
    assert.equal(refused.statusCode, 429)
    assert.match(String(refused.headers['retry-after']), /^\d+$/)
    assert.match(String(refused.headers['content-type']), /^text\/html/)
    assert.match(refused.payload, /Too many wrong passwords - try again in \d+ seconds/)
    assert.equal((await attempt(CUSTOMER, 'admin', PASSWORD)).statusCode, 303)
    world.deps.clock.set(world.deps.clock.now() + 61_000)
    assert.equal((await attempt(ATTACKER, 'admin', PASSWORD)).statusCode, 303)
  },
  { BERTH_RATE_LIMITS: '{"sign-in-failures": 5}' },
)

onBothEngines(
  'wrong passwords count for an address whether the user exists or not',
  async (world) => {
    const names = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal']
    for (const name of names) await seedPassword(world, (await world.user(name)).id)
    const attempt = signInFrom(world)
    const spray = await Promise.all(names.map((name) => attempt(ATTACKER, name, 'a password of many')))
    assert.deepEqual(counted(spray.map(({ statusCode }) => statusCode)), { 403: 5, 429: 3 })
    assert.equal((await attempt(ATTACKER, 'ada', PASSWORD)).statusCode, 429)
    assert.equal((await attempt(CUSTOMER, 'ada', PASSWORD)).statusCode, 303)
  },
  { BERTH_RATE_LIMITS: '{"sign-in-failures": 5}' },
)

test('an address is counted however it is written, and an IPv6 one by its /64', () => {
  const same: [string, string][] = [
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ]
  for (const [remoteAddress, counted] of same) assert.equal(peerAddress({ remoteAddress }), counted)
  assert.equal(peerAddress({}), '')
})
