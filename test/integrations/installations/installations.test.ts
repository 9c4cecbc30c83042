/** Installations: listed, shown, given projects and taken them, and removed. docs/spec/wire.md 6; docs/integrations.md: The projects of an installation. */

import assert from 'node:assert/strict'
import { isAmong } from '../../../src/platform/db/bulk.ts'
import { withQuery } from '../../support/call.ts'
import { seedProject } from '../../support/projects.ts'
import { addRows } from '../../support/states.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]
const LIST = '/v1/integrations/configurations'
const ONE = '/v1/integrations/configuration'
const EVERYTHING = [
  'read-write:project',
  'read-write:domain',
  'read-write:integration-configuration',
  'read-write:global-project-env-vars',
  'read:deployment',
]

onBothEngines('a configuration is what clients decode, with the integration and its pending changes', async (world) => {
  const { userId, teamId } = world.credentials
  const project = await seedProject(world, 'web', `?teamId=${teamId}`)
  const app = await seedIntegration(world, { logoUrl: 'https://logo.example.com/a.svg' })
  const { installationId } = await consentAndInstall(world, app, { projects: [project] })
  const at = <const U extends string>(path: U) => withQuery(path, `teamId=${teamId}`)
  const one = (await world.call('GET', at(`${ONE}/${installationId}`))).body
  const { createdAt, updatedAt, ...shown } = one
  assert.deepEqual(shown, {
    id: installationId,
    type: 'integration-configuration',
    integrationId: app.id,
    ownerId: teamId,
    slug: 'helper',
    userId,
    teamId,
    scopes: ['read-write:project', 'read-write:project-env-vars'],
    projects: [project],
    projectSelection: 'selected',
    source: 'external',
    installationType: 'external',
    pendingScopes: [],
    integration: {
      name: 'Helper',
      icon: 'https://logo.example.com/a.svg',
      category: 'other',
      isLegacy: false,
      slug: 'helper',
    },
  })
  assert.ok(createdAt > 0 && updatedAt >= createdAt)
  assert.deepEqual((await world.call('GET', at(`${LIST}?view=account`))).body, [one])
  const personal = (await consentAndInstall(world, app, { teamId: undefined })).installationId
  assert.notEqual(personal, installationId, 'one installation an account')
  const mine = (await world.call('GET', LIST)).body
  assert.deepEqual(
    [mine.length, mine[0].id, mine[0].teamId, mine[0].projectSelection, 'projects' in mine[0]],
    [1, personal, null, 'all', false],
  )
  for (const [query, count] of [
    ['view=project', 1],
    ['installationType=marketplace', 0],
    ['installationType=external', 1],
    ['integrationIdOrSlug=helper', 1],
    [`integrationIdOrSlug=${app.id}`, 1],
    ['integrationIdOrSlug=other', 0],
  ] as const) {
    assert.equal((await world.call('GET', at(`${LIST}?${query}`))).body.length, count, query)
  }
  assert.deepEqual(said(await world.call.try('GET', at(`${LIST}?view=all`))), [400, 'bad_request'])
})

for (const [version, open] of [
  ['1.1.0', () => import('sdk-1.1.0')],
  ['1.6.3', () => import('sdk-1.6.3')],
  ['1.28.35', () => import('sdk-1.28.35')],
] as const) {
  onBothEngines(`SDK ${version} lists, reads and removes installations`, async (world) => {
    const { teamId } = world.credentials
    const { installationId } = await seedInstallation(world)
    const { Vercel } = await open()
    const sdk = new Vercel({ bearerToken: world.credentials.token, serverURL: await world.listen() })
    const list = (await sdk.integrations.getConfigurations({ view: 'account', teamId } as never)) as { id: string }[]
    assert.deepEqual(
      list.map((one) => one.id),
      [installationId],
    )
    const one = (await sdk.integrations.getConfiguration({ id: installationId, teamId })) as {
      id: string
      scopes: string[]
    }
    assert.deepEqual([one.id, one.scopes.length], [installationId, 2])
    await sdk.integrations.deleteConfiguration({ id: installationId, teamId })
    assert.deepEqual((await world.call('GET', `${LIST}?teamId=${teamId}`)).body, [])
  })
}

