/** Membership by consent: an invited user has no access until they accept. docs/accounts.md: Members. */

import assert from 'node:assert/strict'
import { endSessionsOf } from '../../../src/accounts/sign-in/sessions.ts'
import { sendDueMail } from '../../../src/platform/mail/worker.ts'
import { withQuery } from '../../support/call.ts'
import { type Client, openClient, openSignedInClient, pathOf } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { PUBLIC, sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { openSmtp } from '../../support/servers/smtp.ts'
import { addRows } from '../../support/states.ts'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'

// It ends with the process.
const smtp = await openSmtp()

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]
const DAY_MS = 86_400_000

type Person = Awaited<ReturnType<World['user']>>

/** The first team, as its OWNER and as those who are invited see it. */
function teamOf(world: World) {
  const { teamId } = world.credentials
  const path = `/v1/teams/${teamId}/members` as const
  return {
    path,
    invite: async (caller: object, role = 'MEMBER') => {
      const answer = await world.call('POST', path, { ...caller, role })
      assert.equal(answer.status, 200, answer.text)
      return { ...answer.body, code: answer.body.inviteUrl.split('/').at(-1) as string }
    },
    accept: (person: Person, inviteCode: string) => person.call.try('POST', `${path}/teams/join`, { inviteCode }),
    isIn: async (person: Person) => (await person.call.try('GET', `/v9/projects?teamId=${teamId}`)).status === 200,
    listed: async () => {
      const { members } = (await world.call('GET', `${path}?limit=100`)).body
      return members.map((one: Record<string, unknown>) => [one.email, one.role, one.confirmed])
    },
  }
}

onBothEngines(
  'an invited user gets from every operation what a user outside of the team gets, until they accept',
  async (world) => {
    const samples = await seedSamples(world)
    const { invite, accept, isIn } = teamOf(world)
    await seedProject(world, 'theirs', `?teamId=${samples.teamId}`)
    const [invited, stranger] = [await world.user('invited'), await world.user('strange')]
    const { code } = await invite({ uid: invited.id }, 'OWNER')
    let asked = 0
    for (const route of PUBLIC) {
      const names = {
        idOrName: 'theirs',
        projectId: 'theirs',
        ...(route.operationId !== 'joinTeam' && { idOrSlug: 'team' }),
      }
      const { method, url, body } = sampleRequest(route, samples, names)
      for (const query of [`teamId=${samples.teamId}`, 'slug=team', '']) {
        // What users create in their personal account has ids of its own; what is said of the team is said to both alike.
        if (query === '' && !/\/teams\/:/.test(route.path)) continue
        const [one, other] = [
          await invited.call.try(method, withQuery(url, query), body),
          await stranger.call.try(method, withQuery(url, query), body),
        ]
        assert.deepEqual([one.status, one.text], [other.status, other.text], `${route.operationId} ${query}`)
        assert.ok(one.status === 403 || one.status === 404, `${route.operationId} ${query}: ${one.text}`)
        asked++
      }
    }
    assert.ok(asked > 2 * PUBLIC.length)
    const token = { userId: invited.id, teamId: samples.teamId }
    assert.deepEqual(said(await world.operator.try('POST', '/operator/v1/tokens', token)), [400, 'bad_request'])
    const teams = await invited.call('GET', '/v2/teams')
    assert.deepEqual(teams.body.teams, [])
    assert.equal((await accept(invited, code)).status, 200)
    assert.equal(await isIn(invited), true)
    assert.equal(await isIn(stranger), false)
  },
)

