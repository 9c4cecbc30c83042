/** One search over what an account has. docs/console.md: Search. */
import assert from 'node:assert/strict'
import { MAX_RESULTS_PER_KIND } from '../../../src/projects/search/schema.ts'
import { seedProject } from '../../support/projects.ts'
import { addRows } from '../../support/states.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

/** `kind name` of each result. */
async function search(call: Call, teamId: string | undefined, q: string, more = ''): Promise<string[]> {
  const { status, text, body } = await call('GET', `/v1/search?${queryOf(teamId, q)}${more}`)
  assert.equal(status, 200, text)
  return body.results.map(({ kind, name }) => `${kind} ${name}`)
}

function queryOf(teamId: string | undefined, q: string): string {
  return new URLSearchParams({ q, ...(teamId !== undefined && { teamId }) }).toString()
}

async function addVariable(world: World, project: string, key: string, more: object = {}): Promise<void> {
  const body = { key, value: `value-of-${key}`, target: ['preview', 'production'], ...more }
  const made = await world.call('POST', `/v10/projects/${project}/env?teamId=${world.credentials.teamId}`, body)
  assert.equal(made.status, 201, made.text)
}

async function addDomain(world: World, project: string, name: string): Promise<void> {
  const made = await world.call('POST', `/v10/projects/${project}/domains?teamId=${world.credentials.teamId}`, { name })
  assert.equal(made.status, 200, made.text)
}

/** A team in which each kind has something with `shop` in its name, and a rival with the same names. */
async function openShop(world: World) {
  const { teamId } = world.credentials
  const ofTeam = `?teamId=${teamId}`
  const ids = { shop: await seedProject(world, 'web-shop', ofTeam), other: await seedProject(world, 'other', ofTeam) }
  await addDomain(world, 'web-shop', 'www.shop.example.com')
  await addDomain(world, 'other', 'other.example.com')
  await addVariable(world, 'web-shop', 'SHOP_KEY')
  await addVariable(world, 'web-shop', 'SHOP_KEY', { target: ['preview'], gitBranch: 'next' })
  await addVariable(world, 'other', 'Shop_Secret', { type: 'sensitive' })
  await world.join(await world.user('shopkeeper'), 'VIEWER')
  await consentAndInstall(world, await seedIntegration(world, { slug: 'helper', name: 'Shop Helper' }))
  const rival = await world.user('rival-shop')
  for (const path of ['/v10/projects'] as const)
    assert.equal((await rival.call('POST', path, { name: 'shop-of-rival' })).status, 200)
  return ids
}

onBothEngines('each kind is found by a part of its name, and nothing of another account is', async (world) => {
  const { teamId } = world.credentials
  const { shop, other } = await openShop(world)
  const { status, text, body } = await world.call('GET', `/v1/search?${queryOf(teamId, 'SHOP')}`)
  assert.equal(status, 200, text)
  const [inShop, inOther] = [
    { id: shop, name: 'web-shop' },
    { id: other, name: 'other' },
  ]
  const idOf = (kind: string) => body.results.find((one) => one.kind === kind)?.id
  assert.deepEqual(body, {
    results: [
      { kind: 'project', name: 'web-shop', id: shop },
      { kind: 'domain', name: 'www.shop.example.com', project: inShop },
      { kind: 'variable', name: 'Shop_Secret', project: inOther },
      { kind: 'variable', name: 'SHOP_KEY', project: inShop },
      { kind: 'person', name: 'shopkeeper', email: 'shopkeeper@example.com', id: idOf('person') },
      { kind: 'integration', name: 'helper', title: 'Shop Helper', id: idOf('integration') },
      { kind: 'app', name: 'helper', title: 'Shop Helper', id: idOf('app') },
    ],
    more: [],
    partial: [],
  })
  assert.match(`${idOf('integration')} ${idOf('app')}`, /^icfg_\w+ oac_\w+$/)
  assert.ok(!text.includes('value-of-'), 'no value is in the answer')
})

onBothEngines('a text is found anywhere in a name, in any case, and literally', async (world) => {
  const { teamId } = world.credentials
  await seedProject(world, 'a_b', `?teamId=${teamId}`)
  await seedProject(world, 'axb', `?teamId=${teamId}`)
  await addDomain(world, 'axb', 'xn--bcher-kva.example.com')
  await addVariable(world, 'axb', 'PERCENT_KEY')
  for (const [name, fullName] of [
    ['ada', 'Ada 😀 Lovelace'],
    ['omar', 'عمر'],
    ['hundred', '100% sure!'],
  ]) {
    const person = await world.user(name!)
    await world.join(person, 'VIEWER')
    assert.equal((await world.operator('PATCH', `/operator/v1/users/${person.id}`, { name: fullName })).status, 200)
  }
  const found: [q: string, expected: string[]][] = [
    ['a_b', ['project a_b']],
    ['_', ['project a_b', 'variable PERCENT_KEY']],
    ['%', ['person hundred']],
    ['!', ['person hundred']],
    ['\\', []],
    ["'", []],
    ['XB', ['project axb']],
    ['  xb  ', ['project axb']],
    ['kva.ex', ['domain xn--bcher-kva.example.com']],
    ['percent_', ['variable PERCENT_KEY']],
    ['😀', ['person ada']],
    ['مر', ['person omar']],
    ['LOVE', ['person ada']],
    ['ada@', ['person ada']],
    ['nothing-is-called-so', []],
  ]
  for (const [q, expected] of found) assert.deepEqual(await search(world.call, teamId, q), expected, q)
})

