/** Passkeys: registered, signed in with, asked for as a second step and to confirm; and every answer that does not count. */
import assert from 'node:assert/strict'
import {
  type Authenticator,
  type ForgedFields,
  openAuthenticator,
  optionsIn,
} from '../../support/clients/authenticator.ts'
import {
  type Client,
  openClient,
  openSignedInClient,
  type PageResponse,
  seedPassword,
} from '../../support/clients/browser-client.ts'
import { FACTORS, openClientAfterPassword, recoveryCodesIn, setUpCodes } from '../../support/clients/second-factor.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { clearPassword } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const ORIGIN = 'https://berth.example'
/** Where passkeys work over plain http. */
const LOCAL = 'http://localhost:3000'
const HTTPS = { BERTH_PUBLIC_URL: ORIGIN }
const MINUTE_MS = 60_000
const BY_PASSKEY = '/sign-in/passkey?return='

/** A passkey of the signed-in user. */
async function register(
  client: Client,
  name = 'Laptop',
  counts = true,
): Promise<Authenticator & { added: PageResponse }> {
  const device = openAuthenticator(ORIGIN, counts)
  const options = optionsIn(await client.get(FACTORS))
  const added = await client.post(`${FACTORS}/passkeys`, { answer: device.create(options), name })
  assert.ok([200, 303].includes(added.status), added.text)
  return { ...device, added }
}

/** Signs in by a passkey alone, in a new browser. */
async function signInBy(
  world: World,
  device: Authenticator,
  lies?: ForgedFields,
): Promise<PageResponse & { client: Client }> {
  const client = openClient(world)
  const answer = device.get(optionsIn(await client.get('/sign-in')), lies)
  return { ...(await client.post(BY_PASSKEY, { answer })), client }
}

/** The subjects of the letters, and the types of the audit entries of passkeys. */
const writtenOf = async (world: World) => {
  const { entries } = (await world.operator('GET', '/operator/v1/audit?limit=100')).body
  const types = entries.map(({ type }) => type).filter((type) => /Passkey$/.test(type))
  return [(await readQueuedMail(world)).map(({ subject }) => subject), types]
}

const passkeysOf = (world: World) =>
  world.deps.db.read.selectFrom('passkey').selectAll().orderBy('created_at').execute()

onBothEngines(
  'a passkey is registered, signs in without a name, is asked for behind a password, and confirms',
  async (world) => {
    const { clock } = world.deps
    const client = await openSignedInClient(world)
    const device = await register(client)
    assert.equal(recoveryCodesIn(device.added).length, 10)
    const [row] = await passkeysOf(world)
    assert.deepEqual([row!.id, row!.name, row!.counter, row!.used_at], [device.id(), 'Laptop', 0, null])
    const signedInBy = await signInBy(world, device)
    assert.equal(signedInBy.location, '/console', signedInBy.text)
    assert.equal((await signedInBy.client.get(FACTORS)).status, 200)
    const [used] = await passkeysOf(world)
    assert.deepEqual([used!.counter, used!.used_at! >= used!.created_at], [1, true])
    // After a password alone comes the second step.
    const half = await openClientAfterPassword(world)
    const step = await half.get('/sign-in/code?return=')
    assert.equal(JSON.parse(optionsIn(step)).allowCredentials[0].id, device.id())
    assert.equal(
      (await half.post('/sign-in/code?return=', { answer: device.get(optionsIn(step)) })).location,
      '/console',
    )
    // To confirm it stands for password and code.
    clock.set(clock.now() + 61 * MINUTE_MS)
    const { location } = await half.get(FACTORS)
    const confirm = await half.get(location)
    assert.equal((await half.post(location, { answer: device.get(optionsIn(confirm)) })).location, FACTORS)
    const told = (await readQueuedMail(world)).map(({ subject }) => subject)
    assert.ok(told.includes('The passkey “Laptop” was added'))
  },
  HTTPS,
)

