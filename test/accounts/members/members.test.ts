/** Members of a team, who sees a project, and the settings of a team. */

import assert from 'node:assert/strict'
import { type Kysely, sql } from 'kysely'
import { up } from '../../../src/platform/db/migrations/0016-members.ts'
import { callWith } from '../../support/call.ts'
import { seedProject } from '../../support/projects.ts'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]
const ROLES = ['OWNER', 'MEMBER', 'DEVELOPER', 'VIEWER', 'BILLING']
type Listed = { username: string; role: string; uid: string }

function teamOf(world: World) {
  const { teamId } = world.credentials
  const path = `/v1/teams/${teamId}/members` as const
  return {
    path,
    roles: async () => {
      const { members } = (await world.call('GET', `${path}?limit=100`)).body
      return Object.fromEntries(members.map((one: Listed) => [one.username, one.role]))
    },
    /** A new user with this role in the team. */
    join: async (name: string, role: string) => {
      const user = await world.user(name)
      await world.join(user, role)
      return user
    },
  }
}

onBothEngines('members are added by email or id, listed, given another role and taken out', async (world) => {
  const { teamId, userId } = world.credentials
  const { path, roles } = teamOf(world)
  const [ada, bob] = [await world.user('ada'), await world.user('bob')]
  const added = await world.call('POST', path, { email: 'Ada@Example.com', role: 'DEVELOPER', projects: [] })
  const { inviteUrl, ...shown } = added.body
  assert.deepEqual(shown, { uid: ada.id, username: 'ada', email: 'ada@example.com', role: 'DEVELOPER' })
  const asViewer = await world.call('POST', `/v2/teams/team/members?teamId=${teamId}`, [{ email: 'bob@example.com' }])
  assert.deepEqual([asViewer.status, asViewer.body.role], [200, 'VIEWER'])
  for (const [call, url] of [
    [ada.call, inviteUrl],
    [bob.call, asViewer.body.inviteUrl],
  ] as const) {
    const joined = await call('POST', `${path}/teams/join`, { inviteCode: url.split('/').at(-1) })
    assert.deepEqual(joined.body, { teamId, slug: 'team', name: 'Team', from: 'mail' })
  }
  assert.deepEqual(await roles(), { admin: 'OWNER', ada: 'DEVELOPER', bob: 'VIEWER' })
  assert.equal((await ada.call('GET', `/v9/projects?teamId=${teamId}`)).status, 200)

  const { members, pagination } = (await bob.call('GET', `/v3/teams/${teamId}/members`)).body
  const { createdAt } = members[1]
  assert.deepEqual(members[1], {
    uid: ada.id,
    email: 'ada@example.com',
    username: 'ada',
    role: 'DEVELOPER',
    confirmed: true,
    createdAt,
  })
  assert.deepEqual(pagination, { count: 3, next: null, prev: null, hasNext: false })

  const body = { role: 'MEMBER', confirmed: true, projects: [] }
  assert.deepEqual((await world.call('PATCH', `${path}/${ada.id}`, body)).body, { id: teamId })
  assert.deepEqual((await world.call('PATCH', `${path}/${bob.id}`, {})).body, { id: teamId })
  assert.deepEqual(await roles(), { admin: 'OWNER', ada: 'MEMBER', bob: 'VIEWER' })
  assert.deepEqual((await world.call('GET', `${path}/${ada.id}/projects?limit=100`)).body.projects, [])
  assert.deepEqual((await world.call('DELETE', `/v2/teams/${teamId}/members/${ada.id}`)).body, { id: teamId })
  assert.deepEqual(said(await ada.call.try('GET', `/v9/projects?teamId=${teamId}`)), [403, 'forbidden'])
  assert.deepEqual(await roles(), { admin: 'OWNER', bob: 'VIEWER' })
  const [last] = (await world.operator('GET', '/operator/v1/audit?limit=1')).body.entries
  assert.deepEqual([last.type, last.actor.id, last.subjectId], ['removeTeamMember', userId, teamId])
})

