/** One invitation brings a colleague in: an operator also creates the account, another owner gets the text for an operator. docs/accounts.md: Members. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usernameFor } from '../../../src/console/names/new-user.ts'
import { type Client, openClient, openSignedInClient, PASSWORD, pathOf } from '../../support/clients/browser-client.ts'
import { setUpCodes } from '../../support/clients/second-factor.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const MEMBERS = '/console/t/team/members'
const INVITE = `${MEMBERS}/invite`
const PEOPLE = '/console/operator/people'

/** The only link of this kind on a page. */
function linkIn(text: string): string {
  const links = [...text.matchAll(/<pre class="secret">([^<]+)</g)].map(([, link]) => link!)
  assert.equal(links.length, 1, text)
  return pathOf(links[0]!)
}

async function setPasswordBy(world: World, link: string): Promise<{ client: Client; location: string }> {
  const client = openClient(world)
  await client.get(link)
  const { status, location, text } = await client.post(link, { password: PASSWORD, again: PASSWORD })
  assert.equal(status, 303, text)
  return { client, location }
}

async function usernamesOf({ deps }: World): Promise<string[]> {
  const rows = await deps.db.read.selectFrom('account').select('slug').where('kind', '=', 'user').execute()
  return rows.map(({ slug }) => slug).sort()
}

onBothEngines(
  'an operator invites a user without an account: one form, one link, and they are a member',
  async (world) => {
    const operator = await openSignedInClient(world)
    assert.match((await operator.get(INVITE)).text, /<label for="username">Username</)
    const invited = await operator.post(INVITE, { email: ' New.User+b@Example.com', role: 'DEVELOPER', username: '' })
    assert.equal(invited.status, 200, invited.text)
    assert.match(invited.text, /The account <strong>new\.user<\/strong> is created/)
    const link = linkIn(invited.text)
    assert.doesNotMatch((await openClient(world).get(link)).text, /sessions will end/, 'a new user has none')
    const { client, location } = await setPasswordBy(world, link)
    assert.match(location, /^\/invitations\/inv_\w+$/)
    const asked = await client.get(location)
    assert.match(asked.text, /admin invites you, <strong>new\.user<\/strong>, to this team as <strong>Developer</)
    assert.equal((await client.post(location, { answer: 'accept' })).status, 200)
    assert.match((await client.get(MEMBERS)).text, /new\.user[\s\S]*new\.user\+b@example\.com/)
    const { entries } = (await world.operator('GET', '/operator/v1/audit?type=setPassword')).body
    const [line] = entries as { actor: { id: string }; subjectId: string }[]
    assert.deepEqual(
      [line!.actor.id, line!.subjectId].filter((id) => id === world.credentials.userId),
      [],
    )
  },
)

onBothEngines('a taken username is refused next to the invitation, which stands', async (world) => {
  const operator = await openSignedInClient(world)
  await operator.get(INVITE)
  const fields = { email: 'other@example.com', role: 'VIEWER', username: 'admin' }
  const invited = await operator.post(INVITE, fields)
  assert.equal(invited.status, 200, invited.text)
  assert.match(
    invited.text,
    /role="alert"[\s\S]*&quot;admin&quot; is already taken[\s\S]*value="admin"[\s\S]*username-fault/,
  )
  assert.deepEqual(await usernamesOf(world), ['admin'])
  const made = await operator.post(`${PEOPLE}/invite`, { email: 'other@example.com', username: 'other' })
  const { location } = await setPasswordBy(world, linkIn(made.text))
  assert.match(location, /^\/invitations\/inv_/)
})

onBothEngines(
  'an operator without a recent sign-in confirms it before the account is created, not before the invitation',
  async (world) => {
    const operator = await openSignedInClient(world)
    await operator.get(INVITE)
    world.deps.clock.set(world.deps.clock.now() + 3_600_001)
    const invited = await operator.post(INVITE, { email: 'late@example.com', role: 'VIEWER' })
    assert.match(invited.text, /late@example\.com is invited[\s\S]*You confirm your password first/)
    assert.deepEqual(await usernamesOf(world), ['admin'])
    const sent = { email: 'late@example.com', username: 'late' }
    const confirm = await operator.post(`${PEOPLE}/invite`, sent, { 'sec-fetch-site': 'same-origin' })
    assert.equal(confirm.status, 403)
    assert.match(confirm.text, /name="kept" value="[^"]*late@example\.com/)
  },
)

