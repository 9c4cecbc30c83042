/** What accounts are called: by the operator, and after a name was given up. docs/accounts.md: Usernames and slugs; docs/operations.md: User administration. */

import assert from 'node:assert/strict'
import { withQuery } from '../../support/call.ts'
import { OPERATORS, sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]
const DAY_MS = 86_400_000

onBothEngines(
  'every operator route refuses a field or a query parameter that it does not know, by its name',
  async (world) => {
    const samples = await seedSamples(world)
    let bodies = 0
    for (const route of OPERATORS) {
      const { method, url, body } = sampleRequest(route, samples)
      const asked = await world.operator.try(method, withQuery(url, 'nonsense=1'), body)
      assert.deepEqual(said(asked), [400, 'bad_request'], route.operationId)
      assert.match(asked.body.error.message, /`nonsense`/, route.operationId)
      if (method === 'GET') continue
      const more = await world.operator.try(method, url, { ...(body as object), nonsense: true })
      assert.deepEqual(said(more), [400, 'bad_request'], `${route.operationId} ${more.text}`)
      assert.match(more.body.error.message, /`nonsense`/, route.operationId)
      bodies++
    }
    assert.ok(bodies > 20)
    const nested = { lines: [{ timestamp: 1, message: 'm', source: 'edge', more: 1 }] }
    const logs = await world.operator.try('POST', `/operator/v1/projects/${samples.projectId}/logs`, nested)
    assert.match(logs.body.error.message, /`lines\.0\.more`/)
    const free = { url: 'web-9.apps.example.net', target: null, readyState: 'BUILDING', meta: { anything: 'goes' } }
    const made = await world.operator('POST', `/operator/v1/projects/${samples.projectId}/deployments`, free)
    assert.equal(made.status, 201, made.text)
  },
)

onBothEngines(
  'an operator calls users and teams by id, slug, username or email, wherever an id may stand',
  async (world) => {
    const { operator, credentials } = world
    const ada = await world.user('ada')
    const team = await operator('POST', '/operator/v1/teams', {
      slug: 'acme',
      name: 'Acme',
      ownerId: 'Ada@example.com',
    })
    assert.equal(team.status, 201, team.text)
    const acme = team.body.id
    for (const [where, caller] of [
      ['acme', 'admin'],
      [acme, 'admin@berth.localhost'],
      ['acme', credentials.userId],
    ]) {
      const path = `/operator/v1/teams/${where}/members/${encodeURIComponent(caller!)}`
      const put = await operator('PUT', path, { role: 'MEMBER' })
      assert.deepEqual(put.body, { teamId: acme, userId: credentials.userId, role: 'MEMBER' })
      assert.equal((await operator('DELETE', path)).status, 204)
    }
    const [entry] = (await operator('GET', '/operator/v1/audit?limit=1')).body.entries
    assert.equal(entry.subjectId, acme)
    const token = await operator('POST', '/operator/v1/tokens', { userId: 'ada', teamId: 'acme' })
    assert.equal((await world.as(token.body.token)('GET', '/v9/projects')).status, 200)
    assert.equal(
      (await operator('PATCH', '/operator/v1/users/ada', { defaultTeamId: 'acme' })).body.defaultTeamId,
      acme,
    )
    assert.equal((await operator('PATCH', '/operator/v1/accounts/acme', { plan: 'hobby' })).body.id, acme)
    assert.equal((await operator('PATCH', '/operator/v1/accounts/ada@example.com', {})).body.id, ada.id)
    await ada.call('PATCH', '/v2/teams/acme', { description: 'x' })
    const mine = (await operator('GET', '/operator/v1/audit?actorId=ada')).body.entries
    assert.deepEqual(
      mine.map((one: { type: string; actor: { id: string } }) => [one.type, one.actor.id]),
      [['patchTeam', ada.id]],
    )
    for (const [path, name] of [
      ['/operator/v1/users/acme', 'acme'],
      ['/operator/v1/users/nobody', 'nobody'],
    ]) {
      const none = await operator.try('PATCH', path!, {})
      assert.equal(none.status, 404)
      assert.ok(none.body.error.message.includes(`"${name}"`))
    }
    assert.deepEqual(said(await operator.try('PUT', '/operator/v1/teams/ada/members/admin', { role: 'OWNER' })), [
      404,
      'not_found',
    ])
  },
)

onBothEngines(
  'email and username of a user are changed, the first one included, and a link to the old address ends',
  async (world) => {
    const { operator } = world
    await world.user('ada')
    const link = await operator('POST', '/operator/v1/users/admin/password-link')
    const changed = await operator('PATCH', '/operator/v1/users/admin', {
      email: 'Root@Acme.example',
      username: 'root',
    })
    assert.deepEqual([changed.body.email, changed.body.username], ['root@acme.example', 'root'])
    assert.deepEqual((await world.call('GET', '/v2/user')).body.user.email, 'root@acme.example')
    const { pathname, search } = new URL(link.body.url)
    assert.equal((await world.as(undefined).try('GET', `${pathname}${search}`)).status, 404)
    for (const [body, code] of [
      [{ email: 'ada@example.com' }, 409],
      [{ username: 'ada' }, 409],
      [{ username: 'team' }, 409],
      [{ email: 'nonsense' }, 400],
      [{ username: 'Not A Slug' }, 400],
    ] as const) {
      assert.equal((await operator.try('PATCH', '/operator/v1/users/root', body)).status, code, JSON.stringify(body))
    }
  },
)

