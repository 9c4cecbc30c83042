/** Users sign in: passwords by link, sessions, forms that are ours, the lock, and no way out by `return`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptPassword, checkPassword, type PasswordCheck } from '../../../src/accounts/sign-in/sign-in.ts'
import { findSessionUser, touchSession } from '../../../src/platform/access/session.ts'
import { DUMMY_HASH, hashPassword } from '../../../src/platform/adapters/argon2.ts'
import { localPath } from '../../../src/platform/pages/local-path.ts'
import { SCREENS } from '../../../src/screens.ts'
import {
  type Client,
  openClient,
  openSignedInClient,
  PASSWORD,
  pathOf,
  seedPassword,
} from '../../support/clients/browser-client.ts'
import { openEventStream, stampOf } from '../../support/clients/event-client.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const HOUR_MS = 3_600_000
const INSTALLED = '/integrations/installed'

async function link(world: World, userId = world.credentials.userId): Promise<{ path: string; expiresAt: number }> {
  const made = await world.operator('POST', `/operator/v1/users/${userId}/password-link`)
  assert.equal(made.status, 201, made.text)
  assert.equal(made.headers['cache-control'], 'no-store')
  return { path: pathOf(made.body.url), expiresAt: made.body.expiresAt }
}

async function tryPassword(world: World, password: string, name = 'admin'): Promise<number> {
  const client = openClient(world)
  await client.get('/sign-in')
  return (await client.post('/sign-in', { name, password })).status
}

/** Whether the browser is admitted without signing in. */
async function isIn(client: Client): Promise<boolean> {
  const seen = await client.get(INSTALLED)
  if (seen.status === 303) assert.equal(seen.location, `/sign-in?return=${encodeURIComponent(INSTALLED)}`)
  return seen.status === 200
}

onBothEngines(
  'a link that a mail program cut says that it is not whole, on every page that an email links to',
  async (world) => {
    const client = await openSignedInClient(world)
    const ofLetters = SCREENS.filter(
      ({ method, query }) => method === 'GET' && 'link' in ((query as { properties?: object })?.properties ?? {}),
    )
    assert.equal(ofLetters.length, 4)
    for (const { path } of ofLetters)
      for (const cut of ['', '?link', '?link=', '?link=abc']) {
        const page = await client.get(`${path}${cut}`)
        assert.equal(page.status, 404, `${path}${cut}: ${page.text.slice(-500)}`)
        // Without a provider no user gets a link of it.
        if (!path.startsWith('/sign-in/sso')) assert.match(page.text, /link is incomplete/, `${path}${cut}`)
      }
  },
)

onBothEngines('without an identity provider, its address redirects to the page of the sign-in', async (world) => {
  const led = await openClient(world).get('/sign-in/sso')
  assert.deepEqual([led.status, led.location], [303, '/sign-in'])
})

onBothEngines(
  'a link sets a password once: it is mailed, replaced by the next one, and too old after 24 hours',
  async (world) => {
    const first = await link(world)
    const mail = (await readQueuedMail(world))[0]!
    assert.deepEqual([mail.recipient, mail.body_text.includes(first.path)], ['admin@berth.localhost', true])
    assert.ok(Math.abs(first.expiresAt - world.deps.clock.now() - 24 * HOUR_MS) < 10_000)
    const second = await link(world)
    const client = openClient(world)
    assert.equal((await client.get(first.path)).status, 404)
    const page = await client.get(second.path)
    assert.equal(page.status, 200)
    assert.match(page.text, /12 to 128 characters/)
    assert.doesNotMatch(page.text, /role="alert"/)

    for (const [password, again, said] of [
      ['short', 'short', /has 5 characters; it needs at least 12/],
      ['x'.repeat(129), 'x'.repeat(129), /at most 128/],
      ['correct horse battery', 'correct horse batterY', /not the same/],
    ] as const) {
      const refused = await client.post(second.path, { password, again })
      assert.equal(refused.status, 422)
      assert.match(refused.text, said)
      assert.match(refused.text, /role="alert" id="fault">[\s\S]*?<a href="#password">/)
      assert.ok(!refused.text.includes(again), 'a password is not written into a page')
    }
    const chosen = await Promise.all(
      Array.from({ length: 5 }, () => client.post(second.path, { password: PASSWORD, again: PASSWORD })),
    )
    assert.deepEqual(chosen.map((one) => one.status).sort(), [303, 404, 404, 404, 404])
    assert.equal((await client.get(second.path)).status, 404)
    assert.equal(await tryPassword(world, PASSWORD), 303)

    const third = await link(world)
    const late = openClient(world)
    assert.equal((await late.get(third.path)).status, 200)
    world.deps.clock.set(world.deps.clock.now() + 24 * HOUR_MS + 1)
    assert.equal((await late.get(third.path)).status, 404)
    assert.equal((await late.post(third.path, { password: PASSWORD, again: PASSWORD })).status, 404)
    const swept = await world.operator('POST', '/operator/v1/timers/old-password-links/run')
    assert.deepEqual(swept.body, { swept: 1 })
    assert.equal((await world.operator.try('POST', '/operator/v1/users/usr_unknown/password-link')).status, 404)
  },
)

