/** One-time codes and recovery codes: set up, asked for, used once; a stolen password alone opens nothing. */
import assert from 'node:assert/strict'
import { acceptFactor, checkFactorLimited } from '../../../src/accounts/sign-in/verify-factor.ts'
import type { PageCtx } from '../../../src/platform/pages/screen.ts'
import {
  type Client,
  openClient,
  openSignedInClient,
  PASSWORD,
  pathOf,
  seedPassword,
} from '../../support/clients/browser-client.ts'
import { FACTORS, openClientAfterPassword, recoveryCodesIn, setUpCodes } from '../../support/clients/second-factor.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const MINUTE_MS = 60_000
const INSTALLED = '/integrations/installed'

async function isIn(client: Client): Promise<boolean> {
  return (await client.get(INSTALLED)).status === 200
}

/** Tries a code as the second step of a new sign-in. */
async function tryCode(world: World, code: string): Promise<number> {
  return (await (await openClientAfterPassword(world)).post('/sign-in/code', { code })).status
}

const subjects = async (world: World) => (await readQueuedMail(world)).map(({ subject }) => subject)

onBothEngines('one-time codes are set up by a right code, and recovery codes are shown once', async (world) => {
  const client = await openSignedInClient(world)
  const elsewhere = openClient(world)
  await elsewhere.get('/sign-in')
  assert.equal((await elsewhere.post('/sign-in', { name: 'admin', password: PASSWORD })).location, '/console')
  assert.match((await client.get(FACTORS)).text, /Your password is enough to sign in/)
  await client.post(`${FACTORS}/codes/begin`)
  const before = await client.get(`${FACTORS}/codes`)
  assert.match(before.text, /<svg [^>]*viewBox/)
  assert.match(before.text, /otpauth:\/\/totp\//)
  assert.equal(await isIn(elsewhere), true, 'nothing counts before the first right code')
  const wrong = await client.post(`${FACTORS}/codes`, { code: '000000' })
  assert.deepEqual([wrong.status, recoveryCodesIn(wrong)], [422, []])
  assert.match(wrong.text, /role="alert" id="fault"/)
  const begunAnew = await setUpCodes(world, client)
  assert.equal(new Set(begunAnew.recovery).size, 10)
  const page = await client.get(FACTORS)
  assert.match(page.text, /A password isn&#39;t enough to sign in/)
  assert.match(page.text, /10 of 10 codes left/)
  assert.deepEqual(recoveryCodesIn(page), [])
  assert.equal(page.text.includes(begunAnew.secret), false)
  assert.equal((await client.get(`${FACTORS}/codes`)).location, FACTORS, 'the key is not shown again')
  assert.equal(await isIn(elsewhere), false, 'a session by a password alone is ended')
  assert.equal(await isIn(client), true)
  // A second set-up changes nothing of the first.
  assert.equal((await client.post(`${FACTORS}/codes/begin`)).location, FACTORS)
  assert.equal(await tryCode(world, begunAnew.next()), 303)
  assert.ok((await subjects(world)).includes('One-time codes were added'))
  const stored = JSON.stringify(await world.deps.db.read.selectFrom('recovery_code').selectAll().execute())
  const { sealed_secret } = await world.deps.db.read.selectFrom('totp').selectAll().executeTakeFirstOrThrow()
  for (const code of begunAnew.recovery) assert.equal(stored.includes(code.replaceAll('-', '')), false)
  assert.equal(sealed_secret.includes(begunAnew.secret), false)
})

onBothEngines('a stolen password opens nothing but the second step', async (world) => {
  const owner = await openSignedInClient(world)
  const phone = await setUpCodes(world, owner)
  const thief = await openClientAfterPassword(world)
  assert.equal(thief.cookies.has('berth_session'), false)
  for (const path of [INSTALLED, '/console', '/confirm', FACTORS, '/invitations'])
    assert.match((await thief.get(path)).location, /^\/sign-in\?return=/, path)
  for (const path of [
    '/confirm',
    '/sign-out',
    `${FACTORS}/codes/remove`,
    `${FACTORS}/recovery`,
    `${FACTORS}/codes/begin`,
  ])
    assert.match((await thief.post(path, { password: PASSWORD })).location, /^\/sign-in\?return=/, path)
  // The secret of the visitor is neither a token nor a session.
  const visit = thief.cookies.get('berth_visit')!
  assert.equal((await world.as(visit).try('GET', '/v9/projects')).status, 401)
  const planted = openClient(world)
  planted.cookies.set('berth_session', visit)
  assert.equal(await isIn(planted), false)
  // A link sets a password. It ends the step that was in progress, and no factor.
  const made = await world.operator('POST', `/operator/v1/users/${world.credentials.userId}/password-link`)
  const link = pathOf(made.body.url)
  const reader = openClient(world)
  await reader.get(link)
  const again = { password: 'a thief knows this', again: 'a thief knows this' }
  assert.equal((await reader.post(link, again)).location, '/sign-in/code?return=')
  assert.equal(await isIn(reader), false)
  assert.equal((await thief.post('/sign-in/code', { code: phone.next() })).location, '/sign-in')
  const second = await openClientAfterPassword(world, 'admin', 'a thief knows this')
  assert.equal(await isIn(second), false)
  assert.equal((await second.post('/sign-in/code', { code: '000000' })).status, 403)
  assert.equal(await isIn(second), false)
})

onBothEngines('a code counts once, also of five at once, and one from before it counts no more', async (world) => {
  const phone = await setUpCodes(world, await openSignedInClient(world))
  // The code that switched it on was used by that.
  assert.equal(await tryCode(world, phone.code()), 403)
  const code = phone.next()
  const browsers = await Promise.all(Array.from({ length: 5 }, () => openClientAfterPassword(world)))
  const statuses = await Promise.all(browsers.map(async (one) => (await one.post('/sign-in/code', { code })).status))
  assert.deepEqual(statuses.filter((status) => status === 303).length, 1, statuses.join())
  const early = phone.code(-1)
  assert.equal(await tryCode(world, early), 403)
  // Codes of the step before and after count; two steps are too many.
  assert.equal(await tryCode(world, phone.code(2)), 403)
  assert.equal(await tryCode(world, phone.code(1)), 303)
  assert.equal(await tryCode(world, phone.code()), 403, 'a later one was used')
})

onBothEngines('a recovery code counts once, also of five at once, however it is typed', async (world) => {
  const phone = await setUpCodes(world, await openSignedInClient(world))
  const [one = '', other = '', third = ''] = phone.recovery
  const browsers = await Promise.all(Array.from({ length: 5 }, () => openClientAfterPassword(world)))
  const used = await Promise.all(
    browsers.map(async (client) => (await client.post('/sign-in/code', { code: one })).status),
  )
  assert.equal(used.filter((status) => status === 303).length, 1, used.join())
  assert.equal(await tryCode(world, one), 403)
  assert.equal(await tryCode(world, ` ${other.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O')} `), 303)
  assert.ok((await subjects(world)).includes('A recovery code was used'))
  // For another user they do not count.
  const ada = await world.user('ada')
  await setUpCodes(world, await openSignedInClient(world, ada.id, 'ada'))
  const client = await openClientAfterPassword(world, 'ada')
  assert.equal((await client.post('/sign-in/code', { code: third })).status, 403)
  // New ones take the place of the old ones.
  const back = await openClientAfterPassword(world)
  assert.equal((await back.post('/sign-in/code', { code: phone.next() })).status, 303)
  assert.match((await back.get(FACTORS)).text, /8 of 10 codes left/)
  const page = await back.post(`${FACTORS}/recovery`)
  const renewed = recoveryCodesIn(page)
  assert.match(page.text, /<\/ul><button type="button"[^>]* data-copy aria-label="Copy the recovery codes"/)
  assert.equal(renewed.length, 10)
  const [, file = ''] = /href="data:text\/plain;charset=utf-8,([^"]*)" download="/.exec(page.text) ?? []
  assert.deepEqual(decodeURIComponent(file).trim().split('\n'), renewed)
  assert.equal(await tryCode(world, third), 403)
  assert.equal(await tryCode(world, renewed[0]!), 303)
})