onBothEngines(
  'an installation sees itself and no other; uninstalling ends its token and what it made',
  async (world) => {
    const { teamId } = world.credentials
    const at = <const U extends string>(path: U) => withQuery(path, `teamId=${teamId}`)
    await seedProject(world, 'web', `?teamId=${teamId}`)
    const [first, second] = [
      await seedInstallation(world, { slug: 'first', scopes: EVERYTHING }),
      await seedInstallation(world, { slug: 'second', scopes: EVERYTHING }),
    ]
    assert.deepEqual(
      (await first.call('GET', at(LIST))).body.map((one: { id: string }) => one.id),
      [first.installationId],
    )
    const foreign = await first.call.try('GET', at(`${ONE}/${second.installationId}`))
    const unknown = await first.call.try('GET', at(`${ONE}/icfg_unknown`))
    assert.deepEqual([foreign.status, foreign.text.replace(second.installationId, 'icfg_unknown')], [404, unknown.text])
    assert.deepEqual(said(await first.call.try('DELETE', at(`${ONE}/${second.installationId}`))), [404, 'not_found'])
    const web = `/project/web` as const
    assert.deepEqual(said(await first.call.try('GET', at(`${ONE}/${second.installationId}${web}`))), [404, 'not_found'])
    assert.deepEqual(
      said(await first.call.try('POST', at(`${ONE}/${first.installationId}${web}`), { allowed: true })),
      [403, 'forbidden'],
    )
    const made = await first.call('POST', at('/v10/projects/web/env'), {
      key: 'MADE',
      value: 'x',
      type: 'plain',
      target: ['preview'],
    })
    assert.equal(made.status, 201)
    const again = (await consentAndInstall(world, first.app)).installationId
    assert.equal(again, first.installationId)
    assert.equal((await first.call('DELETE', at(`${ONE}/${first.installationId}`))).status, 204)
    assert.deepEqual(said(await first.call.try('GET', at(LIST))), [401, 'forbidden'])
    assert.equal((await second.call('GET', at(LIST))).status, 200)
    assert.deepEqual((await world.call('GET', at('/v9/projects/web/env'))).body.envs, [])
    assert.deepEqual(said(await world.call.try('GET', at(`${ONE}/${first.installationId}`))), [404, 'not_found'])
    const events = await world.deps.db.read
      .selectFrom('event')
      .selectAll()
      .where('type', '=', 'integration-configuration.removed')
      .execute()
    assert.deepEqual(
      events.map((event) => event.configuration_id),
      [first.installationId],
    )
  },
)