onBothEngines('members are listed in pages and narrowed by role, text, ids and time', async (world) => {
  const { join, path } = teamOf(world)
  const made: Listed[] = []
  for (let at = 0; at < 12; at++) {
    const { id } = await join(`u${at}`, at % 2 ? 'VIEWER' : 'MEMBER')
    made.push({ uid: id, username: `u${at}`, role: '' })
  }
  await world.operator('PATCH', `/operator/v1/users/${made[3]!.uid}`, { name: '100% Grace' })
  const names = async (query: string) =>
    (await world.call('GET', `${path}?${query}`)).body.members.map((one: Listed) => one.username)
  const seen: string[] = []
  for (let until = ''; ; ) {
    const { members, pagination } = (await world.call('GET', `${path}?limit=5${until}`)).body
    assert.equal(pagination.hasNext, pagination.next !== null)
    seen.push(...members.map((one: Listed) => one.username))
    if (pagination.next === null) break
    until = `&until=${pagination.next}`
  }
  assert.deepEqual(seen, [...made.map((one) => one.username).reverse(), 'admin'])
  assert.deepEqual(await names('role=OWNER'), ['admin'])
  assert.deepEqual(await names('role=VIEWER&limit=2'), ['u11', 'u9'])
  assert.deepEqual(await names('search=U1'), ['u11', 'u10', 'u1'])
  assert.deepEqual(await names('search=10@example'), ['u10'])
  assert.deepEqual(await names('search=0%25%20gr'), ['u3'])
  assert.deepEqual(await names('search=%25_'), [])
  assert.deepEqual(await names(`limit=1&filterByUserIds=${made[4]!.uid}`), ['u4'])
  assert.deepEqual(await names(`filterByUserIds=${made[4]!.uid},${made[2]!.uid},usr_none`), ['u4', 'u2'])
  assert.deepEqual(await names('filterByUserIds=usr_none'), [])
  assert.deepEqual(await names(`since=${Date.now() + 1000}`), [])
  for (const query of ['role=GUEST', 'limit=0', 'limit=101', 'until=x']) {
    assert.deepEqual(said(await world.call.try('GET', `${path}?${query}`)), [400, 'bad_request'], query)
  }
})

onBothEngines('an invalid request is refused with a sentence, and nothing is written', async (world) => {
  const { path, join } = teamOf(world)
  const ada = await join('ada', 'MEMBER')
  const uid = (await world.user('bob')).id
  const before = await digest(world)
  const wrong: [Promise<ApiResponse>, number, string][] = [
    [world.call.try('POST', path, { email: 'nobody' }), 400, '`email`'],
    [world.call.try('POST', path, { uid: 'usr_none' }), 400, '"usr_none"'],
    [world.call.try('POST', path, { uid: world.credentials.teamId }), 400, world.credentials.teamId],
    [world.call.try('POST', path, {}), 400, '`email`'],
    [world.call.try('POST', path, { uid, email: 'bob@example.com' }), 400, '`uid`'],
    [world.call.try('POST', path, []), 400, 'body'],
    [world.call.try('POST', path, [{ uid }, { uid: ada.id }]), 400, 'body'],
    [world.call.try('POST', path, { uid, projects: [{ projectId: 'x', role: 'ADMIN' }] }), 400, '`projects`'],
    [world.call.try('POST', path, { uid, accessGroups: ['x'] }), 400, '`accessGroups`'],
    [world.call.try('POST', path, { uid: ada.id, role: 'OWNER' }), 409, 'member of the team already'],
    [world.call.try('PATCH', `${path}/${ada.id}`, { teamPermissions: ['CreateProject'] }), 400, '`teamPermissions`'],
    [world.call.try('PATCH', `${path}/${ada.id}`, { confirmed: false }), 400, '`confirmed`'],
    [world.call.try('PATCH', `${path}/${uid}`, { role: 'VIEWER' }), 404, uid],
    [world.call.try('PATCH', `${path}/${uid}`, {}), 404, uid],
    [world.call.try('DELETE', `${path}/${uid}`), 404, uid],
    [world.call.try('GET', `${path}/${uid}/projects`), 404, uid],
  ]
  for (const role of ['CONTRIBUTOR', 'SECURITY', 'VIEWER_FOR_PLUS', 'member', '']) {
    for (const asked of [
      world.call.try('POST', path, { uid, role }),
      world.call.try('PATCH', `${path}/${ada.id}`, { role }),
    ]) {
      wrong.push([asked, 400, ROLES.map((one) => `"${one}"`).join(', ')])
    }
  }
  for (const [asked, status, named] of wrong) {
    const answer = await asked
    assert.equal(answer.status, status, answer.text)
    assert.ok(answer.body.error.message.includes(named), answer.text)
  }
  assert.equal(await digest(world), before)
})