onBothEngines(
  'a user who confirms in the middle of a form of passkeys comes back to the page with what was typed',
  async (world) => {
    const { clock } = world.deps
    const client = await openSignedInClient(world)
    const device = await register(client)
    await client.get(FACTORS)
    clock.set(clock.now() + 61 * MINUTE_MS)
    const removal = await client.post(`${FACTORS}/passkeys/remove`, { id: device.id() })
    assert.equal(removal.location, `/confirm?return=${encodeURIComponent(FACTORS)}`)
    const typed = { id: device.id(), name: 'Desk & <chair>' }
    const asked = await client.post(`${FACTORS}/passkeys/name`, typed)
    assert.equal(asked.status, 403, asked.text)
    const kept = /name="kept" value="([^"]*)"/.exec(asked.text)![1]!.replaceAll('&quot;', '"').replaceAll('&amp;', '&')
    const answer = device.get(optionsIn(asked))
    const confirmed = await client.post(`/confirm?return=${encodeURIComponent(FACTORS)}`, {
      answer,
      kept: kept.replaceAll('&lt;', '<').replaceAll('&gt;', '>'),
    })
    assert.match(confirmed.text, /Back to what you typed/)
    const back = await client.post(`${FACTORS}/passkeys/name`, { ...typed, review: '1' })
    assert.equal(back.status, 422)
    assert.match(
      back.text,
      /<h1>Second factors<\/h1>[\s\S]*value="Desk &amp; &lt;chair&gt;" aria-label="New name of Laptop"/,
    )
    assert.equal((await passkeysOf(world))[0]!.name, 'Laptop')
    const long = await client.post(`${FACTORS}/passkeys/name`, { ...typed, name: 'x'.repeat(101) })
    assert.deepEqual([long.status, long.text.includes('x'.repeat(101))], [400, true])
    const added = await client.post(`${FACTORS}/passkeys`, { name: 'Phone', answer: '{}', review: '1' })
    assert.match(added.text, /id="passkey-name" name="name" value="Phone"/)
    assert.equal((await client.post(`${FACTORS}/passkeys/name`, typed)).location, FACTORS)
    assert.equal((await passkeysOf(world))[0]!.name, 'Desk & <chair>')
  },
  HTTPS,
)

const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36'

onBothEngines(
  'a new passkey has the name of the browser, and a number where that is taken; a row has its forms',
  async (world) => {
    const client = await openSignedInClient(world)
    const nameFor = async (agent: string) =>
      /id="passkey-name" name="name" value="([^"]*)"/.exec(
        (await client.get(FACTORS, { 'user-agent': agent })).text,
      )?.[1]
    assert.equal(await nameFor(MAC), 'Chrome on macOS')
    assert.equal(await nameFor('curl/8'), 'Passkey')
    assert.equal(await nameFor(`${'x'.repeat(600)} Chrome/1 Linux`), 'Passkey', 'only the first characters count')
    await register(client, 'Chrome on macOS')
    assert.equal(await nameFor(MAC), 'Chrome on macOS 2')
    await register(client, 'Chrome on macOS 3')
    assert.equal(await nameFor(MAC), 'Chrome on macOS 2')
    await register(client, 'Chrome on macOS 2')
    assert.equal(await nameFor(MAC), 'Chrome on macOS 4')
    const [row = ''] = /<li class="row">.*?<\/li>/s.exec((await client.get(FACTORS)).text) ?? []
    assert.match(
      row,
      /<strong>Chrome on macOS<\/strong><p class="soft small">Added <time[^>]*>just now<\/time>, not used yet/,
    )
    assert.match(
      row,
      /<details class="twice" id="[^"]+"><summary class="btn bad small" aria-label="Remove Chrome on macOS…">Remove…/,
    )
  },
  HTTPS,
)

onBothEngines(
  'a page asks for nothing that reveals who has a passkey, and stores nothing for those who only look',
  async (world) => {
    const stranger = openClient(world)
    assert.equal((await stranger.get('/sign-in')).text.includes('data-passkey'), false, 'passkeys were never opened')
    await register(await openSignedInClient(world))
    const pages = await Promise.all([1, 2].map(() => openClient(world).get('/sign-in')))
    const asked = pages.map((page) => JSON.parse(optionsIn(page)))
    for (const options of asked) {
      assert.deepEqual(
        [options.allowCredentials, options.rpId, options.userVerification],
        [[], 'berth.example', 'required'],
      )
    }
    assert.notEqual(asked[0].challenge, asked[1].challenge)
    const policy = String(pages[0]!.headers['content-security-policy'])
    assert.match(
      policy,
      /^default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; manifest-src 'self'; img-src 'self'; form-action 'self'/,
    )
    const script = /<script src="(\/assets\/passkey-\w+\.js)" defer><\/script>/.exec(pages[0]!.text)![1]!
    assert.equal((await openClient(world).get(script)).status, 200)
    assert.equal(
      (await world.deps.db.read.selectFrom('spent_challenge').selectAll().execute()).length,
      1,
      'of the registration',
    )
  },
  HTTPS,
)

