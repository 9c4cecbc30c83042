/** Users, teams and members through the operator API, and what the user of a token sees of them. docs/spec/operator-api.md. */
import assert from 'node:assert/strict'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, onBothEngines } from '../../support/world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]

onBothEngines('a user and a team are made, and their owner is OWNER', async ({ operator, as, user }) => {
  const made = await operator('POST', '/operator/v1/users', { email: 'Ada@Example.com', username: 'ada', name: 'Ada' })
  assert.equal(made.status, 201)
  assert.match(made.body.id, /^usr_[0-9A-Za-z]{24}$/)
  const { id, ...rest } = made.body
  assert.deepEqual(rest, {
    email: 'ada@example.com',
    username: 'ada',
    name: 'Ada',
    defaultTeamId: null,
    suspended: false,
    operator: false,
  })
  const plain = await user('bare')
  const team = await operator('POST', '/operator/v1/teams', { slug: 'acme', name: 'Acme', ownerId: id })
  assert.deepEqual([team.status, team.body.slug, team.body.name, team.body.plan], [201, 'acme', 'Acme', 'enterprise'])
  assert.match(team.body.id, /^team_[0-9A-Za-z]{24}$/)
  const hobby = await operator('POST', '/operator/v1/teams', { slug: 'small', name: 'S', ownerId: id, plan: 'hobby' })
  assert.equal(hobby.body.plan, 'hobby')
  const { token } = (await operator('POST', '/operator/v1/tokens', { userId: id })).body
  const teams = (await as(token)('GET', '/v2/teams')).body.teams
  assert.deepEqual(
    teams.map((one: { slug: string; membership: { role: string } }) => [one.slug, one.membership.role]),
    [
      ['small', 'OWNER'],
      ['acme', 'OWNER'],
    ],
  )
  assert.deepEqual((await plain.call('GET', '/v2/teams')).body, {
    teams: [],
    pagination: { count: 0, next: null, prev: null },
  })
})

onBothEngines(
  'of 20 users or teams made at once with one slug or one email, one is made and 19 answer 409',
  async (world) => {
    const { operator, credentials } = world
    const races: [string, (at: number) => object, RegExp][] = [
      ['users', (at) => ({ email: `u${at}@example.com`, username: 'same' }), /"same"/],
      [
        'users',
        (at) => ({ email: at % 2 ? 'One@example.com' : 'one@EXAMPLE.com', username: `n${at}` }),
        /one@example\.com/,
      ],
      ['teams', () => ({ slug: 'band', name: 'B', ownerId: credentials.userId }), /"band"/],
    ]
    for (const [path, body, names] of races) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => operator.try('POST', `/operator/v1/${path}`, body(at))),
      )
      assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, ...Array(19).fill(409)], path)
      const refused = answers.find((answer) => answer.status === 409)!
      assert.equal(refused.body.error.code, 'conflict')
      assert.match(refused.body.error.message, names)
    }
    const crossed = await operator.try('POST', '/operator/v1/teams', {
      slug: 'same',
      name: 'S',
      ownerId: credentials.userId,
    })
    assert.deepEqual(said(crossed), [409, 'conflict'])
    assert.deepEqual(said(await operator.try('POST', '/operator/v1/users', { email: 'x@y', username: 'band' })), [
      409,
      'conflict',
    ])
    const rows = await world.deps.db.read.selectFrom('member').select('team_id').execute()
    assert.equal(rows.length, 2, 'a refused team leaves no member')
  },
)

