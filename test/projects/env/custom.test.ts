/** Variables in custom environments: places, limits, listing, pull, history, and what becomes of them with their environment. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import { pino } from 'pino'
import { readConfig } from '../../../src/config.ts'
import { up } from '../../../src/platform/db/migrations/0015-custom-environments.ts'
import { openService } from '../../../src/service.ts'
import {
  type ApiResponse,
  type Call,
  callerOf,
  ENGINES,
  newDatabase,
  onBothEngines,
  type World,
} from '../../support/world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'

const URL = '/v10/projects/web/env'
const ENVIRONMENTS = '/v9/projects/web/custom-environments'
const SECRET = { key: 'TOKEN', value: 'hunter2', type: 'encrypted' }

/** A project `web` with the environments `staging` and `qa`. */
async function open({ call }: { call: Call }, query = ''): Promise<{ staging: string; qa: string }> {
  assert.equal((await call('POST', `/v10/projects${query}`, { name: 'web' })).status, 200)
  return {
    staging: await environment(call, { slug: 'staging' }, query),
    qa: await environment(call, { slug: 'qa' }, query),
  }
}

async function environment(call: Call, body: object, query = ''): Promise<string> {
  const made = await call('POST', `${ENVIRONMENTS}${query}`, body)
  assert.equal(made.status, 201, made.text)
  return made.body.id
}

async function put(call: Call, body: object, query = ''): Promise<string> {
  const made = await call('POST', `${URL}${query}`, body)
  assert.equal(made.status, 201, made.text)
  return made.body.created.id
}