onBothEngines(
  'an answer that is replayed, of another browser, purpose, origin, host or user, too old or spoiled, does not count',
  async (world) => {
    const { clock } = world.deps
    // It does not count, so only the challenge detects a replay.
    const device = await register(await openSignedInClient(world), 'Key', false)
    for (const lies of [
      { origin: 'https://evil.example' },
      { origin: 'https://berth.example.evil.example' },
      { rpId: 'evil.example' },
      { type: 'webauthn.create' },
      { crossOrigin: true },
      { verified: false },
      { spoilSignature: true },
      { userHandle: Buffer.from('usr_somebody').toString('base64url') },
      { challenge: Buffer.alloc(54).toString('base64url') },
      { challenge: '' },
    ] satisfies ForgedFields[]) {
      const refused = await signInBy(world, device, lies)
      assert.deepEqual(
        [refused.status, refused.client.cookies.has('__Host-berth_session')],
        [403, false],
        JSON.stringify(lies),
      )
    }
    const here = openClient(world)
    const there = openClient(world)
    const options = optionsIn(await here.get('/sign-in'))
    await there.get('/sign-in')
    const stolen = device.get(options)
    assert.equal((await there.post(BY_PASSKEY, { answer: stolen })).status, 403, 'another browser')
    for (const answer of [
      '',
      '{}',
      'null',
      '[]',
      '"x"',
      '{"response":{}}',
      '{"id":1,"response":{"clientDataJSON":"e30"}}',
      '{',
    ])
      assert.equal((await here.post(BY_PASSKEY, { answer })).status, 403, answer)
    const atOnce = await Promise.all(Array.from({ length: 5 }, () => here.post(BY_PASSKEY, { answer: stolen })))
    assert.deepEqual(atOnce.map(({ status }) => status).sort(), [303, 403, 403, 403, 403])
    assert.equal(
      (await here.post(BY_PASSKEY, { answer: stolen })).status,
      403,
      'the browser is signed in, and has another secret',
    )
    // A challenge of one purpose is none of another.
    const half = await openClientAfterPassword(world)
    const step = optionsIn(await half.get('/sign-in/code'))
    const signIn = optionsIn(await half.get('/sign-in'))
    assert.equal((await half.post('/sign-in/code', { answer: device.get(signIn) })).status, 403)
    assert.equal((await half.post(BY_PASSKEY, { answer: device.get(step) })).status, 403)
    // Nor is it after five minutes.
    clock.set(clock.now() + 5 * MINUTE_MS)
    assert.equal((await half.post('/sign-in/code', { answer: device.get(step) })).status, 403)
    const fresh = optionsIn(await half.get('/sign-in/code'))
    assert.equal((await half.post('/sign-in/code', { answer: device.get(fresh) })).status, 303)
    clock.set(clock.now() + 10 * MINUTE_MS)
    await world.operator('POST', '/operator/v1/timers/spent-challenges/run')
    assert.equal((await world.deps.db.read.selectFrom('spent_challenge').selectAll().execute()).length, 0)
  },
  HTTPS,
)

onBothEngines(
  'a passkey of another user does not count as a second step, and confirms nothing',
  async (world) => {
    const { clock } = world.deps
    const mine = await register(await openSignedInClient(world))
    const ada = await world.user('ada')
    const hers = await openSignedInClient(world, ada.id, 'ada')
    await register(hers, 'Phone of Ada')
    const half = await openClientAfterPassword(world, 'ada')
    const step = optionsIn(await half.get('/sign-in/code'))
    assert.equal((await half.post('/sign-in/code', { answer: mine.get(step) })).status, 403)
    clock.set(clock.now() + 61 * MINUTE_MS)
    const { location } = await hers.get(FACTORS)
    const confirm = optionsIn(await hers.get(location))
    assert.equal((await hers.post(location, { answer: mine.get(confirm) })).status, 403)
    assert.equal((await hers.get(FACTORS)).location, location)
  },
  HTTPS,
)

