/** What a provider answers that does not count, what a browser brings that is not its own, and whom the provider no longer confirms. docs/single-sign-on.md. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { checkIdentities } from '../../../src/accounts/single-sign-on/check.ts'
import { openIdentityProvider } from '../../../src/platform/adapters/identity-provider.ts'
import { type Client, openClient, pathOf } from '../../support/clients/browser-client.ts'
import { signInBy, startProvider, startStandIn } from '../../support/servers/identity-provider.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const HOUR_MS = 3_600_000
const provider = await startProvider()
const shy = await startProvider({ offline: false })
const standIn = await startStandIn()
after(() => Promise.all([provider, shy, standIn].map((one) => one.close())))
const SOME = { email: 'one@example.com', email_verified: true }

async function isIn(client: Client): Promise<boolean> {
  return (await client.get('/invitations')).status !== 303
}

async function countRows(world: World, table: 'session' | 'identity'): Promise<number> {
  return (await world.deps.db.read.selectFrom(table).select('user_id').execute()).length
}

const nowS = () => Math.floor(Date.now() / 1000)

onBothEngines(
  'an answer that is wrong in one thing signs no user in',
  async (world) => {
    const wrong: Record<string, (typeof standIn)['answer']> = {
      'another issuer': { claims: { ...SOME, iss: 'https://login.example.org' } },
      'another audience': { claims: { ...SOME, aud: 'another' } },
      'several audiences, and made for another': { claims: { ...SOME, aud: ['berth', 'another'], azp: 'another' } },
      'another nonce': { claims: { ...SOME, nonce: 'another' } },
      'no nonce': { claims: { ...SOME, nonce: undefined } },
      'another key': { claims: SOME, forged: true },
      'an unknown key': { claims: SOME, kid: 'two' },
      'no signature': { claims: SOME, tokens: { id_token: unsigned({ ...SOME, sub: 'one' }) } },
      'no ID token': { tokens: { id_token: undefined } },
      expired: { claims: { ...SOME, iat: nowS() - 7200, exp: nowS() - 3600 } },
      'no end': { claims: { ...SOME, exp: undefined } },
      'no email': { claims: {} },
      'an email that is not verified': { claims: { ...SOME, email_verified: false } },
      "an email that is verified in other words: 'false'": { claims: { ...SOME, email_verified: 'false' } },
      "an email that is verified in other words: 'yes'": { claims: { ...SOME, email_verified: 'yes' } },
      "an email that is verified in other words: '1'": { claims: { ...SOME, email_verified: '1' } },
      'an email that is verified in other words: 1': { claims: { ...SOME, email_verified: 1 } },
      "an email that is verified in other words: 'TRUE '": { claims: { ...SOME, email_verified: 'TRUE ' } },
      "an email that is verified in other words: ['true']": { claims: { ...SOME, email_verified: ['true'] } },
      'an email that is verified in other words: {}': { claims: { ...SOME, email_verified: {} } },
      'an email that is verified in other words: null': { claims: { ...SOME, email_verified: null } },
    }
    for (const [name, answer] of Object.entries(wrong)) {
      reset(answer)
      const client = openClient(world)
      const seen = await signInBy(standIn, client, 'one')
      assert.equal(seen.status, 403, `${name}: ${seen.text}`)
      assert.match(seen.text, /Sign-in failed/)
      assert.equal(await isIn(client), false, name)
    }
    reset({ claims: SOME, status: 502 })
    assert.equal((await signInBy(standIn, openClient(world), 'one')).status, 503)
    assert.deepEqual([await countRows(world, 'session'), await countRows(world, 'identity')], [0, 0])
    for (const email_verified of [true, 'true']) {
      reset({ claims: { ...SOME, email_verified } })
      const right = openClient(world)
      assert.equal((await signInBy(standIn, right, 'one')).status, 303, `${typeof email_verified}`)
      assert.ok(await isIn(right))
    }
  },
  standIn.settings,
)

function unsigned(claims: object): string {
  const body = { iss: standIn.settings.BERTH_OIDC_ISSUER, aud: 'berth', exp: nowS() + 300, iat: nowS(), ...claims }
  return `${[{ alg: 'none' }, body].map((one) => Buffer.from(JSON.stringify(one)).toString('base64url')).join('.')}.`
}

function reset(answer: (typeof standIn)['answer']): void {
  for (const key of Object.keys(standIn.answer)) delete standIn.answer[key as keyof typeof answer]
  Object.assign(standIn.answer, answer)
}

onBothEngines(
  'what comes back counts once, within 10 minutes, in the browser that asked',
  async (world) => {
    reset({ claims: SOME })
    const client = openClient(world)
    const begin = async (one: Client) => pathOf(await standIn.visit((await one.get('/sign-in/sso')).location, 'one'))
    const path = await begin(client)
    const refused = async (one: Client, at: string) => {
      const before = standIn.asked.length
      const seen = await one.get(at)
      assert.deepEqual([seen.status, standIn.asked.length], [403, before], seen.text)
    }
    const other = openClient(world)
    await other.get('/sign-in')
    await refused(other, path)
    await refused(openClient(world), path)
    const state = new URLSearchParams(path.slice(path.indexOf('?'))).get('state')!
    await refused(
      client,
      path.replace(
        state,
        state.replace(/..$/, (last) => (last.startsWith('A') ? 'BB' : 'AA')),
      ),
    )
    await refused(client, path.replace(state, ''))
    await refused(client, path.replace(state, state.split('.')[0]!))
    assert.equal((await client.get(path.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Flogin.example.org'))).status, 403)
    assert.equal((await client.get(path.replace(/&iss=[^&]+/, ''))).status, 403)
    assert.equal(await isIn(client), false)
    assert.equal((await client.get(path)).status, 303)
    assert.ok(await isIn(client))
    await refused(client, path)
    const late = openClient(world)
    const latePath = await begin(late)
    world.deps.clock.set(world.deps.clock.now() + 10 * 60_000 + 1)
    await refused(late, latePath)
    const led = await openClient(world).get('/sign-in/sso?return=https%3A%2F%2Felsewhere.example')
    assert.doesNotMatch(Buffer.from(led.location.split('state=')[1]!, 'base64url').toString(), /elsewhere/)
    assert.equal((await openClient(world).get('/sign-in/sso/callback?error=access_denied')).status, 403)
  },
  standIn.settings,
)

onBothEngines(
  'a code that the provider gave is of no use twice',
  async (world) => {
    provider.people.set('one', SOME)
    const client = openClient(world)
    const begun = await client.get('/sign-in/sso')
    const path = pathOf(await provider.visit(begun.location, 'one'))
    // The provider may revoke what it gave for the first when the second comes.
    const both = await Promise.all([client.get(path), client.get(path)])
    assert.ok(both.every(({ status }) => status === 303 || status === 403) && both.some(({ status }) => status === 403))
    assert.equal(await countRows(world, 'session'), both.filter(({ status }) => status === 303).length)
  },
  provider.settings,
)

/** Signs a user in who has a token too. Returns ways to see whether both still work. */
async function enter(world: World, from: typeof provider, sub: string) {
  from.people.set(sub, { email: `${sub}@example.com`, email_verified: true })
  const client = openClient(world)
  assert.equal((await signInBy(from, client, sub)).status, 303)
  const row = await world.deps.db.read
    .selectFrom('account')
    .select('id')
    .where('email', '=', `${sub}@example.com`)
    .executeTakeFirstOrThrow()
  const { token } = (await world.operator('POST', '/operator/v1/tokens', { userId: row.id })).body
  const works = async () => [await isIn(client), (await world.as(token).try('GET', '/v2/user')).status]
  return { id: row.id, client, works }
}