onBothEngines('an invited user is listed as not confirmed, found, given another role, and removed', async (world) => {
  const { path, invite, accept, isIn, listed } = teamOf(world)
  const ada = await world.user('ada')
  const { code } = await invite({ uid: ada.id }, 'VIEWER')
  const nobody = await invite({ email: 'New@Example.com' }, 'OWNER')
  assert.deepEqual([nobody.uid, nobody.username, nobody.email], [nobody.code, '', 'new@example.com'])
  const all = [
    ['new@example.com', 'OWNER', false],
    ['ada@example.com', 'VIEWER', false],
    ['admin@berth.localhost', 'OWNER', true],
  ]
  assert.deepEqual(await listed(), all)
  const names = async (query: string) =>
    (await world.call('GET', `${path}?${query}`)).body.members.map((one: { email: string }) => one.email.split('@')[0])
  assert.deepEqual(await names('limit=1'), ['new'])
  const { next } = (await world.call('GET', `${path}?limit=1`)).body.pagination
  assert.deepEqual(await names(`until=${next}`), ['ada', 'admin'])
  assert.deepEqual(await names('role=VIEWER'), ['ada'])
  assert.deepEqual(await names('search=NEW@'), ['new'])
  assert.deepEqual(await names(`filterByUserIds=${ada.id}`), ['ada'])
  assert.deepEqual(await names(`since=${Date.now() + 1000}`), [])
  assert.equal(JSON.stringify((await world.call('GET', path)).body).includes('/invitations/'), false)

  assert.deepEqual(said(await world.call.try('POST', path, { uid: ada.id })), [409, 'conflict'])
  const confirming = await world.call.try('PATCH', `${path}/${ada.id}`, { confirmed: true, role: 'OWNER' })
  assert.deepEqual(said(confirming), [400, 'bad_request'])
  assert.match(confirming.body.error.message, /only the invited user/)
  assert.equal((await world.call('PATCH', `${path}/${ada.id}`, { role: 'DEVELOPER' })).status, 200)
  assert.equal((await world.call('GET', `${path}/${ada.id}/projects`)).status, 200)
  assert.equal((await world.call('DELETE', `${path}/${nobody.uid}`)).status, 200)
  assert.equal((await accept(ada, code)).status, 200)
  assert.deepEqual(await listed(), [
    ['ada@example.com', 'DEVELOPER', true],
    ['admin@berth.localhost', 'OWNER', true],
  ])
  assert.deepEqual(said(await world.call.try('POST', path, { uid: ada.id })), [409, 'conflict'])

  const bob = await world.user('bob')
  const withdrawn = await invite({ email: 'bob@example.com' })
  const gone = await world.call('DELETE', `/v1/teams/team/invites/${withdrawn.code}`)
  assert.deepEqual(gone.body, { id: world.credentials.teamId })
  assert.deepEqual(said(await world.call.try('DELETE', `/v1/teams/team/invites/${withdrawn.code}`)), [404, 'not_found'])
  assert.deepEqual(said(await accept(bob, withdrawn.code)), [404, 'not_found'])
  assert.equal(await isIn(bob), false)
})

onBothEngines(
  'an invitation is answered by the invited user, in time, with a token that is not limited',
  async (world) => {
    const { teamId } = world.credentials
    const { path, invite, accept, isIn } = teamOf(world)
    const [ada, eve] = [await world.user('ada'), await world.user('eve')]
    const { code } = await invite({ uid: ada.id })
    await seedProject({ ...world, call: ada.call }, 'own')
    const tokenOf = async (narrowed: object) =>
      world.as((await world.operator('POST', '/operator/v1/tokens', { userId: ada.id, ...narrowed })).body.token)
    const own = (await ada.call('GET', '/v9/projects/own')).body.id
    const before = await digest(world)
    assert.deepEqual(said(await accept(eve, code)), [404, 'not_found'])
    assert.deepEqual(said(await world.call.try('POST', `${path}/teams/join`, { inviteCode: code })), [404, 'not_found'])
    assert.deepEqual(said(await ada.call.try('POST', '/v1/teams/other/members/teams/join', { inviteCode: code })), [
      404,
      'not_found',
    ])
    assert.deepEqual(said(await ada.call.try('POST', `${path}/teams/join`, {})), [400, 'bad_request'])
    assert.equal(await digest(world), before)
    for (const narrow of [{ projectIds: [own] }, { scopes: ['read-write:team', 'read-write:user'] }]) {
      const call = await tokenOf(narrow)
      assert.deepEqual(said(await call.try('POST', `${path}/teams/join`, { inviteCode: code })), [403, 'forbidden'])
    }
    const { id } = (await world.operator('POST', '/operator/v1/teams', { slug: 'adas', name: 'A', ownerId: ada.id }))
      .body
    const bound = await tokenOf({ teamId: id })
    assert.deepEqual(said(await bound.try('POST', `${path}/teams/join`, { inviteCode: code })), [403, 'forbidden'])

    const late = world.deps.clock.now() + 15 * DAY_MS
    world.deps.clock.set(late)
    assert.deepEqual(said(await accept(ada, code)), [404, 'not_found'])
    assert.equal((await world.call('GET', path)).body.members.length, 1)
    const again = await invite({ uid: ada.id })
    assert.equal((await accept(ada, again.code)).status, 200)
    assert.equal(await isIn(ada), true)
    const { code: waiting } = await invite({ uid: eve.id })
    const swept = await world.operator('POST', '/operator/v1/timers/old-invitations/run', { now: late + 15 * DAY_MS })
    assert.equal(swept.body.swept, 1)
    assert.deepEqual(said(await accept(eve, waiting)), [404, 'not_found'])
    assert.equal((await world.call('GET', `/v2/teams/${teamId}`)).status, 200)
  },
)