const told = ({ status, body }: ApiResponse) => [status, body.error?.code]
const places = ({ target, customEnvironmentIds }: { target: string[]; customEnvironmentIds: string[] }) => [
  target,
  customEnvironmentIds,
]
async function pulled(call: Call, target: string): Promise<object> {
  const answer = await call('GET', `/v3/env/pull/web/${target}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.env
}

/** The counters and places say what the variables say. */
async function mustAddUp({ deps }: Pick<World, 'deps'>): Promise<void> {
  const rows = await deps.db.read.selectFrom('env_var').selectAll().execute()
  const counted = new Map<string, [number, number]>()
  for (const row of rows) {
    for (const target of row.targets.split(',')) {
      const [variables, bytes] = counted.get(target) ?? [0, 0]
      counted.set(target, [variables + 1, bytes + row.value_bytes])
    }
  }
  const usage = await deps.db.read.selectFrom('env_usage').selectAll().execute()
  const kept = usage.filter((row) => row.variables !== 0 || row.bytes !== 0)
  assert.deepEqual(new Map(kept.map((row) => [row.target, [row.variables, row.bytes]])), counted)
  const taken = await deps.db.read.selectFrom('env_target').selectAll().execute()
  const wanted = rows.flatMap((row) =>
    row.targets
      .split(',')
      .filter((target) => target !== '')
      .map((one) => `${row.id} ${one}`),
  )
  assert.deepEqual(taken.map((row) => `${row.env_id} ${row.target}`).sort(), wanted.sort())
}

onBothEngines('a variable in custom environments, alone or with others, appears in every response', async (world) => {
  const { staging, qa } = await open(world)
  const alone = await put(world.call, { ...SECRET, target: [], customEnvironmentIds: [staging] })
  const bare = await put(world.call, { ...SECRET, target: null, value: 'q', customEnvironmentIds: ['qa'] })
  const both = { ...SECRET, key: 'BOTH', target: ['production', 'preview'], customEnvironmentIds: [qa, staging, 'qa'] }
  const bothId = await put(world.call, both)
  const shown = [
    ...(await world.call('GET', URL)).body.envs,
    ...(await world.call('GET', '/v9/projects/web')).body.env,
    ...(await world.call('GET', '/v9/projects')).body.projects[0].env,
    (await world.call('GET', `/v1/projects/web/env/${bothId}`)).body,
  ]
  for (const one of shown) {
    const wanted = {
      [alone]: [[], [staging]],
      [bare]: [[], [qa]],
      [bothId]: [
        ['production', 'preview'],
        [staging, qa],
      ],
    }
    assert.deepEqual(places(one), wanted[one.id])
  }
  assert.equal(shown.length, 10)
  const listed = async (query: string) => {
    const { envs } = (await world.call('GET', `${URL}?${query}`)).body
    return envs.map((env: { id: string }) => env.id).sort()
  }
  for (const said of ['staging', staging]) {
    for (const query of [`customEnvironmentId=${said}`, `customEnvironmentSlug=${said}`, `target=${said}`]) {
      assert.deepEqual(await listed(query), [alone, bothId].sort(), query)
    }
  }
  assert.deepEqual(await listed(`target=production&customEnvironmentId=${qa}`), [bothId])
  assert.deepEqual(await listed('customEnvironmentId=nowhere'), [])
  assert.deepEqual(told(await world.call.try('GET', `${URL}?target=nowhere`)), [400, 'bad_request'])
  const events = await world.deps.db.read.selectFrom('event').selectAll().where('type', 'like', '%created').execute()
  const told_ = events
    .map(({ payload_json }) => JSON.parse(payload_json).envVar)
    .filter((envVar) => envVar?.id === bothId)
  assert.deepEqual(places(told_[0]), [
    ['production', 'preview'],
    [staging, qa],
  ])
  await mustAddUp(world)
})

onBothEngines('an environment that the project does not have is refused, wherever it is named', async (world) => {
  await open(world)
  assert.equal((await world.call('POST', '/v10/projects', { name: 'other' })).status, 200)
  const foreign = await world.call('POST', '/v9/projects/other/custom-environments', { slug: 'elsewhere' })
  const id = await put(world.call, { ...SECRET, target: ['preview'] })
  for (const name of ['env_unknown', 'nowhere', foreign.body.id, 'elsewhere', '']) {
    const named = { target: ['production'], customEnvironmentIds: [name] }
    const answers = [
      await world.call.try('POST', URL, { ...SECRET, ...named }),
      await world.call.try('POST', URL, [{ ...SECRET, ...named }]),
      await world.call.try('POST', `${URL}?upsert=true`, { ...SECRET, ...named }),
      await world.call.try('PATCH', `${URL}/${id}`, { customEnvironmentIds: [name] }),
    ]
    for (const answer of answers) {
      assert.deepEqual(told(answer), [400, 'bad_request'], answer.text)
      assert.match(answer.body.error.message, /`customEnvironmentIds`/)
    }
    assert.match(answers[1]!.body.error.message, /Item 0: /)
  }
  const file = new Blob(['A=b'], { type: 'text/plain' })
  assert.deepEqual(told(await world.call.try('PUT', `${URL}?target=preview,nowhere`, file)), [400, 'bad_request'])
  assert.deepEqual(told(await world.call.try('GET', `${URL}/export?target=nowhere`)), [400, 'bad_request'])
  const lost = await world.call.try('GET', '/v3/env/pull/web/nowhere')
  assert.deepEqual(told(lost), [404, 'not_found'])
  assert.match(lost.body.error.message, /production, preview, development, staging, qa/)
  const first = { name: 'new', environmentVariables: [{ ...SECRET, target: [], customEnvironmentIds: ['staging'] }] }
  assert.deepEqual(told(await world.call.try('POST', '/v10/projects', first)), [400, 'bad_request'])
  assert.equal((await world.call('GET', URL)).body.envs.length, 1)
})

onBothEngines('a slot in a custom environment is taken once, and upsert overwrites its variable', async (world) => {
  const { staging, qa } = await open(world)
  const body = { ...SECRET, target: [], customEnvironmentIds: [staging] }
  const answers = await Promise.all(Array.from({ length: 20 }, () => world.call.try('POST', URL, body)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(403)])
  const refused = answers.find(({ status }) => status === 403)!.body.error
  const { id } = answers.find(({ status }) => status === 201)!.body.created
  assert.deepEqual([refused.code, refused.envVarId, ...places(refused)], ['ENV_ALREADY_EXISTS', id, [], [staging]])
  // The same key in another environment too.
  const wide = await put(world.call, { ...SECRET, value: 'wide', target: ['preview'], customEnvironmentIds: [qa] })
  const conflict = await world.call.try('PATCH', `${URL}/${wide}`, { customEnvironmentIds: [qa, staging] })
  assert.deepEqual(
    [...told(conflict), ...places(conflict.body.error)],
    [400, 'ENV_CONFLICT', ['preview'], [staging, qa]],
  )

  // What lies within is changed in place, and what lies partly without gives up its share.
  const upserted = await world.call('POST', `${URL}?upsert=true`, {
    ...body,
    value: 'new',
    customEnvironmentIds: [staging, qa],
  })
  assert.deepEqual([upserted.body.created.id, ...places(upserted.body.created)], [id, [], [staging, qa]])
  assert.deepEqual(places((await world.call('GET', `${URL}/${wide}`)).body), [['preview'], []])
  assert.deepEqual(
    [await pulled(world.call, 'qa'), await pulled(world.call, 'preview')],
    [{ TOKEN: 'new' }, { TOKEN: 'wide' }],
  )
  const branch = { ...SECRET, target: ['preview'], customEnvironmentIds: [qa], gitBranch: 'dev' }
  assert.deepEqual(told(await world.call.try('POST', URL, branch)), [400, 'bad_request'])
  await mustAddUp(world)
})

onBothEngines('an edit changes one list of environments and leaves the other', async (world) => {
  const { staging, qa } = await open(world)
  const id = await put(world.call, { ...SECRET, target: ['production', 'preview'], customEnvironmentIds: [staging] })
  const edit = async (body: object) => {
    const answer = await world.call.try('PATCH', `${URL}/${id}`, body)
    return answer.status === 200 ? [...places(answer.body), answer.body.version] : told(answer)
  }
  assert.deepEqual(await edit({ comment: 'c' }), [['production', 'preview'], [staging], 2])
  assert.deepEqual(await edit({ target: ['production'] }), [['production'], [staging], 3])
  assert.deepEqual(await edit({ customEnvironmentIds: [qa, staging] }), [['production'], [staging, qa], 4])
  assert.deepEqual(await edit({ customEnvironmentIds: [qa, staging] }), [['production'], [staging, qa], 4])
  assert.deepEqual(await edit({ target: null }), [[], [staging, qa], 5])
  assert.deepEqual(await edit({ customEnvironmentIds: [] }), [400, 'MISSING_TARGET'])
  assert.deepEqual(await edit({ customEnvironmentIds: null, target: ['preview'] }), [['preview'], [], 6])
  const { history } = (await world.call('GET', `${URL}/${id}/history`)).body
  assert.deepEqual(history.map(({ changed }: { changed: string[] }) => changed).reverse(), [
    [],
    ['comment'],
    ['target'],
    ['customEnvironmentIds'],
    ['target'],
    ['target', 'customEnvironmentIds'],
  ])
  assert.deepEqual(places(history[2]), [['production'], [staging, qa]])
  await mustAddUp(world)
})

onBothEngines('a restore brings environments back, but none that is gone', async (world) => {
  const { staging, qa } = await open(world)
  const id = await put(world.call, { ...SECRET, target: [], customEnvironmentIds: [staging, qa] })
  await world.call('PATCH', `${URL}/${id}`, { customEnvironmentIds: [qa] })
  await world.call('PATCH', `${URL}/${id}`, { target: ['preview'], customEnvironmentIds: [] })
  await world.call('DELETE', `${ENVIRONMENTS}/qa`)
  const restore = (version: number) => world.call.try('POST', `${URL}/${id}/history/${version}/restore`)
  assert.deepEqual(places((await restore(1)).body), [[], [staging]])
  assert.deepEqual(told(await restore(2)), [400, 'MISSING_TARGET'])
  assert.deepEqual(await pulled(world.call, 'staging'), { TOKEN: 'hunter2' })
  await mustAddUp(world)
})

onBothEngines('an environment is pulled, exported and filled from a text by its slug', async (world) => {
  const { staging } = await open(world)
  const text = new Blob(['TOKEN=one\nPORT=80'], { type: 'text/plain' })
  const dry = await world.call('PUT', `${URL}?target=staging,preview&dryRun=true`, text)
  assert.deepEqual([...places(dry.body), dry.body.plan.created], [['preview'], [staging], ['TOKEN', 'PORT']])
  assert.equal((await world.call('PUT', `${URL}?target=staging,preview`, text)).status, 200)
  const less = new Blob(['TOKEN=two'], { type: 'text/plain' })
  const done = await world.call('PUT', `${URL}?target=${staging}&mode=replace`, less)
  assert.deepEqual(done.body.plan, { created: [], updated: ['TOKEN'], removed: ['PORT'], unchanged: [] })
  await put(world.call, { ...SECRET, key: 'KEY', type: 'sensitive', target: [], customEnvironmentIds: [staging] })
  for (const said of ['staging', staging, 'staging/dev']) {
    const { body } = await world.call('GET', `/v2/env/pull/web/${said}`)
    assert.deepEqual([body.env, body.omitted], [{ TOKEN: 'two' }, ['KEY']], said)
  }
  assert.equal(
    (await world.call('GET', `${URL}/export?target=staging`)).text,
    'TOKEN=two\n# KEY is left out: its value cannot be read\n',
  )
  assert.deepEqual(await pulled(world.call, 'preview'), { TOKEN: 'one', PORT: '80' })
  await mustAddUp(world)
})

onBothEngines('each custom environment has a limit of its own', async (world) => {
  const { staging, qa } = await open(world)
  const big = { ...SECRET, value: 'x'.repeat(64 * 1024), target: [] }
  await put(world.call, { ...big, customEnvironmentIds: [staging] })
  const one = { ...SECRET, key: 'ONE', value: 'x', target: [] }
  assert.deepEqual(told(await world.call.try('POST', URL, { ...one, customEnvironmentIds: [staging] })), [
    400,
    'MAX_ENVS_EXCEEDED',
  ])
  await put(world.call, { ...one, customEnvironmentIds: [qa] })
  await mustAddUp(world)
})

onBothEngines(
  'variables of a removed environment stay without it, or are removed if the request says so',
  async (world) => {
    const { staging, qa } = await open(world)
    const alone = await put(world.call, { ...SECRET, target: [], customEnvironmentIds: [staging] })
    const shared = await put(world.call, {
      ...SECRET,
      key: 'SHARED',
      target: ['production'],
      customEnvironmentIds: [staging],
    })
    assert.equal((await world.call('DELETE', `${ENVIRONMENTS}/staging`)).status, 200)
    const shown = async (id: string) => (await world.call('GET', `${URL}/${id}`)).body
    assert.deepEqual([...places(await shown(alone)), (await shown(alone)).value], [[], [], 'hunter2'])
    assert.deepEqual(places(await shown(shared)), [['production'], []])
    for (const target of ['production', 'preview', 'development', 'qa']) {
      assert.equal('TOKEN' in (await pulled(world.call, target)), false, target)
    }
    await mustAddUp(world)
    // It gets an environment again or is deleted; until then it conflicts with no other variable.
    assert.deepEqual(told(await world.call.try('PATCH', `${URL}/${alone}`, { comment: 'c' })), [400, 'MISSING_TARGET'])
    await put(world.call, { ...SECRET, target: ['preview'] })
    assert.deepEqual(places((await world.call('PATCH', `${URL}/${alone}`, { customEnvironmentIds: [qa] })).body), [
      [],
      [qa],
    ])
    const gone = await world.call('DELETE', `${ENVIRONMENTS}/${qa}`, { deleteUnassignedEnvironmentVariables: true })
    assert.equal(gone.status, 200)
    assert.equal((await world.call.try('GET', `${URL}/${alone}`)).status, 404)
    const stored = await world.deps.db.read.selectFrom('env_history').selectAll().where('env_id', '=', alone).execute()
    assert.ok(
      stored.every((row) => row.sealed_value === null),
      'a deleted value is gone from the history too',
    )
    const events = await world.deps.db.read.selectFrom('event').selectAll().orderBy('stamp').execute()
    assert.deepEqual(
      events
        .filter(({ type }) => /env-variable.(updated|deleted)/.test(type))
        .map(({ type, payload_json }) => {
          const { envVar, envVars = [envVar] } = JSON.parse(payload_json)
          return `${type.split('.').at(-1)} ${envVars.map(({ key }: { key: string }) => key).join()}`
        }),
      ['updated TOKEN,SHARED', 'updated TOKEN', 'deleted TOKEN'],
    )
    await mustAddUp(world)
  },
)

onBothEngines('the limit of variables without an environment is the limit of one environment', async (world) => {
  const { staging, qa } = await open(world)
  const items = (customEnvironmentIds: string[]) =>
    Array.from({ length: 600 }, (_, at) => ({
      key: `V${at}`,
      value: '',
      type: 'plain',
      target: [],
      customEnvironmentIds,
    }))
  for (const id of [staging, qa]) {
    assert.equal((await world.call('POST', URL, items([id]))).body.created.length, 600)
  }
  assert.equal((await world.call('DELETE', `${ENVIRONMENTS}/staging`)).status, 200)
  const refused = await world.call.try('DELETE', `${ENVIRONMENTS}/qa`)
  assert.deepEqual(told(refused), [400, 'MAX_ENVS_EXCEEDED'])
  assert.match(refused.body.error.message, /deleteUnassignedEnvironmentVariables/)
  assert.equal((await world.call('GET', `${URL}?customEnvironmentId=qa`)).body.envs.length, 600)
  const flag = { deleteUnassignedEnvironmentVariables: true }
  assert.equal((await world.call('DELETE', `${ENVIRONMENTS}/qa`, flag)).status, 200)
  assert.equal((await world.call('GET', URL)).body.envs.length, 600)
  await mustAddUp(world)
})

onBothEngines('a variable created during the removal of its environment is not left in it', async (world) => {
  await open(world)
  for (let round = 0; round < 5; round++) {
    const customEnvironmentIds = [await environment(world.call, { slug: `round${round}` })]
    const makes = Array.from({ length: 10 }, (_, at) =>
      world.call.try('POST', URL, { ...SECRET, key: `K${round}_${at}`, target: [], customEnvironmentIds }),
    )
    const all = await Promise.all([...makes, world.call.try('DELETE', `${ENVIRONMENTS}/round${round}`)])
    for (const { status } of all) assert.ok([200, 201, 400].includes(status), `${status}`)
  }
  const { envs } = (await world.call('GET', URL)).body
  for (const env of envs) assert.deepEqual(places(env), [[], []])
  await mustAddUp(world)
})

onBothEngines(
  'a new environment can start with copies of another, newly encrypted, write-only where the originals are',
  async (world) => {
    const { staging } = await open(world)
    const rest = { target: ['preview'], customEnvironmentIds: [staging] }
    const first = await put(world.call, { ...SECRET, ...rest, comment: 'why' })
    await put(world.call, { ...SECRET, ...rest, key: 'KEY', type: 'sensitive' })
    await put(world.call, { key: 'VERCEL_URL', value: 'VERCEL_URL', type: 'system', ...rest })
    await put(world.call, { ...SECRET, key: 'BRANCH', target: ['preview'], gitBranch: 'dev' })
    for (const [slug, copyEnvVarsFrom] of [
      ['one', 'staging'],
      ['two', 'preview'],
      ['three', staging],
    ] as const) {
      const id = await environment(world.call, { slug, copyEnvVarsFrom })
      const { envs } = (await world.call('GET', `${URL}?decrypt=true&customEnvironmentId=${slug}`)).body
      type Env = {
        key: string
        type: string
        value: string
        comment?: string
        target: string[]
        customEnvironmentIds: string[]
      }
      assert.deepEqual(envs.map(({ key, type, value, comment }: Env) => [key, type, value, comment]).sort(), [
        ['KEY', 'sensitive', '', undefined],
        ['TOKEN', 'encrypted', 'hunter2', 'why'],
        ['VERCEL_URL', 'system', 'VERCEL_URL', undefined],
      ])
      for (const env of envs) assert.deepEqual(places(env), [[], [id]])
    }
    await world.call('PATCH', `${URL}/${first}`, { value: 'later' })
    assert.deepEqual(await pulled(world.call, 'one'), { TOKEN: 'hunter2' })
    await mustAddUp(world)
  },
)

onBothEngines('a user copies no variables out of production without the right to read them there', async (world) => {
  const { teamId } = world.credentials
  const query = `?teamId=${teamId}`
  await open(world, query)
  const secret = { ...SECRET, target: ['production', 'preview'] }
  const id = await put(world.call, secret, query)
  const { id: userId, call } = await world.user('dev')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${userId}`, { role: 'DEVELOPER' })
  const app = await seedIntegration(world, { slug: 'own', scopes: ['read-write:project'] })
  const { code } = await consentAndInstall(world, app)
  const installed = world.as((await exchange(world, app, code)).body.access_token)
  for (const [caller, from] of [
    [call, 'production'],
    [call, 'preview'],
    [installed, 'preview'],
  ] as const) {
    const refused = await caller.try('POST', `${ENVIRONMENTS}${query}`, { slug: 'copy', copyEnvVarsFrom: from })
    assert.deepEqual(told(refused), [403, 'forbidden'], from)
  }
  assert.equal((await world.call.try('GET', `${ENVIRONMENTS}/copy${query}`)).status, 404)
  await world.call('PATCH', `${URL}/${id}${query}`, { target: ['preview'] })
  assert.equal(
    (await call('POST', `${ENVIRONMENTS}${query}`, { slug: 'copy', copyEnvVarsFrom: 'preview' })).status,
    201,
  )
})