async function pass(world: World, hours: number): Promise<void> {
  // In steps, as sessions are used meanwhile and the sweep looks each minute.
  for (let hour = 0; hour < hours; hour++) {
    world.deps.clock.set(world.deps.clock.now() + HOUR_MS)
    await checkIdentities(world.deps, world.deps.clock.now())
  }
}

onBothEngines(
  'a user who is removed at the provider is stopped within 12 hours, without a sign-in, and comes in again by it',
  async (world) => {
    const stays = await enter(world, provider, 'stays')
    const goes = await enter(world, provider, 'goes')
    await pass(world, 5)
    assert.deepEqual(
      [await stays.works(), await goes.works()],
      [
        [true, 200],
        [true, 200],
      ],
    )
    provider.people.delete('goes')
    await pass(world, 5)
    assert.deepEqual(
      [await stays.works(), await goes.works()],
      [
        [true, 200],
        [false, 401],
      ],
    )
    const audit = await world.operator('GET', '/operator/v1/audit?type=endIdentity')
    assert.deepEqual(
      audit.body.entries.map((one: { subjectId: string }) => one.subjectId),
      [goes.id],
    )
    provider.people.set('goes', { email: 'goes@example.com', email_verified: true })
    assert.equal((await signInBy(provider, goes.client, 'goes')).status, 303)
    assert.deepEqual(await goes.works(), [true, 200])
  },
  provider.settings,
)