onBothEngines('an invitation to an address waits for the user who gets that address', async (world) => {
  const { invite, accept, isIn } = teamOf(world)
  const { code } = await invite({ email: 'later@example.com' })
  const eve = await world.user('eve')
  assert.deepEqual(said(await accept(eve, code)), [404, 'not_found'])
  const later = await world.user('later')
  assert.equal(await isIn(later), false)
  assert.equal((await accept(later, code)).status, 200)
  assert.equal(await isIn(later), true)
})

onBothEngines('the invited user answers on a page, signed in', async (world) => {
  const { invite, isIn } = teamOf(world)
  const [ada, bob, eve] = [await world.user('ada'), await world.user('bob'), await world.user('eve')]
  const page = pathOf((await invite({ uid: ada.id }, 'DEVELOPER')).inviteUrl)
  const asNobody = await openClient(world).get(page)
  assert.deepEqual([asNobody.status, asNobody.location], [303, `/sign-in?return=${encodeURIComponent(page)}`])
  const asEve = await openSignedInClient(world, eve.id, 'eve')
  assert.equal((await asEve.get(page)).status, 404)
  assert.equal((await asEve.post(page, { answer: 'accept' })).status, 404)
  assert.match((await asEve.get('/invitations')).text, /no pending invitations/)

  const asAda = await openSignedInClient(world, ada.id, 'ada')
  assert.match((await asAda.get('/invitations')).text, new RegExp(`href="${page}"`))
  const seen = await asAda.get(page)
  assert.match(seen.text, /admin invites you, <strong>ada<\/strong>, to this team as <strong>Developer<\/strong>/)
  assert.equal((await asAda.post(page, { answer: 'maybe' })).status, 400)
  assert.equal((await asAda.post(page, { answer: 'accept' }, { origin: 'https://evil.example' })).status, 403)
  assert.equal(await isIn(ada), false)
  const first = (await asAda.get('/console/t/ada')).text
  assert.match(first, new RegExp(`You're invited to join Team \\(team\\) as Developer\\. <a href="${page}">`))
  assert.doesNotMatch((await asEve.get('/console/t/eve')).text, /You're invited/)
  const joined = (await asAda.post(page, { answer: 'accept' })).text
  assert.match(joined, /You are a member of Team/)
  const [, way] = /<a class="btn primary" href="([^"]+)">Go to the team/.exec(joined)!
  const inside = await asAda.get(way!)
  assert.equal(inside.status, 200)
  assert.doesNotMatch(inside.text, /You're invited/)
  assert.equal(await isIn(ada), true)
  assert.equal((await asAda.post(page, { answer: 'accept' })).status, 404)
  const { entries } = (await world.operator('GET', '/operator/v1/audit?limit=2')).body
  const { teamId } = world.credentials
  assert.deepEqual(
    entries.map((one: Record<string, unknown>) => [one.type, one.accountId, one.subjectId]),
    [
      ['joined by invitation', teamId, teamId],
      ['answerInvitation', null, teamId],
    ],
  )

  const other = pathOf((await invite({ uid: bob.id })).inviteUrl)
  const asBob: Client = await openSignedInClient(world, bob.id, 'bob')
  await asBob.get(other)
  const declined = (await asBob.post(other, { answer: 'decline' })).text
  assert.match(declined, /You declined/)
  assert.doesNotMatch(declined, /Go to the team/)
  assert.equal((await asBob.post(other, { answer: 'accept' })).status, 404)
  assert.equal(await isIn(bob), false)
})

