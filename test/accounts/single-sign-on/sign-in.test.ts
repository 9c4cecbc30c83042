/** Users sign in by a real provider: who they become, what their groups give and take, and who has to confirm first. docs/single-sign-on.md. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import {
  type Client,
  openClient,
  openSignedInClient,
  PASSWORD,
  pathOf,
  seedPassword,
} from '../../support/clients/browser-client.ts'
import { setUpCodes } from '../../support/clients/second-factor.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { signInBy, startProvider } from '../../support/servers/identity-provider.ts'
import { markDomainsVerified } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const provider = await startProvider()
after(() => provider.close())
const groups = 'staff=main:VIEWER,builders=main:DEVELOPER,owners=main:OWNER,platform=operator,gone=no-such-team:VIEWER'
const settings = { ...provider.settings, BERTH_OIDC_GROUPS: groups }
const ada = { email: 'Ada@example.com', email_verified: true, name: 'Ada L.', preferred_username: 'Ada.L' }
const HOUR_MS = 3_600_000

function whoIs(world: World, email: string) {
  return world.deps.db.read.selectFrom('account').selectAll().where('email', '=', email).executeTakeFirst()
}

async function roleOf(world: World, userId: string): Promise<string | undefined> {
  const row = await world.deps.db.read
    .selectFrom('member')
    .select('role')
    .where('team_id', '=', world.credentials.teamId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.role
}

async function renameTeam(world: World): Promise<void> {
  const renamed = await world.call('PATCH', `/v2/teams/${world.credentials.teamId}`, { slug: 'main' })
  assert.equal(renamed.status, 200, renamed.text)
}

async function isIn(client: Client): Promise<boolean> {
  return (await client.get('/invitations')).status !== 303
}

onBothEngines(
  'the first sign-in creates the user, and later ones are the same user, whatever their address is then',
  async (world) => {
    provider.people.set('ada', ada)
    const first = openClient(world)
    const page = await first.get('/sign-in?return=%2Fintegrations%2Finstalled')
    assert.match(page.text, /Sign in by 127\.0\.0\.1/)
    assert.equal(
      (await signInBy(provider, first, 'ada', '?return=%2Fintegrations%2Finstalled')).location,
      '/integrations/installed',
    )
    assert.ok(await isIn(first))
    const made = (await whoIs(world, 'ada@example.com'))!
    assert.deepEqual([made.slug, made.name, made.kind], ['ada.l', 'Ada L.', 'user'])
    provider.people.set('ada', { ...ada, email: 'ada@elsewhere.example' })
    const second = openClient(world)
    assert.equal((await signInBy(provider, second, 'ada')).location, '/console')
    assert.equal(await whoIs(world, 'ada@elsewhere.example'), undefined)
    assert.match((await second.get('/integrations/installed')).text, /ada\.l|Ada L\./)
    provider.people.set('eve', { ...ada, email: 'eve@example.com' })
    await signInBy(provider, openClient(world), 'eve')
    assert.equal((await whoIs(world, 'eve@example.com'))?.slug, 'ada.l-2')
    const audit = await world.operator('GET', '/operator/v1/audit?type=signInBySingleSignOn')
    assert.equal(audit.body.entries.length, 3)
  },
  settings,
)

onBothEngines(
  'groups give roles and the pages of the operator, and take them; other teams are left alone',
  async (world) => {
    await renameTeam(world)
    const sign = async (groups: string[] | undefined) => {
      provider.people.set('bob', { email: 'bob@example.com', email_verified: true, ...(groups && { groups }) })
      const answer = await signInBy(provider, openClient(world), 'bob')
      assert.equal(answer.status, 303, answer.text)
      const { id, operator_at } = (await whoIs(world, 'bob@example.com'))!
      return [await roleOf(world, id), operator_at !== null]
    }
    assert.deepEqual(await sign(['staff', 'other']), ['VIEWER', false])
    assert.deepEqual(await sign(['builders', 'staff', 'platform', 'gone']), ['DEVELOPER', true])
    assert.deepEqual(await sign(undefined), ['DEVELOPER', true], 'nothing was said of groups')
    const { id } = (await whoIs(world, 'bob@example.com'))!
    const own = await world.operator('POST', '/operator/v1/teams', { slug: 'own', name: 'Own', ownerId: id })
    assert.deepEqual(await sign([]), [undefined, false])
    const rest = await world.deps.db.read.selectFrom('member').select('team_id').where('user_id', '=', id).execute()
    assert.deepEqual(
      rest.map((row) => row.team_id),
      [own.body.id],
    )
    const placed = await world.operator('GET', '/operator/v1/audit?type=placed%20by%20single%20sign-on')
    assert.deepEqual(
      placed.body.entries.map((one: { subjectId: string }) => one.subjectId),
      [id],
    )
    assert.match(world.logged(), /BERTH_OIDC_GROUPS names a team that is not there/)
  },
  settings,
)

onBothEngines(
  'the last OWNER of a team keeps the place that their groups no longer give',
  async (world) => {
    await renameTeam(world)
    provider.people.set('cy', { email: 'cy@example.com', email_verified: true })
    await signInBy(provider, openClient(world), 'cy')
    const members = `/v1/teams/${world.credentials.teamId}/members` as const
    assert.equal((await world.call('POST', members, { email: 'cy@example.com', role: 'VIEWER' })).status, 200)
    provider.people.set('cy', { email: 'cy@example.com', email_verified: true, groups: ['owners'] })
    await signInBy(provider, openClient(world), 'cy')
    assert.deepEqual(await world.deps.db.read.selectFrom('invitation').select('id').execute(), [])
    const { id } = (await whoIs(world, 'cy@example.com'))!
    assert.equal(await roleOf(world, id), 'OWNER')
    const { teamId, userId } = world.credentials
    assert.equal((await world.operator('DELETE', `/operator/v1/teams/${teamId}/members/${userId}`)).status, 204)
    provider.people.set('cy', { email: 'cy@example.com', email_verified: true, groups: ['staff'] })
    assert.equal((await signInBy(provider, openClient(world), 'cy')).status, 303)
    assert.equal(await roleOf(world, id), 'OWNER')
  },
  settings,
)

onBothEngines(
  'an existing user confirms by an email, once, before the provider speaks for them',
  async (world) => {
    const user = await world.user('dora')
    await seedPassword(world, user.id)
    provider.people.set('dora', { email: 'dora@example.com', email_verified: false })
    const client = openClient(world)
    const unverified = await signInBy(provider, client, 'dora')
    assert.deepEqual([unverified.status, /email address is verified/.test(unverified.text)], [403, true])
    provider.people.set('dora', { email: 'DORA@example.com', email_verified: true })
    const asked = await signInBy(provider, client, 'dora')
    assert.deepEqual([asked.status, /Check your email/.test(asked.text)], [200, true], asked.text)
    assert.equal(await isIn(client), false)
    const letter = (await readQueuedMail(world)).find(({ subject }) => subject.startsWith('Sign in by'))!
    assert.equal(letter.recipient, 'dora@example.com')
    const link = pathOf(/http:\/\/\S+/.exec(letter.body_text)![0])
    assert.match((await client.get(link)).text, /<strong>dora<\/strong>/)
    const used = await Promise.all([client.post(link), client.post(link), client.post(link)])
    const told = (await readQueuedMail(world)).filter(({ subject }) => /^You sign in by 127\.0\.0\.1/.test(subject))
    assert.deepEqual(
      told.map(({ recipient }) => recipient),
      ['dora@example.com'],
      'the user is notified of the new sign-in method, once',
    )
    assert.deepEqual(used.map(({ status }) => status).sort(), [303, 404, 404])
    assert.equal((await signInBy(provider, client, 'dora')).location, '/console')
    assert.ok(await isIn(client))
    assert.equal((await whoIs(world, 'dora@example.com'))!.id, user.id)
    const old = openClient(world)
    await old.get('/sign-in')
    assert.equal((await old.post('/sign-in', { name: 'dora', password: PASSWORD })).status, 303)
    // Another one at the provider gets nothing by the same address: dora is bound.
    provider.people.set('mallory', { email: 'dora@example.com', email_verified: true })
    await signInBy(provider, openClient(world), 'mallory')
    const second = (await readQueuedMail(world)).filter(({ subject }) => subject.startsWith('Sign in by'))
    assert.equal(second.length, 2)
    const again = pathOf(
      /http:\/\/\S+/.exec(second.find((one) => one !== letter && one.id !== letter.id)!.body_text)![0],
    )
    const other = openClient(world)
    await other.get(again)
    assert.equal((await other.post(again)).status, 409)
  },
  settings,
)

onBothEngines(
  'a user with a second factor gives it before the provider signs them in, and again after an hour',
  async (world) => {
    const client = await openSignedInClient(world)
    await setUpCodes(world, client)
    provider.people.set('root', { email: 'admin@berth.localhost', email_verified: true })
    assert.match((await signInBy(provider, openClient(world), 'root')).text, /Check your email/)
    const letter = (await readQueuedMail(world)).find(({ subject }) => subject.startsWith('Sign in by'))!
    const link = pathOf(/http:\/\/\S+/.exec(letter.body_text)![0])
    assert.match((await openClient(world).get(link)).location, /^\/sign-in\?return=/)
    assert.match((await client.get(link)).text, /<strong>admin<\/strong>/)
    world.deps.clock.set(world.deps.clock.now() + HOUR_MS + 1)
    assert.match((await client.get(link)).location, /^\/confirm\?return=/)
    assert.match((await client.post(link)).location, /^\/confirm\?return=/)
    assert.equal(await world.deps.db.read.selectFrom('identity').selectAll().executeTakeFirst(), undefined)
  },
  settings,
)

onBothEngines(
  'a letter that confirms is of no use after 24 hours, and is swept',
  async (world) => {
    const user = await world.user('dora')
    provider.people.set('dora', { email: 'dora@example.com', email_verified: true })
    const client = openClient(world)
    await signInBy(provider, client, 'dora')
    await signInBy(provider, client, 'dora')
    const links = (await readQueuedMail(world)).flatMap(
      ({ body_text }) => /http:\/\/\S+sso\S+/.exec(body_text)?.[0] ?? [],
    )
    const [replaced, link] = links.map(pathOf) as [string, string]
    assert.deepEqual([(await client.get(replaced)).status, (await client.get(link)).status], [404, 200])
    world.deps.clock.set(world.deps.clock.now() + 24 * HOUR_MS + 1)
    assert.deepEqual([(await client.get(link)).status, (await client.post(link)).status], [404, 404])
    assert.deepEqual((await world.operator('POST', '/operator/v1/timers/old-identity-links/run')).body, { swept: 1 })
    assert.equal((await world.operator.try('DELETE', `/operator/v1/users/${user.id}/identity`)).status, 404)
  },
  settings,
)

onBothEngines(
  'what was emailed to a former address opens nothing once its user has another one',
  async (world) => {
    const user = await world.user('dora')
    provider.people.set('dora', { email: 'dora@example.com', email_verified: true })
    const client = openClient(world)
    await signInBy(provider, client, 'dora')
    await world.operator('POST', `/operator/v1/users/${user.id}/password-link`)
    const links = (await readQueuedMail(world)).flatMap(
      ({ body_text }) => /http:\/\/\S+\?link=\S+/.exec(body_text)?.[0] ?? [],
    )
    const pages = links.map(pathOf)
    assert.equal(pages.length, 2)
    for (const page of pages) assert.equal((await client.get(page)).status, 200, page)
    const moved = await world.operator('PATCH', `/operator/v1/users/${user.id}`, { email: 'dora@elsewhere.example' })
    assert.equal(moved.status, 200, moved.text)
    for (const page of pages) {
      assert.equal((await client.get(page)).status, 404, page)
      assert.equal((await client.post(page, { password: PASSWORD, again: PASSWORD })).status, 404, page)
    }
    assert.equal(await world.deps.db.read.selectFrom('identity').selectAll().executeTakeFirst(), undefined)
  },
  settings,
)

onBothEngines(
  'where passwords are off no user signs in with one, and the operator admits users by a link',
  async (world) => {
    const { userId } = world.credentials
    const made = await world.operator('POST', `/operator/v1/users/${userId}/password-link`)
    const link = pathOf(made.body.url)
    const client = openClient(world)
    assert.match((await client.get(link)).text, /Passwords are off here/)
    const entered = await Promise.all([client.post(link), client.post(link, { password: PASSWORD, again: PASSWORD })])
    assert.deepEqual(entered.map(({ status }) => status).sort(), [303, 404])
    assert.ok(await isIn(client))
    const row = await world.deps.db.read.selectFrom('sign_in').selectAll().where('user_id', '=', userId).execute()
    assert.deepEqual(row, [], 'no password was set')
    const other = openClient(world)
    assert.doesNotMatch((await other.get('/sign-in')).text, /name="password"/)
    assert.equal((await other.post('/sign-in', { name: 'admin', password: PASSWORD })).status, 403)
    assert.equal(await isIn(other), false)
  },
  { ...settings, BERTH_PASSWORDS: 'off' },
)

onBothEngines(
  'a password that was set before they were switched off opens nothing, at the sign-in and where it confirms',
  async (world) => {
    const client = await openSignedInClient(world)
    ;(world.deps.config as { passwords: boolean }).passwords = false
    const other = openClient(world)
    await other.get('/sign-in')
    assert.equal((await other.post('/sign-in', { name: 'admin', password: PASSWORD })).status, 403)
    world.deps.clock.set(world.deps.clock.now() + 2 * HOUR_MS)
    await client.get('/confirm')
    assert.equal((await client.post('/confirm', { password: PASSWORD })).status, 403)
  },
  settings,
)

onBothEngines(
  'the provider confirms the user who is there, and no other',
  async (world) => {
    provider.people.set('ada', ada)
    provider.people.set('eve', { email: 'eve@example.com', email_verified: true })
    await signInBy(provider, openClient(world), 'eve')
    const client = openClient(world)
    await signInBy(provider, client, 'ada')
    const confirmedAt = async () => {
      const rows = await world.deps.db.read.selectFrom('session').select(['confirmed_at', 'user_id']).execute()
      const { id } = (await whoIs(world, 'ada@example.com'))!
      return rows.filter((row) => row.user_id === id).map((row) => Number(row.confirmed_at))
    }
    const before = await confirmedAt()
    world.deps.clock.set(world.deps.clock.now() + 2 * HOUR_MS)
    assert.match((await client.get('/confirm?return=%2Fintegrations%2Finstalled')).text, /Confirm by 127/)
    const query = '?return=%2Fintegrations%2Finstalled&again=yes'
    assert.equal((await signInBy(provider, client, 'eve', query)).status, 403)
    assert.deepEqual(await confirmedAt(), before)
    const confirmed = await signInBy(provider, client, 'ada', query)
    assert.deepEqual([confirmed.status, confirmed.location], [303, '/integrations/installed'], confirmed.text)
    const [moment, ...others] = await confirmedAt()
    assert.ok(moment! > before[0]! && others.length === 0)
  },
  settings,
)

onBothEngines('without a provider there is no button, and its addresses lead nowhere', async (world) => {
  const client = openClient(world)
  assert.doesNotMatch((await client.get('/sign-in')).text, /sign-in\/sso/)
  assert.equal((await client.get('/sign-in/sso')).location, '/sign-in')
  assert.equal((await client.get('/sign-in/sso/callback?code=a&state=b')).status, 403)
})

onBothEngines(
  'a user who signs in by the provider accepts the places that it gives, and whom the operator placed has not',
  async (world) => {
    await renameTeam(world)
    provider.people.set('placed', { email: 'placed@example.com', email_verified: true, groups: ['owners'] })
    const placedAt = async (userId: string) => {
      const rows = world.deps.db.read.selectFrom('member').select('placed_at').where('user_id', '=', userId)
      return (await rows.executeTakeFirst())?.placed_at
    }
    assert.equal((await signInBy(provider, openClient(world), 'placed')).status, 303)
    const { id } = (await whoIs(world, 'placed@example.com'))!
    assert.equal(await placedAt(id), null)
    // The operator places her in another team, which no group gives: she has accepted nothing there.
    const bob = await world.user('bob')
    const team = await world.operator('POST', '/operator/v1/teams', { slug: 'acme', name: 'Acme', ownerId: bob.id })
    assert.equal(team.status, 201, team.text)
    const path = `/operator/v1/teams/${team.body.id}/members/${id}` as const
    assert.equal((await world.operator('PUT', path, { role: 'OWNER' })).status, 200)
    assert.equal((await signInBy(provider, openClient(world), 'placed')).status, 303)
    const rows = world.deps.db.read.selectFrom('member').select(['team_id', 'placed_at']).where('user_id', '=', id)
    const places = new Map((await rows.execute()).map((row) => [row.team_id, row.placed_at !== null]))
    assert.deepEqual([places.get(world.credentials.teamId), places.get(team.body.id)], [false, true])
    // What follows from it: a name that her team holds is known to be hers.
    const named = await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
    assert.equal(named.status, 200, named.text)
    const domain = { name: 'www.placed-people.com' }
    const added = await world.call('POST', `/v10/projects/web/domains?teamId=${world.credentials.teamId}`, domain)
    assert.equal(added.status, 200, added.text)
    await markDomainsVerified(world)
    const made = await world.operator('POST', '/operator/v1/tokens', { userId: id })
    assert.equal(made.status, 201, made.text)
    const call = world.as(made.body.token)
    assert.equal((await call('POST', '/v10/projects', { name: 'own' })).status, 200)
    const taken = await call.try('POST', '/v10/projects/own/domains', domain)
    assert.deepEqual([taken.status, taken.body.error.code], [409, 'domain_owned_by_your_other_account'], taken.text)
  },
  settings,
)