onBothEngines('only an OWNER changes who is in a team; all others may leave it', async (world) => {
  const { teamId } = world.credentials
  const { path, join, roles } = teamOf(world)
  const spare = await world.user('spare')
  const victim = await join('victim', 'VIEWER')
  for (const role of ['MEMBER', 'DEVELOPER', 'VIEWER', 'BILLING']) {
    const { id, call } = await join(role.toLowerCase(), role)
    // Without `teamId` the request acts for the personal account, of which each user is OWNER.
    for (const query of ['', `?teamId=${teamId}`, '?slug=team']) {
      for (const [method, url, body] of [
        ['POST', path, { uid: spare.id, role: 'OWNER' }],
        ['PATCH', `${path}/${id}`, { role: 'OWNER' }],
        ['PATCH', `${path}/${victim.id}`, { role: 'MEMBER' }],
        ['DELETE', `${path}/${victim.id}`, undefined],
        ['PATCH', `/v2/teams/${teamId}`, { name: 'Mine' }],
      ] as const) {
        const answer = await call.try(method, `${url}${query}`, body)
        assert.deepEqual(said(answer), [403, 'forbidden'], `${role} ${method} ${url}${query} ${answer.text}`)
      }
      assert.equal((await call('GET', `${path}${query}`)).status, 200)
    }
    assert.equal((await call('DELETE', `${path}/${id}`)).status, 200, role)
    assert.deepEqual(said(await call.try('GET', path)), [404, 'not_found'])
  }
  assert.deepEqual(await roles(), { admin: 'OWNER', victim: 'VIEWER' })
})

onBothEngines('the token of a team ends when its user leaves, and does not come back with the user', async (world) => {
  const { teamId } = world.credentials
  const { path, join } = teamOf(world)
  const ada = await join('ada', 'DEVELOPER')
  const made = await ada.call('POST', `/v3/user/tokens?teamId=${teamId}`, { name: 'ci' })
  const bound = world.as(made.body.bearerToken)
  const list = `/v9/projects?teamId=${teamId}` as const
  assert.equal((await bound('GET', list)).status, 200)
  assert.equal((await world.call('DELETE', `${path}/${ada.id}`)).status, 200)
  assert.equal((await bound.try('GET', list)).status, 401)
  await world.join(ada, 'VIEWER')
  assert.equal((await bound.try('GET', list)).status, 401)
  assert.equal((await ada.call('GET', list)).status, 200, 'what acts for more than the team stays')
})