onBothEngines(
  'a counter that does not go on is refused; one that stays zero is an authenticator that does not count',
  async (world) => {
    const client = await openSignedInClient(world)
    const counting = await register(client)
    assert.equal((await signInBy(world, counting, { counter: 5 })).status, 303)
    for (const counter of [5, 4, 0])
      assert.equal((await signInBy(world, counting, { counter })).status, 403, String(counter))
    assert.equal((await signInBy(world, counting, { counter: 6 })).status, 303)
    // Two copies at once: each is right on its own, and one of them comes second.
    const copies = await Promise.all([1, 2, 3, 4].map(() => signInBy(world, counting, { counter: 9 })))
    assert.deepEqual(copies.map(({ status }) => status).sort(), [303, 403, 403, 403])
    const plain = await register(client, 'Key', false)
    for (let at = 0; at < 3; at++) assert.equal((await signInBy(world, plain)).status, 303)
  },
  HTTPS,
)

onBothEngines(
  'registrations: of the own page, once, verified, and twenty at most',
  async (world) => {
    const client = await openSignedInClient(world)
    const options = optionsIn(await client.get(FACTORS))
    const other = await openSignedInClient(world, (await world.user('ada')).id, 'ada')
    const theirs = optionsIn(await other.get(FACTORS))
    await client.get(FACTORS)
    const device = openAuthenticator(ORIGIN)
    const refused = async (answer: string) => {
      const seen = await client.post(`${FACTORS}/passkeys`, { answer, name: 'x' })
      assert.equal(seen.status, 422, seen.text)
      assert.match(seen.text, /role="alert" id="fault">[\s\S]*?The passkey was not added/)
    }
    await refused(device.create(theirs))
    await refused(device.create(options, { verified: false }))
    await refused(device.create(options, { origin: 'https://evil.example' }))
    await refused(device.create(options, { rpId: 'evil.example' }))
    await refused(device.create(options, { crossOrigin: true }))
    await refused('{}')
    const answer = device.create(options)
    assert.equal((await client.post(`${FACTORS}/passkeys`, { answer, name: 'x' })).status, 200)
    await refused(answer)
    const again = openAuthenticator(ORIGIN)
    const excluded = JSON.parse(optionsIn(await client.get(FACTORS)))
    assert.equal(excluded.excludeCredentials[0].id, device.id())
    assert.deepEqual(excluded.authenticatorSelection.residentKey, 'required')
    for (let count = 1; count < 20; count++) await register(client, `key ${count}`)
    await refused(again.create(optionsIn(await client.get(FACTORS))))
  },
  HTTPS,
)

onBothEngines(
  'passkeys are named and removed by their user; the last sign-in method stays; no lock holds for a passkey',
  async (world) => {
    const { db } = world.deps
    const { userId } = world.credentials
    const client = await openSignedInClient(world)
    const first = await register(client, 'First')
    const second = await register(client, '<b>&"')
    assert.ok((await client.get(FACTORS)).text.includes('&lt;b&gt;&amp;&quot;'))
    const { id: adaId } = await world.user('ada')
    const ada = await openSignedInClient(world, adaId, 'ada')
    await register(ada, 'Of Ada')
    await ada.get(FACTORS)
    const before = await writtenOf(world)
    await ada.post(`${FACTORS}/passkeys/name`, { id: first.id(), name: 'Of Ada' })
    await ada.post(`${FACTORS}/passkeys/remove`, { id: first.id() })
    assert.deepEqual(await writtenOf(world), before, 'what is of another user leaves no entry and no letter')
    const names = async () => (await passkeysOf(world)).filter((row) => row.user_id === userId).map(({ name }) => name)
    assert.deepEqual(await names(), ['First', '<b>&"'])
    await client.get(FACTORS)
    await client.post(`${FACTORS}/passkeys/name`, { id: second.id(), name: 'Second' })
    for (let at = 0; at < 10; at++) {
      const guesser = openClient(world)
      await guesser.get('/sign-in')
      await guesser.post('/sign-in', { name: 'admin', password: 'wrong wrong wrong' })
    }
    assert.equal((await signInBy(world, second)).status, 303, 'locked are passwords and codes')
    await client.post(`${FACTORS}/passkeys/remove`, { id: second.id() })
    assert.equal((await signInBy(world, second)).status, 403)
    await clearPassword(world, userId)
    const last = await client.post(`${FACTORS}/passkeys/remove`, { id: first.id() })
    assert.deepEqual([last.status, /your last sign-in method/.test(last.text)], [409, true])
    assert.deepEqual(await names(), ['First'])
    await seedPassword(world, userId)
    const back = (await signInBy(world, first)).client
    await back.get(FACTORS)
    assert.equal((await back.post(`${FACTORS}/passkeys/remove`, { id: first.id() })).location, FACTORS)
    assert.deepEqual(await names(), [])
    const codes = await db.read.selectFrom('recovery_code').select('user_id').distinct().execute()
    assert.deepEqual(
      codes.map(({ user_id }) => user_id),
      [adaId],
    )
    const told = (await readQueuedMail(world)).map(({ subject }) => subject)
    assert.ok(told.includes('The passkey “First” was removed'))
  },
  HTTPS,
)