onBothEngines('a project and a variable are found by their ids, for callers who can see them', async (world) => {
  const { teamId } = world.credentials
  const { shop, other } = await openShop(world)
  const [first] = (await world.call('GET', `/v10/projects/other/env?teamId=${teamId}`)).body.envs
  const variable = first!.id
  assert.deepEqual(await search(world.call, teamId, ` ${other} `), ['project other'])
  assert.deepEqual(await search(world.call, teamId, variable), ['variable Shop_Secret'])
  for (const part of [other.slice(0, -1), variable.slice(0, -1)])
    assert.deepEqual(await search(world.call, teamId, part), [], 'whole ids alone')
  const limited = await world.token({ teamId, projectIds: [shop] })
  for (const id of [other, variable]) assert.deepEqual(await search(limited, teamId, id), [], id)
  assert.deepEqual(await search(limited, teamId, shop), ['project web-shop'])
  const rival = await world.user('rival')
  for (const id of [shop, variable]) assert.deepEqual(await search(rival.call, undefined, id), [], id)
})

onBothEngines('exact matches come first, and the response says which kinds have more', async (world) => {
  const { teamId } = world.credentials
  for (const name of ['a-web', 'b-web', 'c-web', 'web']) await seedProject(world, name, `?teamId=${teamId}`)
  for (const name of ['a.web.example.com', 'web.example.com']) await addDomain(world, 'web', name)
  for (const key of ['A_WEB', 'B_WEB', 'WEB']) await addVariable(world, 'web', key)
  for (const name of ['a-web-person', 'web-person']) await world.join(await world.user(name), 'VIEWER')
  assert.deepEqual(await search(world.call, teamId, 'web', '&limit=2'), [
    'project web',
    'project a-web',
    'domain a.web.example.com',
    'domain web.example.com',
    'variable WEB',
    'variable A_WEB',
    'person a-web-person',
    'person web-person',
  ])
  for (const exact of ['domain web.example.com', 'person web-person'])
    assert.deepEqual(await search(world.call, teamId, exact.split(' ')[1]!, '&limit=1'), [exact])
  const { more } = (await world.call('GET', `/v1/search?${queryOf(teamId, 'web')}&limit=2`)).body
  assert.deepEqual(more, ['project', 'variable'])
})

onBothEngines(
  'a text that is too long, empty or blank is refused by name, and so is an invalid limit',
  async (world) => {
    for (const [query, named] of [
      [`q=${'x'.repeat(101)}`, 'q'],
      ['q=', 'q'],
      ['q=%20%20', 'q'],
      ['', 'q'],
      ['q=x&limit=0', 'limit'],
      [`q=x&limit=${MAX_RESULTS_PER_KIND + 1}`, 'limit'],
      ['q=x&kind=project', 'kind'],
    ] as const) {
      const { status, body } = await world.call.try('GET', `/v1/search?${query}`)
      assert.deepEqual([status, body.error.code], [400, 'bad_request'], query)
      assert.match(body.error.message, new RegExp(`\`${named}\``), query)
    }
    assert.equal((await world.call('GET', `/v1/search?q=${'x'.repeat(100)}`)).status, 200)
    assert.equal((await world.call('GET', `/v1/search?q=${encodeURIComponent('😀'.repeat(100))}`)).status, 200)
  },
)

const ALL_KINDS = ['project', 'domain', 'variable', 'person', 'integration', 'app']

onBothEngines('a role finds the kinds that it can list, and other users find nothing', async (world) => {
  const { teamId } = world.credentials
  await openShop(world)
  for (const [role, kinds] of Object.entries({
    OWNER: ALL_KINDS,
    MEMBER: ALL_KINDS,
    DEVELOPER: ALL_KINDS,
    VIEWER: ALL_KINDS,
    BILLING: ['person'],
  })) {
    const user = await world.user(role.toLowerCase())
    await world.join(user, role)
    const found = await search(user.call, teamId, 'shop')
    assert.deepEqual([...new Set(found.map((one) => one.split(' ')[0]))], kinds, role)
  }
  const outsider = await world.user('outsider')
  assert.equal((await outsider.call.try('GET', `/v1/search?${queryOf(teamId, 'shop')}`)).status, 403)
  assert.deepEqual(await search(outsider.call, undefined, 'shop'), [])
  assert.equal((await world.as(undefined).try('GET', '/v1/search?q=shop')).status, 401)
})