onBothEngines('a team without the caller is 404, and a limited token manages no members', async (world) => {
  const { teamId, userId } = world.credentials
  const rival = await world.user('rival')
  const team = await world.operator('POST', '/operator/v1/teams', { slug: 'rivals', name: 'R', ownerId: rival.id })
  await seedProject(world, 'web', `?teamId=${teamId}`)
  await world.operator('POST', '/operator/v1/teams', { slug: 'second', name: 'S', ownerId: userId })
  const web = (await world.call('GET', `/v9/projects/web?teamId=${teamId}`)).body.id
  const narrow = [
    await world.token({ teamId, projectIds: [web] }),
    await world.token({ scopes: ['read-write:team', 'read-write:project'] }),
  ]
  const app = await seedIntegration(world, { scopes: ['read-write:team', 'read-write:project'] })
  const { access_token } = (await exchange(world, app, (await consentAndInstall(world, app)).code)).body
  const installed = callWith(world.as(access_token), `teamId=${teamId}`)
  const before = await digest(world)
  const asked = (named: string) =>
    [
      ['GET', `/v2/teams/${named}/members`, undefined],
      ['POST', `/v1/teams/${named}/members`, { uid: userId, role: 'OWNER' }],
      ['PATCH', `/v1/teams/${named}/members/${rival.id}`, { role: 'VIEWER' }],
      ['DELETE', `/v1/teams/${named}/members/${rival.id}`, undefined],
      ['GET', `/v1/teams/${named}/members/${rival.id}/projects`, undefined],
      ['PATCH', `/v2/teams/${named}`, { name: 'Mine' }],
    ] as const
  const unknown = asked('unknown')
  for (const named of ['rivals', team.body.id]) {
    for (const [at, [method, url, body]] of asked(named).entries()) {
      const [answer, nothing] = [
        await world.call.try(method, url, body),
        await world.call.try(method, unknown[at]![1], body),
      ]
      assert.deepEqual([answer.status, answer.text.replaceAll(named, 'unknown')], [404, nothing.text], url)
    }
  }
  for (const [method, url, body] of asked('team')) {
    assert.equal(
      (await world.call.try(method, `${url}?slug=second`, body)).status,
      404,
      'the request acts for another team',
    )
    if (method === 'GET') continue
    for (const call of [...narrow, installed]) {
      assert.deepEqual(said(await call.try(method, url, body)), [403, 'forbidden'], `${method} ${url}`)
    }
  }
  for (const call of narrow) {
    assert.deepEqual(said(await call.try('DELETE', `/v1/teams/team/members/${userId}`)), [403, 'forbidden'])
  }
  assert.equal((await installed('GET', '/v2/teams/team/members')).status, 200)
  assert.equal(await digest(world), before)
})

onBothEngines('the last OWNER neither leaves nor is demoted, for any caller', async (world) => {
  const { teamId, userId } = world.credentials
  const { path, join, roles } = teamOf(world)
  await join('ada', 'MEMBER')
  const operators = `/operator/v1/teams/${teamId}/members/${userId}` as const
  const before = await digest(world)
  for (const asked of [
    world.call.try('DELETE', `${path}/${userId}`),
    world.call.try('PATCH', `${path}/${userId}`, { role: 'MEMBER' }),
    world.operator.try('DELETE', operators),
    world.operator.try('PUT', operators, { role: 'MEMBER' }),
  ]) {
    const answer = await asked
    assert.deepEqual(said(answer), [409, 'conflict'])
    assert.match(answer.body.error.message, /without an OWNER/)
  }
  assert.equal(await digest(world), before)
  assert.equal((await world.operator('PUT', operators, { role: 'OWNER' })).status, 200)
  await join('eve', 'OWNER')
  assert.equal((await world.operator('PUT', operators, { role: 'MEMBER' })).status, 200)
  assert.deepEqual(await roles(), { admin: 'MEMBER', ada: 'MEMBER', eve: 'OWNER' })
})

onBothEngines(
  'two owners who remove or demote each other at once leave one OWNER, round after round',
  async (world) => {
    const { teamId } = world.credentials
    const ways: ((by: Call, of: string) => Promise<ApiResponse>)[] = [
      (by, of) => by.try('DELETE', `/v1/teams/${teamId}/members/${of}`),
      (by, of) => by.try('DELETE', `/v1/teams/${teamId}/members/${of}?teamId=${teamId}`),
      (by, of) => by.try('PATCH', `/v1/teams/${teamId}/members/${of}?teamId=${teamId}`, { role: 'MEMBER' }),
      (_, of) => world.operator.try('DELETE', `/operator/v1/teams/${teamId}/members/${of}`),
      (_, of) => world.operator.try('PUT', `/operator/v1/teams/${teamId}/members/${of}`, { role: 'BILLING' }),
    ]
    const put = (id: string, role: string) =>
      world.operator('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role })
    const [ada, bob] = [await world.user('ada'), await world.user('bob')]
    await put(ada.id, 'OWNER')
    await put(world.credentials.userId, 'VIEWER')
    for (let round = 0; round < 10; round++) {
      for (const id of [ada.id, bob.id]) await put(id, 'OWNER')
      const way = ways[round % ways.length]!
      const answers = await Promise.all([way(ada.call, bob.id), way(bob.call, ada.id)])
      const statuses = answers.map(({ status }) => status).sort()
      assert.ok(statuses[0]! < 300 && [403, 404, 409].includes(statuses[1]!), `${round}: ${statuses}`)
      const owners = (await world.call('GET', `/v2/teams/${teamId}/members?role=OWNER`)).body.members
      assert.equal(owners.length, 1, `round ${round}`)
    }
  },
)

onBothEngines('of ten simultaneous invitations of a user one is 200 and nine are refused', async (world) => {
  const { path } = teamOf(world)
  const { id: uid } = await world.user('ada')
  const add = () => world.call.try('POST', path, { uid, role: 'MEMBER' })
  const answers = await Promise.all(Array.from({ length: 10 }, add))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(409)])
})

