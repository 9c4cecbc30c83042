/** The pages of a user: profile, email, password, sessions and tokens. docs/console.md. */
import assert from 'node:assert/strict'
import { writeLastSeen } from '../../../src/platform/access/last-seen.ts'
import { type Client, openClient, openSignedInClient, PASSWORD, pathOf } from '../../support/clients/browser-client.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { onBothEngines } from '../../support/world.ts'

const PROFILE = '/console/account'
const SECURITY = '/console/account/security'
const TOKENS = '/console/account/tokens'
const CHROME = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36' }

onBothEngines('a user changes their name and username, and their pages move with it', async (world) => {
  const client = await openSignedInClient(world)
  await client.get(PROFILE)
  const wrong = await client.post(PROFILE, { name: 'Ada 🚢', username: 'Not A Name' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /id="username-fault"/)
  assert.match(wrong.text, /value="Ada 🚢"/)
  await world.user('taken')
  const taken = await client.post(PROFILE, { name: 'Ada', username: 'taken' })
  assert.equal(taken.status, 409)
  const changed = await client.post(PROFILE, { name: 'Ada 🚢', username: 'ada' })
  assert.equal(changed.location, PROFILE, changed.text)
  const shown = await client.get(changed.location)
  assert.match(shown.text, /Profile updated/)
  assert.match(
    shown.text,
    /<summary><span class="av {2}h\d" aria-hidden="true">A🚢<\/span><span class="cut called">Ada 🚢<\/span>/,
  )
  assert.equal((await client.get('/console/t/ada')).status, 200)
  assert.equal((await client.get('/console/t/admin')).status, 404)
  const given = await world.operator.try('POST', '/operator/v1/users', { email: 'b@example.com', username: 'admin' })
  assert.equal(given.status, 409, 'the old username is reserved for the user')
})

onBothEngines('changing a password requires the current one, and ends every other session', async (world) => {
  const client = await openSignedInClient(world)
  const other = openClient(world)
  await other.get('/sign-in')
  await other.post('/sign-in', { name: 'admin', password: PASSWORD })
  await client.get(SECURITY)
  const fields = { password: PASSWORD, next: 'another long password', again: 'another long password' }
  const short = await client.post(`${SECURITY}/password`, { ...fields, next: 'short', again: 'short' })
  assert.equal(short.status, 422)
  assert.match(short.text, /id="next-fault"/)
  assert.doesNotMatch(short.text, new RegExp(`${PASSWORD}|value="short"`), 'a password is in no page')
  assert.equal((await client.post(`${SECURITY}/password`, { ...fields, again: 'something else entirely' })).status, 422)
  const wrong = await client.post(`${SECURITY}/password`, { ...fields, password: 'not my password' })
  assert.equal(wrong.status, 403)
  assert.match(wrong.text, /id="password-fault"/)
  const { failures } = await world.deps.db.read
    .selectFrom('sign_in')
    .select('failures')
    .where('user_id', '=', world.credentials.userId)
    .executeTakeFirstOrThrow()
  assert.equal(failures, 1, 'a wrong password is counted as at a sign-in')
  assert.equal((await other.get(SECURITY)).status, 200)
  const link = (await world.operator('POST', `/operator/v1/users/${world.credentials.userId}/password-link`)).body.url
  const changed = await client.post(`${SECURITY}/password`, fields)
  assert.equal((await openClient(world).get(pathOf(link))).status, 404, 'a link that would set another one ends')
  assert.equal(changed.location, SECURITY, changed.text)
  assert.equal((await client.get(SECURITY)).status, 200, 'this session goes on')
  assert.equal((await other.get(SECURITY)).status, 303, 'others end')
  const again = openClient(world)
  await again.get('/sign-in')
  assert.equal((await again.post('/sign-in', { name: 'admin', password: PASSWORD })).status, 403)
  assert.equal((await again.post('/sign-in', { name: 'admin', password: fields.next })).status, 303)
})

onBothEngines('sessions are listed with browser and time, and one or all others are ended', async (world) => {
  const client = await openSignedInClient(world)
  const sign = async () => {
    const one = openClient(world)
    await one.get('/sign-in')
    await one.post('/sign-in', { name: 'admin', password: PASSWORD }, CHROME)
    return one
  }
  const [second, third] = [await sign(), await sign()]
  const shown = await client.get(SECURITY)
  assert.match(shown.text, /Chrome on Linux/)
  assert.match(shown.text, /This browser/)
  assert.match(shown.text, /127\.0\.0\.1/)
  const ends = [...shown.text.matchAll(/action="([^"]+\/sessions\/[0-9a-f]{16}\/end)"/g)].map(([, path]) => path!)
  assert.equal(ends.length, 2)
  assert.equal((await client.post(ends[0]!)).location, SECURITY)
  const left = [(await second.get(SECURITY)).status, (await third.get(SECURITY)).status].sort()
  assert.deepEqual(left, [200, 303])
  const gone = await client.post(ends[0]!)
  assert.equal(gone.status, 404)
  const guest = await world.user('guest')
  const stranger = await openSignedInClient(world, guest.id, 'guest')
  await stranger.get(SECURITY)
  assert.equal((await stranger.post(ends[1]!)).status, 404, 'a session of another user')
  await client.get(SECURITY)
  assert.equal((await client.post(`${SECURITY}/sessions/others/end`)).location, SECURITY)
  assert.deepEqual([(await second.get(SECURITY)).status, (await third.get(SECURITY)).status], [303, 303])
  assert.equal((await stranger.get(SECURITY)).status, 200, 'the sessions of another user continue')
  assert.equal((await client.get(SECURITY)).status, 200)
})

onBothEngines('a token is created for a team, project and scopes, shown once, used and revoked', async (world) => {
  const client = await openSignedInClient(world)
  const { teamId } = world.credentials
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
  await client.get(`${TOKENS}/new`)
  const fields = {
    name: 'pipeline 🚢',
    account: teamId,
    project: 'web',
    days: '30',
    may: 'chosen',
    'level-project': 'read',
  }
  const wrong = await client.post(`${TOKENS}/new`, { ...fields, project: 'nowhere' })
  assert.equal(wrong.status, 404)
  assert.match(wrong.text, /value="pipeline 🚢"/)
  assert.match(wrong.text, /name="level-project"[^>]*><option value="">None<\/option><option value="read" selected>/)
  assert.equal((await client.post(`${TOKENS}/new`, { ...fields, days: 'soon' })).status, 400)
  // A token gets all permissions only when the form says so: neither a missing field nor all levels "No" mean it.
  for (const [field, said] of [
    ['may', { may: '' }],
    ['may', { may: 'ALL' }],
    ['scopes', { 'level-project': '' }],
  ] as const) {
    const unsaid = await client.post(`${TOKENS}/new`, { ...fields, ...said })
    assert.equal(unsaid.status, 400)
    assert.match(unsaid.text, new RegExp(`id="${field}-fault"`))
  }
  const foreign = await world.user('foreign')
  assert.equal((await client.post(`${TOKENS}/new`, { ...fields, account: foreign.id })).status, 403)
  const made = await client.post(`${TOKENS}/new`, fields)
  const [, token] = /<pre class="secret">([^<]+)</.exec(made.text)!
  const [line] = (await world.operator('GET', '/operator/v1/audit?type=createAuthToken')).body.entries
  assert.deepEqual([line!.actor.id, line!.actor.tokenId], [world.credentials.userId, null], 'a session is not a token')
  assert.match((await client.get(TOKENS)).text, /pipeline 🚢[\s\S]{0,900}>never</)
  const call = world.as(token)
  assert.equal((await call('GET', `/v9/projects/web?teamId=${teamId}`)).status, 200)
  assert.equal(
    (await call.try('POST', `/v9/projects/web/domains?teamId=${teamId}`, { name: 'a.example.com' })).status,
    403,
  )
  await writeLastSeen(world.deps)
  const list = await client.get(TOKENS)
  assert.match(list.text, /pipeline 🚢[\s\S]{0,900}"Last used"><time/)
  assert.match(list.text, /in 4 weeks|in 30 days|in 29 days/)
  assert.doesNotMatch(list.text, new RegExp(token!))
  const [end] = /action="([^"]+\/end)"[\s\S]{0,300}pipeline/.exec(list.text)!.slice(1)
  assert.equal((await client.post(end!)).location, TOKENS)
  assert.equal((await call.try('GET', `/v9/projects/web?teamId=${teamId}`)).status, 401)
})

