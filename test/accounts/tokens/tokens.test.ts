/** Tokens: narrowed, expired, deleted; and members who leave. docs/spec/decisions.md: Tokens. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { berth } from '../../support/clients/command.ts'
import { seedProject } from '../../support/projects.ts'
import { tamper } from '../../support/states.ts'
import { type ApiResponse, onBothEngines } from '../../support/world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]

onBothEngines('a token is shown once, stored as a hash, and never shown again', async (world) => {
  const made = await world.operator('POST', '/operator/v1/tokens', { userId: world.credentials.userId, name: 'ci' })
  assert.equal(made.status, 201)
  const { id, token } = made.body
  assert.deepEqual(Object.keys(made.body).sort(), ['id', 'token'])
  assert.match(token, /^berth_[0-9A-Za-z]{40}$/)
  assert.match(id, /^tok_[0-9A-Za-z]{28}$/)
  await world.as(token)('POST', '/v10/projects', { name: 'web' })
  const rows = await Promise.all(
    (['token', 'audit', 'event', 'project'] as const).map((table) =>
      world.deps.db.read.selectFrom(table).selectAll().execute(),
    ),
  )
  assert.equal(`${JSON.stringify(rows)}${world.logged()}`.includes(token), false)
})

onBothEngines('a token bound to a team acts for it and sees no other account', async (world) => {
  const { teamId } = world.credentials
  await seedProject(world, 'mine')
  await seedProject(world, 'ours', `?teamId=${teamId}`)
  await world.operator('POST', '/operator/v1/teams', { slug: 'second', name: 'S', ownerId: world.credentials.userId })
  const call = await world.token({ teamId })
  for (const query of ['', `?teamId=${teamId}`, '?slug=team']) {
    const { projects } = (await call('GET', `/v9/projects${query}`)).body
    assert.deepEqual(
      projects.map((project: { name: string }) => project.name),
      ['ours'],
      query,
    )
  }
  assert.deepEqual(said(await call.try('GET', '/v9/projects/mine')), [404, 'not_found'])
  for (const query of ['slug=second', 'slug=admin', `teamId=${world.credentials.userId}`]) {
    assert.deepEqual(said(await call.try('GET', `/v9/projects?${query}`)), [403, 'forbidden'], query)
  }
  assert.deepEqual(
    (await call('GET', '/v2/teams')).body.teams.map((team: { slug: string }) => team.slug),
    ['team'],
  )
  assert.deepEqual(said(await call.try('GET', '/teams/second')), [404, 'not_found'])
})

onBothEngines('a token limited to projects sees and touches those, and makes none', async (world) => {
  const { teamId } = world.credentials
  const [a, b] = [await seedProject(world, 'a'), await seedProject(world, 'b')]
  const ours = await seedProject(world, 'a', `?teamId=${teamId}`)
  const call = await world.token({ projectIds: [a, ours, 'prj_unknown'] })
  assert.deepEqual(
    (await call('GET', '/v9/projects')).body.projects.map((one: { id: string }) => one.id),
    [a],
  )
  assert.deepEqual(
    (await call('GET', `/v9/projects?teamId=${teamId}`)).body.projects.map((one: { id: string }) => one.id),
    [ours],
  )
  for (const named of ['b', b]) {
    const unknown = (await call.try('GET', '/v9/projects/nosuch')).text
    assert.equal((await call.try('GET', `/v9/projects/${named}`)).text, unknown.replace('nosuch', named))
    assert.equal((await call.try('PATCH', `/v9/projects/${named}`, { devCommand: 'x' })).status, 404)
    assert.equal((await call.try('DELETE', `/v9/projects/${named}`)).status, 404)
    assert.equal((await call.try('POST', `/v1/projects/${named}/pause`)).status, 400)
    assert.equal((await call.try('PATCH', `/v1/data-cache/projects/${named}`, { disabled: true })).status, 404)
  }
  assert.deepEqual(said(await call.try('POST', '/v10/projects', { name: 'c' })), [403, 'forbidden'])
  assert.equal((await call('PATCH', '/v9/projects/a', { name: 'renamed' })).body.id, a)
  assert.equal((await call('GET', '/v9/projects/renamed')).body.id, a)
  assert.equal((await call('DELETE', `/v9/projects/${a}`)).status, 204)
})

onBothEngines('a token is good for its last millisecond and not for the next', async (world, t) => {
  const end = Date.now() + 100_000
  const call = await world.token({ expiresAt: end })
  t.mock.timers.enable({ apis: ['Date'], now: end - 1 })
  assert.equal((await call('GET', '/v2/user')).status, 200)
  t.mock.timers.setTime(end)
  assert.equal((await call.try('GET', '/v2/user')).status, 401)
})

onBothEngines('a token ends at its time, and its row is swept', async (world) => {
  const { deps, operator, credentials } = world
  const now = 1_900_000_000_000
  deps.clock.set(now)
  const call = await world.token({ expiresAt: now + 10_000 })
  assert.equal((await call('GET', '/v2/user')).status, 200)
  deps.clock.set(now + 9_000)
  assert.equal((await call('GET', '/v2/user')).status, 200)
  deps.clock.set(now + 10_000)
  const ended = await call.try('GET', '/v2/user')
  assert.deepEqual([...said(ended), ended.body.error.invalidToken], [401, 'forbidden', true])
  const sweep = async (body: object) => (await operator('POST', '/operator/v1/timers/expired-tokens/run', body)).body
  assert.deepEqual(await sweep({ now }), { swept: 0 })
  assert.deepEqual(await sweep({}), { swept: 1 })
  assert.deepEqual(await sweep({}), { swept: 0 })
  assert.equal((await world.call('GET', '/v2/user')).status, 200, 'a token without an end stays')
  for (const expiresAt of [now, now + 10_000, 0, -1]) {
    const answer = await operator.try('POST', '/operator/v1/tokens', { userId: credentials.userId, expiresAt })
    assert.deepEqual(said(answer), [400, 'bad_request'], String(expiresAt))
    assert.match(answer.body.error.message, /`expiresAt`/)
  }
})

onBothEngines('a deleted token is over with the answer, and of ten deletes one is 204', async (world) => {
  const { operator, credentials } = world
  const { id, token } = (await operator('POST', '/operator/v1/tokens', { userId: credentials.userId })).body
  assert.equal((await world.as(token)('GET', '/v2/user')).status, 200)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => operator.try('DELETE', `/operator/v1/tokens/${id}`)),
  )
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [204, ...Array(9).fill(404)])
  assert.equal((await world.as(token).try('GET', '/v2/user')).body.error.invalidToken, true)
})

onBothEngines('a token asks for a user, a team of theirs, scopes and times that exist', async (world) => {
  const { operator, credentials, user } = world
  const { userId, teamId } = credentials
  const other = await user('other')
  const wrong: [object, string][] = [
    [{}, '`userId`'],
    [{ userId: 'usr_none' }, 'usr_none'],
    [{ userId: teamId }, teamId],
    [{ userId: other.id, teamId }, teamId],
    [{ userId, teamId: 'team_none' }, 'team_none'],
    [{ userId, scopes: ['read:all'] }, '`scopes.0`'],
    [{ userId, scopes: ['write:project'] }, '`scopes.0`'],
    [{ userId, scopes: ['read:project', 'project'] }, '`scopes.1`'],
    [{ userId, scopes: 'read:project' }, '`scopes`'],
    [{ userId, projectIds: [] }, '`projectIds`'],
    [{ userId, expiresAt: '2030-01-01' }, '`expiresAt`'],
    [{ userId, expiresAt: 1.5 }, '`expiresAt`'],
  ]
  for (const [body, named] of wrong) {
    const answer = await operator.try('POST', '/operator/v1/tokens', body)
    assert.deepEqual(said(answer), [400, 'bad_request'], JSON.stringify(body))
    assert.ok(answer.body.error.message.includes(named), answer.text)
  }
})

onBothEngines('a member who leaves loses the team with the commit, also in the middle of a storm', async (world) => {
  const { operator, credentials } = world
  const member = await world.user('member')
  const path = `/operator/v1/teams/${credentials.teamId}/members/${member.id}` as const
  await operator('PUT', path, { role: 'MEMBER' })
  const bound = await operator('POST', '/operator/v1/tokens', { userId: member.id, teamId: credentials.teamId })
  const create = (at: number) =>
    member.call.try('POST', `/v10/projects?teamId=${credentials.teamId}`, { name: `p${at}` })
  const storm = Array.from({ length: 30 }, (_, at) => create(at))
  const left = await operator('DELETE', path)
  assert.equal(left.status, 204)
  const late = await Promise.all(Array.from({ length: 10 }, (_, at) => create(100 + at)))
  for (const answer of late) assert.deepEqual(said(answer), [403, 'forbidden'])
  const made = (await Promise.all(storm)).filter((answer) => answer.status === 200).length
  const { projects } = (await world.call('GET', `/v9/projects?limit=100&teamId=${credentials.teamId}`)).body
  assert.equal(projects.length, made)
  assert.equal((await member.call('GET', '/v9/projects')).status, 200, 'the personal account stays')
  assert.deepEqual(said(await world.as(bound.body.token).try('GET', '/v9/projects')), [401, 'forbidden'])
  assert.deepEqual((await member.call('GET', '/v2/teams')).body.teams, [])
})

onBothEngines('a sweep runs as of any time that there is, and of no other', async ({ operator }) => {
  for (const name of ['expired-tokens', 'old-events']) {
    const run = (now: unknown) => operator.try('POST', `/operator/v1/timers/${name}/run`, { now })
    for (const now of [0, 1, 2 ** 53 - 1]) assert.deepEqual((await run(now)).body, { swept: 0 }, `${name} ${now}`)
    for (const now of [-1, -(2 ** 53) + 1, 1.5, '1', null]) {
      const answer = await run(now)
      assert.deepEqual(said(answer), [400, 'bad_request'], `${name} ${now}`)
      assert.match(answer.body.error.message, /`now`/)
    }
  }
})

onBothEngines(
  'an expiry is a date: a later number is refused, and one of before that limit is shown',
  async (world) => {
    const { userId } = world.credentials
    const expiresAt = 9_000_000_000_000_000
    for (const refused of [
      await world.call.try('POST', '/v3/user/tokens', { name: 'late', expiresAt }),
      await world.operator.try('POST', '/operator/v1/tokens', { userId, expiresAt }),
    ])
      assert.deepEqual(said(refused), [400, 'bad_request'])
    const { id } = (await world.operator('POST', '/operator/v1/tokens', { userId, name: 'late' })).body
    await tamper(world, 'token', { expires_at: expiresAt }, { id })
    const client = await openSignedInClient(world)
    for (const page of ['/console/operator/tokens', '/console/t/admin/tokens', `/console/operator/people/${userId}`])
      assert.equal((await client.get(page)).status, 200, page)
    const env = { BERTH_DATA: world.folder, PORT: new URL(await world.listen()).port }
    const { code, out, err } = await berth(['token', 'list'], env)
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, new RegExp(`${id}.*\\+275760-09-13`))
  },
)