onBothEngines('a new password ends every session of the user and lifts the lock', async (world) => {
  const client = await openSignedInClient(world)
  assert.ok(await isIn(client))
  for (let at = 0; at < 10; at++) assert.equal(await tryPassword(world, 'wrong wrong wrong'), 403)
  assert.equal(await tryPassword(world, PASSWORD), 403)
  assert.match((await client.get((await link(world)).path)).text, /All your current sessions will end/)
  await seedPassword(world, world.credentials.userId, 'another long password')
  assert.equal(await isIn(client), false)
  assert.equal(await tryPassword(world, PASSWORD), 403)
  assert.equal(await tryPassword(world, 'another long password'), 303)
})

onBothEngines('a lock holds for one user alone', async (world) => {
  await seedPassword(world, world.credentials.userId)
  const { id } = (await world.operator('POST', '/operator/v1/users', { email: 'bob@example.com', username: 'bob' }))
    .body
  await seedPassword(world, id)
  for (let at = 0; at < 10; at++) await tryPassword(world, 'wrong wrong wrong')
  assert.equal(await tryPassword(world, PASSWORD), 403)
  assert.equal(await tryPassword(world, PASSWORD, 'bob'), 303)
})

onBothEngines(
  'a signed-in user sees that a lock holds, and until when; the sign-in page shows it to no client',
  async (world) => {
    const client = await openSignedInClient(world)
    await client.get('/confirm')
    const wrong = async (password: string) => (await client.post('/confirm', { password })).text
    for (let at = 0; at < 9; at++) assert.match(await wrong(`wrong number ${at}`), /The password is wrong/)
    const before = world.deps.clock.now()
    for (const password of ['wrong number 10', PASSWORD]) {
      const told = await wrong(password)
      const [, moment = ''] = /locked until (\S+ \S+) UTC/.exec(told) ?? assert.fail(told)
      const lockMs = Date.parse(`${moment.replace(' ', 'T')}Z`) - before
      assert.ok(lockMs > 13 * 60_000 && lockMs < 16 * 60_000, `${lockMs} ms`)
      assert.doesNotMatch(told, /The password is wrong/)
    }
    const ada = await world.user('ada')
    const other = await openSignedInClient(world, ada.id, 'ada')
    await other.get('/confirm')
    assert.match((await other.post('/confirm', { password: 'wrong' })).text, /The password is wrong/, 'another user')
    const stranger = openClient(world)
    await stranger.get('/sign-in')
    assert.doesNotMatch((await stranger.post('/sign-in', { name: 'admin', password: PASSWORD })).text, /until/)
    world.deps.clock.set(before + 16 * 60_000)
    assert.equal((await client.post('/confirm', { password: PASSWORD })).status, 303)
  },
)

onBothEngines('a password is the same however its characters are composed', async (world) => {
  await seedPassword(world, world.credentials.userId, 'caf\u00e9 \ufb01ne and long')
  assert.equal(await tryPassword(world, 'cafe\u0301 fine and long'), 303)
  assert.equal(await tryPassword(world, 'cafe\u0301 fine and long', 'ADMIN@berth.localhost'), 303)
})