onBothEngines(
  'groups that are taken at the provider are taken here at the next question',
  async (world) => {
    const { client, id } = await enter(world, provider, 'sam')
    provider.people.set('sam', { email: 'sam@example.com', email_verified: true, groups: ['platform'] })
    await signInBy(provider, client, 'sam')
    const isOperator = async () =>
      (await world.deps.db.read.selectFrom('account').select('operator_at').where('id', '=', id).executeTakeFirst())!
        .operator_at !== null
    assert.ok(await isOperator())
    provider.people.set('sam', { email: 'sam@example.com', email_verified: true, groups: [] })
    await pass(world, 4)
    assert.equal(await isOperator(), false)
  },
  { ...provider.settings, BERTH_OIDC_GROUPS: 'platform=operator' },
)

onBothEngines(
  'the sessions of a user who becomes an operator by a group end after the idle time of operators',
  async (world) => {
    const lasts = async (client: Client, hours: number) => {
      world.deps.clock.set(world.deps.clock.now() + hours * HOUR_MS)
      return isIn(client)
    }
    const join = (groups: string[]) =>
      provider.people.set('kim', { email: 'kim@example.com', email_verified: true, groups })
    const { client } = await enter(world, provider, 'kim')
    assert.ok(await lasts(client, 3), 'not an operator yet')
    const other = openClient(world)
    join(['platform'])
    await signInBy(provider, other, 'kim')
    assert.deepEqual([await lasts(client, 3), await isIn(other)], [false, false])
    join([])
    await signInBy(provider, client, 'kim')
    join(['platform'])
    await pass(world, 4)
    assert.equal(await lasts(client, 3), false, 'by a check, too')
  },
  { ...provider.settings, BERTH_OIDC_GROUPS: 'platform=operator', BERTH_OPERATOR_IDLE_HOURS: '2' },
)

onBothEngines(
  'for whom the provider cannot be asked 12 hours are the most, and users whom the operator suspended it does not admit',
  async (world) => {
    const quiet = await enter(world, shy, 'quiet')
    await pass(world, 11)
    assert.deepEqual(await quiet.works(), [true, 200])
    await pass(world, 1)
    assert.deepEqual(await quiet.works(), [false, 401])
    await signInBy(shy, quiet.client, 'quiet')
    assert.deepEqual(await quiet.works(), [true, 200])
    assert.equal((await world.operator('PATCH', `/operator/v1/users/${quiet.id}`, { suspended: true })).status, 200)
    const rows = () => world.deps.db.read.selectFrom('identity').selectAll().execute()
    const before = await rows()
    world.deps.clock.set(world.deps.clock.now() + 1000)
    const refused = await signInBy(shy, quiet.client, 'quiet')
    assert.deepEqual(await rows(), before, 'a sign-in that is refused changes nothing')
    assert.deepEqual([refused.status, /suspended/.test(refused.text)], [403, true])
    assert.deepEqual(await quiet.works(), [false, 401])
    await pass(world, 13)
    await signInBy(shy, quiet.client, 'quiet')
    assert.deepEqual(await quiet.works(), [false, 401], 'who is suspended stays so')
    assert.equal((await world.operator('PATCH', `/operator/v1/users/${quiet.id}`, { suspended: false })).status, 200)
    await signInBy(shy, quiet.client, 'quiet')
    assert.deepEqual(await quiet.works(), [true, 200])
  },
  shy.settings,
)

