/** What a variable may be, who may see and touch it, and what many callers at once leave behind. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller, Ctx } from '../../../src/context.ts'
import type { Row } from '../../../src/platform/db/schema.ts'
import type { Permission } from '../../../src/platform/permissions/roles.ts'
import {
  canDecrypt,
  canReadValue,
  canWriteVariable,
  isReadable,
  isVisible,
  mustHaveWritePermission,
} from '../../../src/projects/env/access.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

const URL = '/v10/projects/web/env'
const PLAIN = { key: 'PORT', value: '8080', type: 'plain', target: ['production'] }
const kib = (count: number) => 'x'.repeat(count * 1024)

async function web({ call }: { call: Call }): Promise<void> {
  assert.equal((await call('POST', '/v10/projects', { name: 'web' })).status, 200)
}

async function stored({ deps }: World): Promise<number> {
  return (await deps.db.read.selectFrom('env_var').select('id').execute()).length
}

const told = ({ status, body }: ApiResponse) => [status, body.error?.code]

onBothEngines('an invalid variable is 400 with a code, and nothing is written', async (world) => {
  await web(world)
  const bad: [string, object | string][] = [
    ['KEY_INVALID_LENGTH', { key: '' }],
    ['KEY_INVALID_LENGTH', { key: 'K'.repeat(257) }],
    ...['1A', 'A B', 'A-B', 'A=B', 'A\nB', 'ÄB', '🚢', 'A.B', ' A', 'A\u200b'].map(
      (key) => ['KEY_INVALID_CHARACTERS', { key }] as [string, object],
    ),
    ...['__proto__', 'LD_PRELOAD', 'VERCEL_URL', 'VERCEL_ENV'].map(
      (key) => ['RESERVED_ENV_VARIABLE', { key }] as [string, object],
    ),
    ['bad_request', { key: 'A\0B' }],
    ['bad_request', { value: 'a\0b' }],
    ['bad_request', `{"key": "A", "value": "\\ud800", "target": ["preview"]}`],
    ['bad_request', `{"__proto__": {}, "key": "A", "value": "1", "target": ["preview"]}`],
    ['bad_request', { key: 5 }],
    ['bad_request', { key: undefined }],
    ['bad_request', { value: undefined }],
    ['bad_request', { value: 1 }],
    ['bad_request', { value: null }],
    ['VALUE_INVALID_LENGTH', { value: `${kib(64)}x` }],
    ['VALUE_INVALID_LENGTH', { value: '🚢'.repeat(16 * 1024 + 1) }],
    ['MISSING_TARGET', { target: undefined }],
    ['MISSING_TARGET', { target: [] }],
    ['bad_request', { target: ['staging'] }],
    ['bad_request', { target: 'Production' }],
    ['bad_request', { target: [null] }],
    ['bad_request', { target: {} }],
    ['bad_request', { type: 'hidden' }],
    ['bad_request', { type: 'sensitive', target: ['development'] }],
    ['bad_request', { type: 'sensitive', target: ['production', 'development'] }],
    ['SYSTEM_ENV_WITH_VALUE', { type: 'system', value: 'hello' }],
    ['bad_request', { comment: 'c'.repeat(501) }],
    ['bad_request', { gitBranch: 'dev' }],
    ['bad_request', { gitBranch: 'dev', target: ['preview', 'production'] }],
    ['bad_request', { gitBranch: 'b'.repeat(251), target: ['preview'] }],
    ['bad_request', { gitBranch: 7, target: ['preview'] }],
    ['bad_request', { customEnvironmentIds: ['env_1'] }],
    ['bad_request', '[]'],
    ['bad_request', '{}'],
    ['bad_request', 'null'],
    ['bad_request', '"A"'],
    ['bad_request', '{"key":'],
  ]
  for (const [code, change] of bad) {
    const body = typeof change === 'string' ? change : { ...PLAIN, ...change }
    const refused = await world.call.try('POST', URL, body)
    assert.deepEqual(told(refused), [400, code], JSON.stringify(change).slice(0, 80))
    if (typeof change === 'string') continue
    const among = await world.call.try('POST', URL, [{ ...PLAIN, key: 'GOOD' }, body])
    assert.deepEqual(told(among), [400, code], `in an array: ${JSON.stringify(change).slice(0, 80)}`)
  }
  for (const query of ['upsert=maybe', 'upsert=true&upsert=true']) {
    assert.equal((await world.call.try('POST', `${URL}?${query}`, PLAIN)).status, 400)
  }
  for (const query of [
    'decrypt=x',
    'limit=0',
    'limit=1001',
    'until=-1',
    'target=moon',
    `gitBranch=${'b'.repeat(251)}`,
  ]) {
    assert.deepEqual(told(await world.call.try('GET', `${URL}?${query}`)), [400, 'bad_request'], query)
  }
  assert.equal(await stored(world), 0)
  const events = await world.deps.db.read.selectFrom('event').select('type').execute()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['project.created'],
  )
})

onBothEngines('every limit is reached and not passed', async (world) => {
  await web(world)
  const fine = [
    { ...PLAIN, key: 'K'.repeat(256), value: '' },
    { ...PLAIN, key: '_', comment: 'c'.repeat(500) },
    { ...PLAIN, gitBranch: 'b'.repeat(250), target: ['preview'] },
    { ...PLAIN, key: 'BIG', value: '🚢'.repeat(16 * 1024), target: ['development'] },
  ]
  const made = await world.call('POST', URL, fine)
  assert.deepEqual([made.status, made.body.created?.length, made.body.failed], [201, 4, []], made.text)
  // development is full to the byte; production has room.
  const over = { ...PLAIN, key: 'OVER', value: 'x', target: ['development'] }
  assert.deepEqual(told(await world.call.try('POST', URL, over)), [400, 'MAX_ENVS_EXCEEDED'])
  const both = await world.call('POST', URL, [
    { ...over, target: ['development', 'production'] },
    { ...over, value: '' },
  ])
  assert.deepEqual([both.body.failed[0].error.code, both.body.created.length], ['MAX_ENVS_EXCEEDED', 1])
  assert.equal((await world.call('POST', URL, { ...over, target: ['production'] })).status, 201)
  const big = made.body.created[3].id
  assert.equal((await world.call('PATCH', `/v9/projects/web/env/${big}`, { value: kib(63) })).status, 200)
  assert.equal((await world.call('POST', URL, { ...over, key: 'ROOM', value: kib(1) })).status, 201)
  assert.deepEqual(told(await world.call.try('PATCH', `/v9/projects/web/env/${big}`, { value: `${kib(63)}x` })), [
    400,
    'MAX_ENVS_EXCEEDED',
  ])
  await world.call('DELETE', `/v9/projects/web/env/${big}`)
  assert.equal((await world.call('POST', URL, { ...over, key: 'AGAIN', value: kib(63) })).status, 201)
})

onBothEngines('a project has at most 1,000 variables in an environment', async (world) => {
  await web(world)
  const items = Array.from({ length: 1001 }, (_, at) => ({ ...PLAIN, key: `V${at}`, value: 'v' }))
  assert.deepEqual(told(await world.call.try('POST', URL, items)), [400, 'TOO_MANY_KEYS'])
  const made = await world.call('POST', URL, items.slice(0, 999))
  assert.equal(made.body.created.length, 999)
  const last = await world.call('POST', URL, [...items.slice(999), { ...items[0], target: ['preview'] }])
  assert.deepEqual(
    [last.body.created.map((env: { key: string }) => env.key), last.body.failed[0].error.code],
    [['V999', 'V0'], 'MAX_ENVS_EXCEEDED'],
  )
  const moved = await world.call.try('PATCH', `/v9/projects/web/env/${last.body.created[1].id}`, {
    key: 'W',
    target: ['production'],
  })
  assert.deepEqual(told(moved), [400, 'MAX_ENVS_EXCEEDED'])
  await world.call('DELETE', `/v9/projects/web/env/${made.body.created[7]!.id}`)
  assert.equal((await world.call('POST', URL, items[1000])).status, 201)
  const usage = await world.deps.db.read.selectFrom('env_usage').selectAll().orderBy('target').execute()
  assert.deepEqual(
    usage.map(({ target, variables, bytes }) => [target, variables, bytes]),
    [
      ['preview', 1, 1],
      ['production', 1000, 1000],
    ],
  )
})

onBothEngines('the counters match the variables after many random changes', async (world) => {
  await web(world)
  let seed = 7
  const pick = <T>(from: readonly T[]): T => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return from[seed % from.length]!
  }
  const targets = [
    ['production'],
    ['preview'],
    ['production', 'preview'],
    ['development'],
    ['production', 'preview', 'development'],
  ]
  for (let step = 0; step < 150; step++) {
    const item = { key: pick(['A', 'B', 'C']), value: pick(['', 'x', 'xyz']), type: 'plain', target: pick(targets) }
    const { envs } = (await world.call('GET', URL)).body
    const one = envs.length > 0 ? `/v9/projects/web/env/${pick(envs as { id: string }[]).id}` : undefined
    const does = pick(['create', 'upsert', 'upsert', 'edit', 'delete'])
    // Another variable may have the key in one of its environments.
    if (does === 'create') assert.ok([201, 400, 403].includes((await world.call.try('POST', URL, item)).status))
    if (does === 'upsert') assert.equal((await world.call('POST', `${URL}?upsert=true`, item)).status, 201)
    if (does === 'edit' && one) assert.ok([200, 400].includes((await world.call.try('PATCH', one, item)).status))
    if (does === 'delete' && one) await world.call('DELETE', one)
  }
  const { envs } = (await world.call('GET', URL)).body as {
    envs: { id: string; key: string; value: string; target: string[] }[]
  }
  const expected = new Map<string, [number, number]>()
  for (const { target, value } of envs) {
    for (const one of target) {
      const [count, bytes] = expected.get(one) ?? [0, 0]
      expected.set(one, [count + 1, bytes + value.length])
    }
  }
  const usage = await world.deps.db.read.selectFrom('env_usage').selectAll().execute()
  for (const { target, variables, bytes } of usage) {
    assert.deepEqual([variables, bytes], expected.get(target) ?? [0, 0], target)
  }
  const places = await world.deps.db.read.selectFrom('env_target').selectAll().execute()
  assert.deepEqual(
    places.map(({ key, target, env_id }) => `${key} ${target} ${env_id}`).sort(),
    envs.flatMap(({ id, key, target }) => target.map((one) => `${key} ${one} ${id}`)).sort(),
  )
})

onBothEngines('upsert changes in place, keeps the id, and takes only the targets it names', async (world) => {
  await web(world)
  const put = async (change: object) =>
    (await world.call('POST', `${URL}?upsert=true`, { ...PLAIN, ...change })).body.created
  const first = await put({ comment: 'kept' })
  const again = await put({ value: '9' })
  assert.deepEqual([again.id, again.value, again.version, again.comment], [first.id, '9', 2, 'kept'])
  assert.equal((await put({ value: '9' })).version, 2)
  const wide = await put({ value: 'wide', target: ['production', 'preview'] })
  assert.deepEqual([wide.id, wide.target], [first.id, ['production', 'preview']])
  const narrow = await put({ value: 'narrow', target: ['preview', 'development'] })
  assert.notEqual(narrow.id, first.id)
  const { envs } = (await world.call('GET', URL)).body
  assert.deepEqual(
    Object.fromEntries(
      envs.map((env: { id: string; target: string[]; value: string }) => [env.id, [env.target, env.value]]),
    ),
    { [first.id]: [['production'], 'wide'], [narrow.id]: [['preview', 'development'], 'narrow'] },
  )
  const all = await put({ value: 'all', target: ['production', 'preview', 'development'] })
  assert.equal(all.id, first.id)
  assert.equal((await world.call('GET', URL)).body.envs.length, 1)
  const branch = await put({ value: 'b', target: ['preview'], gitBranch: 'dev' })
  assert.notEqual(branch.id, first.id)
  const twice = await world.call('POST', `${URL}?upsert=true`, [
    { ...PLAIN, key: 'N', value: '1' },
    { ...PLAIN, key: 'N', value: '2' },
  ])
  assert.deepEqual([twice.body.created.length, twice.body.failed], [2, []])
  assert.equal(twice.body.created[0].id, twice.body.created[1].id)
  assert.equal((await world.call('GET', `/v9/projects/web/env/${twice.body.created[0].id}`)).body.value, '2')
})

onBothEngines('an upsert that keeps the type of a variable refuses values that this type refuses', async (world) => {
  await web(world)
  const made = await world.call('POST', URL, [
    { ...PLAIN, key: 'SYS', value: 'VERCEL_URL', type: 'system' },
    { ...PLAIN, key: 'SECRET', type: 'sensitive', target: ['preview'] },
  ])
  assert.equal(made.body.created.length, 2)
  const upsert = (item: object) => world.call.try('POST', `${URL}?upsert=true`, { ...PLAIN, type: undefined, ...item })
  assert.deepEqual(told(await upsert({ key: 'SYS', value: 'hello' })), [400, 'SYSTEM_ENV_WITH_VALUE'])
  const wider = { key: 'SECRET', target: ['preview', 'development'] }
  assert.deepEqual(told(await upsert(wider)), [400, 'bad_request'])
  assert.equal((await upsert({ key: 'SYS', value: 'VERCEL_ENV' })).body.created.type, 'system')
})

onBothEngines('an upsert that does not fit leaves everything as it was', async (world) => {
  await web(world)
  await world.call('POST', URL, [
    { ...PLAIN, key: 'BIG', value: kib(60), target: ['preview'] },
    { ...PLAIN, key: 'A', value: 'old', target: ['production', 'preview'] },
  ])
  const before = (await world.call('GET', URL)).text
  const wanted = { ...PLAIN, key: 'A', value: kib(5), target: ['preview'] }
  assert.deepEqual(told(await world.call.try('POST', `${URL}?upsert=true`, wanted)), [400, 'MAX_ENVS_EXCEEDED'])
  const many = await world.call('POST', `${URL}?upsert=true`, [wanted, { ...PLAIN, key: 'A', value: kib(5) }])
  assert.deepEqual([many.body.created.length, many.body.failed.length], [1, 1])
  assert.equal(before.includes('"A"'), true)
  const { envs } = (await world.call('GET', `${URL}?target=preview`)).body
  assert.deepEqual(envs.map((env: { key: string }) => env.key).sort(), ['A', 'BIG'])
})

onBothEngines('of 50 simultaneous creates of one place one wins', async (world) => {
  await web(world)
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => world.call.try('POST', URL, { ...PLAIN, value: `${at}` })),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(49).fill(403)])
  const { envs } = (await world.call('GET', URL)).body
  assert.equal(envs.length, 1)
  const winner = answers.findIndex(({ status }) => status === 201)
  assert.equal(envs[0].value, String(winner))
  for (const { status, body } of answers) {
    if (status === 403) assert.deepEqual([body.error.code, body.error.envVarId], ['ENV_ALREADY_EXISTS', envs[0].id])
  }
})

onBothEngines('50 simultaneous upserts leave one variable, and it keeps its id', async (world) => {
  await web(world)
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => world.call.try('POST', `${URL}?upsert=true`, { ...PLAIN, value: `${at}` })),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(answers.map(({ body }) => body.created.id)).size, 1)
  const { envs } = (await world.call('GET', URL)).body
  assert.deepEqual([envs.length, envs[0].version], [1, 50])
  assert.deepEqual(
    new Set(answers.map(({ body }) => body.created.version)),
    new Set(Array.from({ length: 50 }, (_, at) => at + 1)),
  )
})

onBothEngines('50 simultaneous creates of different keys in one project all succeed', async (world) => {
  await web(world)
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => world.call.try('POST', URL, { ...PLAIN, key: `K${at}` })),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  const [usage] = await world.deps.db.read.selectFrom('env_usage').selectAll().execute()
  assert.equal(usage?.variables, 50)
})

async function team(world: World) {
  const teamId = world.credentials.teamId
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
  const url = `${URL}?teamId=${teamId}` as const
  const made = await world.call('POST', url, [
    { ...PLAIN, key: 'PROD', value: 'prod-value', type: 'encrypted' },
    { ...PLAIN, key: 'PREV', value: 'prev-value', type: 'encrypted', target: ['preview'] },
    { ...PLAIN, key: 'OPEN', value: 'open-value' },
  ])
  const [prod, prev] = made.body.created
  const one = (id: string) => `/v1/projects/web/env/${id}?teamId=${teamId}` as const
  const member = async (role: string) => {
    const user = await world.user(role.toLowerCase())
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role })
    return user.call
  }
  return { url, one, prod, prev, member }
}

onBothEngines('a developer works on preview and development, and never on production', async (world) => {
  const { url, one, prod, prev, member } = await team(world)
  const call = await member('DEVELOPER')
  const refused = [
    await call.try('POST', url, { ...PLAIN, key: 'NEW' }),
    await call.try('POST', url, [
      { ...PLAIN, key: 'NEW', target: ['preview'] },
      { ...PLAIN, key: 'NEW' },
    ]),
    await call.try('POST', `${url}&upsert=true`, { ...PLAIN, key: 'PROD', value: 'mine' }),
    await call.try('PATCH', one(prod.id), { comment: 'mine' }),
    await call.try('PATCH', one(prev.id), { target: ['preview', 'production'] }),
    await call.try('DELETE', one(prod.id)),
    await call.try('DELETE', url, { ids: [prev.id, prod.id] }),
  ]
  for (const answer of refused) {
    assert.deepEqual(told(answer), [403, 'forbidden'])
    assert.match(answer.body.error.message, /env:production/)
  }
  assert.equal(await stored(world), 3)
  const shown = async (which: string) => {
    const { value, decrypted } = (await call('GET', one(which))).body
    return [value.replace(/^sealed:.*/, 'sealed'), decrypted]
  }
  assert.deepEqual(await shown(prod.id), ['sealed', false])
  assert.deepEqual(await shown(prev.id), ['prev-value', true])
  const list = await call('GET', `${url}&decrypt=true`)
  assert.doesNotMatch(list.text, /prod-value/)
  assert.match(list.text, /prev-value/)
  assert.equal((await call('POST', url, { ...PLAIN, key: 'NEW', target: ['preview', 'development'] })).status, 201)
  assert.equal((await call('PATCH', one(prev.id), { value: 'changed' })).status, 200)
  assert.equal((await call('DELETE', one(prev.id))).status, 200)
})

