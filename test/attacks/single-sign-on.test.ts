/** Attacks on the sign-in by a provider: a sign-in that another user began, a code of another user, made-up answers, and an email as the way around a second factor. docs/threats.md. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type Client, openClient, openSignedInClient, pathOf } from '../support/clients/browser-client.ts'
import { openClientAfterPassword, setUpCodes } from '../support/clients/second-factor.ts'
import { readQueuedMail } from '../support/queued-mail.ts'
import { signInBy, startProvider, startStandIn } from '../support/servers/identity-provider.ts'
import { onBothEngines, type World } from '../support/world.ts'

const provider = await startProvider()
const standIn = await startStandIn()
after(() => Promise.all([provider.close(), standIn.close()]))
provider.people.set('eve', { email: 'eve@example.com', email_verified: true })
provider.people.set('ada', { email: 'ada@example.com', email_verified: true })
standIn.answer.claims = { sub: 'eve', email: 'eve@example.com', email_verified: true }

async function isIn(client: Client): Promise<boolean> {
  return (await client.get('/invitations')).status === 200
}

/** Begins a sign-in in this browser, as this user at the provider. Returns where the provider sends it back to. */
async function begin(from: Pick<typeof provider, 'visit'>, client: Client, sub: string): Promise<string> {
  return pathOf(await from.visit((await client.get('/sign-in/sso')).location, sub))
}

onBothEngines(
  'an answer that another browser asked for signs no user in as another one, signed in or not',
  async (world) => {
    const attacker = openClient(world)
    const path = await begin(provider, attacker, 'eve')
    const stranger = openClient(world)
    await stranger.get('/sign-in')
    const person = await openSignedInClient(world)
    for (const victim of [stranger, person, openClient(world)]) {
      const wasIn = await isIn(victim)
      assert.equal((await victim.get(path)).status, 403)
      assert.equal(await isIn(victim), wasIn)
    }
    assert.match((await person.get('/invitations')).text, /Admin|admin/)
    assert.equal((await attacker.get(path)).status, 303, 'it was good where it was asked for')
  },
  provider.settings,
)

onBothEngines(
  'a secret of a visitor that a sub-domain plants is not read over https',
  async (world) => {
    const attacker = openClient(world)
    const path = await begin(standIn, attacker, 'eve')
    const visit = attacker.cookies.get('__Host-berth_visit')!
    for (const cookie of [
      `berth_visit=${visit}`,
      `__Secure-berth_visit=${visit}`,
      `__host-berth_visit=${visit}`,
      `__Host-berth_visit=${visit}; __Host-berth_visit=${visit}`,
    ])
      assert.equal((await openClient(world).get(path, { cookie })).status, 403, cookie)
    assert.equal((await openClient(world).get(path, { cookie: `__Host-berth_visit=${visit}` })).status, 303)
  },
  { ...standIn.settings, BERTH_PUBLIC_URL: 'https://berth.example' },
)

onBothEngines(
  'a code of another user, and a parameter of the answer that is given twice, sign no user in',
  async (world) => {
    const [attacker, victim] = [openClient(world), openClient(world)]
    const mine = await begin(provider, attacker, 'eve')
    const theirs = await begin(provider, victim, 'ada')
    const codeOf = (path: string) => new URLSearchParams(path.slice(path.indexOf('?'))).get('code')!
    assert.equal((await attacker.get(mine.replace(codeOf(mine), codeOf(theirs)))).status, 403)
    assert.equal(await isIn(attacker), false)
    for (const name of ['code', 'state', 'iss']) {
      const client = openClient(world)
      const path = await begin(provider, client, 'eve')
      const value = new URLSearchParams(path.slice(path.indexOf('?'))).get(name)!
      const seen = await client.get(`${path}&${name}=${encodeURIComponent(value)}`)
      assert.ok([400, 403].includes(seen.status), `${name}: ${seen.status}`)
      assert.equal(await isIn(client), false, name)
    }
    assert.deepEqual(await world.deps.db.read.selectFrom('session').select('hash').execute(), [])
  },
  provider.settings,
)

onBothEngines(
  'the address that a user chose at the provider is not another user’s here, and causes no error',
  async (world) => {
    const members = `/v1/teams/${world.credentials.teamId}/members` as const
    assert.equal((await world.call('POST', members, { email: 'mike@example.com', role: 'OWNER' })).status, 200)
    for (const email of [
      // The sign of kelvin is a k in lower case.
      'mi\u212Ae@example.com',
      'mike@example.com\0',
      'mike@example.com\r\nBcc: all@example.com',
      'mike',
      '@example.com',
      'mike@example.com@example.org',
      'mike@example.com,all@example.com '.repeat(20),
      `${'x'.repeat(250)}@example.com`,
      '\ud800@example.com',
      ['mike@example.com'],
      { toLowerCase: 'mike@example.com' },
      1,
      null,
    ]) {
      standIn.answer.claims = { sub: 'mike', email, email_verified: true }
      const client = openClient(world)
      const seen = await signInBy(standIn, client, 'mike')
      assert.deepEqual([seen.status, await isIn(client)], [403, false], JSON.stringify(email))
    }
    const { db } = world.deps
    assert.deepEqual(await db.read.selectFrom('identity').select('sub').execute(), [])
    const { user_id } = await db.read.selectFrom('invitation').select('user_id').executeTakeFirstOrThrow()
    assert.equal(user_id, null, 'the invitation waits for the one who has the address')
    const kelvin = { email: 'mi\u212Ae@example.com' }
    assert.equal((await world.call.try('POST', members, { ...kelvin, role: 'VIEWER' })).status, 400)
    assert.equal((await world.operator.try('POST', '/operator/v1/users', { ...kelvin, username: 'mike' })).status, 400)
  },
  standIn.settings,
)

