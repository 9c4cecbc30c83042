/** A team that demands a second factor admits no user without one: over all routes, by token and by session, and at once. */
import assert from 'node:assert/strict'
import { ROUTES } from '../../../src/routes.ts'
import { SCREENS } from '../../../src/screens.ts'
import { withQuery } from '../../support/call.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { FACTORS, setUpCodes } from '../../support/clients/second-factor.ts'
import { sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { openTeam } from '../../support/worlds/team-installation.ts'

const TEAM = '/v2/teams/team' as const

/** The first team demands a factor, and the first user has one. */
async function demand(world: World, requireSecondFactor = true): Promise<void> {
  const client = await openSignedInClient(world)
  if (requireSecondFactor) await setUpCodes(world, client)
  const { teamId } = world.credentials
  const answer = await world.call('PATCH', `${TEAM}?teamId=${teamId}`, { requireSecondFactor })
  assert.deepEqual([answer.status, answer.body.requireSecondFactor], [200, requireSecondFactor], answer.text)
}

onBothEngines(
  'over all routes a member without a second factor is refused for the team, with what to do',
  async (world) => {
    const samples = await seedSamples(world)
    const { teamId } = samples
    const ada = await world.user('ada')
    await world.join(ada, 'OWNER')
    await demand(world)
    const said = new Set<string>()
    for (const route of ROUTES.filter(({ auth }) => auth === 'public')) {
      const { method, url, body } = sampleRequest(route, samples)
      for (const query of [`teamId=${teamId}`, 'slug=team']) {
        const answer = await ada.call.try(method, withQuery(url, query), body)
        assert.equal(answer.status, 403, `${route.operationId} ${query}: ${answer.text}`)
        said.add(answer.text)
      }
    }
    assert.equal(said.size, 1)
    assert.match([...said][0]!, /requires a second factor.*\/console\/account\/security\/factors/)
    // A token that is bound to the team, and one that acts for its user and names the team in the path.
    const made = await world.operator('POST', '/operator/v1/tokens', { userId: ada.id, teamId })
    assert.equal((await world.as(made.body.token).try('GET', '/v9/projects')).status, 403)
    for (const path of [TEAM, `${TEAM}/members`] as const)
      assert.equal((await ada.call.try('GET', path)).status, 403, path)
    assert.equal((await ada.call.try('PATCH', TEAM, { requireSecondFactor: false })).status, 403)
    // What is theirs is theirs, and they see which teams there are.
    assert.equal((await ada.call('GET', '/v9/projects')).status, 200)
    assert.deepEqual(
      (await ada.call('GET', '/v2/teams')).body.teams.map(({ slug }: { slug: string }) => slug),
      ['team'],
    )
  },
)

onBothEngines(
  'the console shows nothing of the team, and redirects to the setup; afterwards all is open at once, also by the token',
  async (world) => {
    const { teamId } = world.credentials
    const ada = await world.user('ada')
    await world.join(ada, 'OWNER')
    const list = () => ada.call.try('GET', `/v9/projects?teamId=${teamId}`)
    assert.equal((await list()).status, 200)
    await demand(world)
    assert.equal((await list()).status, 403, 'what was remembered of her is forgotten')
    const client = await openSignedInClient(world, ada.id, 'ada')
    const paths = SCREENS.filter(({ method, path }) => method === 'GET' && /^\/console\/t\/:slug/.test(path)).map(
      ({ path }) => path.replace(':slug', 'team').replaceAll(/:\w+/g, 'x'),
    )
    assert.ok(paths.length > 10)
    for (const path of [...paths, `/integrations/installed?teamId=${teamId}`]) {
      const page = await client.get(path)
      if (page.location.startsWith('/confirm')) continue
      assert.equal(page.status, 403, `${path} ${page.location}`)
      assert.match(page.text, /href="\/console\/account\/security\/factors">Set up a second factor/)
    }
    assert.match((await client.get('/integrations/installed')).text, /requires a second factor/)
    const phone = await setUpCodes(world, client)
    assert.equal((await list()).status, 200)
    assert.equal((await client.get('/console/t/team')).status, 200)
    assert.equal((await client.post(`${FACTORS}/codes/remove`)).location, FACTORS)
    assert.equal((await list()).status, 403)
    assert.ok(phone)
  },
)

onBothEngines(
  'only an OWNER with a factor switches the demand on; an installation is asked for none',
  async (world) => {
    const { teamId } = world.credentials
    const query = `?teamId=${teamId}`
    const before = await world.call.try('PATCH', `${TEAM}${query}`, { requireSecondFactor: true })
    assert.deepEqual([before.status, before.body.error.message.slice(0, 22)], [409, 'Set up a second factor'])
    const bob = await world.user('bob')
    await world.join(bob, 'MEMBER')
    await setUpCodes(world, await openSignedInClient(world, bob.id, 'bob'))
    assert.equal((await bob.call.try('PATCH', `${TEAM}${query}`, { requireSecondFactor: true })).status, 403)
    assert.equal((await world.call('GET', `${TEAM}${query}`)).body.requireSecondFactor, false)
    await demand(world)
    assert.equal((await bob.call('GET', `/v9/projects${query}`)).status, 200)
    // Everything else in the team's settings leaves the demand as it is.
    assert.equal((await world.call('PATCH', `${TEAM}${query}`, { name: 'Other' })).body.requireSecondFactor, true)
    const { ada, call } = await openTeam(world)
    assert.equal((await ada.call.try('GET', `/v9/projects${query}`)).status, 403)
    assert.equal((await call('GET', '/v9/projects')).status, 200, 'the installation that she made')
    // The settings page of the console says it too.
    const page = '/console/t/team/settings'
    const form = { name: 'Team', slug: 'team', description: '', sensitive: 'default' }
    await world.operator('DELETE', `/operator/v1/users/${world.credentials.userId}/second-factors`)
    const admin = await openSignedInClient(world)
    await setUpCodes(world, admin)
    assert.match((await admin.get(page)).text, /<option value="on" selected>Required/)
    await admin.post(page, { ...form, factor: 'off' })
    assert.equal((await world.call('GET', `${TEAM}${query}`)).body.requireSecondFactor, false)
    await admin.get(page)
    await admin.post(page, { ...form, factor: 'on' })
    assert.equal((await ada.call.try('GET', `/v9/projects${query}`)).status, 403)
    await world.operator('DELETE', `/operator/v1/users/${world.credentials.userId}/second-factors`)
    assert.equal((await world.call.try('GET', `/v9/projects${query}`)).status, 403)
    assert.equal((await world.operator('GET', `/operator/v1/teams/${teamId}`)).status, 200)
  },
)

onBothEngines('one-time codes that are begun and not confirmed do not count as a second factor', async (world) => {
  const { teamId } = world.credentials
  const ada = await world.user('ada')
  await world.join(ada, 'OWNER')
  await demand(world)
  const client = await openSignedInClient(world, ada.id, 'ada')
  await client.get(FACTORS)
  assert.equal((await client.post(`${FACTORS}/codes/begin`)).location, `${FACTORS}/codes`)
  const rows = world.deps.db.read.selectFrom('totp').select('confirmed_at').where('user_id', '=', ada.id)
  assert.equal((await rows.executeTakeFirstOrThrow()).confirmed_at, null)
  const byToken = await ada.call.try('GET', `/v9/projects?teamId=${teamId}`)
  assert.deepEqual([byToken.status, /second factor/.test(byToken.body.error.message)], [403, true])
  const bySession = await client.get('/console/t/team')
  assert.ok(bySession.status === 403 || bySession.location.startsWith(FACTORS), `${bySession.status}`)
  // Nor is it one for those who demand: she could lock herself out.
  const asked = await ada.call('POST', '/v1/teams', { slug: 'own' })
  assert.equal(asked.status, 200, asked.text)
  const own = await ada.call.try('PATCH', `/v2/teams/own?teamId=${asked.body.id}`, { requireSecondFactor: true })
  assert.equal(own.status, 409, own.text)
  await setUpCodes(world, client)
  assert.equal((await ada.call('GET', `/v9/projects?teamId=${teamId}`)).status, 200)
})