onBothEngines(
  'accepted ten times at once, and while it is withdrawn or changed: one outcome, never a place without an invitation',
  async (world) => {
    const { path, invite, accept, isIn } = teamOf(world)
    const ada = await world.user('ada')
    const first = await invite({ uid: ada.id })
    const answers = await Promise.all(Array.from({ length: 10 }, () => accept(ada, first.code)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(404)])
    for (let round = 0; round < 8; round++) {
      // After a round whose invitation was withdrawn there is no member.
      if (await isIn(ada)) await world.call('DELETE', `${path}/${ada.id}`)
      const { code } = await invite({ uid: ada.id }, 'VIEWER')
      const [accepted, ended] = await Promise.all([
        accept(ada, code),
        world.call.try('DELETE', `/v1/teams/team/invites/${code}`),
      ])
      assert.deepEqual([accepted.status, ended.status].sort(), [200, 404], `round ${round}`)
      assert.equal(await isIn(ada), accepted.status === 200, `round ${round}`)
    }
    for (let round = 0; round < 4; round++) {
      if (await isIn(ada)) await world.call('DELETE', `${path}/${ada.id}`)
      const { code } = await invite({ uid: ada.id }, 'VIEWER')
      const [accepted, changed] = await Promise.all([
        accept(ada, code),
        world.call.try('PATCH', `${path}/${ada.id}`, { role: 'MEMBER' }),
      ])
      assert.deepEqual([accepted.status, changed.status], [200, 200], `round ${round}`)
      const { members } = (await world.call('GET', `${path}?filterByUserIds=${ada.id}`)).body
      assert.deepEqual([members[0].role, members[0].confirmed], ['MEMBER', true], `round ${round}`)
    }
  },
)

onBothEngines('what an OWNER offered ends when they fall or go', async (world) => {
  const { path, accept } = teamOf(world)
  const [ada, bob, friend] = [await world.user('ada'), await world.user('bob'), await world.user('friend')]
  const ways: [Person, (id: string) => Promise<ApiResponse>][] = [
    [ada, (id) => world.call.try('DELETE', `${path}/${id}`)],
    [bob, (id) => world.call.try('PATCH', `${path}/${id}`, { role: 'MEMBER' })],
  ]
  for (const [owner, end] of ways) {
    await world.join(owner, 'OWNER')
    const offered = await owner.call('POST', path, { uid: friend.id, role: 'OWNER' })
    assert.equal((await end(owner.id)).status, 200)
    assert.deepEqual(said(await accept(friend, offered.body.inviteUrl.split('/').at(-1)!)), [404, 'not_found'])
  }
})

