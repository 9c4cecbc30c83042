/** Custom environments: what they may be, who may change them, what many at once leave, and the clients that ask for them. */
import assert from 'node:assert/strict'
import { Vercel as Oldest } from 'sdk-1.1.0'
import { Vercel as Middle } from 'sdk-1.6.3'
import { Vercel as Newest } from 'sdk-1.28.35'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'
import { seedTransferAccounts } from '../../support/worlds/transfer-world.ts'

const URL = '/v9/projects/web/custom-environments'
const MATCHER = { type: 'startsWith', pattern: 'release/' }

async function web({ call }: { call: Call }): Promise<string> {
  const made = await call('POST', '/v10/projects', { name: 'web' })
  assert.equal(made.status, 200, made.text)
  return made.body.id
}

async function create(call: Call, body: object, query = ''): Promise<string> {
  const made = await call('POST', `${URL}${query}`, body)
  assert.equal(made.status, 201, made.text)
  return made.body.id
}

const told = ({ status, body }: ApiResponse) => [status, body.error?.code]
const slugs = (environments: { slug: string }[]) => environments.map(({ slug }) => slug)

onBothEngines('an environment is created, listed, read by slug and id, changed and removed', async (world) => {
  const projectId = await web(world)
  assert.deepEqual((await world.call('GET', URL)).body, { environments: [], accountLimit: { total: 12 } })
  const made = await world.call('POST', URL, {
    slug: 'staging',
    description: 'before it is live',
    branchMatcher: MATCHER,
  })
  const { id, createdAt, updatedAt, ...rest } = made.body
  assert.equal(made.status, 201)
  assert.match(id, /^env_[A-Za-z0-9]{28}$/)
  assert.ok(createdAt > 0 && updatedAt === createdAt)
  assert.deepEqual(rest, {
    slug: 'staging',
    name: 'staging',
    type: 'preview',
    description: 'before it is live',
    branchMatcher: MATCHER,
  })
  await create(world.call, { slug: 'qa', description: null, branchMatcher: null, copyEnvVarsFrom: null })
  const list = (await world.call('GET', `/projects/${projectId}/custom-environments`)).body
  assert.deepEqual(slugs(list.environments), ['staging', 'qa'])
  assert.deepEqual(list.environments[0], made.body)
  assert.deepEqual(Object.keys(list.environments[1]).sort(), ['createdAt', 'id', 'name', 'slug', 'type', 'updatedAt'])
  for (const said of ['staging', id]) {
    for (const version of ['', '/v1', '/v9']) {
      assert.deepEqual((await world.call('GET', `${version}/projects/web/custom-environments/${said}`)).body, made.body)
    }
  }
  // As Terraform asks: everything each time, and null clears.
  const changed = await world.call('PATCH', `${URL}/staging`, { slug: 'stage', description: '', branchMatcher: null })
  assert.deepEqual(
    [changed.status, changed.body.id, changed.body.slug, changed.body.createdAt, Object.keys(changed.body).length],
    [200, id, 'stage', createdAt, 6],
  )
  assert.deepEqual((await world.call('PATCH', `${URL}/${id}`, { branchMatcher: MATCHER })).body.branchMatcher, MATCHER)
  assert.deepEqual(told(await world.call.try('GET', `${URL}/staging`)), [404, 'not_found'])
  for (const { body } of [
    await world.call.try('GET', '/v9/projects/web'),
    await world.call.try('PATCH', '/v9/projects/web', {}),
  ]) {
    assert.deepEqual(slugs(body.customEnvironments), ['stage', 'qa'])
  }
  assert.deepEqual(slugs((await world.call('GET', '/v9/projects')).body.projects[0].customEnvironments), [
    'stage',
    'qa',
  ])

  const gone = await world.call('DELETE', `${URL}/stage`)
  assert.deepEqual([gone.status, gone.body.id, gone.body.slug], [200, id, 'stage'])
  assert.deepEqual(told(await world.call.try('DELETE', `${URL}/${id}`, {})), [404, 'not_found'])
  assert.equal((await world.call('DELETE', `${URL}/qa`, { deleteUnassignedEnvironmentVariables: true })).status, 200)
  assert.deepEqual((await world.call('GET', '/v9/projects/web')).body.customEnvironments, [])
})