onBothEngines(
  'an owner without operator rights gets the text for an operator, and creates no account',
  async (world) => {
    const ada = await world.user('ada')
    await world.join(ada, 'OWNER')
    const owner = await openSignedInClient(world, ada.id, 'ada')
    assert.doesNotMatch((await owner.get(INVITE)).text, /name="username"/)
    const invited = await owner.post(INVITE, { email: 'new@example.com', role: 'MEMBER', username: 'new' })
    assert.match(invited.text, /They have no account on this server yet/)
    const [, path = ''] =
      /Please create it: https?:\/\/[^/]+(\/console\/operator\/people\/invite\?email=new%40example\.com)</.exec(
        invited.text,
      ) ?? []
    assert.deepEqual(await usernamesOf(world), ['ada', 'admin'])
    assert.match(
      invited.text,
      /They answer it once they have signed in: <a href="(https?:\/\/[^"]+\/invitations\/inv_\w+)">\1<\/a>/,
    )
    assert.match((await owner.get(MEMBERS)).text, /No account yet<\/span><\/div>/)
    assert.equal((await owner.get(path)).status, 403)
    // The operator finds the address and a name typed there.
    const operator = await openSignedInClient(world)
    assert.ok((await operator.get(MEMBERS)).text.includes(`href="${path}"`))
    assert.match((await operator.get(path)).text, /value="new@example\.com"[\s\S]*value="new"/)
    const made = await operator.post(`${PEOPLE}/invite`, { email: 'new@example.com', username: 'new' })
    assert.match((await setPasswordBy(world, linkIn(made.text))).location, /^\/invitations\/inv_/)
  },
)

onBothEngines(
  'where emails are sent, the page of an invitation says so, and shows no link',
  async (world) => {
    const [ada] = [await world.user('ada'), await world.user('eve')]
    await world.operator('PUT', `/operator/v1/teams/${world.credentials.teamId}/members/${ada.id}`, { role: 'OWNER' })
    const owner = await openSignedInClient(world, ada.id, 'ada')
    await owner.get(INVITE)
    const invite = async (email: string) => (await owner.post(INVITE, { email, role: 'MEMBER' })).text
    const unknown = await invite('new@example.com')
    assert.match(unknown, /The invitation waits\. It was also sent to them by email\.<\/p>/)
    const known = await invite('eve@example.com')
    assert.match(known, /<p>The link was sent to them by email\.<\/p>/)
    for (const page of [unknown, known]) assert.doesNotMatch(page, /\/invitations\/inv_/)
  },
  { BERTH_SMTP_URL: 'smtp://127.0.0.1:1', BERTH_MAIL_FROM: 'berth@example.com' },
)

onBothEngines('a user who is invited signs in by the link of the invitation, and comes to it', async (world) => {
  await world.user('ada')
  const operator = await openSignedInClient(world)
  await operator.get(INVITE)
  const invited = await operator.post(INVITE, { email: 'ada@example.com', role: 'VIEWER', username: 'another' })
  assert.doesNotMatch(invited.text, /set-password|no account/)
  assert.deepEqual(await usernamesOf(world), ['ada', 'admin'])
  const link = linkIn(invited.text)
  const { location } = await openClient(world).get(link)
  assert.equal(location, `/sign-in?return=${encodeURIComponent(link)}`)
  const { id } = (await world.operator('GET', '/operator/v1/users?search=ada')).body.users[0]
  const made = await world.operator('POST', `/operator/v1/users/${id}/password-link`)
  const { client } = await setPasswordBy(world, pathOf(made.body.url))
  await client.get('/console/account')
  await client.post('/sign-out')
  await client.get(location)
  assert.equal((await client.post(location, { name: 'ada', password: PASSWORD })).location, link)
})

onBothEngines(
  'a new password opens the second factor first, and with several invitations the console',
  async (world) => {
    const ada = await world.user('ada')
    const phone = await setUpCodes(world, await openSignedInClient(world, ada.id, 'ada'))
    await world.call('POST', '/v1/teams/team/members', { email: 'ada@example.com', role: 'VIEWER' })
    const link = async () =>
      pathOf((await world.operator('POST', `/operator/v1/users/${ada.id}/password-link`)).body.url)
    const { client, location } = await setPasswordBy(world, await link())
    assert.match(location, /^\/sign-in\/code\?return=%2Finvitations%2Finv_\w+$/)
    assert.match((await client.get('/console')).location, /^\/sign-in\?return=/)
    const line = await world.operator('GET', '/operator/v1/audit?type=setPassword')
    assert.equal(line.body.entries.filter(({ actor }: { actor: { id: string } }) => actor.id === ada.id).length, 2)
    await client.get(location)
    const inside = await client.post(location, { code: phone.next() })
    assert.match(inside.location, /^\/invitations\/inv_\w+$/)
    await world.call('POST', '/v1/teams', { slug: 'crew' })
    await world.call('POST', '/v1/teams/crew/members', { email: 'ada@example.com', role: 'VIEWER' })
    assert.equal((await setPasswordBy(world, await link())).location, '/sign-in/code?return=')
  },
)

test('a username is made of an email', () => {
  assert.equal(usernameFor('Ada.Lovelace+work@example.com'), 'ada.lovelace')
  assert.equal(usernameFor(`${'a'.repeat(64)}@example.com`), 'a'.repeat(48))
  assert.equal(usernameFor('-ada ünï-@example.com'), 'ada-n')
  assert.equal(usernameFor('ü@example.com'), '')
})