onBothEngines('a token finds what its role, scopes and projects allow', async (world) => {
  const { teamId } = world.credentials
  const { shop, other } = await openShop(world)
  const app = await seedInstallation(world, {
    slug: 'shop-app',
    scopes: ['read-write:project', 'read-write:project-env-vars', 'read:integration-configuration', 'read:team'],
  })
  const ofApp = { key: 'SHOP_OF_APP', value: 'x', target: ['preview'] }
  assert.equal((await app.call('POST', `/v10/projects/other/env?teamId=${teamId}`, ofApp)).status, 201)
  const ofPeople = ['project web-shop', 'domain www.shop.example.com']
  const [own, all] = [
    ['read:project', 'read:project-env-vars'],
    ['read:project', 'read:global-project-env-vars'],
  ]
  const [people, keeper] = [['variable Shop_Secret', 'variable SHOP_KEY'], 'person shopkeeper']
  for (const [scopes, more, expected] of [
    [[], {}, [keeper]],
    [['read:project'], {}, [...ofPeople, keeper]],
    // A result of a variable names its project.
    [['read:global-project-env-vars'], {}, [keeper]],
    [own, {}, [...ofPeople, ...people, keeper]],
    [all, {}, [...ofPeople, 'variable SHOP_OF_APP', ...people, keeper]],
    [all, { projectIds: [shop] }, [...ofPeople, 'variable SHOP_KEY', keeper]],
    [all, { projectIds: [other] }, ['variable SHOP_OF_APP', 'variable Shop_Secret', keeper]],
    [['read:integration-configuration'], {}, [keeper, 'integration helper', 'integration shop-app']],
  ] as const) {
    const wanted = { scopes: ['read:team', ...scopes], ...more }
    assert.deepEqual(await search(await world.token(wanted), teamId, 'shop'), expected, JSON.stringify(wanted))
  }
  const without = await world.token({ scopes: all })
  assert.equal((await without.try('GET', `/v1/search?${queryOf(teamId, 'shop')}`)).status, 403)
  assert.deepEqual(await search(app.call, teamId, 'shop'), [
    ...ofPeople,
    'variable SHOP_OF_APP',
    keeper,
    'integration shop-app',
  ])
})

onBothEngines(
  'of very many variables only those of the most recently changed projects are searched, and the response says so',
  async (world) => {
    const { teamId } = world.credentials
    const older = await seedProject(world, 'older', `?teamId=${teamId}`)
    await addVariable(world, 'older', 'OLDER_KEY')
    const newer = await seedProject(world, 'newer', `?teamId=${teamId}`)
    await addVariable(world, 'newer', 'NEWER_KEY')
    const partial = async () => (await world.call('GET', `/v1/search?${queryOf(teamId, 'key')}`)).body.partial
    assert.deepEqual(
      [await search(world.call, teamId, 'key'), await partial()],
      [['variable NEWER_KEY', 'variable OLDER_KEY'], []],
    )
    // As many as custom environments allow, and those that are there already: two of each project.
    const custom = (project_id: string, variables: number) => ({ project_id, target: 'env_x', variables, bytes: 0 })
    await addRows(world, 'env_usage', [custom(newer, 19_996)])
    assert.deepEqual(
      [await search(world.call, teamId, 'key'), await partial()],
      [['variable NEWER_KEY', 'variable OLDER_KEY'], []],
    )
    await addRows(world, 'env_usage', [custom(older, 1)])
    assert.deepEqual([await search(world.call, teamId, 'key'), await partial()], [['variable NEWER_KEY'], ['variable']])
  },
)

onBothEngines(
  'keys are searched in the 1,000 most recently changed projects, and the response says when there are more',
  async (world) => {
    const { teamId } = world.credentials
    const oldest = await seedProject(world, 'oldest', `?teamId=${teamId}`)
    await addVariable(world, 'oldest', 'OLDEST_KEY')
    const of = world.deps.db.read.selectFrom('project').selectAll().where('id', '=', oldest)
    const template = await of.executeTakeFirstOrThrow()
    const later = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => ({
        ...template,
        id: `prj_${from + at}`,
        name: `later-${from + at}`,
        updated_stamp: template.updated_stamp + 1 + from + at,
      }))
    const asked = async () => {
      const { partial } = (await world.call('GET', `/v1/search?${queryOf(teamId, 'key')}`)).body
      return [await search(world.call, teamId, 'key'), partial]
    }
    await addRows(world, 'project', later(0, 999))
    assert.deepEqual(await asked(), [['variable OLDEST_KEY'], []])
    await addRows(world, 'project', later(999, 1000))
    assert.deepEqual(await asked(), [[], ['variable']])
  },
)