onBothEngines('a developer works on a custom environment as on preview, and a viewer only looks', async (world) => {
  const { teamId } = world.credentials
  const query = `?teamId=${teamId}`
  const { staging } = await open(world, query)
  const { id: userId, call } = await world.user('somebody')
  const role = (role: string) => world.operator.try('PUT', `/operator/v1/teams/${teamId}/members/${userId}`, { role })
  await role('DEVELOPER')
  const body = { ...SECRET, target: [], customEnvironmentIds: [staging] }
  const id = await put(call, body, query)
  assert.equal((await call('GET', `/v3/env/pull/web/staging${query}`)).body.env.TOKEN, 'hunter2')
  const production = { target: ['production'] }
  assert.deepEqual(told(await call.try('PATCH', `${URL}/${id}${query}`, production)), [403, 'forbidden'])
  await world.call('PATCH', `${URL}/${id}${query}`, production)
  assert.deepEqual(told(await call.try('PATCH', `${URL}/${id}${query}`, { customEnvironmentIds: [] })), [
    403,
    'forbidden',
  ])
  assert.deepEqual((await call('GET', `/v3/env/pull/web/staging${query}`)).body.omitted, ['TOKEN'])
  await role('VIEWER')
  assert.deepEqual(told(await call.try('POST', `${URL}${query}`, { ...body, key: 'K' })), [403, 'forbidden'])
  assert.deepEqual(told(await call.try('GET', `/v3/env/pull/web/staging${query}`)), [403, 'forbidden'])
  assert.equal((await call('GET', `${URL}${query}&customEnvironmentId=staging`)).body.envs.length, 1)
})

