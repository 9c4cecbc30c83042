/** The tokens that users create for themselves: shown once, never wider than the one that made them, seen and ended by their user alone. */
import assert from 'node:assert/strict'
import { writeLastSeen } from '../../../src/platform/access/last-seen.ts'
import { seedProject } from '../../support/projects.ts'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]
const HOUR = 3_600_000
const DAY = 24 * HOUR

onBothEngines('a token is made, shown once, listed, seen by its id and ended', async (world) => {
  const { call, credentials } = world
  const expiresAt = Date.now() + DAY
  const made = await call('POST', '/v3/user/tokens', { name: 'ci', expiresAt })
  assert.equal(made.status, 200, made.text)
  const { token, bearerToken } = made.body
  assert.match(bearerToken, /^berth_[0-9A-Za-z]{40}$/)
  assert.equal(made.headers['cache-control'], 'no-store')
  const { createdAt } = token
  assert.deepEqual(token, {
    id: token.id,
    name: 'ci',
    type: 'token',
    origin: 'manual',
    scopes: [{ type: 'user', origin: 'manual', createdAt, expiresAt }],
    createdAt,
    activeAt: createdAt,
    expiresAt,
  })
  assert.equal((await world.as(bearerToken)('GET', '/v2/user')).body.user.id, credentials.userId)
  for (const url of ['/v5/user/tokens', '/v6/user/tokens', '/user/tokens'] as const) {
    const { tokens, pagination } = (await call('GET', url)).body
    assert.deepEqual(
      tokens.map((one: { name: string }) => one.name),
      ['ci', 'first token'],
    )
    assert.deepEqual([tokens[0], pagination], [token, { count: 2, next: null, prev: null }])
  }
  assert.deepEqual((await call('GET', `/v5/user/tokens/${token.id}`)).body, { token })
  assert.deepEqual((await world.as(bearerToken)('GET', '/v5/user/tokens/current')).body, { token })
  const texts = [await call.try('GET', '/v5/user/tokens'), await call.try('GET', `/v5/user/tokens/${token.id}`)]
  const rows = await world.deps.db.read.selectFrom('token').selectAll().execute()
  const audit = await world.deps.db.read.selectFrom('audit').selectAll().execute()
  const kept = texts.map((one) => one.text).join('') + JSON.stringify([rows, audit]) + world.logged()
  assert.equal(kept.includes(bearerToken), false)
  assert.deepEqual((await call('DELETE', `/v3/user/tokens/${token.id}`)).body, { tokenId: token.id })
  assert.equal((await world.as(bearerToken).try('GET', '/v2/user')).body.error.invalidToken, true)
  assert.deepEqual(said(await call.try('DELETE', `/v3/user/tokens/${token.id}`)), [404, 'not_found'])
})

onBothEngines('a token says when it was used last, to the hour', async (world) => {
  const { token, bearerToken } = (await world.call('POST', '/v3/user/tokens', { name: 'ci' })).body
  const used = async () => {
    await world.as(bearerToken)('GET', '/v2/user')
    await writeLastSeen(world.deps)
    const { createdAt, activeAt, lastUsedAt } = (await world.call('GET', `/v5/user/tokens/${token.id}`)).body.token
    return [activeAt, Math.max(createdAt, lastUsedAt)]
  }
  assert.deepEqual(await used(), [token.createdAt, token.createdAt])
  const later = token.createdAt + 3 * HOUR
  world.deps.clock.set(later)
  assert.deepEqual(await used(), [later - (later % HOUR), later - (later % HOUR)])
})

onBothEngines('pages of tokens come newest first and meet every token once', async (world) => {
  const names = await Promise.all(
    Array.from({ length: 25 }, async (_, at) => {
      const made = await world.call('POST', '/v3/user/tokens', { name: `t${at}` })
      return made.body.token.name
    }),
  )
  const seen: string[] = []
  let until = ''
  for (;;) {
    const { tokens, pagination } = (await world.call('GET', `/v6/user/tokens?limit=7${until}`)).body
    seen.push(...tokens.map((one: { name: string }) => one.name))
    if (pagination.next === null) break
    until = `&until=${pagination.next}`
  }
  assert.deepEqual(seen.toSorted(), [...names, 'first token'].sort())
})

