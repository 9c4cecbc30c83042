/** An attacker who wants to sign in as another user: guesses from many addresses, locks as a weapon, planted cookies, and other ways around the second factor. docs/threats.md. */
import assert from 'node:assert/strict'
import { startSession } from '../../src/accounts/sign-in/sessions.ts'
import { openAuthenticator, optionsIn } from '../support/clients/authenticator.ts'
import {
  type Client,
  openClient,
  openSignedInClient,
  PASSWORD,
  pathOf,
  seedPassword,
} from '../support/clients/browser-client.ts'
import { FACTORS, openClientAfterPassword, setUpCodes } from '../support/clients/second-factor.ts'
import { onBothEngines, type World } from '../support/world.ts'

const ORIGIN = 'https://berth.example'
const HTTPS = { BERTH_PUBLIC_URL: ORIGIN }
const PRIVATE = '/invitations'

/** The world, asked from another address. */
function from(world: World, remoteAddress: string): World {
  const inject = (asked: object) => world.app.inject({ ...asked, remoteAddress })
  return { ...world, app: { inject } as unknown as World['app'] }
}

const addressOf = (at: number) => `198.51.${Math.floor(at / 250)}.${(at % 250) + 1}`

async function isIn(client: Client): Promise<boolean> {
  return (await client.get(PRIVATE)).status === 200
}

/** A browser that was on the page of the sign-in. */
async function visitor(world: World): Promise<Client> {
  const client = openClient(world)
  await client.get('/sign-in')
  return client
}

async function lockOut(world: World, name: string): Promise<void> {
  for (let at = 0; at < 10; at++)
    await (await visitor(from(world, addressOf(at)))).post('/sign-in', { name, password: 'wrong wrong wrong' })
}

onBothEngines(
  'guesses of one user from many addresses are counted as one: ten of them, and the right one opens nothing',
  async (world) => {
    const ada = await world.user('ada')
    const client = await openSignedInClient(world, ada.id, 'ada')
    const phone = await setUpCodes(world, client)
    const waiting = await Promise.all(
      Array.from({ length: 12 }, (_, at) => openClientAfterPassword(from(world, addressOf(at)), 'ada', PASSWORD)),
    )
    const guesses = await Promise.all(
      waiting.slice(1).map((one, at) => one.post('/sign-in/code', { code: at % 2 === 0 ? '000000' : 'abcd-efgh' })),
    )
    assert.deepEqual(new Set(guesses.map(({ status }) => status)), new Set([403]))
    for (const code of [phone.next(), phone.recovery[0]!])
      assert.equal((await waiting[0]!.post('/sign-in/code', { code })).status, 403, 'locked: a right code too')
    // The page that confirms does not bypass the lock, for a client with a session.
    world.deps.clock.set(world.deps.clock.now() + 15 * 60_000)
    await lockOut(world, 'ada')
    await client.get('/confirm')
    assert.equal((await client.post('/confirm', { password: PASSWORD, code: phone.next() })).status, 403)
    assert.ok(await isIn(client), 'the session that is there goes on')
  },
)

onBothEngines(
  'one address guesses at many users and in many ways, and its failures are one count; another address is admitted',
  async (world) => {
    const people = await Promise.all(['ada', 'bea', 'cy'].map((name) => world.user(name)))
    for (const { id } of people) await seedPassword(world, id)
    const attacker = from(world, addressOf(7))
    const ways: ((client: Client) => Promise<{ status: number }>)[] = [
      (one) => one.post('/sign-in', { name: 'ada', password: 'wrong wrong wrong' }),
      (one) => one.post('/sign-in', { name: 'nobody', password: 'wrong wrong wrong' }),
      (one) => one.post('/sign-in/code', { code: '000000' }),
      (one) => one.post('/sign-in/passkey', { answer: '{}' }),
    ]
    for (const way of ways) assert.ok([303, 403].includes((await way(await visitor(attacker))).status))
    const told = await Promise.all(
      [...ways, (one: Client) => one.post('/sign-in', { name: 'ada', password: PASSWORD })].map(
        async (way) => (await way(await visitor(attacker))).status,
      ),
    )
    assert.deepEqual(new Set(told), new Set([429]))
    const elsewhere = await visitor(from(world, addressOf(8)))
    assert.equal((await elsewhere.post('/sign-in', { name: 'ada', password: PASSWORD })).status, 303)
  },
  { BERTH_RATE_LIMITS: '{"sign-in-failures": {"total": 4, "seconds": 3600}}' },
)