onBothEngines(
  'removing an environment deletes variables only where the caller can change all of them',
  async (world) => {
    const { teamId } = world.credentials
    const query = `?teamId=${teamId}`
    const { staging } = await open(world, query)
    const scopes = ['read-write:project', 'read-write:project-env-vars']
    const app = await seedIntegration(world, { slug: 'own', scopes })
    const { code } = await consentAndInstall(world, app)
    const call = world.as((await exchange(world, app, code)).body.access_token)
    const body = { ...SECRET, target: [], customEnvironmentIds: [staging] }
    await put(call, { ...body, key: 'THEIRS' }, query)
    const peoples = await put(world.call, { ...body, key: 'PEOPLES' }, query)
    const taken = await call.try('POST', `${URL}${query}`, { ...body, key: 'PEOPLES' })
    assert.deepEqual([...told(taken), taken.body.error.envVarId], [403, 'ENV_ALREADY_EXISTS', undefined])
    const flag = { deleteUnassignedEnvironmentVariables: true }
    for (const body of [flag, {}])
      assert.deepEqual(told(await call.try('DELETE', `${ENVIRONMENTS}/staging${query}`, body)), [403, 'forbidden'])
    const moved = await world.call('PATCH', `${URL}/${peoples}${query}`, {
      target: ['preview'],
      customEnvironmentIds: [],
    })
    assert.equal(moved.status, 200, moved.text)
    const gone = await call('DELETE', `${ENVIRONMENTS}/staging${query}`, flag)
    assert.equal(gone.status, 200, gone.text)
    const { envs } = (await world.call('GET', `${URL}${query}`)).body
    assert.deepEqual(
      envs.map((env: { id: string }) => env.id),
      [peoples],
    )
    assert.deepEqual(places(envs[0]), [['preview'], []])
    await mustAddUp(world)
  },
)