onBothEngines(
  'whom the operator places is in at once, the log says so, and even as the only OWNER they may leave',
  async (world) => {
    const { teamId, userId } = world.credentials
    const { path, invite, isIn } = teamOf(world)
    const [ada, bob] = [await world.user('ada'), await world.user('bob')]
    await invite({ uid: ada.id }, 'VIEWER')
    const placed = `/operator/v1/teams/${teamId}/members/${ada.id}` as const
    assert.equal((await world.operator('PUT', placed, { role: 'OWNER' })).status, 200)
    assert.equal(await isIn(ada), true)
    const { entries } = (
      await world.operator('GET', `/operator/v1/audit?type=${encodeURIComponent('placed by operator')}`)
    ).body
    assert.deepEqual(
      entries.map((one: Record<string, unknown>) => [one.accountId, one.subjectId]),
      [[teamId, ada.id]],
    )
    const { members } = (await world.call('GET', `${path}?filterByUserIds=${ada.id}`)).body
    assert.deepEqual([members.length, members[0].confirmed], [1, true])
    assert.equal(
      (await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${userId}`, { role: 'MEMBER' })).status,
      200,
    )
    assert.deepEqual(said(await world.operator.try('DELETE', placed)), [409, 'conflict'], 'only they themselves')
    assert.equal((await ada.call('DELETE', `${path}/${ada.id}`)).status, 200)
    assert.equal(await isIn(ada), false)

    // Whom another OWNER raised did not ask for it either.
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${userId}`, { role: 'OWNER' })
    assert.equal((await world.call('DELETE', `${path}/${userId}`)).status, 200)
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${userId}`, { role: 'OWNER' })
    await world.join(bob, 'VIEWER')
    assert.equal((await world.call('PATCH', `${path}/${bob.id}`, { role: 'OWNER' })).status, 200)
    assert.equal((await world.call('DELETE', `${path}/${userId}`)).status, 200)
    assert.equal((await bob.call('DELETE', `${path}/${bob.id}`)).status, 200)
  },
)

onBothEngines(
  'no user is a member and invited: an invitation ends where its address becomes that of a member',
  async (world) => {
    const { teamId, userId } = world.credentials
    const { invite, accept, isIn, listed } = teamOf(world)
    const ada = await world.user('ada')
    await world.operator('POST', '/operator/v1/teams', { slug: 'acme', name: 'Acme', ownerId: userId })
    const elsewhere = await world.call('POST', '/v1/teams/acme/members', { email: 'new@example.com', role: 'OWNER' })
    const here = await invite({ email: 'new@example.com' }, 'VIEWER')
    const other = await invite({ email: 'other@example.com' }, 'VIEWER')
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${ada.id}`, { role: 'OWNER' })
    await world.operator('PATCH', '/operator/v1/users/ada', { email: 'new@example.com' })
    assert.deepEqual(said(await accept(ada, here.code)), [404, 'not_found'])
    assert.deepEqual(await listed(), [
      ['new@example.com', 'OWNER', true],
      ['other@example.com', 'VIEWER', false],
      ['admin@berth.localhost', 'OWNER', true],
    ])
    assert.equal((await ada.call('DELETE', `/v1/teams/${teamId}/members/${ada.id}`)).status, 200)
    assert.equal(await isIn(ada), false)
    const code = elsewhere.body.inviteUrl.split('/').at(-1)
    assert.equal((await ada.call('POST', '/v1/teams/acme/members/teams/join', { inviteCode: code })).status, 200)
    const bob = await world.user('other')
    assert.equal((await accept(bob, other.code)).status, 200)
  },
)

onBothEngines('a user has one invitation to a team, whatever address they had when it was sent', async (world) => {
  const { path, invite, accept, isIn, listed } = teamOf(world)
  const ada = await world.user('ada')
  const { code } = await invite({ uid: ada.id }, 'VIEWER')
  await invite({ email: 'new@example.com' }, 'OWNER')
  await world.operator('PATCH', '/operator/v1/users/ada', { email: 'new@example.com' })
  const one = [
    ['ada@example.com', 'VIEWER', false],
    ['admin@berth.localhost', 'OWNER', true],
  ]
  assert.deepEqual(await listed(), one)
  for (const invitee of [{ uid: ada.id }, { email: 'new@example.com' }]) {
    const again = await world.call.try('POST', path, { ...invitee, role: 'OWNER' })
    assert.deepEqual(said(again), [409, 'conflict'])
    assert.match(again.body.error.message, /new@example\.com is invited already/)
  }
  assert.equal((await accept(ada, code)).status, 200)
  assert.deepEqual(await listed(), [
    ['new@example.com', 'VIEWER', true],
    ['admin@berth.localhost', 'OWNER', true],
  ])
  assert.equal((await world.call('PATCH', `${path}/${ada.id}`, { role: 'DEVELOPER' })).status, 200)
  assert.equal((await listed())[0]?.[1], 'DEVELOPER')
  assert.equal((await world.call('DELETE', `${path}/${ada.id}`)).status, 200)
  assert.equal(await isIn(ada), false)
  // After 14 days an invitation to the former address is over, and in the way of none.
  await world.operator('PATCH', '/operator/v1/users/ada', { email: 'ada@example.com' })
  await invite({ uid: ada.id })
  await world.operator('PATCH', '/operator/v1/users/ada', { email: 'new@example.com' })
  world.deps.clock.set(world.deps.clock.now() + 15 * DAY_MS)
  assert.equal((await accept(ada, (await invite({ uid: ada.id })).code)).status, 200)
})