onBothEngines(
  'installations of a user who leaves or is demoted are disabled, as when the operator does it',
  async (world) => {
    const { teamId } = world.credentials
    const { path, join } = teamOf(world)
    const ways: [string, (id: string, call: Call) => Promise<ApiResponse>, string][] = [
      ['left', (id, call) => call.try('DELETE', `${path}/${id}`), 'original-owner-left-the-team'],
      ['removed', (id) => world.call.try('DELETE', `${path}/${id}`), 'original-owner-left-the-team'],
      [
        'fallen',
        (id) => world.call.try('PATCH', `${path}/${id}`, { role: 'DEVELOPER' }),
        'original-owner-role-downgraded',
      ],
    ]
    for (const [name, end, reason] of ways) {
      const user = await join(name, 'OWNER')
      const app = await seedIntegration(world, { slug: name })
      const { installationId, code } = await consentAndInstall(world, app, { userId: user.id })
      const { access_token } = (await exchange(world, app, code)).body
      assert.equal((await world.call('PATCH', `${path}/${user.id}`, { role: 'MEMBER' })).status, 200)
      const ask = () => world.as(access_token).try('GET', `/v9/projects?teamId=${teamId}`)
      assert.equal((await ask()).status, 200, 'a MEMBER may go on')
      assert.equal((await end(user.id, user.call)).status, 200)
      assert.deepEqual(said(await ask()), [403, 'integration_configuration_disabled'])
      const shown = await world.call('GET', `/v1/integrations/configuration/${installationId}?teamId=${teamId}`)
      assert.equal(shown.body.disabledReason, reason)
    }
  },
)

onBothEngines('the users who see a project are listed with the role that they have there', async (world) => {
  const { teamId, userId } = world.credentials
  const { join } = teamOf(world)
  for (const role of ROLES.slice(1)) await join(role.toLowerCase(), role)
  await seedProject(world, 'web', `?teamId=${teamId}`)
  await seedProject(world, 'mine')
  const list = async (project: string, query = '') =>
    (await world.call('GET', `/v1/projects/${project}/members${query}`)).body
  const { members, pagination } = await list('web', `?teamId=${teamId}`)
  assert.deepEqual(
    members.map((one) => [one.username, one.role, one.computedProjectRole, one.teamRole]),
    [
      ['viewer', 'PROJECT_VIEWER', 'PROJECT_VIEWER', 'VIEWER'],
      ['developer', 'PROJECT_DEVELOPER', 'PROJECT_DEVELOPER', 'DEVELOPER'],
      ['member', 'ADMIN', 'ADMIN', 'MEMBER'],
      ['admin', 'ADMIN', 'ADMIN', 'OWNER'],
    ],
  )
  assert.deepEqual(pagination, { count: 4, next: null, prev: null, hasNext: false })
  const part = await list('web', `?teamId=${teamId}&limit=1&search=e`)
  assert.deepEqual([part.members[0].username, part.pagination.hasNext], ['viewer', true])
  const own = await list('mine')
  assert.deepEqual([own.members.length, own.members[0].uid, own.pagination.count], [1, userId, 1])
  const refused = await world.call.try('POST', '/v1/projects/mine/members', { uid: userId, role: 'ADMIN' })
  assert.deepEqual([refused.status, refused.headers.allow], [405, 'GET, HEAD'])
  assert.equal((await world.call.try('DELETE', `/v1/projects/mine/members/${userId}`)).status, 404)
})