onBothEngines('a reference to an unknown id is refused with its name, and nothing is written', async (world) => {
  const { operator, credentials, user } = world
  const { userId, teamId } = credentials
  const other = await user('other')
  const before = await digest(world)
  const members = (team: string, caller: string) => `/operator/v1/teams/${team}/members/${caller}` as const
  const refused: [Promise<ApiResponse>, number, string, string][] = [
    [
      operator.try('POST', '/operator/v1/teams', { slug: 'a', name: 'A', ownerId: 'usr_none' }),
      400,
      'bad_request',
      'usr_none',
    ],
    [operator.try('POST', '/operator/v1/teams', { slug: 'a', name: 'A', ownerId: teamId }), 400, 'bad_request', teamId],
    [operator.try('PUT', members('team_none', userId), { role: 'OWNER' }), 404, 'not_found', 'team_none'],
    [operator.try('PUT', members(userId, userId), { role: 'OWNER' }), 404, 'not_found', userId],
    [operator.try('PUT', members(teamId, 'usr_none'), { role: 'OWNER' }), 400, 'bad_request', 'usr_none'],
    [operator.try('PUT', members(teamId, teamId), { role: 'OWNER' }), 400, 'bad_request', teamId],
    [operator.try('PUT', members(teamId, userId), { role: 'GUEST' }), 400, 'bad_request', '`role`'],
    [operator.try('DELETE', members(teamId, other.id)), 404, 'not_found', other.id],
    [operator.try('DELETE', members('team_none', userId)), 404, 'not_found', 'team_none'],
    [operator.try('PATCH', '/operator/v1/users/usr_none', { name: 'x' }), 404, 'not_found', 'usr_none'],
    [operator.try('PATCH', `/operator/v1/users/${teamId}`, { name: 'x' }), 404, 'not_found', teamId],
    [
      operator.try('PATCH', `/operator/v1/users/${userId}`, { defaultTeamId: 'team_none' }),
      400,
      'bad_request',
      'team_none',
    ],
    [operator.try('PATCH', `/operator/v1/users/${other.id}`, { defaultTeamId: teamId }), 400, 'bad_request', teamId],
    [operator.try('PATCH', '/operator/v1/accounts/none', { plan: 'pro' }), 404, 'not_found', 'none'],
    [operator.try('PATCH', `/operator/v1/accounts/${userId}`, { plan: 'free' }), 400, 'bad_request', '`plan`'],
    [operator.try('PATCH', `/operator/v1/accounts/${userId}`, { addOns: ['x'] }), 400, 'bad_request', '`addOns.0`'],
    [operator.try('POST', '/operator/v1/users', { email: 'no', username: 'ok' }), 400, 'bad_request', '`email`'],
    [operator.try('POST', '/operator/v1/users', { email: 'a@b', username: 'Usr' }), 400, 'bad_request', '`username`'],
    [
      operator.try('POST', '/operator/v1/users', { email: 'a@b', username: 'team_x' }),
      400,
      'bad_request',
      '`username`',
    ],
    [operator.try('POST', '/operator/v1/users', { username: 'ok' }), 400, 'bad_request', '`email`'],
    [operator.try('POST', '/operator/v1/timers/none/run', {}), 404, 'not_found', 'none'],
  ]
  for (const [asked, status, code, named] of refused) {
    const answer = await asked
    assert.deepEqual(said(answer), [status, code], answer.text)
    assert.ok(answer.body.error.message.includes(named), answer.text)
  }
  assert.equal(await digest(world), before)
})

onBothEngines(
  'an account is patched field by field, and what it owes keeps its first time',
  async ({ operator, credentials, deps }) => {
    const path = `/operator/v1/accounts/${credentials.teamId}` as const
    const patch = async (body: object) => (await operator('PATCH', path, body)).body
    const base = { id: credentials.teamId, plan: 'enterprise', softBlocked: false, paymentMissing: false, addOns: [] }
    assert.deepEqual(await patch({}), base)
    assert.deepEqual(await patch({ plan: 'pro' }), { ...base, plan: 'pro' })
    const addOns = ['advanced-deployment-protection']
    assert.deepEqual(await patch({ addOns, softBlocked: true }), {
      ...base,
      plan: 'pro',
      addOns,
      softBlocked: true,
    })
    const since = async () =>
      (
        await deps.db.read
          .selectFrom('account')
          .selectAll()
          .where('id', '=', credentials.teamId)
          .executeTakeFirstOrThrow()
      ).soft_blocked_at
    const first = await since()
    await patch({ softBlocked: true, paymentMissing: true })
    assert.equal(await since(), first)
    assert.deepEqual(await patch({ softBlocked: false, paymentMissing: false, addOns: [], plan: 'enterprise' }), base)
  },
)

onBothEngines(
  'a user is patched, and their default team must be one of theirs',
  async ({ operator, credentials, call, user }) => {
    const { userId, teamId } = credentials
    const patch = (body: object) => operator('PATCH', `/operator/v1/users/${userId}`, body)
    assert.equal((await patch({ name: 'New' })).body.name, 'New')
    assert.equal((await patch({ defaultTeamId: null })).body.defaultTeamId, null)
    assert.equal((await call('GET', '/v2/user')).body.user.name, 'New')
    assert.equal((await patch({ defaultTeamId: teamId })).body.defaultTeamId, teamId)
    const { id: heir } = await user('heir')
    await operator('PUT', `/operator/v1/teams/${teamId}/members/${heir}`, { role: 'OWNER' })
    await operator('DELETE', `/operator/v1/teams/${teamId}/members/${userId}`)
    assert.equal((await patch({})).body.defaultTeamId, null)
  },
)

onBothEngines(
  'GET /v2/user is the user behind the token, also for a team and at other versions',
  async ({ call, credentials, operator }) => {
    const { body } = await call('GET', '/v2/user')
    assert.ok(Math.abs(Date.now() - body.user.createdAt) < 60_000)
    assert.deepEqual(body, {
      user: {
        id: credentials.userId,
        email: 'admin@berth.localhost',
        name: 'Admin',
        username: 'admin',
        avatar: null,
        defaultTeamId: null,
        version: 'northstar',
        createdAt: body.user.createdAt,
        softBlock: null,
        billing: null,
        resourceConfig: {},
        stagingPrefix: '',
        hasTrialAvailable: false,
      },
    })
    await operator('PATCH', `/operator/v1/accounts/${credentials.userId}`, { softBlocked: true })
    const blocked = (await call('GET', '/v2/user')).body.user.softBlock
    assert.ok(Math.abs(Date.now() - blocked.blockedAt) < 60_000)
    await operator('PATCH', `/operator/v1/accounts/${credentials.userId}`, { softBlocked: false })
    for (const url of ['/v2/user?slug=team', `/user?teamId=${credentials.teamId}`, '/v1/user/']) {
      assert.deepEqual((await call('GET', url)).body, body, url)
    }
  },
)