onBothEngines(
  'a suspension by the operator stays, also where the provider ended the access before',
  async (world) => {
    const twice = await enter(world, shy, 'twice')
    await pass(world, 12)
    assert.deepEqual(await twice.works(), [false, 401])
    assert.equal((await world.operator('PATCH', `/operator/v1/users/${twice.id}`, { suspended: true })).status, 200)
    const refused = await signInBy(shy, twice.client, 'twice')
    assert.deepEqual([refused.status, /suspended/.test(refused.text)], [403, true])
    assert.equal((await world.operator('DELETE', `/operator/v1/users/${twice.id}/identity`)).status, 204)
    assert.deepEqual(await twice.works(), [false, 401], 'without the provider it stays too')
  },
  shy.settings,
)

onBothEngines(
  'a user whom the operator resumes has 12 hours for a sign-in, whatever suspended them',
  async (world) => {
    provider.people.set('ill', { email: 'ill@example.com', email_verified: true })
    const ill = await enter(world, provider, 'ill')
    const suspend = async (suspended: boolean) =>
      assert.equal((await world.operator('PATCH', `/operator/v1/users/${ill.id}`, { suspended })).status, 200)
    provider.people.delete('ill')
    await pass(world, 5)
    assert.deepEqual(await ill.works(), [false, 401])
    for (const alsoByOperator of [false, true]) {
      if (alsoByOperator) await suspend(true)
      await suspend(false)
      await pass(world, 11)
      assert.equal((await ill.works())[1], 200)
      await pass(world, 2)
      assert.equal((await ill.works())[1], 401, `suspended by the operator too: ${alsoByOperator}`)
    }
    await suspend(false)
    provider.people.set('ill', { email: 'ill@example.com', email_verified: true })
    assert.equal((await signInBy(provider, ill.client, 'ill')).status, 303)
    provider.people.delete('ill')
    await suspend(true)
    await suspend(false)
    assert.equal((await ill.works())[1], 200)
    await pass(world, 5)
    assert.equal((await ill.works())[1], 401, 'a check that is due is not postponed')
  },
  provider.settings,
)

onBothEngines(
  'a provider that fails for hours stops no user before 12 hours, and one that is back lets go on',
  async (world) => {
    reset({ claims: SOME })
    const client = openClient(world)
    await signInBy(standIn, client, 'one')
    reset({ status: 500 })
    await pass(world, 11)
    assert.ok(await isIn(client))
    reset({ tokens: { id_token: undefined } })
    await pass(world, 1)
    assert.ok(await isIn(client), 'it confirmed in time')
    const refreshed = standIn.asked.filter((form) => form.get('grant_type') === 'refresh_token')
    assert.ok(refreshed.length > 5 && refreshed.every((form) => form.get('refresh_token') === 'refresh-1'))
    reset({ status: 500 })
    await pass(world, 12)
    assert.equal(await isIn(client), false)
  },
  standIn.settings,
)

onBothEngines(
  'the operator takes the say from the provider, and the user signs in without it',
  async (world) => {
    const { id, works } = await enter(world, shy, 'free')
    await pass(world, 12)
    assert.deepEqual(await works(), [false, 401])
    assert.equal((await world.operator('DELETE', `/operator/v1/users/${id}/identity`)).status, 204)
    assert.equal((await works())[1], 200)
    await pass(world, 24)
    assert.equal((await works())[1], 200)
    assert.equal((await world.operator.try('DELETE', `/operator/v1/users/${id}/identity`)).status, 404)
    assert.equal((await world.operator('DELETE', `/operator/v1/users/${id}?force=true`)).status, 204)
    assert.equal(await countRows(world, 'identity'), 0)
  },
  shy.settings,
)