onBothEngines('who joins has no invitation left, also where an earlier version sent two', async (world) => {
  const { teamId, userId } = world.credentials
  const { path, invite, accept, isIn } = teamOf(world)
  const ada = await world.user('ada')
  const { code } = await invite({ uid: ada.id }, 'VIEWER')
  const second = { id: 'inv_second', team_id: teamId, email: 'former@example.com', user_id: ada.id, invited_by: userId }
  const until = Date.now() + DAY_MS
  await addRows(world, 'invitation', [{ ...second, role: 'OWNER' as const, expires_at: until, created_stamp: 1 }])
  assert.equal((await accept(ada, code)).status, 200)
  assert.equal((await world.call('DELETE', `${path}/${ada.id}`)).status, 200)
  assert.equal(await isIn(ada), false)
  assert.deepEqual(said(await accept(ada, second.id)), [404, 'not_found'])
})

onBothEngines('the page says why a team that is full takes no member', async (world) => {
  world.deps.config.budgets = { members: 1 }
  const { invite, isIn } = teamOf(world)
  const ada = await world.user('ada')
  const page = pathOf((await invite({ uid: ada.id })).inviteUrl)
  const client = await openSignedInClient(world, ada.id, 'ada')
  await client.get(page)
  const full = await client.post(page, { answer: 'accept' })
  assert.equal(full.status, 409)
  assert.match(full.text, /has 1 members, the maximum/)
  assert.equal(await isIn(ada), false)
  assert.doesNotMatch(world.logged(), /does not declare this refusal/)
})