onBothEngines('a developer cannot take a target from a production variable by upsert', async (world) => {
  const { url, member } = await team(world)
  await world.call('POST', url, { ...PLAIN, key: 'WIDE', target: ['production', 'preview'] })
  const refused = await (await member('DEVELOPER')).try('POST', `${url}&upsert=true`, {
    ...PLAIN,
    key: 'WIDE',
    target: ['preview'],
  })
  assert.deepEqual(told(refused), [403, 'forbidden'])
})

onBothEngines('a viewer reads names and never a decrypted value, and writes nothing', async (world) => {
  const { url, one, prod, prev, member } = await team(world)
  const call = await member('VIEWER')
  const list = await call.try('GET', `${url}&decrypt=true`)
  assert.equal(list.body.envs.length, 3)
  for (const { text } of [list, await call.try('GET', one(prod.id)), await call.try('GET', one(prev.id))]) {
    assert.doesNotMatch(text, /prod-value|prev-value/)
  }
  for (const [method, url_, body] of [
    ['POST', url, PLAIN],
    ['PATCH', one(prev.id), { value: 'x' }],
    ['DELETE', one(prev.id), undefined],
    ['DELETE', url, { ids: [prev.id] }],
  ] as const) {
    assert.deepEqual(told(await call.try(method, url_, body)), [403, 'forbidden'])
  }
  assert.deepEqual(told(await (await member('BILLING')).try('GET', url)), [403, 'forbidden'])
  const stranger = await world.user('stranger')
  assert.equal((await stranger.call.try('GET', url)).status, 403)
})

