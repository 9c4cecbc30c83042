/** Every way in, attacked the same: what the browser brought before, and what a secret of another kind opens. docs/threats.md. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { fingerprint } from '../../src/platform/base/ids.ts'
import { openAuthenticator, optionsIn } from '../support/clients/authenticator.ts'
import {
  type Client,
  openClient,
  openSignedInClient,
  PASSWORD,
  seedPassword,
} from '../support/clients/browser-client.ts'
import { FACTORS, setUpCodes } from '../support/clients/second-factor.ts'
import { signInBy, startStandIn } from '../support/servers/identity-provider.ts'
import { onBothEngines, type World } from '../support/world.ts'

/** Where passkeys work over plain http. */
const ORIGIN = 'http://localhost:3000'
const SESSION = 'berth_session'
const VISIT = 'berth_visit'
const standIn = await startStandIn()
after(() => standIn.close())
standIn.answer.claims = { sub: 'sue', email: 'sue@example.com', email_verified: true }

async function isIn(client: Client): Promise<boolean> {
  return (await client.get('/invitations')).status === 200
}

type Way = (client: Client) => Promise<unknown>

/** TABLE every way to begin a session, by users who exist. The browser is at no page yet. */
async function waysIn(world: World): Promise<Record<string, Way>> {
  const [ada, bea] = [await world.user('ada'), await world.user('bea')]
  await seedPassword(world, ada.id)
  const own = await openSignedInClient(world, bea.id, 'bea')
  const phone = await setUpCodes(world, own)
  const device = openAuthenticator(ORIGIN)
  await own.post(`${FACTORS}/passkeys`, { answer: device.create(optionsIn(await own.get(FACTORS))), name: 'Phone' })
  return {
    'a password': async (client) => {
      await client.get('/sign-in')
      await client.post('/sign-in', { name: 'ada', password: PASSWORD })
    },
    'a password and a code': async (client) => {
      await client.get('/sign-in')
      const { location } = await client.post('/sign-in', { name: 'bea', password: PASSWORD })
      await client.get(location)
      await client.post(location, { code: phone.next() })
    },
    'a passkey': async (client) => {
      const options = optionsIn(await client.get('/sign-in'))
      await client.post('/sign-in/passkey', { answer: device.get(options) })
    },
    'the provider': (client) => signInBy(standIn, client, 'sue'),
    'the link of the first start': async (client) => {
      const path = world.credentials.welcome
      await client.get(path)
      await client.post(path, { password: PASSWORD, again: PASSWORD })
    },
  }
}

onBothEngines(
  'every sign-in method begins with a new secret, and a planted former one opens nothing',
  async (world) => {
    for (const [way, enter] of Object.entries(await waysIn(world))) {
      const attacker = openClient(world)
      await attacker.get('/sign-in')
      const victim = openClient(world)
      const planted = attacker.cookies.get(VISIT)!
      victim.cookies.set(VISIT, planted)
      victim.cookies.set(SESSION, planted)
      await enter(victim)
      assert.ok(await isIn(victim), way)
      assert.notEqual(victim.cookies.get(SESSION), planted, way)
      for (const secret of [planted, fingerprint(planted), fingerprint(victim.cookies.get(SESSION)!)]) {
        const thief = openClient(world)
        for (const cookie of [SESSION, VISIT]) thief.cookies.set(cookie, secret)
        assert.equal(await isIn(thief), false, way)
      }
      const previous = attacker.token()
      const forged = await victim.post('/sign-out', { form: previous })
      assert.deepEqual([forged.status, await isIn(victim)], [403, true], `${way}: a form of the time before`)
    }
  },
  { ...standIn.settings, BERTH_PUBLIC_URL: ORIGIN },
)

/** Opens a door with a secret. True: it opened. */
type Door = (secret: string) => Promise<boolean>