onBothEngines('no user is a member and invited, also when they are placed while they are invited', async (world) => {
  const { teamId } = world.credentials
  const { path } = teamOf(world)
  const people = await Promise.all(Array.from({ length: 10 }, (_, at) => world.user(`ada${at}`)))
  for (const { id } of people) {
    const place = () => world.operator.try('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role: 'OWNER' })
    const [invited, placed] = await Promise.all([world.call.try('POST', path, { uid: id, role: 'VIEWER' }), place()])
    assert.equal(placed.status, 200, placed.text)
    assert.ok(invited.status === 200 || invited.status === 409, invited.text)
  }
  const { members } = (await world.call('GET', `${path}?limit=100`)).body
  assert.equal(members.length, people.length + 1)
  assert.ok(members.every((one: { confirmed: boolean; role: string }) => one.confirmed && one.role === 'OWNER'))
})

onBothEngines('a user who accepted to be OWNER stays while there is no other OWNER', async (world) => {
  const { userId } = world.credentials
  const { path } = teamOf(world)
  const ada = await world.user('ada')
  await world.join(ada, 'OWNER')
  assert.equal((await world.call('DELETE', `${path}/${userId}`)).status, 200)
  // To be given the role again changes nothing of who asked for it.
  assert.equal((await ada.call('PATCH', `${path}/${ada.id}`, { role: 'OWNER' })).status, 200)
  assert.deepEqual(said(await ada.call.try('DELETE', `${path}/${ada.id}`)), [409, 'conflict'])
})

onBothEngines('an OWNER who accepted the role stays until a user whom they made OWNER accepts it', async (world) => {
  const { teamId, userId } = world.credentials
  const { path } = teamOf(world)
  const [ada, bob, eve] = [await world.user('ada'), await world.user('bob'), await world.user('eve')]
  await world.join(ada, 'OWNER')
  await world.join(bob, 'VIEWER')
  assert.equal((await world.call('DELETE', `${path}/${userId}`)).status, 200)
  assert.equal((await ada.call('PATCH', `${path}/${bob.id}`, { role: 'OWNER' })).status, 200)
  const early = await ada.call.try('DELETE', `${path}/${ada.id}`)
  assert.deepEqual(said(early), [409, 'conflict'])
  assert.match(early.body.error.message, /They accept it by setting their own role to OWNER, or by changing yours\./)
  assert.equal((await bob.call('PATCH', `${path}/${bob.id}`, { role: 'OWNER' })).status, 200)
  assert.equal((await ada.call('DELETE', `${path}/${ada.id}`)).status, 200)
  assert.deepEqual(said(await bob.call.try('DELETE', `${path}/${bob.id}`)), [409, 'conflict'])

  // The operator waits for no consent.
  const members = `/operator/v1/teams/${teamId}/members` as const
  await world.operator('PUT', `${members}/${eve.id}`, { role: 'OWNER' })
  assert.equal((await world.operator('DELETE', `${members}/${bob.id}`)).status, 204)

  // Neither of two OWNERs has accepted: each may step down.
  await world.operator('PUT', `${members}/${ada.id}`, { role: 'OWNER' })
  assert.equal((await ada.call('PATCH', `${path}/${ada.id}`, { role: 'MEMBER' })).status, 200)
})

onBothEngines('an OWNER who removes another one accepts the role', async (world) => {
  const { userId } = world.credentials
  const { path } = teamOf(world)
  const ada = await world.user('ada')
  await world.join(ada, 'VIEWER')
  assert.equal((await world.call('PATCH', `${path}/${ada.id}`, { role: 'OWNER' })).status, 200)
  assert.equal((await ada.call('DELETE', `${path}/${userId}`)).status, 200)
  assert.deepEqual(said(await ada.call.try('DELETE', `${path}/${ada.id}`)), [409, 'conflict'])
})

onBothEngines('at most 100 invitations are pending in one team', async (world) => {
  const { teamId, userId } = world.credentials
  const rows = Array.from({ length: 99 }, (_, at) => ({
    id: `inv_${at}`,
    team_id: teamId,
    email: `p${at}@example.com`,
    user_id: null,
    role: 'VIEWER' as const,
    invited_by: userId,
    expires_at: Date.now() + DAY_MS,
    created_stamp: at,
  }))
  await addRows(world, 'invitation', rows)
  const { path, invite } = teamOf(world)
  await invite({ email: 'last@example.com' })
  const full = await world.call.try('POST', path, { email: 'more@example.com' })
  assert.deepEqual(said(full), [409, 'conflict'])
  assert.match(full.body.error.message, /100 pending invitations/)
})

onBothEngines(
  'with a mail server the link is in the email to the user, and in no answer',
  async (world) => {
    const ada = await world.user('ada')
    const path = `/v1/teams/${world.credentials.teamId}/members` as const
    const invited = await world.call('POST', path, { uid: ada.id, role: 'VIEWER' })
    assert.deepEqual(Object.keys(invited.body).sort(), ['email', 'role', 'uid', 'username'])
    smtp.received.length = 0
    await sendDueMail(world.deps)
    const [{ to, letter }] = smtp.received as [(typeof smtp.received)[number]]
    assert.deepEqual(to, ['ada@example.com'])
    assert.match(
      letter.text,
      /^admin invites you to the team team as VIEWER\.\n\nTheir name: “Admin”\n\nThe name of the team: “Team”\n\nOpen/,
    )
    const [link] = /http\S+\/invitations\/inv_\w+/.exec(letter.text) ?? assert.fail(letter.text)
    assert.equal((await ada.call('POST', `${path}/teams/join`, { inviteCode: link.split('/').at(-1) })).status, 200)
  },
  { BERTH_SMTP_URL: smtp.url, BERTH_MAIL_FROM: 'b@acme.example' },
)

onBothEngines('a form whose session ends while it waits for its turn to write is not done', async (world) => {
  const { invite } = teamOf(world)
  const ada = await world.user('ada')
  const { code } = await invite({ uid: ada.id })
  const client = await openSignedInClient(world, ada.id, 'ada')
  const page = `/invitations/${code}` as const
  assert.equal((await client.get(page)).status, 200)
  const { db } = world.deps
  const { write } = db
  // It was admitted, and waits: another browser of hers ends all sessions meanwhile.
  db.write = async (...said) => {
    db.write = write
    await write((tx) => endSessionsOf({ db: tx }, ada.id))
    return write(...said)
  }
  const answered = await client.post(page, { answer: 'accept' })
  assert.deepEqual([answered.status, answered.location.startsWith('/sign-in?return=')], [303, true])
  const places = world.deps.db.read.selectFrom('member').select('role').where('user_id', '=', ada.id)
  assert.deepEqual(await places.execute(), [])
  const waiting = world.deps.db.read.selectFrom('invitation').select('id')
  assert.equal((await waiting.executeTakeFirstOrThrow()).id, code)
})