onBothEngines('a token with project-env-vars alone sees and changes only variables that it created', async (world) => {
  await web(world)
  assert.equal((await world.call('POST', URL, PLAIN)).status, 201)
  const { call, installationId } = await seedInstallation(world, {}, { teamId: undefined })
  const foreign = (await call('POST', URL, { ...PLAIN, key: 'OTHER', value: 'foreign-value' })).body.created.id
  const own = await world.token({ scopes: ['read-write:project-env-vars', 'read:project'] })
  const keys = ({ body }: ApiResponse<{ envs: { key: string }[] }>) => body.envs.map(({ key }) => key)
  assert.deepEqual(keys(await own.try('GET', URL)), ['PORT'])
  const projectEnv = (await own('GET', '/v9/projects/web')).body.env
  assert.deepEqual(
    projectEnv.map((env: { key: string }) => env.key),
    ['PORT'],
  )
  assert.equal((await own('GET', '/v9/projects')).body.projects[0].env.length, 1)
  for (const [method, body] of [
    ['GET', undefined],
    ['PATCH', { value: 'x' }],
    ['DELETE', undefined],
  ] as const) {
    assert.equal((await own.try(method, `/v9/projects/web/env/${foreign}`, body)).status, 404)
  }
  assert.deepEqual((await own('DELETE', URL, { ids: [foreign] })).body, { deleted: 0, ids: [] })
  for (const query of ['', '?upsert=true']) {
    const taken = await own.try('POST', `${URL}${query}`, { ...PLAIN, key: 'OTHER' })
    assert.deepEqual(told(taken), [403, 'ENV_ALREADY_EXISTS'])
    assert.equal('envVarId' in taken.body.error, false)
  }
  const all = await world.token({ scopes: ['read-write:global-project-env-vars'] })
  assert.deepEqual(keys(await all.try('GET', URL)).sort(), ['OTHER', 'PORT'])
  assert.equal(
    (await all('PATCH', `/v9/projects/web/env/${foreign}`, { value: 'x' })).body.configurationId,
    installationId,
  )
  const read = await world.token({ scopes: ['read:global-project-env-vars'] })
  assert.deepEqual(told(await read.try('POST', URL, PLAIN)), [403, 'forbidden'])
  const none = await world.token({ scopes: ['read-write:project'] })
  assert.deepEqual(told(await none.try('GET', URL)), [403, 'forbidden'])
  const full = await none.try('POST', '/v10/projects', { name: 'b', environmentVariables: [PLAIN] })
  assert.deepEqual(told(full), [403, 'forbidden'])
})

