/** A team in the console: creation, members, settings, removal, and its audit log. docs/console.md. */
import assert from 'node:assert/strict'
import { openClient, openSignedInClient, PASSWORD, pathOf, seedPassword } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

onBothEngines('a user creates a team, invites another user, changes their role, and both leave it', async (world) => {
  const client = await openSignedInClient(world)
  await client.get('/console/teams/new')
  const wrong = await client.post('/console/teams/new', { name: 'ünï 🚢', slug: 'Not A Slug' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /id="slug-fault"/)
  assert.match(wrong.text, /value="ünï 🚢"/)
  const taken = await client.post('/console/teams/new', { slug: 'admin' })
  assert.equal(taken.status, 409)
  const made = await client.post('/console/teams/new', { name: 'ünï 🚢', slug: 'crew' })
  assert.equal(made.location, '/console/t/crew/members', made.text)
  const path = made.location
  const settings = (await client.get('/console/t/crew/settings')).text
  assert.match(settings, /value="ünï 🚢"/)
  assert.match(settings, /aria-hidden="true">Ü<\/span><span class="cut">ünï 🚢<\/span>/, 'the head says its name')
  const alone = await client.get(path)
  assert.match(alone.text, /<span class="badge">You<\/span>/)
  const last = await client.post(`${path}/${world.credentials.userId}/leave`)
  assert.equal(last.status, 409, 'a team that a user created has an OWNER')

  const guest = await world.user('guest')
  await client.get(`${path}/invite`)
  const bad = await client.post(`${path}/invite`, { email: 'no address', role: 'VIEWER' })
  assert.equal(bad.status, 400)
  assert.match(bad.text, /id="email-fault"/)
  const invited = await client.post(`${path}/invite`, { email: 'guest@example.com', role: 'VIEWER' })
  const [link] = /<pre class="secret">([^<]+)</.exec(invited.text)!.slice(1)
  assert.match((await client.get(path)).text, /Invited[\s\S]*guest@example.com/)
  const twice = await client.post(`${path}/invite`, { email: 'guest@example.com', role: 'VIEWER' })
  assert.equal(twice.status, 409)

  const other = await openSignedInClient(world, guest.id, 'guest')
  assert.equal((await other.get(path)).status, 404, 'no member yet')
  await other.get(pathOf(link!))
  assert.equal((await other.post(pathOf(link!), { answer: 'accept' })).status, 200)
  const activity = mainOf((await client.get('/console/t/crew/activity')).text)
  assert.match(activity, />guest<\/a><\/span><\/td>\s*<td[^>]*>accepted an invitation and joined the team [^\n]*crew/)
  const seen = await other.get(path)
  assert.equal(seen.status, 200)
  assert.doesNotMatch(seen.text, /Invite member|Change the role/)
  assert.equal((await other.post(`${path}/${world.credentials.userId}/remove`)).status, 403)
  assert.equal((await other.post(`${path}/invite`, { email: 'x@example.com', role: 'OWNER' })).status, 403)

  await client.get(path)
  assert.equal((await client.post(`${path}/${guest.id}/role`, { role: 'KING' })).status, 400)
  assert.equal((await client.post(`${path}/${guest.id}/role`, { role: 'OWNER' })).location, path)
  assert.match((await other.get(path)).text, /Invite member/)
  const early = await client.post(`${path}/${world.credentials.userId}/leave`)
  assert.equal(early.status, 409)
  assert.match(early.text, /role="alert"[\s\S]*No other OWNER has accepted the role yet/)
  assert.equal((await other.post(`${path}/${guest.id}/role`, { role: 'OWNER' })).location, path)
  await client.get(path)
  assert.equal((await client.post(`${path}/${world.credentials.userId}/leave`)).location, '/console')
  const home = await client.get('/console')
  assert.match((await client.get(home.location)).text, /role="status".*You left the team crew\./)
  assert.equal((await client.get(path)).status, 404)
})

onBothEngines('a member is removed, an invitation is withdrawn, and members are found by search', async (world) => {
  const client = await openSignedInClient(world)
  const guest = await world.user('guest')
  await world.join(guest, 'MEMBER')
  const path = '/console/t/team/members'
  assert.match((await client.get(`${path}?search=gues`)).text, /guest@example.com/)
  assert.match((await client.get(`${path}?search=nobody+at+all`)).text, /No members match/)
  assert.equal((await client.post(`${path}/${guest.id}/remove`)).location, path)
  assert.doesNotMatch((await client.get(path)).text, /guest@example.com/)
  await world.call('POST', '/v1/teams/team/members', { email: 'later@example.com', role: 'MEMBER' })
  const [back] = /action="([^"]+inv_[^"]+\/withdraw)"/.exec((await client.get(path)).text)!.slice(1)
  assert.equal((await client.post(back!)).location, path)
  const after = (await client.get(path)).text
  assert.doesNotMatch(after, /later@example.com/)
  assert.match(after, /role="status".*The invitation is withdrawn\./)
})

onBothEngines('an invitation that was accepted meanwhile is not withdrawn: the member stays', async (world) => {
  const client = await openSignedInClient(world)
  const guest = await world.user('guest')
  const path = '/console/t/team/members'
  await client.get(`${path}/invite`)
  const invited = await client.post(`${path}/invite`, { email: 'guest@example.com', role: 'MEMBER' })
  const [link] = /<pre class="secret">([^<]+)</.exec(invited.text)!.slice(1)
  const [withdraw] = new RegExp(`action="([^"]+${guest.id}/withdraw)"`).exec((await client.get(path)).text)!.slice(1)
  const other = await openSignedInClient(world, guest.id, 'guest')
  await other.get(pathOf(link!))
  assert.equal((await other.post(pathOf(link!), { answer: 'accept' })).status, 200)
  const late = await client.post(withdraw!)
  assert.equal(late.status, 404, late.text)
  assert.match(late.text, /role="alert"[\s\S]*waits for an answer/)
  assert.equal((await other.get(path)).status, 200)
})

onBothEngines(
  'leaving a team is for oneself: another member is removed with a recent password alone',
  async (world) => {
    const client = await openSignedInClient(world)
    const guest = await world.user('guest')
    await world.join(guest, 'MEMBER')
    const path = '/console/t/team/members'
    world.deps.clock.set(world.deps.clock.now() + 3_600_000)
    await client.get(path)
    assert.equal((await client.post(`${path}/${guest.id}/remove`)).status, 403)
    assert.equal((await client.post(`${path}/${guest.id}/leave`)).status, 404)
    assert.match((await client.get(path)).text, /guest@example.com/)
  },
)

onBothEngines('owners change the settings of a team, and its pages move with the slug', async (world) => {
  const client = await openSignedInClient(world)
  const path = '/console/t/team/settings'
  await client.get(path)
  const long = await client.post(path, { name: 'n'.repeat(101), slug: 'team', sensitive: 'on' })
  assert.equal(long.status, 400)
  assert.match(long.text, /id="name-fault"/)
  assert.match(long.text, new RegExp('n'.repeat(101)))
  const fields = { name: 'مرحبا', slug: 'harbour', description: '‮<script>', sensitive: 'on' }
  const changed = await client.post(path, fields)
  assert.equal(changed.location, '/console/t/harbour/settings', changed.text)
  const shown = await client.get(changed.location)
  assert.match(shown.text, /value="مرحبا"/)
  assert.match(shown.text, /&lt;script&gt;/)
  assert.match(shown.text, /<option value="on" selected>/)
  assert.equal((await client.get(path)).status, 404)
  const guest = await world.user('guest')
  await world.join(guest, 'MEMBER')
  const other = await openSignedInClient(world, guest.id, 'guest')
  const read = await other.get(changed.location)
  assert.match(read.text, /Only an owner/)
  assert.equal((await other.post('/console/t/harbour/settings', { ...fields, slug: 'mine' })).status, 403)
})

onBothEngines(
  'the audit log is shown to members who see the projects, with filters, and can be downloaded',
  async (world) => {
    const client = await openSignedInClient(world)
    const team = `?teamId=${world.credentials.teamId}` as const
    await world.call('POST', `/v10/projects${team}`, { name: 'web' })
    const variable = { key: 'TOKEN', value: 'a value of mine', target: ['production'], type: 'encrypted' }
    await world.call('POST', `/v10/projects/web/env${team}`, variable)
    await world.call('POST', '/v10/projects', { name: 'elsewhere' })
    const path = '/console/t/team/activity'
    const shown = await client.get(path)
    assert.match(
      shown.text,
      /added variables to the project <a href="\/console\/t\/team\/projects\/web" title="web">web<\/a>/,
      'on what, by the name that the line has',
    )
    assert.match(shown.text, />admin</)
    const colors = [...shown.text.matchAll(/class="av +(h\d)" aria-hidden="true">A</g)].map(([, color]) => color)
    assert.ok(colors.length > 1 && new Set(colors).size === 1, `one color for a user, by username: ${colors.join()}`)
    assert.match(shown.text, /href="\/console\/t\/team\/projects\/web" title="prj_\w+">web</, 'on what, by name')
    assert.doesNotMatch(shown.text, /a value of mine/)
    assert.equal(shown.text.match(/>createProject</g)?.length, 1, 'of this account alone')
    assert.doesNotMatch((await client.get(`${path}?type=createProject`)).text, />createProjectEnv</)
    assert.match((await client.get(`${path}?actorId=usr_nobody`)).text, /No activity yet/)
    assert.match(
      shown.text,
      new RegExp(`<option value="${world.credentials.userId}">Admin</option>`),
      'a member by name',
    )
    assert.match(shown.text, /<option value="createProject">created the project …<\/option>/)
    const today = new Date(world.deps.clock.now()).toISOString().slice(0, 10)
    assert.match((await client.get(`${path}?from=${today}&to=${today}`)).text, />createProjectEnv</)
    assert.match((await client.get(`${path}?to=2000-01-01`)).text, /No activity yet/)
    assert.equal((await client.get(`${path}/export?to=2000-01-01`)).text.trim().split('\r\n').length, 1)
    const file = await client.get(`${path}/export?type=createProjectEnv`)
    assert.match(String(file.headers['content-disposition']), /attachment; filename="activity-team.csv"/)
    assert.match(String(file.headers['content-type']), /^text\/csv/)
    const lines = file.text.trim().split('\r\n')
    assert.equal(lines.length, 2)
    assert.match(lines[1]!, /,user,usr_\w+,admin,createProjectEnv,web,key value target type$/)
    const { call } = await seedInstallation(world, { app: await seedIntegration(world, { name: '=SUM(1,2)' }) })
    await call('POST', `/v10/projects${team}`, { name: 'of-app' })
    const formula = (await client.get(`${path}/export`)).text
    assert.match(formula, /,integration,icfg_\w+,"'=SUM\(1,2\)",createProject,/, 'a spreadsheet computes nothing')
    const guest = await world.user('guest')
    await world.join(guest, 'BILLING')
    const other = await openSignedInClient(world, guest.id, 'guest')
    assert.equal((await other.get(path)).status, 403)
    assert.equal((await other.get(`${path}/export`)).status, 403)
    const tabs = (await other.get('/console/t/team/members')).text
    assert.match(tabs, /<li><a href="\/console\/t\/team\/settings"/)
    assert.doesNotMatch(
      tabs,
      /href="\/console\/t\/team\/(activity|webhooks|drains|apps|integrations)"/,
      'no way to what is refused',
    )
    assert.equal((await client.get('/console/t/admin/activity')).status, 200, 'of the personal account too')
  },
)

onBothEngines(
  'where the operator creates the teams, no other user can',
  async (world) => {
    await seedPassword(world, world.credentials.userId)
    const client = openClient(world)
    await client.get('/sign-in')
    await client.post('/sign-in', { name: 'admin', password: PASSWORD })
    await client.get('/console/teams/new')
    const refused = await client.post('/console/teams/new', { slug: 'crew' })
    assert.equal(refused.status, 403)
    assert.match(refused.text, /only the operator creates teams/)
  },
  { BERTH_TEAMS_BY: 'operator' },
)

function mainOf(page: string): string {
  return page.slice(page.indexOf('<main'))
}