onBothEngines(
  'wrong codes are counted as wrong passwords: ten lock the user, and the password does not reset the count',
  async (world) => {
    const { clock } = world.deps
    const phone = await setUpCodes(world, await openSignedInClient(world))
    for (let at = 0; at < 9; at++) assert.equal(await tryCode(world, '000000'), 403)
    const waiting = await openClientAfterPassword(world)
    const tenth = await Promise.all(Array.from({ length: 5 }, () => waiting.post('/sign-in/code', { code: 'abcd' })))
    assert.deepEqual(new Set(tenth.map(({ status }) => status)), new Set([403]))
    assert.equal(
      (await waiting.post('/sign-in/code', { code: phone.next() })).status,
      403,
      'locked: the right code too',
    )
    const locked = openClient(world)
    await locked.get('/sign-in')
    const refused = await locked.post('/sign-in', { name: 'admin', password: PASSWORD })
    assert.match(refused.text, /Wrong name or password/)
    assert.match(refused.text, /<input type="password"[^>]* autofocus>/, 'the name is there already')
    clock.set(clock.now() + 15 * MINUTE_MS)
    assert.equal(await tryCode(world, phone.next()), 303)
    const { failures } = await world.deps.db.read
      .selectFrom('sign_in')
      .select('failures')
      .where('user_id', '=', world.credentials.userId)
      .executeTakeFirstOrThrow()
    assert.equal(failures, 0)
  },
)