onBothEngines(
  'ten wrong passwords lock the user, for longer each time; no answer reveals whether a user exists',
  async (world) => {
    await seedPassword(world, world.credentials.userId)
    const said = new Set<string>()
    const attempt = async (name: string, password: string) => {
      const client = openClient(world)
      await client.get('/sign-in')
      const seen = await client.post('/sign-in', { name, password })
      if (seen.status === 403)
        said.add(
          seen.text
            .replaceAll(client.token(), 'TOKEN')
            .replaceAll(/(name="once" value=")[^"]*/g, '$1ONCE')
            .replace(/(name="name" value=")[^"]*/, '$1NAME'),
        )
      return seen.status
    }
    await world.user('passwordless')
    for (const name of ['nosuch', 'nosuch@example.com', 'passwordless', 'team', '', '%']) {
      assert.equal(await attempt(name, PASSWORD), 403, name)
    }
    // Of thirty guesses at once ten are counted, and the right one among the rest opens nothing.
    for (const lockMs of [15 * 60_000, 30 * 60_000, HOUR_MS]) {
      const guesses = Array.from({ length: 30 }, (_, at) => attempt('admin', `wrong number ${at}`))
      assert.deepEqual(new Set(await Promise.all(guesses)), new Set([403]))
      assert.equal(await attempt('admin', PASSWORD), 403)
      world.deps.clock.set(world.deps.clock.now() + lockMs - 20_000)
      assert.equal(await attempt('admin', PASSWORD), 403)
      world.deps.clock.set(world.deps.clock.now() + 30_000)
    }
    assert.equal(await attempt('admin', PASSWORD), 303)
    const { failures } = await world.deps.db.read
      .selectFrom('sign_in')
      .select('failures')
      .where('user_id', '=', world.credentials.userId)
      .executeTakeFirstOrThrow()
    assert.equal(failures, 0)
    assert.equal(said.size, 1, 'one answer for all')
    const entries = await world.deps.db.read.selectFrom('audit').selectAll().where('type', '=', 'lockSignIn').execute()
    assert.deepEqual(
      entries.map((entry) => [entry.actor_id, entry.subject_id]),
      Array.from({ length: 3 }, () => ['anyone', world.credentials.userId]),
      'one entry for each lock, none for a failure',
    )
  },
)

onBothEngines('a session begins with a new secret, whatever the browser brought', async (world) => {
  await seedPassword(world, world.credentials.userId)
  const client = openClient(world)
  const planted = 'a'.repeat(43)
  client.cookies.set('berth_session', planted)
  await client.get('/sign-in')
  assert.equal((await client.post('/sign-in', { name: 'admin', password: PASSWORD })).status, 303)
  const first = client.cookies.get('berth_session')!
  assert.notEqual(first, planted)
  assert.match(first, /^\w{43}$/)
  assert.ok(await isIn(client))
  const attacker = openClient(world)
  attacker.cookies.set('berth_session', planted)
  assert.equal(await isIn(attacker), false)

  const { hash } = await world.deps.db.read.selectFrom('session').selectAll().executeTakeFirstOrThrow()
  assert.notEqual(hash, first)
  attacker.cookies.set('berth_session', hash)
  assert.equal(await isIn(attacker), false, 'what is stored opens nothing')

  const again = openClient(world)
  await again.get('/sign-in')
  again.cookies.set('berth_session', first)
  assert.equal((await again.get('/sign-in')).location, '/console')
})

onBothEngines('a sign-in where another user is signed in ends the earlier session', async (world) => {
  const client = await openSignedInClient(world)
  const earlier = client.cookies.get('berth_session')!
  const other = await world.user('other')
  await seedPassword(world, other.id, 'a password of the other')
  await client.get(INSTALLED)
  const answer = await client.post('/sign-in', { name: 'other', password: 'a password of the other' })
  assert.equal(answer.status, 303)
  assert.ok(await isIn(client))
  const thief = openClient(world)
  thief.cookies.set('berth_session', earlier)
  assert.equal(await isIn(thief), false)
})