function doorsOf(world: World): Record<string, Door> {
  const asks = async (url: string, headers: Record<string, string> = {}) =>
    (await world.app.inject({ method: 'GET', url, headers })).statusCode === 200
  const query = (path: string) => (secret: string) => asks(`${path}?link=${encodeURIComponent(secret)}`)
  return {
    api: (secret) => asks('/v9/projects', { authorization: `Bearer ${secret}` }),
    operator: (secret) => asks('/operator/v1/users', { authorization: `Bearer ${secret}` }),
    session: (secret) => asks('/invitations', { cookie: `${SESSION}=${secret}` }),
    password: query('/set-password'),
    welcome: query('/welcome'),
    identity: query('/sign-in/sso/link'),
    email: query('/console/account/email'),
  }
}

onBothEngines(
  'a secret opens the one door that it is for, and what is stored or shown of it opens none',
  async (world) => {
    const ada = await world.user('ada')
    const client = await openSignedInClient(world, ada.id, 'ada')
    const phone = await setUpCodes(world, client)
    const linkIn = (url: string) => new URL(url, ORIGIN).searchParams.get('link')!
    const { body } = await world.operator('POST', `/operator/v1/users/${ada.id}/password-link`)
    const session = client.cookies.get(SESSION)!
    await client.get('/console/account/security')
    const { token, operatorToken, welcome } = world.credentials
    const visitor = openClient(world)
    await visitor.get('/sign-in')
    const secrets: [opens: string[], secret: string][] = [
      [['api'], token],
      [['operator'], operatorToken],
      [['session'], session],
      [['password'], linkIn(body.url)],
      // The link of the first start sets a password too.
      [['password', 'welcome'], linkIn(welcome)],
      [[], visitor.cookies.get(VISIT)!],
      [[], client.token()],
      [[], phone.secret],
      [[], phone.recovery[0]!],
      [[], ada.id],
    ]
    const doors = doorsOf(world)
    for (const [opens, secret] of secrets)
      for (const [name, open] of Object.entries(doors)) {
        assert.equal(await open(secret), opens.includes(name), `what opens ${opens.join() || 'nothing'}, at ${name}`)
        assert.equal(await open(fingerprint(secret)), false, `as it is stored: ${opens.join()}, at ${name}`)
      }
  },
  standIn.settings,
)

onBothEngines(
  'a passkey with the id of another user’s changes nothing of theirs, and signs no user in',
  async (world) => {
    const register = async (client: Client, device: ReturnType<typeof openAuthenticator>, id?: Buffer) => {
      const options = optionsIn(await client.get(FACTORS))
      const answer = device.create(options, id === undefined ? {} : { id })
      return (await client.post(`${FACTORS}/passkeys`, { answer, name: 'Key' })).status
    }
    const enter = async (device: ReturnType<typeof openAuthenticator>, lies = {}) => {
      const client = openClient(world)
      const options = optionsIn(await client.get('/sign-in'))
      return (await client.post('/sign-in/passkey', { answer: device.get(options, lies) })).status
    }
    const [mine, theirs] = [openAuthenticator(ORIGIN), openAuthenticator(ORIGIN)]
    assert.equal(await register(await openSignedInClient(world), mine), 200)
    const eve = await world.user('eve')
    const attacker = await openSignedInClient(world, eve.id, 'eve')
    const id = Buffer.from(mine.id(), 'base64url')
    assert.equal(await register(attacker, theirs, id), 422)
    const userHandle = Buffer.from(world.credentials.userId).toString('base64url')
    for (const lies of [{}, { userHandle }]) assert.equal(await enter(theirs, lies), 403)
    const rows = await world.deps.db.read.selectFrom('passkey').select('user_id').execute()
    assert.deepEqual(
      rows.map(({ user_id }) => user_id),
      [world.credentials.userId],
    )
    assert.equal(await enter(mine), 303)
  },
  { BERTH_PUBLIC_URL: ORIGIN },
)

onBothEngines('what a browser calls itself is text on the page of the sessions', async (world) => {
  const client = openClient(world)
  await seedPassword(world, world.credentials.userId)
  await client.get('/sign-in')
  const agent = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
  await client.post('/sign-in', { name: 'admin', password: PASSWORD }, { 'user-agent': agent })
  const { text } = await client.get('/console/account/security')
  assert.ok(text.includes('&lt;script&gt;alert(1)'), text)
  assert.doesNotMatch(text, /<script>alert|<img src=x/)
})