onBothEngines('the second step is of one browser, ten minutes, and of a new secret', async (world) => {
  const { clock } = world.deps
  const phone = await setUpCodes(world, await openSignedInClient(world))
  const planted = openClient(world)
  await planted.get('/sign-in')
  const victim = openClient(world)
  victim.cookies.set('berth_visit', planted.cookies.get('berth_visit')!)
  await victim.get('/sign-in')
  assert.equal((await victim.post('/sign-in', { name: 'admin', password: PASSWORD })).status, 303)
  assert.notEqual(victim.cookies.get('berth_visit'), planted.cookies.get('berth_visit'))
  assert.equal(
    (await planted.get('/sign-in/code')).location,
    '/sign-in',
    'the planter of the secret has no access to it',
  )
  assert.equal((await planted.post('/sign-in/code', { code: phone.next() })).location, '/sign-in')
  await victim.get('/sign-in/code')
  clock.set(clock.now() + 10 * MINUTE_MS)
  assert.equal((await victim.get('/sign-in/code')).location, '/sign-in')
  assert.equal((await victim.post('/sign-in/code', { code: phone.next() })).location, '/sign-in')
  const swept = await world.operator('POST', '/operator/v1/timers/half-sign-ins/run')
  assert.deepEqual(swept.body, { swept: 1 })
  // Twenty wait at most.
  for (let at = 0; at < 23; at++) await openClientAfterPassword(world)
  assert.equal((await world.deps.db.read.selectFrom('half_sign_in').select('hash').execute()).length, 20)
  // Where one was going is where one comes.
  const back = `/sign-in?return=${encodeURIComponent(INSTALLED)}`
  const traveller = openClient(world)
  await traveller.get(back)
  const step = await traveller.post(back, { name: 'admin', password: PASSWORD })
  await traveller.get(step.location)
  assert.equal((await traveller.post(step.location, { code: phone.next() })).location, INSTALLED)
})