onBothEngines(
  'a user who signs in while the provider is asked about them is not stopped by the older answer',
  async (world) => {
    reset({ claims: SOME })
    const client = openClient(world)
    await signInBy(standIn, client, 'one')
    const again = openClient(world)
    reset({ claims: SOME, error: 'invalid_grant', during: () => signInBy(standIn, again, 'one') })
    await pass(world, 4)
    assert.deepEqual([await isIn(client), await isIn(again)], [true, true])
    await pass(world, 4)
    assert.deepEqual([await isIn(client), await isIn(again)], [false, false])
  },
  standIn.settings,
)

onBothEngines(
  'of several that ask about one user at once one does',
  async (world) => {
    reset({ claims: SOME })
    await signInBy(standIn, openClient(world), 'one')
    world.deps.clock.set(world.deps.clock.now() + 4 * HOUR_MS)
    const before = standIn.asked.length
    await Promise.all([1, 2, 3, 4].map(() => checkIdentities(world.deps, world.deps.clock.now())))
    assert.equal(standIn.asked.length - before, 1)
  },
  standIn.settings,
)

onBothEngines(
  'an answer about another user does not count, and neither does another provider than the one of the sign-in',
  async (world, t) => {
    reset({ claims: SOME })
    const client = openClient(world)
    await signInBy(standIn, client, 'one')
    reset({ claims: { ...SOME, sub: 'two', nonce: undefined } })
    await pass(world, 12)
    assert.equal(await isIn(client), false)
    reset({ claims: SOME })
    await signInBy(standIn, client, 'one')
    const before = standIn.asked.length
    const another = await startStandIn()
    t.after(() => another.close())
    const adapters = world.deps.adapters as { provider?: unknown }
    adapters.provider = openIdentityProvider({
      ...world.deps.config.singleSignOn!,
      issuer: another.settings.BERTH_OIDC_ISSUER!,
    })
    await pass(world, 12)
    assert.deepEqual([await isIn(client), standIn.asked.length, another.asked.length], [false, before, 0])
  },
  standIn.settings,
)

onBothEngines(
  'a confirmation needs an authentication of now, and signing in as another user ends the session before',
  async (world) => {
    reset({ claims: SOME })
    const client = openClient(world)
    await signInBy(standIn, client, 'one')
    for (const [auth_time, status] of [
      [undefined, 403],
      [nowS() - 3600, 403],
      [nowS(), 303],
    ] as const) {
      reset({ claims: { ...SOME, auth_time } })
      assert.equal((await signInBy(standIn, client, 'one', '?again=yes')).status, status, String(auth_time))
    }
    reset({ claims: { email: 'two@example.com', email_verified: true, sub: 'two' } })
    await signInBy(standIn, client, 'two')
    assert.equal(await countRows(world, 'session'), 1)
  },
  standIn.settings,
)

onBothEngines(
  'a confirmation without a refresh token keeps the one of the sign-in, and a new one replaces it',
  async (world) => {
    reset({ claims: SOME })
    const client = openClient(world)
    await signInBy(standIn, client, 'one')
    const usedBy = async (tokens: object) => {
      reset({ claims: { ...SOME, auth_time: nowS() }, tokens })
      assert.equal((await signInBy(standIn, client, 'one', '?again=yes')).status, 303)
      reset({ claims: SOME })
      const before = standIn.asked.length
      await pass(world, 13)
      assert.ok(await isIn(client))
      return [...new Set(standIn.asked.slice(before).map((form) => form.get('refresh_token')))]
    }
    assert.deepEqual(await usedBy({ refresh_token: undefined }), ['refresh-1'])
    assert.deepEqual(await usedBy({ refresh_token: 'refresh-2' }), ['refresh-2', 'refresh-1'])
  },
  standIn.settings,
)

onBothEngines(
  'a real provider gives no refresh token with a confirmation, and the user works on',
  async (world) => {
    const { client, works } = await enter(world, provider, 'careful')
    assert.equal((await signInBy(provider, client, 'careful', '?again=yes')).status, 303)
    await pass(world, 13)
    assert.deepEqual(await works(), [true, 200])
  },
  provider.settings,
)
