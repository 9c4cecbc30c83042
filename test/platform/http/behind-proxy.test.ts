/** Behind trusted proxies the last of them names the client, and no client names itself. docs/limits.md: Behind a proxy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { clientAddress } from '../../../src/platform/base/network.ts'
import { openClient, PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PROXIES = '10.0.0.0/24, 2001:db8:ffff::/48'
const [PROXY, PROXY6, EDGE] = ['10.0.0.5', '2001:db8:ffff::5', '10.0.0.9']
const [ATTACKER, CUSTOMER] = ['198.51.100.7', '203.0.113.9']
const SETTINGS = {
  BERTH_TRUSTED_PROXIES: PROXIES,
  BERTH_RATE_LIMITS: '{"sign-in-failures": 3, "token-failures": 3}',
}

/** TABLE connection, header -> the client that is counted. */
const COUNTED: [what: string, connection: string, forwarded: string, client: string][] = [
  ['the client of a proxy', PROXY, CUSTOMER, CUSTOMER],
  ['a proxy of IPv6', PROXY6, CUSTOMER, CUSTOMER],
  ['a proxy of IPv4 at a socket of IPv6', `::ffff:${PROXY}`, CUSTOMER, CUSTOMER],
  ['two proxies in a row', PROXY, `${CUSTOMER}, ${EDGE}`, CUSTOMER],
  ['a client of IPv6', PROXY, '2001:db8:1::7', '2001:db8:1::7'],
  ['a port behind the address', PROXY, `${CUSTOMER}:4711`, CUSTOMER],
  ['a port behind an address of IPv6', PROXY, '[2001:db8:1::7]:4711', '2001:db8:1::7'],
  ['IPv4 in IPv6', PROXY, `::ffff:${CUSTOMER}`, CUSTOMER],
  ['spaces and an entry that is empty', PROXY, ` ,\t${CUSTOMER} `, CUSTOMER],
  ['a proxy that says nothing', PROXY, '', PROXY],
  // Attacks.
  ['no proxy: nothing is trusted', ATTACKER, CUSTOMER, ATTACKER],
  ['no proxy, and it names one', ATTACKER, `${CUSTOMER}, ${PROXY}`, ATTACKER],
  ['what the client wrote, before what the proxy added', PROXY, `${CUSTOMER}, ${ATTACKER}`, ATTACKER],
  ['a client that names proxies', PROXY, `${CUSTOMER}, ${PROXY}, ${EDGE}, ${ATTACKER}`, ATTACKER],
  ['a client that names proxies, behind two', PROXY, `${CUSTOMER}, ${PROXY}, ${ATTACKER}, ${EDGE}`, ATTACKER],
  ['an entry that is not an address', PROXY, `${CUSTOMER}, unknown`, PROXY],
  ['an entry that is not an address, behind two', PROXY, `${CUSTOMER}, "_hidden", ${EDGE}`, EDGE],
  ['a host name', PROXY, 'customer.example.com', PROXY],
  ['an address in a form that no proxy writes', PROXY, '3405803785', PROXY],
  ['an octet too much', PROXY, `${CUSTOMER}.1`, PROXY],
  ['a separator of others', PROXY, `${CUSTOMER};${ATTACKER}`, PROXY],
  ['proxies without end', PROXY, `${CUSTOMER}${`, ${EDGE}`.repeat(3000)}`, EDGE],
]

test('the table of clients that are counted behind proxies', () => {
  const { trustedProxies } = readConfig({ BERTH_TRUSTED_PROXIES: PROXIES }).connections
  for (const [what, connection, forwarded, client] of COUNTED) {
    assert.equal(clientAddress(connection, forwarded, trustedProxies), client, what)
    assert.equal(
      clientAddress(connection, forwarded, undefined),
      connection.replace('::ffff:', ''),
      `${what}, none trusted`,
    )
  }
})

/** A sign-in on the page. `forwarded`: each is a header of its own. */
async function signIn(world: World, remoteAddress: string, forwarded: string | string[], password: string) {
  const client = openClient(world)
  await client.get('/sign-in')
  const cookie = [...client.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
  const { statusCode } = await world.app.inject({
    method: 'POST',
    url: '/sign-in',
    remoteAddress,
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': forwarded },
    payload: new URLSearchParams({ form: client.token(), name: 'admin', password }).toString(),
  })
  return statusCode
}

onBothEngines(
  'wrong passwords of one visitor behind a proxy keep no other from signing in, whatever that visitor writes',
  async (world) => {
    await seedPassword(world, world.credentials.userId)
    const statuses: number[] = []
    for (const made of ['', '203.0.113.1, ', '203.0.113.2, 10.0.0.5, ', '203.0.113.3, ', '10.0.0.7, '])
      statuses.push(await signIn(world, PROXY, `${made}${ATTACKER}`, 'wrong password'))
    assert.deepEqual(statuses.slice(-2), [429, 429], String(statuses))
    assert.equal(await signIn(world, PROXY, ATTACKER, PASSWORD), 429)
    assert.equal(await signIn(world, PROXY, ['203.0.113.4', ATTACKER], PASSWORD), 429, 'two headers are one list')
    assert.equal(await signIn(world, PROXY, CUSTOMER, PASSWORD), 303)
  },
  SETTINGS,
)

onBothEngines(
  'without a proxy a visitor is counted by the connection, whatever the header says',
  async (world) => {
    await seedPassword(world, world.credentials.userId)
    const statuses: number[] = []
    for (let at = 1; at <= 5; at++) statuses.push(await signIn(world, ATTACKER, `203.0.113.${at}`, 'wrong password'))
    assert.deepEqual(statuses.slice(-2), [429, 429], String(statuses))
    assert.equal(await signIn(world, CUSTOMER, ATTACKER, PASSWORD), 303)
  },
  SETTINGS,
)

onBothEngines(
  'unknown tokens are counted by the client of a proxy, at the API, at /metrics and in the console alike',
  async (world) => {
    const guess = (url: string, client: string) =>
      world.app.inject({
        method: 'GET',
        url,
        remoteAddress: PROXY,
        headers: { authorization: 'Bearer guessed-guessed-guessed', 'x-forwarded-for': `${CUSTOMER}, ${client}` },
      })
    for (const [url, client] of [
      ['/v2/user', '198.51.100.1'],
      ['/metrics', '198.51.100.2'],
    ] as const) {
      const statuses: number[] = []
      for (let at = 0; at < 5; at++) statuses.push((await guess(url, client)).statusCode)
      assert.equal(statuses.at(-1), 429, `${url}: ${statuses}`)
      assert.notEqual((await guess(url, '198.51.100.9')).statusCode, 429, url)
    }
    const { statusCode } = await world.app.inject({
      method: 'GET',
      url: '/v2/user',
      remoteAddress: PROXY,
      headers: { authorization: `Bearer ${world.credentials.token}`, 'x-forwarded-for': '198.51.100.1' },
    })
    assert.equal(statusCode, 200, 'the right password is accepted however many others were wrong')
  },
  SETTINGS,
)