onBothEngines(
  'locking a user out by wrong passwords keeps them from no session, no passkey and no link',
  async (world) => {
    const client = await openSignedInClient(world)
    await client.get(FACTORS)
    const device = openAuthenticator(ORIGIN)
    const answer = device.create(optionsIn(await client.get(FACTORS)))
    assert.equal((await client.post(`${FACTORS}/passkeys`, { answer, name: 'Phone' })).status, 200)
    await lockOut(world, 'admin')
    assert.equal((await (await visitor(world)).post('/sign-in', { name: 'admin', password: PASSWORD })).status, 403)
    assert.ok(await isIn(client))
    const byPasskey = openClient(world)
    const options = optionsIn(await byPasskey.get('/sign-in'))
    assert.equal((await byPasskey.post('/sign-in/passkey', { answer: device.get(options) })).status, 303)
    await lockOut(world, 'admin')
    await seedPassword(world, world.credentials.userId)
    assert.equal(
      (await (await visitor(world)).post('/sign-in', { name: 'admin', password: PASSWORD })).location,
      '/sign-in/code?return=',
    )
  },
  HTTPS,
)

onBothEngines(
  'where passwords are off a link and a code sign in, wrong codes lock, and passwords do not lock them',
  async (world) => {
    const ada = await world.user('ada')
    const enter = async () => {
      const { body } = await world.operator('POST', `/operator/v1/users/${ada.id}/password-link`)
      const client = openClient(world)
      await client.get(pathOf(body.url))
      return { client, location: (await client.post(pathOf(body.url))).location }
    }
    const { client: first, location } = await enter()
    assert.equal(location, '/console')
    const phone = await setUpCodes(world, first)
    await lockOut(world, 'ada')
    const { client } = await enter()
    assert.equal(await isIn(client), false)
    await client.get('/sign-in/code')
    assert.equal((await client.post('/sign-in/code', { code: phone.next() })).status, 303, 'the codes are not locked')
    assert.ok(await isIn(client))
    const { client: guesser } = await enter()
    await guesser.get('/sign-in/code')
    for (let at = 0; at < 10; at++) assert.equal((await guesser.post('/sign-in/code', { code: '000000' })).status, 403)
    assert.equal((await guesser.post('/sign-in/code', { code: phone.next() })).status, 403, 'locked')
    world.deps.clock.set(world.deps.clock.now() + 15 * 60_000)
    const { client: later } = await enter()
    await later.get('/sign-in/code')
    assert.equal((await later.post('/sign-in/code', { code: phone.next() })).status, 303)
  },
  {
    BERTH_PASSWORDS: 'off',
    BERTH_OIDC_ISSUER: 'http://127.0.0.1:1',
    BERTH_OIDC_CLIENT_ID: 'berth',
    BERTH_OIDC_CLIENT_SECRET: 'a-secret-of-the-provider',
    BERTH_PUBLIC_URL: 'http://localhost:3000',
  },
)

onBothEngines(
  'a suspended user cannot sign in: by no earlier link, no welcome link, no session that is still there',
  async (world) => {
    const { userId, welcome } = world.credentials
    const ada = await world.user('ada')
    const { body } = await world.operator('POST', `/operator/v1/users/${ada.id}/password-link`)
    const session = await openSignedInClient(world, (await world.user('bea')).id, 'bea')
    for (const name of ['ada', 'admin', 'bea'])
      assert.equal((await world.operator('PATCH', `/operator/v1/users/${name}`, { suspended: true })).status, 200)
    const chosen = { password: PASSWORD, again: PASSWORD }
    for (const path of [pathOf(body.url), welcome]) {
      const client = openClient(world)
      assert.equal((await client.get(path)).status, 404, path)
      await client.get('/sign-in')
      assert.equal((await client.post(path, chosen)).status, 404, path)
      assert.equal(await isIn(client), false)
    }
    assert.equal(await isIn(session), false)
    // A session that began in spite of it is of no use either.
    const { db, clock } = world.deps
    const where = { deps: world.deps, now: clock.now(), address: addressOf(0) }
    const secret = await db.write((tx) => startSession({ ...where, db: tx }, userId))
    const planted = openClient(world)
    planted.cookies.set('berth_session', secret)
    assert.equal(await isIn(planted), false)
    assert.equal((await world.operator('PATCH', '/operator/v1/users/ada', { suspended: false })).status, 200)
    const back = openClient(world)
    await back.get(pathOf(body.url))
    assert.equal((await back.post(pathOf(body.url), chosen)).status, 303, 'the link was not used up')
  },
)