onBothEngines(
  'an email changes once the user opens the link in the message to the new address',
  async (world) => {
    const client = await openSignedInClient(world)
    assert.match((await client.get(PROFILE)).text, /New email/)
    const wrong = await client.post(`${PROFILE}/email/change`, { email: 'nowhere' })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /id="email-fault"/)
    const ask = async (email: string) => {
      await client.get(PROFILE)
      const asked = await client.post(`${PROFILE}/email/change`, { email })
      assert.equal(asked.location, PROFILE, asked.text)
      const letter = (await readQueuedMail(world)).findLast(({ recipient }) => recipient === email.toLowerCase())!
      return pathOf(/https?:\S+email\?link=\w+/.exec(letter.body_text)![0])
    }
    const first = await ask('first@example.com')
    const link = await ask('Ada@Example.com')
    assert.equal((await client.get(first)).status, 404, 'a later link takes the place of it')
    const guest = await world.user('guest')
    const stranger = await openSignedInClient(world, guest.id, 'guest')
    assert.equal((await stranger.get(link)).status, 404)
    await stranger.get(PROFILE)
    assert.equal((await stranger.post(link)).status, 404)
    assert.match((await client.get(link)).text, /ada@example.com/)
    assert.equal((await client.post(link)).location, PROFILE)
    assert.match((await client.get(PROFILE)).text, /ada@example.com/)
    assert.equal((await client.post(link)).status, 404, 'once')
    const told = (await readQueuedMail(world)).filter(({ recipient }) => recipient === 'admin@berth.localhost')
    for (const subject of ['A change of your email was requested', 'Your email was changed'])
      assert.ok(
        told.some((letter) => letter.subject === subject),
        `the old address gets: ${subject}`,
      )

    assert.equal((await guest.call('POST', '/v1/teams', { slug: 'crew' })).status, 200)
    const invited = { email: 'later@example.com', role: 'VIEWER' }
    assert.equal((await guest.call('POST', '/v1/teams/crew/members', invited)).status, 200)
    const later = await ask('later@example.com')
    assert.match((await client.get('/invitations')).text, /no pending invitations/, 'not before the address is theirs')
    await client.get(later)
    assert.equal((await client.post(later)).status, 303)
    assert.match((await client.get('/invitations')).text, /crew/, 'what waits for the address is theirs now')

    const taken = await ask('guest@example.com')
    await client.get(taken)
    const refused = await client.post(taken)
    assert.equal(refused.status, 409)
    assert.match(refused.text, /role="alert"/)
    const late = await ask('late@example.com')
    world.deps.clock.set(world.deps.clock.now() + 25 * 3_600_000)
    await signIn(client)
    assert.equal((await client.get(late)).status, 404, 'older than a day')
  },
  { BERTH_SMTP_URL: 'smtp://127.0.0.1:1', BERTH_MAIL_FROM: 'berth@example.com' },
)