onBothEngines(
  'a team has every field that one version of the SDK or another demands',
  async ({ call, credentials }) => {
    const team = (await call('GET', `/v2/teams/${credentials.teamId}`)).body
    const demanded = [team.creatorId, team.updatedAt, team.description, team.stagingPrefix]
    assert.deepEqual(demanded, [credentials.teamId, team.createdAt, null, ''])
    assert.deepEqual((await call('GET', '/v2/teams')).body.teams, [team])
  },
)

onBothEngines('teams are listed newest first with pages, and found by id and slug; others are 404', async (world) => {
  const { call, operator, credentials } = world
  for (const slug of ['one', 'two', 'three']) {
    // `since` is a time in milliseconds: each is made in one of its own.
    world.deps.clock.set(world.deps.clock.now() + 10)
    await operator('POST', '/operator/v1/teams', { slug, name: slug, ownerId: credentials.userId })
  }
  const rival = await world.user('rival')
  const foreign = (await operator('POST', '/operator/v1/teams', { slug: 'foreign', name: 'F', ownerId: rival.id })).body
  const slugs = (body: { teams: { slug: string }[] }) => body.teams.map((team) => team.slug)
  for (const url of ['/v1/teams', '/v2/teams', '/teams'] as const) {
    assert.deepEqual(slugs((await call('GET', url)).body), ['three', 'two', 'one', 'team'], url)
  }
  const first = (await call('GET', '/v2/teams?limit=3')).body
  const rest = (await call('GET', `/v2/teams?limit=3&until=${first.pagination.next}`)).body
  assert.deepEqual([slugs(first), slugs(rest), rest.pagination.next], [['three', 'two', 'one'], ['team'], null])
  assert.deepEqual(slugs((await call('GET', `/v2/teams?since=${first.teams[1].createdAt}`)).body).slice(0, 1), [
    'three',
  ])
  for (const said of ['team', credentials.teamId]) {
    const { body } = await call('GET', `/teams/${said}`)
    assert.deepEqual(
      [body.id, body.slug, body.billing.plan, body.membership.role],
      [credentials.teamId, 'team', 'enterprise', 'OWNER'],
    )
    assert.equal(body.created, new Date(body.createdAt).toISOString())
  }
  const unknown = await call.try('GET', '/teams/unknown')
  for (const said of ['foreign', foreign.id, 'admin', rival.id, 'TEAM', '%25', '_eam']) {
    const answer = await call.try('GET', `/teams/${said}`)
    const plain = decodeURIComponent(said)
    assert.deepEqual([answer.status, answer.text.replace(plain, 'unknown')], [404, unknown.text], said)
  }
})

onBothEngines(
  'the owner of a personal project is found like a team, by requests that act for it alone',
  async (world) => {
    const { call, credentials, operator } = world
    const { accountId } = (await call('POST', '/v10/projects', { name: 'mine' })).body
    assert.equal(accountId, credentials.userId)
    const { body } = await call('GET', `/teams/${accountId}`)
    assert.deepEqual([body.id, body.slug, body.name, body.membership.role], [accountId, 'admin', 'Admin', 'OWNER'])
    assert.deepEqual(
      (await call('GET', '/v2/teams')).body.teams.map((team: { id: string }) => team.id),
      [credentials.teamId],
    )
    const bound = await world.token({ teamId: credentials.teamId })
    const other = await world.user('other')
    await operator('PUT', `/operator/v1/teams/${credentials.teamId}/members/${other.id}`, { role: 'OWNER' })
    for (const asked of [
      bound.try('GET', `/teams/${accountId}`),
      other.call.try('GET', `/teams/${accountId}`),
      call.try('GET', `/teams/${accountId}?teamId=${credentials.teamId}`),
    ]) {
      assert.equal((await asked).status, 404)
    }
  },
)

onBothEngines(
  'a request that acts for a team without naming it says so in its answer, and no other does',
  async (world) => {
    const { credentials, operator, call } = world
    const made = await operator('POST', '/operator/v1/teams', { slug: 'new', name: 'New', ownerId: credentials.userId })
    const bound = await world.token({ teamId: made.body.id })
    const { user } = (await bound('GET', '/v2/user')).body
    assert.deepEqual([user.version, user.defaultTeamId], ['northstar', made.body.id])
    assert.equal((await bound('POST', '/v10/projects', { name: 'web' })).body.accountId, made.body.id)
    const person = (await call('GET', '/v2/user')).body.user
    assert.deepEqual([person.version, person.defaultTeamId], ['northstar', null])
    assert.equal((await call('POST', '/v10/projects', { name: 'web' })).body.accountId, credentials.userId)
  },
)