onBothEngines('the settings of a team are changed by an OWNER, and what Berth has not is refused', async (world) => {
  const { teamId } = world.credentials
  const path = `/v2/teams/${teamId}` as const
  const first = (await world.call('GET', path)).body
  assert.deepEqual(
    [first.description, first.sensitiveEnvironmentVariablePolicy, first.hideIpAddresses, first.remoteCaching],
    [null, null, false, undefined],
  )
  const wanted = {
    name: 'Acme',
    slug: 'acme',
    description: 'We make everything',
    sensitiveEnvironmentVariablePolicy: 'default',
    previewDeploymentSuffix: 'preview.example.com',
    enablePreviewFeedback: 'off',
    remoteCaching: { enabled: true },
  }
  const changed = await world.call('PATCH', path, { ...wanted, hideIpAddresses: false, emailDomain: null })
  assert.deepEqual(changed.body, { ...first, ...wanted })
  const more = { enableProductionFeedback: 'on', description: '' }
  assert.deepEqual((await world.call('PATCH', '/teams/acme', more)).body, {
    ...changed.body,
    ...more,
    description: null,
  })
  assert.equal((await world.call('GET', '/v9/projects?slug=acme')).status, 200)
  assert.equal((await world.call.try('GET', '/v9/projects?slug=team')).status, 403)
  await world.user('ada')
  const before = await digest(world)
  const wrong: [object, number, string][] = [
    [{ slug: 'ada' }, 409, '"ada"'],
    [{ slug: 'Not A Slug' }, 400, '`slug`'],
    [{ name: '' }, 400, '`name`'],
    [{ sensitiveEnvironmentVariablePolicy: 'maybe' }, 400, '"on", "off", "default"'],
    [{ saml: { enforced: true } }, 400, '`saml`'],
    [{ hideIpAddresses: true }, 400, '`hideIpAddresses`'],
    [{ emailDomain: 'example.com' }, 400, '`emailDomain`'],
    [{ regenerateInviteCode: true }, 400, '`regenerateInviteCode`'],
    [{ avatar: 'abc' }, 400, '`avatar`'],
  ]
  for (const [body, status, named] of wrong) {
    const answer = await world.call.try('PATCH', path, { name: 'No', ...body })
    assert.equal(answer.status, status, answer.text)
    assert.ok(answer.body.error.message.includes(named), answer.text)
  }
  assert.equal(await digest(world), before)
})

onBothEngines('where a team sets so, new variables of production and preview are sensitive', async (world) => {
  const { teamId } = world.credentials
  const query = `?teamId=${teamId}`
  const policy = async (sensitiveEnvironmentVariablePolicy: string) => {
    const answer = await world.call('PATCH', `/v2/teams/${teamId}`, { sensitiveEnvironmentVariablePolicy })
    assert.equal(answer.body.sensitiveEnvironmentVariablePolicy, sensitiveEnvironmentVariablePolicy)
  }
  await seedProject(world, 'web', query)
  await seedProject(world, 'mine')
  const env = '/v10/projects/web/env'
  const create = (key: string, more: object, where = query) =>
    world.call.try('POST', `${env}${where}`, {
      key,
      value: `value of ${key}`,
      type: 'encrypted',
      target: ['production'],
      ...more,
    })
  const old = (await create('OLD', {})).body.created
  const plain = (await create('PLAIN', { type: 'plain' })).body.created
  const mixed = (await create('MIXED', { target: ['production', 'development'] })).body.created

  await policy('on')
  for (const [key, type, target] of [
    ['A', 'encrypted', 'production'],
    ['B', 'plain', 'preview'],
    ['C', undefined, 'preview'],
    ['D', 'secret', 'production'],
  ] as const) {
    const { created } = (await create(key, { type, target })).body
    assert.deepEqual([created.type, created.value], ['sensitive', ''], key)
  }
  assert.equal((await create('DEV', { target: ['development'] })).body.created.type, 'encrypted')
  const system = { type: 'system', value: 'VERCEL_URL' }
  assert.equal((await create('SYS', system)).body.created.type, 'system')
  const both = await create('BOTH', { target: ['production', 'development'] })
  assert.deepEqual(said(both), [400, 'bad_request'])
  assert.match(both.body.error.message, /the team makes all of production and preview so/)

  const edit = async (id: string, body: object) => (await world.call.try('PATCH', `${env}/${id}${query}`, body)).body
  assert.equal((await edit(old.id, { comment: 'kept' })).type, 'encrypted', 'a comment writes no value')
  assert.equal((await edit(old.id, { value: 'new', type: 'encrypted' })).type, 'sensitive')
  assert.equal((await edit(plain.id, { target: ['preview'] })).type, 'sensitive')
  assert.equal((await edit(mixed.id, { value: 'new' })).error.code, 'bad_request')
  assert.equal((await edit(mixed.id, { comment: 'kept' })).type, 'encrypted')
  await policy('off')
  const dev = (await create('UPSERTED', {})).body.created
  await policy('on')
  const upserted = await create('UPSERTED', { type: undefined }, `${query}&upsert=true`)
  assert.deepEqual([upserted.body.created.id, upserted.body.created.type], [dev.id, 'sensitive'])

  const text = new Blob(['FILE=1'], { type: 'text/plain' })
  assert.equal((await world.call('PUT', `/v1/projects/web/env${query}&target=preview`, text)).status, 200)
  const made = await world.call('POST', `/v10/projects${query}`, {
    name: 'born',
    environmentVariables: [{ key: 'BORN', value: 'x', target: 'production', type: 'plain' }],
  })
  assert.equal(made.body.env[0].type, 'sensitive')
  const listed = (await world.call('GET', `/v9/projects/web/env${query}&decrypt=true`)).body.envs
  const clear = listed.filter((one: { value: string }) => one.value !== '').map((one: { key: string }) => one.key)
  assert.deepEqual(clear.sort(), ['DEV', 'MIXED', 'SYS'])

  const restored = await world.call('POST', `/v1/projects/web/env/${plain.id}/history/1/restore${query}`)
  assert.equal(restored.body.type, 'sensitive')
  const own = { key: 'OWN', value: 'v', type: 'plain', target: ['production'] }
  assert.equal((await world.call('POST', '/v10/projects/mine/env', own)).body.created.type, 'plain', 'another account')
  for (const off of ['off', 'default']) {
    await policy(off)
    assert.equal((await create(`AFTER_${off}`, {})).body.created.type, 'encrypted')
  }
})