onBothEngines(
  'a password in a browser where another user is signed in ends that session, also before the second step',
  async (world) => {
    const ada = await world.user('ada')
    await setUpCodes(world, await openSignedInClient(world, ada.id, 'ada'))
    const client = await openSignedInClient(world)
    const earlier = client.cookies.get('berth_session')!
    await client.get(INSTALLED)
    assert.equal((await client.post('/sign-in', { name: 'ada', password: PASSWORD })).location, '/sign-in/code?return=')
    assert.equal(client.cookies.has('berth_session'), false)
    const thief = openClient(world)
    thief.cookies.set('berth_session', earlier)
    assert.equal(await isIn(thief), false)
  },
)

onBothEngines('confirming asks for the code too, and a suspended user finishes nothing', async (world) => {
  const { clock } = world.deps
  const ada = await world.user('ada')
  const client = await openSignedInClient(world, ada.id, 'ada')
  const phone = await setUpCodes(world, client)
  clock.set(clock.now() + 61 * MINUTE_MS)
  const url = (await client.get(FACTORS)).location
  assert.match(url, /^\/confirm\?/)
  assert.match((await client.get(url)).text, /name="code"/)
  for (const typed of [
    { password: PASSWORD },
    { password: PASSWORD, code: '000000' },
    { password: 'wrong wrong wrong', code: phone.code() },
  ])
    assert.equal((await client.post(url, typed)).status, 403)
  assert.equal((await client.get(FACTORS)).status, 303)
  assert.equal((await client.post(url, { password: PASSWORD, code: phone.next() })).location, FACTORS)
  assert.equal((await client.get(FACTORS)).status, 200)
  const waiting = await openClientAfterPassword(world, 'ada')
  await world.operator('PATCH', `/operator/v1/users/${ada.id}`, { suspended: true })
  assert.equal((await waiting.post('/sign-in/code', { code: phone.next() })).location, '/sign-in')
})

onBothEngines(
  'a code that was right for one user opens nothing for another, nor for who was suspended since',
  async (world) => {
    const { clock, db } = world.deps
    const [ada, bob] = [await world.user('ada'), await world.user('bob')]
    const phone = await setUpCodes(world, await openSignedInClient(world, ada.id, 'ada'))
    await setUpCodes(world, await openSignedInClient(world, bob.id, 'bob'))
    /** As the page does it: the code is checked before the transaction, and accepted in it. */
    const believe = async (code: string, userId: string, between = async () => {}) => {
      const ctx = { ...world, address: '192.0.2.1', csrfToken: 'x', user: undefined } as unknown as PageCtx
      const checked = await checkFactorLimited({ ...ctx, db: db.read, now: clock.now() }, 'second step', ada.id, {
        code,
      })
      assert.notEqual(checked, undefined, 'the code is right')
      await between()
      return db.write((tx) => acceptFactor({ ...ctx, db: tx, now: clock.now(), stamp: clock.stamp() }, userId, checked))
    }
    for (const code of [phone.next(), phone.recovery[0]!]) {
      assert.equal(await believe(code, bob.id), false)
      assert.equal(await believe(code, ada.id), true, 'nothing of it was used up')
    }
    const suspend = async () => void (await world.operator.try('PATCH', '/operator/v1/users/ada', { suspended: true }))
    assert.equal(await believe(phone.next(), ada.id, suspend), false)
  },
)