onBothEngines('users of another account find no installation; members read, owners write', async (world) => {
  const { teamId } = world.credentials
  const { installationId } = await seedInstallation(world)
  const other = await world.user('other')
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/project/x'],
    ['POST', '/project/x'],
  ] as const) {
    const body = method === 'POST' ? { allowed: true } : undefined
    assert.deepEqual(said(await other.call.try(method, `${ONE}/${installationId}${path}`, body)), [404, 'not_found'])
    assert.deepEqual(
      said(await world.call.try(method, `${ONE}/${installationId}${path}`, body)),
      [404, 'not_found'],
      'the personal account of its owner is another account',
    )
  }
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${other.id}`, { role: 'MEMBER' })
  assert.equal((await other.call('GET', `${LIST}?teamId=${teamId}`)).body.length, 1)
  assert.deepEqual(said(await other.call.try('DELETE', `${ONE}/${installationId}?teamId=${teamId}`)), [
    403,
    'forbidden',
  ])
})

/** What an installation sees of the projects of its team, by every way to look. */
async function seenBy(world: World, { call }: { call: World['call'] }): Promise<string[]> {
  const { teamId } = world.credentials
  const { projects } = (await call('GET', `/v9/projects?teamId=${teamId}`)).body
  const listed = projects.map((one: { name: string }) => one.name).sort()
  for (const name of ['one', 'two', 'three']) {
    const answers = await Promise.all([
      call.try('GET', `/v9/projects/${name}?teamId=${teamId}`),
      call.try('GET', `/v9/projects/${name}/domains?teamId=${teamId}`),
      call.try('GET', `/v9/projects/${name}/env?teamId=${teamId}`),
      call.try('GET', `/v1/projects/${name}/promote/aliases?teamId=${teamId}`),
      call.try('PATCH', `/v9/projects/${name}?teamId=${teamId}`, { devCommand: 'run' }),
    ])
    const expected = listed.includes(name) ? 200 : 404
    assert.deepEqual(
      answers.map((answer) => answer.status),
      Array(5).fill(expected),
      name,
    )
  }
  for (const [url, field] of [
    ['/v1/domains/example.com/project-domains', 'projectDomains'],
    ['/v6/deployments', 'deployments'],
    ['/v4/aliases', 'aliases'],
  ] as const) {
    const answer = await call('GET', withQuery(url, `teamId=${teamId}`))
    assert.equal(answer.status, 200, answer.text)
    const rows = (answer.body as unknown as Record<string, unknown[]>)[field]!
    assert.ok(rows.length <= listed.length, url)
    if (listed.length === 0) assert.deepEqual(rows, [], url)
  }
  return listed
}

onBothEngines('an installation sees the projects that it was given, as they are given and taken', async (world) => {
  const { teamId } = world.credentials
  const team = `?teamId=${teamId}`
  const [one, two] = [await seedProject(world, 'one', team), await seedProject(world, 'two', team)]
  await seedProject(world, 'three', team)
  for (const name of ['one', 'two', 'three']) {
    const added = await world.call('POST', `/v10/projects/${name}/domains${team}`, { name: `${name}.example.com` })
    assert.equal(added.status, 200)
  }
  const installed = await seedInstallation(world, { scopes: EVERYTHING }, { projects: [one] })
  const access = `${ONE}/${installed.installationId}/project` as const
  const allow = async (project: string, allowed: boolean) => {
    const answer = await world.call('POST', `${access}/${project}${team}`, { allowed })
    assert.deepEqual([answer.status, answer.body], [200, { allowed }])
    assert.deepEqual((await world.call('GET', `${access}/${project}${team}`)).body, { allowed })
  }
  assert.deepEqual(await seenBy(world, installed), ['one'])
  assert.deepEqual((await world.call('GET', `${access}/two${team}`)).body, { allowed: false })
  assert.deepEqual(said(await installed.call.try('GET', `${access}/two${team}`)), [404, 'not_found'])
  await allow('two', true)
  await allow(two, true)
  assert.deepEqual(await seenBy(world, installed), ['one', 'two'])
  await allow(one, false)
  assert.deepEqual(await seenBy(world, installed), ['two'])
  assert.equal((await world.call('DELETE', `/v9/projects/two${team}`)).status, 204)
  assert.deepEqual(await seenBy(world, installed), [], 'an empty selection sees nothing')
  assert.deepEqual((await world.call('GET', `${ONE}/${installed.installationId}${team}`)).body.projects, [])
  const made = await installed.call('POST', `/v10/projects${team}`, { name: 'two' })
  assert.equal(made.status, 200, made.text)
  assert.deepEqual(await seenBy(world, installed), ['two'], 'what it creates joins')
  await allow('one', true)
  await consentAndInstall(world, installed.app, { projects: 'all' })
  assert.deepEqual(await seenBy(world, installed), ['one', 'three', 'two'])
  await allow('three', true)
  await allow('three', false)
  assert.deepEqual(await seenBy(world, installed), ['one', 'two'], 'of all, all others are left')
  const later = await seedProject(world, 'later', team)
  assert.deepEqual(said(await installed.call.try('GET', `/v9/projects/${later}${team}`)), [404, 'not_found'])
  const events = await world.deps.db.read
    .selectFrom('event')
    .select('payload_json')
    .where('type', '=', 'integration-configuration.permission-upgraded')
    .orderBy('stamp')
    .execute()
  const told = events.map(({ payload_json }) => JSON.parse(payload_json))
  assert.deepEqual(
    told.map(({ projects }) => [projects.added.length, projects.removed.length]),
    [
      [1, 0],
      [0, 1],
      [1, 0],
      [0, 1],
    ],
    'an unchanged state sends no event',
  )
  assert.deepEqual(told[0].projects.added, [two])
  assert.deepEqual(told[0].configuration.projects.sort(), [one, two].sort())
})

onBothEngines('a selection has more projects than a statement binds, and every list knows it', async (world) => {
  const { teamId } = world.credentials
  const team = `?teamId=${teamId}`
  const one = await seedProject(world, 'one', team)
  await seedProject(world, 'two', team)
  for (const name of ['one', 'two']) {
    const added = await world.call('POST', `/v10/projects/${name}/domains${team}`, { name: `${name}.example.com` })
    assert.equal(added.status, 200, added.text)
  }
  const installed = await seedInstallation(world, { scopes: EVERYTHING }, { projects: [one] })
  // SQLite binds 32,766 values. To read as many on PostgreSQL takes a test long, so the condition alone has them there.
  const { engine, read } = world.deps.db
  const rows = Array.from({ length: engine === 'sqlite' ? 33_000 : 1100 }, (_, at) => ({
    configuration_id: installed.installationId,
    project_id: `prj_${at}`,
  }))
  await addRows(world, 'configuration_project', rows)
  const many = [...Array.from({ length: 66_000 }, (_, at) => `prj_${at}`), one]
  const found = await read
    .selectFrom('project')
    .select('name')
    .where(isAmong(read, 'id', many))
    .execute()
  assert.deepEqual(
    found.map(({ name }) => name),
    ['one'],
  )
  assert.deepEqual(await seenBy(world, installed), ['one'])
  const others = [
    '/v9/projects?search=o',
    '/v6/deployments?',
    '/v4/aliases?',
    '/v5/domains?',
    '/v5/domains/example.com?',
    '/v1/domains/example.com/project-domains?',
  ] as const
  for (const path of others) {
    const answer = await installed.call.try('GET', `${path}&teamId=${teamId}`)
    assert.equal(answer.status, 200, `${path} ${answer.text}`)
    assert.doesNotMatch(answer.text, /two/, path)
  }
  const removed = await installed.call.try('DELETE', `/v6/domains/example.com${team}`)
  assert.equal(removed.status, 200, removed.text)
  assert.equal((await world.call('GET', `/v9/projects/two/domains/two.example.com${team}`)).status, 200)
})

onBothEngines('projects that an installation makes at once all join its selection', async (world) => {
  const { teamId } = world.credentials
  const first = await seedProject(world, 'first', `?teamId=${teamId}`)
  const installed = await seedInstallation(world, {}, { projects: [first] })
  const names = Array.from({ length: 20 }, (_, at) => `made-${at}`)
  const answers = await Promise.all(
    names.map((name) => installed.call.try('POST', `/v10/projects?teamId=${teamId}`, { name })),
  )
  assert.deepEqual(
    answers.map((answer) => answer.status),
    Array(20).fill(200),
  )
  const { projects } = (await installed.call('GET', `/v9/projects?teamId=${teamId}&limit=100`)).body
  assert.equal(projects.length, 21)
})

onBothEngines('a consent that is given again no longer says why the installation was disabled', async (world) => {
  const { teamId, userId } = world.credentials
  const app = await seedIntegration(world)
  const { id } = await world.user('grace')
  const role = (role: string) => world.operator.try('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role })
  await role('OWNER')
  const { installationId } = await consentAndInstall(world, app, { userId: id })
  await role('VIEWER')
  const one = `${ONE}/${installationId}?teamId=${teamId}` as const
  const disabled = (await world.call('GET', one)).body
  assert.deepEqual([disabled.disabledReason, disabled.disabledAt > 0], ['original-owner-role-downgraded', true])
  assert.equal((await consentAndInstall(world, app, { userId })).installationId, installationId)
  const renewed = await world.call('GET', one)
  assert.deepEqual([renewed.status, renewed.body.userId], [200, userId])
  for (const field of ['disabledReason', 'disabledAt']) assert.equal(field in renewed.body, false, field)
})