onBothEngines('variables of another account do not exist for the caller', async (world) => {
  await web(world)
  const { id } = (await world.call('POST', URL, PLAIN)).body.created
  const stranger = await world.user('stranger')
  const project = (await world.call('GET', '/v9/projects/web')).body.id
  await web(stranger)
  for (const path of [
    `/v9/projects/${project}/env`,
    `/v9/projects/web/env/${id}`,
    `/v9/projects/${project}/env/${id}`,
  ]) {
    assert.equal((await stranger.call.try('GET', path)).status, 404, path)
  }
  assert.deepEqual((await stranger.call('DELETE', URL, { ids: [id] })).body, { deleted: 0, ids: [] })
  assert.equal(await stored(world), 1)
})

const RIGHTS_OF_VARIABLES: Permission[] = ['env:write', 'env:write-all', 'env:production', 'env:decrypt', 'env:all']
const USER = null
const APP = 'icfg_one'

/** Every caller, a user and an installation, with each set of rights, before each kind of variable. */
function* callersAndVariables(): Generator<{
  caller: Caller
  row: Row<'env_var'>
  has: (right: Permission) => boolean
}> {
  for (let set = 0; set < 2 ** RIGHTS_OF_VARIABLES.length; set++) {
    const permissions = new Set(RIGHTS_OF_VARIABLES.filter((_, at) => (set & (2 ** at)) !== 0))
    for (const installationId of [USER, APP])
      for (const configuration_id of [USER, APP, 'icfg_other'])
        for (const targets of ['', 'preview', 'preview,production'])
          for (const type of ['plain', 'encrypted', 'system', 'sensitive'] as const)
            yield {
              caller: { permissions, installationId } as Partial<Caller> as Caller,
              row: { configuration_id, targets, type } as Row<'env_var'>,
              has: (right) => permissions.has(right),
            }
  }
}

function passes(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

test('of each variable a caller sees, reads and changes what its rights say, however it is asked', () => {
  for (const { caller, row, has } of callersAndVariables()) {
    const said = JSON.stringify([[...caller.permissions], caller.installationId, row])
    const isOwn = row.configuration_id === caller.installationId
    const isAllowedThere = !row.targets.includes('production') || has('env:production')
    const changes = passes(() => mustHaveWritePermission(caller, row))
    assert.equal(changes, isAllowedThere && (isOwn || has('env:write-all')), said)
    assert.equal(canWriteVariable(caller, row), has('env:write') && changes, said)
    assert.equal(isVisible(caller, row), isOwn || has('env:all'), said)
    const decrypts = has('env:decrypt') && isAllowedThere
    assert.equal(canDecrypt(caller, row.targets.split(',')), decrypts, said)
    const ctx = { caller } as Ctx
    const isOpen = row.type === 'plain' || row.type === 'system'
    assert.equal(canReadValue(ctx, row, false), isOpen, said)
    assert.equal(canReadValue(ctx, row, true), isOpen || (row.type === 'encrypted' && decrypts), said)
    assert.equal(isReadable(caller, row), row.type !== 'system' && canReadValue(ctx, row, true), said)
  }
})