onBothEngines('a session that is brought twice counts as none: one of them may be planted', async (world) => {
  const session = `berth_session=${(await openSignedInClient(world)).cookies.get('berth_session')}`
  const planted = `berth_session=${'a'.repeat(43)}`
  const brings = async (...pairs: string[]) => {
    const { status } = await openClient(world).get(INSTALLED, { cookie: pairs.join('; ') })
    return status === 200
  }
  assert.equal(await brings('theme=dark', session), true)
  for (const pairs of [
    [session, planted],
    [planted, session],
    [session, session],
  ])
    assert.equal(await brings(...pairs), false, pairs.join('; '))
})

onBothEngines('a password that is replaced after it was checked opens no session', async (world) => {
  const { userId } = world.credentials
  const { db, clock } = world.deps
  const actor = { kind: 'user', id: 'anyone', tokenId: null } as const
  const accept = (check: PasswordCheck) =>
    db.write((tx) => acceptPassword({ db: tx, now: clock.now(), deps: world.deps, actor }, check))
  const check = (password: string) =>
    checkPassword({ db: db.read, deps: world.deps }, 'admin', password, { kind: 'stranger', owner: '192.0.2.1' })
  await seedPassword(world, userId)
  const checked = await check(PASSWORD)
  assert.equal(checked?.matches, true)
  await seedPassword(world, userId, 'another long password')
  const admitted = await accept(checked)
  assert.equal(admitted, undefined)
  const again = await check('another long password')
  assert.equal(await accept(again), userId)
})

onBothEngines('signing out ends the session on the server', async (world) => {
  const client = await openSignedInClient(world)
  const kept = client.cookies.get('berth_session')!
  await client.get(INSTALLED)
  assert.equal((await client.post('/sign-out')).location, '/sign-in')
  assert.equal(client.cookies.has('berth_session'), false)
  client.cookies.set('berth_session', kept)
  assert.equal(await isIn(client), false)
  assert.equal((await client.post('/sign-out')).status, 303)
})

onBothEngines('a session lasts 30 days of use; that of an operator ends after 12 hours without use', async (world) => {
  const { clock } = world.deps
  const begin = clock.now()
  const idle = await openSignedInClient(world)
  clock.set(begin + 12 * HOUR_MS - 60_000)
  assert.ok(await isIn(idle))
  clock.set(begin + 24 * HOUR_MS + 60_000)
  assert.equal(await isIn(idle), false)
  const ada = await world.user('ada')
  const busy = await openSignedInClient(world)
  const plain = await openSignedInClient(world, ada.id, 'ada')
  const start = clock.now()
  for (let hours = 11; hours < 720; hours += 11) {
    clock.set(start + hours * HOUR_MS)
    assert.ok(await isIn(busy), `after ${hours} h`)
  }
  assert.ok(await isIn(plain), 'after 30 days without use')
  clock.set(start + 720 * HOUR_MS + 10_000)
  assert.deepEqual([await isIn(busy), await isIn(plain)], [false, false])
  const { body } = await world.operator('POST', '/operator/v1/timers/ended-sessions/run')
  assert.deepEqual(body, { swept: 2 })
})

onBothEngines(
  'an open page that reloads automatically does not help: the session of an operator ends after 12 hours anyway',
  async (world, t) => {
    const { clock } = world.deps
    const origin = await world.listen()
    const client = await openSignedInClient(world)
    const page = (await client.get('/console')).location
    const begin = clock.now()
    for (const hours of [4, 8, 11]) {
      clock.set(begin + hours * HOUR_MS)
      const shown = await client.get(page, { 'x-berth-refresh': '1' })
      assert.equal(shown.status, 200)
      const stream = await openEventStream(t, origin, client, page, stampOf(shown.text))
      assert.equal(stream.status, 200)
      stream.close()
    }
    clock.set(begin + 12 * HOUR_MS)
    assert.equal(await isIn(client), false)
  },
)

onBothEngines(
  'how long sessions last is set, for the cookie too; a user who becomes an operator is held to it at once',
  async (world) => {
    const { clock } = world.deps
    const ada = await world.user('ada')
    await seedPassword(world, ada.id)
    const client = openClient(world)
    await client.get('/sign-in')
    const answer = await client.post('/sign-in', { name: 'ada', password: PASSWORD })
    assert.match(String(answer.headers['set-cookie']), /Max-Age=172800/)
    const begin = clock.now()
    clock.set(begin + 25 * HOUR_MS)
    assert.ok(await isIn(client))
    assert.equal((await world.operator('PATCH', `/operator/v1/users/${ada.id}`, { operator: true })).status, 200)
    clock.set(begin + 27 * HOUR_MS + 60_000)
    assert.equal(await isIn(client), false)
  },
  { BERTH_SESSION_DAYS: '2', BERTH_OPERATOR_IDLE_HOURS: '2' },
)