onBothEngines('tokens of others are 404, and the token of an installation belongs to no user', async (world) => {
  const other = await world.user('other')
  const theirs = (await other.call('GET', '/v5/user/tokens/current')).body.token.id
  const app = await seedIntegration(world)
  const { code } = await consentAndInstall(world, app)
  const installed: string = (await exchange(world, app, code)).body.access_token
  const rows = await world.deps.db.read.selectFrom('token').selectAll().execute()
  const ofInstallation = rows.find((row) => row.configuration_id !== null)!.id
  const before = await digest(world)
  const unknown = await world.call.try('GET', '/v5/user/tokens/tok_unknown')
  for (const id of [theirs, ofInstallation]) {
    for (const [method, version] of [
      ['GET', 'v5'],
      ['DELETE', 'v3'],
    ] as const) {
      const answer = await world.call.try(method, `/${version}/user/tokens/${id}`)
      assert.deepEqual([answer.status, answer.text.replace(id, 'tok_unknown')], [404, unknown.text])
    }
  }
  const listed = (await world.call('GET', '/v5/user/tokens')).body.tokens.map((one: { id: string }) => one.id)
  assert.equal(listed.includes(ofInstallation), false)
  const query = `?teamId=${world.credentials.teamId}`
  for (const [method, url, body] of [
    ['GET', '/v5/user/tokens', undefined],
    ['POST', '/v3/user/tokens', { name: 'wide' }],
    ['GET', '/v5/user/tokens/current', undefined],
    ['DELETE', '/v3/user/tokens/current', undefined],
    ['DELETE', `/v3/user/tokens/${listed[0]}`, undefined],
  ] as const) {
    assert.deepEqual(said(await world.as(installed).try(method, `${url}${query}`, body)), [403, 'forbidden'], url)
  }
  assert.equal(await digest(world), before)
})

onBothEngines('a token acts for the team that it was made for, for one project or with some scopes', async (world) => {
  const { teamId } = world.credentials
  const query = `?teamId=${teamId}`
  const [web] = [await seedProject(world, 'web', query), await seedProject(world, 'other', query)]
  await seedProject(world, 'mine')
  const make = async (where: string, body: object) =>
    (await world.call('POST', `/v3/user/tokens${where}`, { name: 'narrow', ...body })).body
  const names = async (token: string, where = '') =>
    (await world.as(token)('GET', `/v9/projects${where}`)).body.projects?.map((one: { name: string }) => one.name)

  const ofTeam = await make(query, {})
  assert.deepEqual([ofTeam.token.teamId, ofTeam.token.scopes[0].type], [teamId, 'team'])
  assert.deepEqual(await names(ofTeam.bearerToken), ['other', 'web'])
  assert.deepEqual(said(await world.as(ofTeam.bearerToken).try('GET', '/v9/projects/mine')), [404, 'not_found'])

  for (const said of [web, 'web']) {
    const ofProject = await make(query, { projectId: said })
    assert.deepEqual(ofProject.token.projectIds, [web])
    assert.deepEqual(await names(ofProject.bearerToken), ['web'])
  }
  const scoped = await make('', { scopes: ['read:project'] })
  assert.deepEqual(scoped.token.granted, ['read:project'])
  assert.deepEqual(await names(scoped.bearerToken), ['mine'])
  assert.equal((await world.as(scoped.bearerToken).try('POST', '/v10/projects', { name: 'no' })).status, 403)

  const before = await digest(world)
  for (const [where, body, status] of [
    ['', { projectId: web }, 404],
    [query, { projectId: 'mine' }, 404],
    [query, { projectId: 'prj_none' }, 404],
    ['', { scopes: ['read:all'] }, 400],
    [query, { projectIds: [web] }, 400],
    ['', { expiresAt: Date.now() - 1 }, 400],
    ['', { expiresAt: 1.5 }, 400],
    ['', { name: '' }, 400],
    ['', { name: undefined }, 400],
    ['?teamId=team_none', {}, 403],
  ] as const) {
    const answer = await world.call.try('POST', `/v3/user/tokens${where}`, { name: 'x', ...body })
    assert.equal(answer.status, status, `${JSON.stringify(body)} ${answer.text}`)
  }
  assert.equal(await digest(world), before)
})