for (const engine of ENGINES) {
  test(`a store from before custom environments keeps its variables, and gets environments [${engine}]`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const database = engine === 'postgres' ? await newDatabase() : `sqlite:${join(folder, 'berth.db')}`
    const settings = {
      BERTH_DATA: folder,
      DATABASE_URL: database,
      PORT: '0',
      BERTH_EDGE_PORT: '0',
      BERTH_TIMERS: 'off',
    }
    const open = () =>
      openService(readConfig(settings), pino({ level: 'silent' }), (error) => assert.fail(String(error)))
    const old = await open()
    const { token } = old.credentials
    const before = callerOf(old, token)
    assert.equal((await before('POST', '/v10/projects', { name: 'web' })).status, 200)
    const id = await put(before, { ...SECRET, target: ['production', 'preview'] })
    await put(before, { ...SECRET, key: 'BRANCH', target: ['preview'], gitBranch: 'dev' })
    const list = (await before('GET', `${URL}?decrypt=true`)).text
    await old.deps.db.write(async (tx) => {
      await sql`alter table project drop column custom_environments_json`.execute(tx)
      await up(tx as unknown as Kysely<unknown>)
    })
    await old.close()

    const service = await open()
    t.after(() => service.close())
    const call = callerOf(service, token)
    assert.equal((await call('GET', `${URL}?decrypt=true`)).text, list)
    assert.deepEqual((await call('GET', '/v9/projects/web')).body.customEnvironments, [])
    const staging = await environment(call, { slug: 'staging', copyEnvVarsFrom: 'preview' })
    assert.deepEqual(await pulled(call, 'staging'), { TOKEN: 'hunter2' })
    const wider = await call.try('PATCH', `${URL}/${id}`, { customEnvironmentIds: [staging] })
    assert.deepEqual(told(wider), [400, 'ENV_CONFLICT'])
    assert.deepEqual(told(await call.try('POST', URL, { ...SECRET, target: ['preview'] })), [403, 'ENV_ALREADY_EXISTS'])
    await mustAddUp(service)
  })
}