onBothEngines('an invalid environment is 400 or 409, and nothing is written', async (world) => {
  await web(world)
  await create(world.call, { slug: 'staging' })
  await create(world.call, { slug: 'qa' })
  const before = (await world.call('GET', '/v9/projects/web')).text
  const slugged = [
    '',
    ' ',
    'Staging',
    'a_b',
    'a.b',
    '-a',
    'ä',
    'a'.repeat(33),
    'env_1',
    'production',
    'preview',
    'development',
  ]
  const bad: [number, object][] = [
    ...slugged.map((slug): [number, object] => [400, { slug }]),
    [409, { slug: 'qa' }],
    [400, { slug: null }],
    [400, { slug: 7 }],
    [400, { description: 'd'.repeat(257) }],
    [400, { branchMatcher: { type: 'contains', pattern: 'x' } }],
    [400, { branchMatcher: { type: 'equals' } }],
    [400, { branchMatcher: { type: 'equals', pattern: '' } }],
    [400, { branchMatcher: { type: 'equals', pattern: 'x'.repeat(101) } }],
    [400, { branchMatcher: 'main' }],
  ]
  for (const [status, body] of bad) {
    const code = status === 409 ? 'conflict' : 'bad_request'
    const said = JSON.stringify(body)
    assert.deepEqual(
      told(await world.call.try('POST', URL, { slug: 'new', ...body })),
      [status, code],
      `create ${said}`,
    )
    assert.deepEqual(told(await world.call.try('PATCH', `${URL}/staging`, body)), [status, code], `change ${said}`)
  }
  for (const body of [{}, { slug: 'new', copyEnvVarsFrom: 'nowhere' }, { slug: 'new', copyEnvVarsFrom: 'new' }]) {
    assert.deepEqual(told(await world.call.try('POST', URL, body)), [400, 'bad_request'], JSON.stringify(body))
  }
  assert.equal((await world.call('GET', '/v9/projects/web')).text, before)
  // An environment does not conflict with its own slug.
  assert.equal((await world.call('PATCH', `${URL}/staging`, { slug: 'staging' })).status, 200)
})

onBothEngines('concurrent creates assign a slug once, and a project has at most 12 environments', async (world) => {
  await web(world)
  const same = await Promise.all(Array.from({ length: 20 }, () => world.call.try('POST', URL, { slug: 'staging' })))
  assert.deepEqual(same.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)])
  const many = await Promise.all(Array.from({ length: 30 }, (_, at) => world.call.try('POST', URL, { slug: `e${at}` })))
  assert.deepEqual(many.map(({ status }) => status).sort(), [...Array(11).fill(201), ...Array(19).fill(400)])
  const { environments } = (await world.call('GET', URL)).body
  const made = many.filter(({ status }) => status === 201).map(({ body }) => body.slug)
  assert.deepEqual(slugs(environments).sort(), ['staging', ...made].sort())
  assert.match(many.find(({ status }) => status === 400)!.body.error.message, /12/)
  const gone = await Promise.all(environments.map(({ id }: { id: string }) => world.call.try('DELETE', `${URL}/${id}`)))
  assert.ok(gone.every(({ status }) => status === 200))
  assert.deepEqual((await world.call('GET', URL)).body.environments, [])
})

onBothEngines('only a role that can change the project can change its environments', async (world) => {
  const { teamId } = world.credentials
  const team = (path: string) => `${path}?teamId=${teamId}`
  await world.call('POST', team('/v10/projects'), { name: 'web' })
  await create(world.call, { slug: 'staging' }, team(''))
  const { id, call } = await world.user('somebody')
  const asked: [Parameters<Call>[0], string, object | undefined][] = [
    ['POST', URL, { slug: 'qa' }],
    ['PATCH', `${URL}/staging`, { description: 'd' }],
    ['DELETE', `${URL}/qa`, undefined],
  ]
  for (const [role, may] of [
    ['DEVELOPER', true],
    ['VIEWER', false],
    ['BILLING', false],
  ] as const) {
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role })
    for (const [method, url, body] of asked) {
      assert.equal((await call.try(method, team(url), body)).status < 300, may, `${role} ${method}`)
    }
    assert.equal((await call.try('GET', team(URL))).status, role === 'BILLING' ? 403 : 200)
  }
  const account = `/operator/v1/accounts/${teamId}` as const
  await world.operator('PATCH', account, { softBlocked: true })
  assert.deepEqual(told(await world.call.try('POST', team(URL), { slug: 'qa' })), [402, 'account_soft_blocked'])
  assert.equal((await world.call.try('PATCH', team(`${URL}/staging`), {})).status, 402)
  assert.equal((await world.call('DELETE', team(`${URL}/staging`))).status, 200)
})

onBothEngines(
  'a transfer carries environments and their variables, and stops changes while it lasts',
  async (world) => {
    const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    const id = await create(giver.call, { slug: 'staging' })
    const variable = { key: 'TOKEN', value: 'kept', type: 'encrypted', target: [], customEnvironmentIds: [id] }
    assert.equal((await giver.call('POST', '/v10/projects/web/env', variable)).status, 201)
    await take(await offer())
    for (const [method, url, body] of [
      ['POST', URL, { slug: 'qa' }],
      ['PATCH', `${URL}/staging`, { description: 'd' }],
      ['DELETE', `${URL}/staging`, {}],
    ] as const) {
      assert.deepEqual(told(await giver.call.try(method, url, body)), [409, 'conflict'], method)
    }
    await sweep()
    assert.equal((await giver.call.try('GET', URL)).status, 404)
    assert.deepEqual(slugs((await taker.call('GET', URL)).body.environments), ['staging'])
    assert.deepEqual((await taker.call('GET', `/v3/env/pull/${projectId}/staging`)).body.env, { TOKEN: 'kept' })
    // A project of the same name has nothing of the one that was removed.
    assert.equal((await taker.call('DELETE', '/v9/projects/web')).status, 204)
    await web(taker)
    assert.deepEqual((await taker.call('GET', URL)).body.environments, [])
  },
)