onBothEngines(
  'a user removes their codes; the operator removes the factors of a user, who is notified',
  async (world) => {
    const { userId } = world.credentials
    const client = await openSignedInClient(world)
    await setUpCodes(world, client)
    assert.equal((await client.post(`${FACTORS}/codes/remove`)).location, FACTORS)
    assert.match((await client.get(FACTORS)).text, /Your password is enough to sign in/)
    assert.equal((await world.deps.db.read.selectFrom('recovery_code').selectAll().execute()).length, 0)
    await openSignedInClient(world)
    const again = await openSignedInClient(world)
    await setUpCodes(world, again)
    assert.equal((await world.call.try('DELETE', `/operator/v1/users/${userId}/second-factors`)).status, 401)
    const shown = await world.operator('GET', `/operator/v1/users/${userId}`)
    assert.deepEqual(shown.body.secondFactors, { oneTimeCodes: true, passkeys: 0 })
    assert.equal((await world.operator('DELETE', `/operator/v1/users/${userId}/second-factors`)).status, 204)
    assert.equal((await world.operator.try('DELETE', '/operator/v1/users/usr_unknown/second-factors')).status, 404)
    for (const table of ['totp', 'recovery_code', 'passkey'] as const)
      assert.equal((await world.deps.db.read.selectFrom(table).select('user_id').execute()).length, 0)
    await seedPassword(world, userId)
    await openSignedInClient(world)
    const told = await subjects(world)
    assert.ok(told.includes('One-time codes were removed'))
    assert.ok(told.includes('Your second factors were removed'))
    const { body } = await world.operator('GET', '/operator/v1/audit')
    const types = body.entries.map(({ type }: { type: string }) => type)
    for (const type of ['confirmOneTimeCodes', 'removeOneTimeCodes', 'operatorRemoveSecondFactors'])
      assert.ok(types.includes(type), type)
    assert.equal(JSON.stringify(body).includes('000000'), false)
  },
)

onBothEngines('a rotation of the keyring takes the secrets along', async (world) => {
  const phone = await setUpCodes(world, await openSignedInClient(world))
  assert.equal((await world.operator('POST', '/operator/v1/keys/rotate')).status, 200)
  const { body } = await world.operator('GET', '/operator/v1/keys')
  const old = body.keys.find((key: { active: boolean }) => !key.active)
  assert.equal((await world.operator('DELETE', `/operator/v1/keys/${old!.id}`)).status, 204)
  assert.equal(await tryCode(world, phone.next()), 303)
})

onBothEngines('before the password is right no answer reveals who has a second factor', async (world) => {
  await setUpCodes(world, await openSignedInClient(world))
  const ada = await world.user('ada')
  await seedPassword(world, ada.id)
  const answers = new Set<string>()
  for (const name of ['admin', 'ada', 'nobody']) {
    const client = openClient(world)
    await client.get('/sign-in')
    const { status, text } = await client.post('/sign-in', { name, password: 'wrong wrong wrong' })
    const said = text.replaceAll(client.token(), 'TOKEN').replaceAll(/(name="once" value=")[^"]*/g, '$1ONCE')
    answers.add(`${status} ${said.replace(`value="${name}"`, 'NAME')}`)
    assert.equal((await client.post('/sign-in/code', { code: '000000' })).location, '/sign-in')
  }
  assert.equal(answers.size, 1)
})

onBothEngines('the second step is sent from a page of ours, in the browser that gave the password', async (world) => {
  const phone = await setUpCodes(world, await openSignedInClient(world))
  const client = await openClientAfterPassword(world)
  const other = openClient(world)
  await other.get('/sign-in')
  const code = phone.next()
  for (const [fields, headers] of [
    [{ form: other.token() }, {}],
    [{ form: '' }, {}],
    [{}, { origin: 'https://evil.example' }],
    [{}, { 'sec-fetch-site': 'cross-site' }],
  ] as const)
    assert.equal((await client.post('/sign-in/code', { code, ...fields }, headers)).status, 403)
  assert.equal(client.cookies.has('berth_session'), false)
  assert.equal((await client.post('/sign-in/code', { code })).status, 303, 'nothing of it used the code up')
})

onBothEngines(
  'codes that are guessed from one address are counted for the address, over all users',
  async (world) => {
    await setUpCodes(world, await openSignedInClient(world))
    const client = await openClientAfterPassword(world)
    const statuses: number[] = []
    for (let at = 0; at < 6; at++) statuses.push((await client.post('/sign-in/code', { code: '000000' })).status)
    assert.ok(statuses.includes(429), statuses.join())
    assert.equal(statuses[0], 403)
  },
  { BERTH_RATE_LIMITS: '{"sign-in-failures": {"total": 4, "seconds": 3600}}' },
)