/** Renames the first team. */
const rename = (world: World, slug: string) =>
  world.call.try('PATCH', `/v2/teams/${world.credentials.teamId}`, { slug })

onBothEngines('a name that was given up is reserved for 90 days for the account that had it', async (world) => {
  const { operator, credentials } = world
  const rival = await world.user('rival')
  await operator('POST', '/operator/v1/teams', { slug: 'rivals', name: 'R', ownerId: rival.id })
  assert.equal((await rename(world, 'acme')).status, 200)
  const taken = await rival.call.try('PATCH', '/v2/teams/rivals', { slug: 'team' })
  assert.deepEqual(said(taken), [409, 'conflict'])
  assert.match(taken.body.error.message, /"team" is reserved until \d{4}-\d\d-\d\d/)
  const user = { username: 'team', email: 'x@example.com' }
  assert.deepEqual(said(await operator.try('POST', '/operator/v1/users', user)), [409, 'conflict'])
  const team = { slug: 'team', name: 'T', ownerId: rival.id }
  assert.deepEqual(said(await operator.try('POST', '/operator/v1/teams', team)), [409, 'conflict'])
  assert.deepEqual(said(await operator.try('PATCH', '/operator/v1/users/rival', { username: 'team' })), [
    409,
    'conflict',
  ])
  assert.equal((await rename(world, 'team')).status, 200, 'the former owner gets it again')
  assert.equal((await rival.call.try('PATCH', '/v2/teams/rivals', { slug: 'acme' })).status, 409)
  assert.equal((await operator('PATCH', '/operator/v1/users/rival', { username: 'equal' })).status, 200)
  assert.equal((await rename(world, 'rival')).status, 409)
  const rows = JSON.stringify(await world.deps.db.read.selectFrom('reserved_slug').selectAll().execute())
  assert.equal(/acme|rival/.test(rows), false, 'no name is stored in plaintext')

  const early = { now: Date.now() + 89 * DAY_MS }
  assert.equal((await operator('POST', '/operator/v1/timers/reserved-slugs/run', early)).body.swept, 0)
  const late = { now: Date.now() + 91 * DAY_MS }
  assert.equal((await operator('POST', '/operator/v1/timers/reserved-slugs/run', late)).body.swept, 2)
  assert.equal((await rival.call('PATCH', '/v2/teams/rivals', { slug: 'acme' })).status, 200)
  assert.equal((await world.call('GET', `/v2/teams/${credentials.teamId}`)).body.slug, 'team')
})

onBothEngines('one account reserves at most 10 names', async (world) => {
  for (let at = 0; at < 10; at++) assert.equal((await rename(world, `name-${at}`)).status, 200)
  const full = await rename(world, 'one-more')
  assert.deepEqual(said(full), [409, 'conflict'])
  assert.match(full.body.error.message, /10 reserved former names/)
  assert.equal((await rename(world, 'name-3')).status, 200, 'one of its own does not count again')
})

onBothEngines('no account gets a name at the time at which it is released, in many rounds', async (world) => {
  const rivals = await Promise.all(['r0', 'r1', 'r2', 'r3'].map((name) => world.user(name)))
  for (const { id } of rivals)
    await world.operator('POST', '/operator/v1/teams', {
      slug: `t-${id.slice(-6).toLowerCase()}`,
      name: 'R',
      ownerId: id,
    })
  for (let round = 0; round < 5; round++) {
    const old = (await world.call('GET', `/v2/teams/${world.credentials.teamId}`)).body.slug
    const [renamed, ...others] = await Promise.all([
      rename(world, `next-${round}`),
      ...rivals.map(({ id, call }) => call.try('PATCH', `/v2/teams/t-${id.slice(-6).toLowerCase()}`, { slug: old })),
    ])
    assert.equal(renamed!.status, 200, `round ${round}`)
    assert.deepEqual(
      others.map(({ status }) => status),
      [409, 409, 409, 409],
      `round ${round}`,
    )
  }
})

for (const [plan, settings] of [
  ['enterprise', {}],
  ['hobby', { BERTH_DEFAULT_PLAN: 'hobby' }],
] as const) {
  onBothEngines(
    `new accounts are on the plan ${plan} where the setting says ${JSON.stringify(settings)}`,
    async (world) => {
      const { id } = await world.user('ada')
      const team = await world.operator('POST', '/operator/v1/teams', { slug: 'acme', name: 'A', ownerId: id })
      assert.equal(team.body.plan, plan)
      for (const account of [world.credentials.userId, world.credentials.teamId, id]) {
        assert.equal((await world.operator('PATCH', `/operator/v1/accounts/${account}`, {})).body.plan, plan)
      }
      await world.call('POST', '/v10/projects', { name: 'web' })
      const protection = { passwordProtection: { deploymentType: 'all', password: 'correct horse' } }
      const answer = await world.call.try('PATCH', '/v9/projects/web', protection)
      assert.equal(answer.status, plan === 'enterprise' ? 200 : 428)
    },
    settings,
  )
}