// biome-ignore lint/suspicious/noExplicitAny: three versions, three sets of types, one set of calls
type AnySdk = any

async function openSdk(world: World, Sdk: unknown): Promise<AnySdk> {
  const sdk = Sdk as new (options: object) => AnySdk
  return new sdk({ serverURL: await world.listen(), bearerToken: world.credentials.token })
}

for (const [version, Sdk] of Object.entries({ '1.1.0': Oldest, '1.6.3': Middle, '1.28.35': Newest })) {
  onBothEngines(`SDK ${version} reads projects and variables that have custom environments`, async (world) => {
    const sdk = await openSdk(world, Sdk)
    const idOrName = await web(world)
    const id = await create(world.call, { slug: 'staging', description: 'd', branchMatcher: MATCHER })
    await create(world.call, { slug: 'qa' })
    const variable = { key: 'TOKEN', value: 'v', type: 'encrypted', target: [], customEnvironmentIds: [id] }
    const url = '/v10/projects/web/env'
    const canName = version !== '1.1.0' // The oldest one takes `customEnvironmentIds` out of what it sends.
    const requestBody = canName ? variable : { ...variable, target: ['preview'] }
    const made = await sdk.projects.createProjectEnv({ idOrName, requestBody })
    assert.deepEqual(made.created.target, requestBody.target)
    if (!canName) await world.call('PATCH', `${url}/${made.created.id}`, { target: [], customEnvironmentIds: [id] })
    assert.deepEqual((await world.call('GET', url)).body.envs[0].customEnvironmentIds, [id])
    if (canName) {
      const again = await sdk.projects.createProjectEnv({ idOrName, requestBody: [requestBody] })
      assert.equal(again.failed[0].error.code, 'ENV_ALREADY_EXISTS')
    }
    const { envs } = await sdk.projects.filterProjectEnvs({ idOrName })
    assert.deepEqual(envs[0].customEnvironmentIds, [id])
    assert.equal((await sdk.projects.getProjectEnv({ idOrName, id: envs[0].id })).key, 'TOKEN')
    await sdk.projects.editProjectEnv({ idOrName, id: envs[0].id, requestBody: { comment: 'c' } })
    const listed = (await sdk.projects.getProjects({})).projects
    const changed = await sdk.projects.updateProject({ idOrName, requestBody: { buildCommand: 'make' } })
    for (const project of [...listed, changed]) assert.equal(project.customEnvironments.length, 2)
    assert.equal((await sdk.projects.removeProjectEnv({ idOrName, id: envs[0].id })).key, 'TOKEN')
  })
}

for (const [version, Sdk] of Object.entries({ '1.6.3': Middle, '1.28.35': Newest })) {
  onBothEngines(`SDK ${version} does every operation on custom environments`, async (world) => {
    const { environment } = await openSdk(world, Sdk)
    const idOrName = await web(world)
    // 1.6.3 decodes a single environment to {} whatever comes (a bug of the client): the store says what happened.
    const mustBe = (decoded: object, { name: _, ...stored }: { name: string }) =>
      assert.deepEqual(decoded, version === '1.6.3' ? {} : stored)
    const stored = async (slug: string) => (await world.call('GET', `${URL}/${slug}`)).body
    const requestBody = { slug: 'staging', description: 'd', branchMatcher: MATCHER }
    const made = await environment.createCustomEnvironment({ idOrName, requestBody })
    mustBe(made, await stored('staging'))
    await environment.createCustomEnvironment({ idOrName, requestBody: { slug: 'qa', copyEnvVarsFrom: 'staging' } })
    const list =
      environment.getProjectsByIdOrNameCustomEnvironments ?? environment.getV9ProjectsIdOrNameCustomEnvironments
    const { environments, accountLimit } = await list.call(environment, { idOrName })
    assert.equal(environments.length, 2)
    if (version !== '1.6.3') assert.deepEqual([slugs(environments), accountLimit.total], [['staging', 'qa'], 12])
    const path = { idOrName, environmentSlugOrId: 'staging' }
    mustBe(await environment.getCustomEnvironment(path), await stored('staging'))
    const changed = await environment.updateCustomEnvironment({ ...path, requestBody: { branchMatcher: null } })
    const after = await stored('staging')
    mustBe(changed, after)
    assert.equal('branchMatcher' in after, false)
    const flag = { deleteUnassignedEnvironmentVariables: true }
    mustBe(await environment.removeCustomEnvironment({ ...path, requestBody: flag }), after)
    await environment.removeCustomEnvironment({ idOrName, environmentSlugOrId: 'qa' })
    await assert.rejects(environment.getCustomEnvironment(path), (error: { body?: string; error?: object }) => {
      assert.match(error.body ?? JSON.stringify(error.error), /not_found/)
      return true
    })
  })
}