onBothEngines(
  'a user who becomes an operator keeps no session for longer than it would have lasted',
  async (world) => {
    const { clock } = world.deps
    const ada = await world.user('ada')
    const begin = clock.now()
    const client = await openSignedInClient(world, ada.id, 'ada')
    clock.set(begin + 47 * HOUR_MS)
    await world.operator('PATCH', `/operator/v1/users/${ada.id}`, { operator: true })
    clock.set(begin + 48 * HOUR_MS + 60_000)
    assert.equal(await isIn(client), false)
  },
  { BERTH_SESSION_DAYS: '2', BERTH_OPERATOR_IDLE_HOURS: '2' },
)

onBothEngines(
  'a use of a session that was read before its user became an operator does not make it last longer',
  async (world) => {
    const { clock, db, config } = world.deps
    const ada = await world.user('ada')
    const client = await openSignedInClient(world, ada.id, 'ada')
    const [, session] = [...client.cookies].find(([name]) => name.endsWith('berth_session')) ?? []
    const read = await findSessionUser(db.read, session, clock.now())
    await world.operator('PATCH', `/operator/v1/users/${ada.id}`, { operator: true })
    clock.set(clock.now() + HOUR_MS)
    await db.write((tx) => touchSession(tx, read!, clock.now(), config.sessions))
    clock.set(clock.now() + 2 * HOUR_MS + 60_000)
    assert.equal(await isIn(client), false)
  },
  { BERTH_OPERATOR_IDLE_HOURS: '2' },
)

onBothEngines('a form is taken from a page of ours and from nowhere else', async (world) => {
  await seedPassword(world, world.credentials.userId)
  const other = openClient(world)
  await other.get('/sign-in')
  const good = { name: 'admin', password: PASSWORD }
  const client = openClient(world)
  const refused = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const seen = await client.post('/sign-in', { ...good, ...fields }, headers)
    assert.deepEqual([seen.status, seen.headers['content-type']], [403, 'text/html; charset=utf-8'], seen.text)
    assert.equal(client.cookies.has('berth_session'), false)
  }
  await refused({ form: other.token() })
  await client.get('/sign-in')
  const token = client.token()
  await refused({ form: '' })
  await refused({ form: other.token() })
  await refused({ form: `${token}x` })
  await refused({ form: token }, { origin: 'https://evil.example' })
  await refused({ form: token }, { origin: 'http://127.0.0.1:1' })
  for (const site of ['cross-site', 'same-site', 'none']) await refused({ form: token }, { 'sec-fetch-site': site })
  await refused({ form: token }, { origin: 'null', 'sec-fetch-site': 'cross-site' })
  const taken = await client.post(
    '/sign-in',
    { ...good, form: token },
    { origin: 'null', 'sec-fetch-site': 'same-origin' },
  )
  assert.equal(taken.status, 303)

  await client.get(INSTALLED)
  const mine = client.token()
  for (const form of ['', token, other.token()]) {
    assert.equal((await client.post('/sign-out', { form })).status, 403)
  }
  assert.equal((await client.post('/sign-out', { form: mine }, { origin: 'https://evil.example' })).status, 403)
  assert.ok(await isIn(client))
})