onBothEngines(
  'the name that a user chose at the provider creates a user with a name and a username of the rule',
  async (world) => {
    const odd = [
      { name: '\0', preferred_username: '\0' },
      { name: '\ud800', preferred_username: '\ud800' },
      { name: `${'x'.repeat(99)}\u{1F600}\u{1F600}` },
      { name: '<script>alert(1)</script>', preferred_username: '"><script>' },
      { preferred_username: 'admin' },
      { preferred_username: 'usr_team_prj_' },
      { preferred_username: '../../operator' },
      { preferred_username: '\u212A\uff0f\u200b' },
      { preferred_username: 'x'.repeat(5000), name: 'y'.repeat(5000) },
    ]
    for (const [at, said] of odd.entries()) {
      const email = `odd${at}@example.com`
      standIn.answer.claims = { sub: `odd ${at}`, email, email_verified: true, ...said }
      const client = openClient(world)
      const seen = await signInBy(standIn, client, 'odd')
      assert.equal(seen.status, 303, `${JSON.stringify(said).slice(0, 100)}: ${seen.text}`)
      const query = world.deps.db.read.selectFrom('account').select(['slug', 'name']).where('email', '=', email)
      const { slug, name } = await query.executeTakeFirstOrThrow()
      assert.match(slug, /^(?!(usr|team|prj)_)[a-z0-9][a-z0-9._-]{0,47}$/)
      assert.ok(name === null || (name.isWellFormed() && !/\0|\ufffd/.test(name) && [...name].length <= 100), slug)
      const page = await client.get(`/console/t/${slug}`)
      assert.equal(page.status, 200)
      assert.doesNotMatch(page.text, /<script>/)
    }
  },
  standIn.settings,
)

onBothEngines(
  'made-up answers make Berth ask the provider only so often, and another address is admitted meanwhile',
  async (world) => {
    const from = (remoteAddress: string): World => {
      const inject = (asked: object) => world.app.inject({ ...asked, remoteAddress })
      return { ...world, app: { inject } as unknown as World['app'] }
    }
    standIn.answer.status = 400
    const attacker = openClient(from('198.51.100.7'))
    const before = standIn.asked.length
    const statuses: number[] = []
    for (let at = 0; at < 8; at++) {
      const path = await begin(standIn, attacker, 'eve')
      statuses.push((await attacker.get(path)).status)
    }
    delete standIn.answer.status
    assert.deepEqual(statuses, [403, 403, 403, 403, 429, 429, 429, 429])
    assert.equal(standIn.asked.length - before, 4)
    for (let at = 0; at < 6; at++) {
      const client = openClient(from('198.51.100.8'))
      assert.equal(
        (await signInBy(standIn, client, 'eve')).status,
        303,
        'a client that is admitted consumes nothing of it',
      )
    }
  },
  { ...standIn.settings, BERTH_RATE_LIMITS: '{"sign-in-failures": {"total": 4, "seconds": 3600}}' },
)

onBothEngines(
  'an attacker who reads the mail of a user with a second factor connects no account to them: the factor is asked for first',
  async (world) => {
    const { clock } = world.deps
    const ada = await world.user('ada')
    const own = await openSignedInClient(world, ada.id, 'ada')
    const phone = await setUpCodes(world, own)
    const thief = openClient(world)
    assert.match((await signInBy(provider, thief, 'ada')).text, /Check your email/)
    const letter = (await readQueuedMail(world)).find(({ subject }) => subject.startsWith('Sign in by'))!
    const link = pathOf(/http:\/\/\S+/.exec(letter.body_text)![0])
    const signIn = `/sign-in?return=${encodeURIComponent(link)}`
    assert.equal((await thief.get(link)).location, signIn)
    await thief.get('/sign-in')
    assert.equal((await thief.post(link)).location, signIn)
    const half = await openClientAfterPassword(world, 'ada')
    assert.equal((await half.post(link)).location, signIn, 'a password alone is not enough')
    const other = await openSignedInClient(world, (await world.user('bea')).id, 'bea')
    await other.get('/invitations')
    assert.deepEqual([(await other.get(link)).status, (await other.post(link)).status], [403, 403])
    assert.deepEqual(await world.deps.db.read.selectFrom('identity').select('sub').execute(), [])
    // The user does it, where they recently gave the factor.
    clock.set(clock.now() + 2 * 3_600_000)
    const confirm = `/confirm?return=${encodeURIComponent(link)}`
    assert.equal((await own.get(link)).location, confirm)
    await own.get(confirm)
    const confirmed = await own.post(confirm, { password: 'correct horse battery', code: phone.next() })
    assert.equal(confirmed.location, link)
    await own.get(link)
    assert.equal((await own.post(link)).location, '/sign-in/sso')
    assert.equal((await signInBy(provider, openClient(world), 'ada')).status, 303)
    // From the sign-in it leads back to the link, too.
    const traveller = openClient(world)
    await traveller.get(signIn)
    const step = await traveller.post(signIn, { name: 'ada', password: 'correct horse battery' })
    await traveller.get(step.location)
    assert.equal((await traveller.post(step.location, { code: phone.next() })).location, link)
  },
  provider.settings,
)