/** The SDKs know no link in the answer. */
async function inviteAgain(world: World, uid: string) {
  const path = `/v1/teams/${world.credentials.teamId}/members` as const
  assert.equal((await world.call('DELETE', `${path}/${uid}`)).status, 200)
  return world.call('POST', path, { uid, role: 'DEVELOPER' })
}

// biome-ignore lint/suspicious/noExplicitAny: three versions of one client, whose types differ
type Api = Record<string, (request?: object) => Promise<any>>

const LOAD = {
  '1.1.0': () => import('sdk-1.1.0'),
  '1.6.3': () => import('sdk-1.6.3'),
  '1.28.35': () => import('sdk-1.28.35'),
}

for (const [version, load] of Object.entries(LOAD)) {
  onBothEngines(`SDK ${version} reads and changes teams, their members and who sees a project`, async (world) => {
    const { Vercel } = await load()
    const opened = { bearerToken: world.credentials.token, serverURL: await world.listen() }
    const { teams, projectMembers } = new Vercel(opened) as unknown as { teams: Api; projectMembers: Api }
    const { teamId } = world.credentials
    const ada = await world.user('ada')
    const uid = ada.id
    const invitation = { email: 'ada@example.com', role: 'DEVELOPER' }
    const requestBody = version === '1.28.35' ? [invitation] : invitation
    const invited = await teams.inviteUserToTeam!({ teamId, requestBody })
    assert.deepEqual([invited.uid, invited.role], [uid, 'DEVELOPER'])
    const { inviteUrl } = (await inviteAgain(world, uid)).body
    const requestBodyOfJoin = { inviteCode: inviteUrl.split('/').at(-1) }
    const own = new Vercel({ ...opened, bearerToken: ada.token }) as unknown as { teams: Api }
    const joined = await own.teams.joinTeam!({ teamId, requestBody: requestBodyOfJoin })
    assert.deepEqual([joined.teamId, joined.slug], [teamId, 'team'])
    assert.equal((await teams.updateTeamMember!({ teamId, uid, requestBody: { role: 'MEMBER' } })).id, teamId)
    // 1.6.3 leaves the team out of the path of its list: no server can answer that.
    if (version !== '1.6.3') {
      const { members, pagination } = await teams.getTeamMembers!({ teamId, limit: 10 })
      assert.deepEqual(
        members.map((one: Listed) => [one.username, one.role]),
        [
          ['ada', 'MEMBER'],
          ['admin', 'OWNER'],
        ],
      )
      assert.equal(pagination.hasNext, false)
    }
    await seedProject(world, 'web', `?teamId=${teamId}`)
    const seen = await projectMembers.getProjectMembers!({ idOrName: 'web', teamId })
    // The older two read the answer as an object of nothing, whatever is in it.
    if (version === '1.28.35') {
      assert.deepEqual([seen.members.length, seen.members[0].computedProjectRole], [2, 'ADMIN'])
    }
    assert.equal((await teams.removeTeamMember!({ teamId, uid })).id, teamId)
    const patched = { description: 'SDK', sensitiveEnvironmentVariablePolicy: 'on' }
    await teams.patchTeam!({ teamId, requestBody: patched })
    const team = (await world.call('GET', `/v2/teams/${teamId}`)).body
    assert.deepEqual([team.description, team.sensitiveEnvironmentVariablePolicy], ['SDK', 'on'])
    await teams.getTeam!({ teamId })
  })
}