onBothEngines(
  'after a wrong password the page offers every sign-in method again, and redirects to where the user was going',
  async (world) => {
    const client = await openSignedInClient(world)
    const device = openAuthenticator(LOCAL)
    await client.post(`${FACTORS}/passkeys`, {
      answer: device.create(optionsIn(await client.get(FACTORS))),
      name: 'Laptop',
    })
    const to = encodeURIComponent('/integrations/installed')
    const refused = async (name: string, kept?: string) => {
      const visitor = openClient(world)
      await visitor.get(`/sign-in?return=${to}`)
      const fields = { name, password: 'wrong wrong wrong', ...(kept !== undefined && { kept }) }
      const page = await visitor.post(`/sign-in?return=${to}`, fields)
      assert.equal(page.status, 403)
      return { visitor, page }
    }
    const { visitor, page } = await refused('admin')
    assert.match(page.text, /role="alert" id="fault">/)
    assert.match(page.text, /name="name" value="admin"/)
    assert.ok(page.text.includes(`href="/sign-in/sso?return=${to}"`), page.text)
    assert.match(page.text, /<script src="\/assets\/passkey-\w+\.js" defer>/)
    const [, action] = /<form method="post" action="([^"]+)"[^>]* data-passkey="get"/.exec(page.text)!
    const answer = device.get(optionsIn(page))
    assert.equal((await visitor.post(action!, { answer })).location, '/integrations/installed')
    // It reveals no more than the page that was opened first.
    const plain = (text: string) => text.replaceAll(/value="[^"]*"|data-options="[^"]*"/g, '')
    assert.equal(plain((await refused('nobody')).page.text), plain(page.text))
    const carrying = (await refused('admin', '{"to":"/console","fields":{}}')).page.text
    assert.equal(carrying.match(/name="kept" value="/g)?.length, 2, 'of the password and of the passkey')
    assert.match(carrying, /data-kept="[^"]+" data-kept-at="\/console\/kept"/)
  },
  {
    BERTH_OIDC_ISSUER: 'http://127.0.0.1:1',
    BERTH_OIDC_CLIENT_ID: 'berth',
    BERTH_OIDC_CLIENT_SECRET: 'a-secret-of-the-provider',
    BERTH_PUBLIC_URL: LOCAL,
  },
)

onBothEngines(
  'a suspended user and one who is removed sign in by no passkey',
  async (world) => {
    const ada = await world.user('ada')
    const device = await register(await openSignedInClient(world, ada.id, 'ada'))
    await world.operator('PATCH', `/operator/v1/users/${ada.id}`, { suspended: true })
    assert.equal((await signInBy(world, device)).status, 403)
    await world.operator('PATCH', `/operator/v1/users/${ada.id}`, { suspended: false })
    assert.equal((await signInBy(world, device)).status, 303)
    assert.equal((await world.operator('DELETE', `/operator/v1/users/${ada.id}`)).status, 204)
    assert.equal((await signInBy(world, device)).status, 403)
    assert.deepEqual(await passkeysOf(world), [])
  },
  HTTPS,
)

onBothEngines('without a name over https the page says what is missing, and one-time codes work', async (world) => {
  const client = await openSignedInClient(world)
  const page = await client.get(FACTORS)
  assert.match(page.text, /BERTH_PUBLIC_URL/)
  assert.equal(page.text.includes('data-passkey'), false)
  await setUpCodes(world, client)
  assert.equal((await openClient(world).get('/sign-in')).text.includes('data-passkey'), false)
})