onBothEngines('a narrower token makes no wider one', async (world) => {
  const { teamId } = world.credentials
  await seedProject(world, 'web', `?teamId=${teamId}`)
  const made = async (call: Call, body: object = {}, where = '') =>
    call.try('POST', `/v3/user/tokens${where}`, { name: 'child', ...body })

  const team = world.as((await made(world.call, {}, `?teamId=${teamId}`)).body.bearerToken)
  const child = await made(team)
  assert.equal(child.body.token.teamId, teamId, 'of the team, also when the request does not say so')
  await world.operator('POST', '/operator/v1/teams', {
    slug: 'second',
    name: 'S',
    ownerId: world.credentials.userId,
  })
  assert.deepEqual(said(await made(team, {}, '?slug=second')), [403, 'forbidden'])
  const seen = (await team('GET', '/v5/user/tokens')).body.tokens
  assert.ok(seen.length === 2 && seen.every((one: { teamId: string }) => one.teamId === teamId))
  const wide = (await world.call('GET', '/v5/user/tokens')).body.tokens.at(-1)!
  for (const method of ['GET', 'DELETE'] as const) {
    assert.deepEqual(said(await team.try(method, `/v5/user/tokens/${wide.id}`)), [404, 'not_found'])
  }

  const expiresAt = Date.now() + DAY
  const brief = world.as((await made(world.call, { expiresAt })).body.bearerToken)
  assert.equal((await made(brief)).body.token.expiresAt, expiresAt, 'as long as its maker, when nothing is said')
  assert.equal((await made(brief, { expiresAt: expiresAt - 1 })).body.token.expiresAt, expiresAt - 1)
  assert.deepEqual(said(await made(brief, { expiresAt: expiresAt + 1 })), [400, 'bad_request'])

  const narrow = [
    await made(world.call, { projectId: 'web' }, `?teamId=${teamId}`),
    await made(world.call, { scopes: ['read-write:project', 'read-write:team', 'read:user'] }),
    await made(world.call, { scopes: [] }),
  ]
  const before = await digest(world)
  for (const { body } of narrow) {
    const call = world.as(body.bearerToken)
    assert.deepEqual(said(await made(call)), [403, 'forbidden'])
    assert.deepEqual(said(await call.try('GET', '/v5/user/tokens')), [403, 'forbidden'])
    for (const method of ['GET', 'DELETE'] as const) {
      assert.deepEqual(said(await call.try(method, `/v5/user/tokens/${wide.id}`)), [403, 'forbidden'])
    }
    assert.equal((await call('GET', `/v5/user/tokens/${body.token.id}`)).body.token.id, body.token.id)
  }
  assert.equal(await digest(world), before)
  for (const { body } of narrow) {
    assert.equal((await world.as(body.bearerToken)('DELETE', '/v3/user/tokens/current')).body.tokenId, body.token.id)
    assert.equal((await world.as(body.bearerToken).try('GET', '/v5/user/tokens/current')).status, 401)
  }
})

onBothEngines(
  'of ten simultaneous requests in which a token ends itself one succeeds and nine are refused',
  async (world) => {
    for (let round = 0; round < 3; round++) {
      const { bearerToken } = (await world.call('POST', '/v3/user/tokens', { name: 'brief' })).body
      const end = () => world.as(bearerToken).try('DELETE', '/v3/user/tokens/current')
      const answers = await Promise.all(Array.from({ length: 10 }, end))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(401)])
    }
  },
)

// biome-ignore lint/suspicious/noExplicitAny: three versions of one client, whose types differ
type Api = Record<string, (request?: object) => Promise<any>>

const LOAD = {
  '1.1.0': () => import('sdk-1.1.0'),
  '1.6.3': () => import('sdk-1.6.3'),
  '1.28.35': () => import('sdk-1.28.35'),
}

async function openSdk(version: keyof typeof LOAD, world: World): Promise<Record<string, Api>> {
  const { Vercel } = await LOAD[version]()
  const open = { bearerToken: world.credentials.token, serverURL: await world.listen() }
  return new Vercel(open) as unknown as Record<string, Api>
}

for (const version of Object.keys(LOAD) as (keyof typeof LOAD)[]) {
  onBothEngines(`SDK ${version} makes, lists, gets and ends tokens`, async (world) => {
    const { authentication } = (await openSdk(version, world)) as { authentication: Api }
    const { teamId } = world.credentials
    const body = { name: 'ci', expiresAt: Date.now() + DAY }
    const made = await authentication.createAuthToken!({ teamId, requestBody: body })
    assert.match(made.bearerToken, /^berth_/)
    assert.deepEqual([made.token.name, made.token.scopes[0].type], ['ci', 'team'])
    const listed = await authentication.listAuthTokens!()
    assert.deepEqual(
      listed.tokens.map((one: { name: string }) => one.name),
      ['ci', 'first token'],
    )
    const got = await authentication.getAuthToken!({ tokenId: made.token.id })
    assert.equal(got.token.id, made.token.id)
    assert.equal((await authentication.deleteAuthToken!({ tokenId: made.token.id })).tokenId, made.token.id)
  })
}