onBothEngines(
  'over https the cookies carry __Host-, Secure, HttpOnly and Lax, and a form without an origin is refused',
  async (world) => {
    const client = openClient(world)
    const first = await client.get('/sign-in')
    assert.match(
      String(first.headers['set-cookie']),
      /^__Host-berth_visit=\w{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/,
    )
    const in_ = await openSignedInClient(world)
    assert.deepEqual([...in_.cookies.keys()], ['__Host-berth_session'])
    await in_.get(INSTALLED)
    assert.equal((await in_.post('/sign-out', {}, { origin: 'null' })).status, 403)
    assert.equal((await in_.post('/sign-out', {}, { origin: 'http://localhost:80' })).status, 403)
    assert.equal((await in_.post('/sign-out', {}, { origin: 'https://berth.example' })).status, 303)
  },
  { BERTH_PUBLIC_URL: 'https://berth.example' },
)

const OUT = [
  '//evil.example',
  '\\\\evil.example',
  '/\\evil.example',
  '\\/evil.example',
  'https:evil.example',
  'https://evil.example/integrations/installed',
  'http://here.invalid@evil.example/integrations/',
  '/%2f%2fevil.example',
  '%2f%2fevil.example',
  '/.//evil.example',
  '/integrations/..//evil.example',
  '/integrations/%2e%2e//evil.example',
  '/\t/evil.example',
  '/\n//evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  '/operator/v1/users',
  '/sign-out',
  '',
  ' ',
]

test('a path to come back to is a page of this service, however it is written', () => {
  for (const out of OUT) assert.equal(localPath(out, '/home'), '/home', JSON.stringify(out))
  for (const kept of [
    '/integrations/installed',
    '/invitations/inv_1',
    '/integrations/a/new?state=%0A%2F%2F&x=%F0%9F%98%80',
    '/oauth/authorize?client_id=x',
  ]) {
    assert.equal(localPath(kept, '/home'), kept)
  }
})

onBothEngines('signing in leads back to where one was, and never out', async (world) => {
  await seedPassword(world, world.credentials.userId)
  for (const out of OUT) {
    const client = openClient(world)
    const url = `/sign-in?return=${encodeURIComponent(out)}`
    await client.get(url)
    assert.equal((await client.post(url, { name: 'admin', password: PASSWORD })).location, '/console', out)
    assert.equal((await client.get(url)).location, '/console', out)
  }
  const client = openClient(world)
  const wanted = '/integrations/app/new?state=a%20b&next=%2F%2Fevil'
  const sent = await client.get(wanted)
  assert.equal(sent.location, `/sign-in?return=${encodeURIComponent(wanted)}`)
  await client.get(sent.location)
  assert.equal((await client.post(sent.location, { name: 'admin', password: PASSWORD })).location, wanted)
})

onBothEngines(
  'pages allow no script, frames, caches or Referers; an error is a page with the right status',
  async (world) => {
    const client = openClient(world)
    const seen = await client.get('/sign-in')
    const policy = String(seen.headers['content-security-policy'])
    assert.match(
      policy,
      /^default-src 'none'; style-src 'self'; font-src 'self'; manifest-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    assert.equal(seen.headers['cache-control'], 'no-store')
    assert.equal(seen.headers['referrer-policy'], 'no-referrer')
    assert.equal(seen.headers['x-content-type-options'], 'nosniff')
    assert.equal(/<script|javascript:|\son\w+=/.test(seen.text), false)
    const big = 'x'.repeat(300_000)
    const json = { 'content-type': 'application/json' }
    for (const [status, answer] of [
      [404, await client.get('/v1/sign-in')],
      [404, await client.get('/set-password?link=x')],
      [404, await client.get('/set-password')],
      [400, await client.get('/sign-in?return=a&return=b')],
      [413, await client.post('/sign-in', { name: big, password: 'x' })],
      [400, await client.post('/sign-in', { name: 'x' })],
      [400, await client.post('/sign-in', { name: ['x', 'y'], password: 'x' })],
      [400, await client.post('/sign-in', { name: 'a\0b', password: 'x' })],
      [415, await client.post('/sign-in', {}, json)],
    ] as const) {
      assert.deepEqual(
        [answer.status, answer.headers['content-type']],
        [status, 'text/html; charset=utf-8'],
        answer.text,
      )
      assert.equal(answer.headers['content-security-policy'], policy)
      assert.match(answer.text, /<h1>[^<]+<\/h1>\n<p role="alert">/)
    }
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      const answer = await world.as(undefined).try(method, '/sign-in')
      assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET, POST, HEAD'])
    }
  },
)

test('a user without a password costs as much as one with it', async () => {
  const made = await hashPassword('x')
  const shape = (phc: string) => [
    ...phc.split('$').slice(0, 4),
    ...phc
      .split('$')
      .slice(4)
      .map((part) => part.length),
  ]
  assert.deepEqual(shape(DUMMY_HASH), shape(made))
})