onBothEngines(
  'the calls of Terraform for a member of a team go through and read back what was asked',
  async (world) => {
    const { teamId } = world.credentials
    const { id } = await world.user('ada')
    const read = async () => {
      const url = `/v2/teams/${teamId}/members?limit=1&filterByUserIds=${id}` as const
      const [member] = (await world.call('GET', url)).body.members
      if (member?.role === 'DEVELOPER') {
        const more = await world.call('GET', `/v1/teams/${teamId}/members/${id}/projects?limit=100`)
        assert.deepEqual([more.status, more.body.projects], [200, []])
      }
      return member && [member.uid, member.role, member.confirmed]
    }
    assert.equal((await world.call('POST', `/v1/teams/${teamId}/members`, { uid: id, role: 'MEMBER' })).status, 200)
    assert.deepEqual(await read(), [id, 'MEMBER', false])
    assert.equal((await world.call('PATCH', `/v1/teams/${teamId}/members/${id}`, { role: 'DEVELOPER' })).status, 200)
    assert.deepEqual(await read(), [id, 'DEVELOPER', false])
    assert.equal((await world.call('DELETE', `/v2/teams/${teamId}/members/${id}`, '')).status, 200)
    assert.equal(await read(), undefined)
  },
)

onBothEngines('members of an older store keep when they came, each at a stamp of its own', async ({ deps }) => {
  const members = [
    ['team_a', 'usr_b', 1_700_000_000_000],
    ['team_a', 'usr_a', 1_700_000_000_000],
    ['team_a', 'usr_c', 1_600_000_000_000],
    ['team_b', 'usr_a', 1_700_000_000_000],
  ] as const
  const rows = await deps.db.write(async (tx) => {
    // Back to what the migration finds.
    await sql`drop index member_stamp`.execute(tx)
    for (const column of ['description', 'sensitive_env_policy', 'settings_json']) {
      await tx.schema.alterTable('account').dropColumn(column).execute()
    }
    await tx.schema.alterTable('member').dropColumn('created_stamp').execute()
    await sql`delete from member`.execute(tx)
    await sql`alter table member add column created_at bigint not null default 0`.execute(tx)
    for (const [team, user, at] of members) {
      await sql`insert into member (team_id, user_id, role, created_at) values (${team}, ${user}, 'MEMBER', ${at})`.execute(
        tx,
      )
    }
    await up(tx as unknown as Kysely<unknown>)
    return tx.selectFrom('member').select(['team_id', 'user_id', 'created_stamp']).execute()
  })
  const stamps = Object.fromEntries(rows.map((row) => [`${row.team_id} ${row.user_id}`, row.created_stamp]))
  assert.deepEqual(stamps, {
    'team_a usr_a': 1_700_000_000_000 * 1024,
    'team_a usr_b': 1_700_000_000_000 * 1024 + 1,
    'team_a usr_c': 1_600_000_000_000 * 1024,
    'team_b usr_a': 1_700_000_000_000 * 1024,
  })
})