onBothEngines(
  'messages to addresses that a user enters as their email are limited',
  async (world) => {
    const client = await openSignedInClient(world)
    await client.get(PROFILE)
    const ask = (email: string) => client.post(`${PROFILE}/email/change`, { email })
    assert.equal((await ask('one@example.com')).status, 303)
    const refused = await ask('two@example.com')
    assert.equal(refused.status, 429)
    assert.match(refused.text, /value="two@example.com"/)
    assert.equal((await readQueuedMail(world)).filter(({ recipient }) => recipient === 'two@example.com').length, 0)
  },
  { BERTH_SMTP_URL: 'smtp://127.0.0.1:1', BERTH_MAIL_FROM: 'b@example.com', BERTH_RATE_LIMITS: '{"email-changes": 1}' },
)

onBothEngines('without a mail server a user cannot change their email', async (world) => {
  const client = await openSignedInClient(world)
  assert.doesNotMatch((await client.get(PROFILE)).text, /New email/)
  assert.equal((await client.post(`${PROFILE}/email/change`, { email: 'ada@example.com' })).status, 403)
})

async function signIn(client: Client): Promise<void> {
  client.cookies.clear()
  await client.get('/sign-in')
  assert.equal((await client.post('/sign-in', { name: 'admin', password: PASSWORD })).status, 303)
}

onBothEngines('the page of an account shows exactly those tokens of the user that can access it', async (world) => {
  const client = await openSignedInClient(world)
  const { teamId, userId } = world.credentials
  const { body: team } = await world.operator('POST', '/operator/v1/teams', {
    slug: 'acme',
    name: 'A',
    ownerId: userId,
  })
  const make = (name: string, query: string) =>
    world.call('POST', `/v3/user/tokens${query}` as '/v3/user/tokens', { name })
  await make('everywhere', '')
  await make('of-the-team', `?teamId=${teamId}`)
  await make('of-acme', `?teamId=${team.id}`)
  const page = await client.get('/console/t/team/tokens')
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /everywhere[\s\S]*of-the-team|of-the-team[\s\S]*everywhere/)
  assert.doesNotMatch(page.text, /of-acme/)
  assert.match(page.text, /aria-current="page"><svg.*?<\/svg>Tokens</)
  const [, path] = /href="(\/console\/account\/tokens\/new\?account=[^"]+)"/.exec(page.text)!
  assert.match((await client.get(path!)).text, new RegExp(`<option value="${teamId}" selected>`))
  assert.doesNotMatch((await client.get('/console/t/admin/tokens')).text, /of-the-team|of-acme/)
})
