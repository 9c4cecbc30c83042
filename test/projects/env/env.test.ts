/** Operations 16 to 20, as the specification, docs/spec/decisions.md and docs/spec/wire.md 2.8 say them. */

import assert from 'node:assert/strict'
import { setInTransfer } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PLAIN = { key: 'PORT', value: '8080', type: 'plain', target: ['production'] }
const SECRET = { key: 'TOKEN', value: 'hunter2', type: 'encrypted', target: ['production', 'preview'] }
const WRITE_ONLY = { key: 'KEY', value: 'never-again', type: 'sensitive', target: ['production'] }

async function project({ call }: Pick<World, 'call'>, name = 'web') {
  const { body } = await call('POST', '/v10/projects', { name })
  return { id: body.id as string, url: `/v10/projects/${name}/env` as const }
}

const names = (envs: { key: string }[]) => envs.map(({ key }) => key).sort()

onBothEngines('a single body returns one complete variable', async (world) => {
  const { url } = await project(world)
  const made = await world.call('POST', url, { ...SECRET, comment: 'for the API' })
  assert.equal(made.status, 201)
  const { id, createdAt, updatedAt, value, ...rest } = made.body.created
  assert.match(id, /^env_[0-9A-Za-z]{28}$/)
  assert.equal(createdAt, updatedAt)
  assert.match(value, /^sealed:/)
  assert.deepEqual(rest, {
    key: 'TOKEN',
    type: 'encrypted',
    target: ['production', 'preview'],
    comment: 'for the API',
    configurationId: null,
    createdBy: world.credentials.userId,
    updatedBy: world.credentials.userId,
    edgeConfigId: null,
    edgeConfigTokenId: null,
    contentHint: null,
    customEnvironmentIds: [],
    decrypted: false,
    version: 1,
  })
  assert.deepEqual(made.body.failed, [])
})

onBothEngines('an array returns what was created and what failed, in order', async (world) => {
  const { url } = await project(world)
  await world.call('POST', url, PLAIN)
  const made = await world.call('POST', url, [SECRET, PLAIN, WRITE_ONLY, { ...SECRET, target: 'preview' }])
  assert.equal(made.status, 201)
  assert.deepEqual(
    made.body.created.map((env: { key: string }) => env.key),
    ['TOKEN', 'KEY'],
  )
  const { envs } = (await world.call('GET', url)).body
  assert.deepEqual(names(envs), ['KEY', 'PORT', 'TOKEN'])
  const port = envs.find((env: { key: string }) => env.key === 'PORT')
  assert.deepEqual(
    made.body.failed.map((failed: { error: { message: string } }) => ({ ...failed.error, message: '' })),
    [
      {
        code: 'ENV_ALREADY_EXISTS',
        message: '',
        key: 'PORT',
        envVarKey: 'PORT',
        envVarId: port!.id,
        target: ['production'],
      },
      {
        code: 'ENV_ALREADY_EXISTS',
        message: '',
        key: 'TOKEN',
        envVarKey: 'TOKEN',
        envVarId: made.body.created[0].id,
        target: ['preview'],
      },
    ],
  )
})

onBothEngines('an array needs a path of version 10 or more, or none', async (world) => {
  const { id } = await project(world)
  for (const version of ['/v10', '/v13', '']) {
    const body = [{ ...PLAIN, key: `A${version.slice(2)}` }]
    assert.equal((await world.call('POST', `${version}/projects/${id}/env`, body)).status, 201)
  }
  for (const version of ['/v1', '/v9']) {
    const refused = await world.call.try('POST', `${version}/projects/${id}/env`, [SECRET])
    assert.equal(refused.status, 400)
    assert.deepEqual(refused.body.error, { code: 'bad_request', message: 'Invalid request: should be object.' })
    assert.equal(
      (await world.call('POST', `${version}/projects/${id}/env`, { ...PLAIN, key: version.slice(1) })).status,
      201,
    )
  }
})

onBothEngines('a taken key, target and branch returns 403 and names the existing variable', async (world) => {
  const { url } = await project(world)
  const made = await world.call('POST', url, SECRET)
  const refused = await world.call.try('POST', url, { ...SECRET, target: ['preview', 'development'] })
  assert.equal(refused.status, 403)
  const { message, ...error } = refused.body.error
  assert.match(message, /exists/)
  assert.deepEqual(error, {
    code: 'ENV_ALREADY_EXISTS',
    envVarId: made.body.created.id,
    envVarKey: 'TOKEN',
    key: 'TOKEN',
    target: ['preview', 'development'],
  })
  // Nothing of the refused one is left: its other target is free.
  assert.equal((await world.call('POST', url, { ...SECRET, target: ['development'] })).status, 201)
})

onBothEngines('a branch value exists in addition to the general preview value', async (world) => {
  const { url } = await project(world)
  const general = { ...PLAIN, target: ['preview'] }
  for (const gitBranch of [null, 'feature/a', 'feature/b']) {
    assert.equal((await world.call('POST', url, { ...general, gitBranch })).status, 201)
  }
  const refused = await world.call.try('POST', url, { ...general, gitBranch: 'feature/a' })
  assert.equal(refused.status, 403)
  assert.equal(refused.body.error.gitBranch, 'feature/a')
  const { envs } = (await world.call('GET', `${url}?gitBranch=feature/a`)).body
  assert.deepEqual([envs.length, envs[0].gitBranch], [1, 'feature/a'])
})

onBothEngines('the fields of each type in every response', async (world) => {
  const { url } = await project(world)
  await world.call('POST', url, [PLAIN, SECRET, WRITE_ONLY, { ...SECRET, key: 'OLD', type: 'secret' }])
  await world.call('POST', url, { key: 'VERCEL_URL', value: 'VERCEL_URL', type: 'system', target: ['production'] })
  const shown = async (query: string) => {
    const { envs } = (await world.call('GET', `${url}${query}`)).body
    return Object.fromEntries(
      envs.map(({ key, value, decrypted, securityIssues }) => {
        assert.deepEqual(securityIssues, [])
        return [key, [value.replace(/^sealed:.+/, 'sealed'), decrypted]]
      }),
    )
  }
  assert.deepEqual(await shown(''), {
    PORT: ['8080', true],
    VERCEL_URL: ['VERCEL_URL', true],
    TOKEN: ['sealed', false],
    OLD: ['sealed', false],
    KEY: ['', false],
  })
  assert.deepEqual(await shown('?decrypt=true&source=vercel-cli:pull'), {
    PORT: ['8080', true],
    VERCEL_URL: ['VERCEL_URL', true],
    TOKEN: ['hunter2', true],
    OLD: ['hunter2', true],
    KEY: ['', false],
  })
  for (const { id, key } of (await world.call('GET', url)).body.envs) {
    const { body } = await world.call('GET', `/v1/projects/web/env/${id}`)
    assert.deepEqual([body.value, body.decrypted], (await shown('?decrypt=true'))[key])
  }
})

onBothEngines('a value that is stored is the value that is read, to the byte', async (world) => {
  const { url } = await project(world)
  const values = ['', ' ', '\n', 'a=b\r\n', '🚢 ünï', '"\'`$\\', 'x'.repeat(20_000), '{"a":1}']
  const items = values.map((value, at) => ({ ...SECRET, key: `V${at}`, value }))
  assert.equal((await world.call('POST', url, items)).body.created.length, values.length)
  const { envs } = (await world.call('GET', `${url}?decrypt=1`)).body
  for (const [at, value] of values.entries()) {
    assert.equal(envs.find((env: { key: string }) => env.key === `V${at}`)!.value, value)
  }
})

onBothEngines(
  'target is accepted as a string or a list and returned as a list; the type defaults to encrypted',
  async (world) => {
    const { url } = await project(world)
    const bare = await world.call('POST', url, { key: 'A', value: '1', target: 'preview' })
    assert.deepEqual([bare.body.created.target, bare.body.created.type], [['preview'], 'encrypted'])
    const twice = await world.call('POST', url, { key: 'B', value: '1', target: ['preview', 'production', 'preview'] })
    assert.deepEqual(twice.body.created.target, ['production', 'preview'])
  },
)

onBothEngines('fields in addition to the specification are stored and echoed, or ignored', async (world) => {
  const { url } = await project(world)
  const contentHint = { type: 'redis-url', storeId: 'store_1' }
  const made = await world.call('POST', url, {
    ...SECRET,
    contentHint,
    edgeConfigId: 'ecfg_1',
    edgeConfigTokenId: 'tok_1',
    customEnvironmentIds: [],
    visibility: 'secret',
    gitBranch: null,
  })
  assert.equal(made.status, 201)
  const { body } = await world.call('GET', `/v1/projects/web/env/${made.body.created.id}`)
  assert.deepEqual([body.contentHint, body.edgeConfigId, body.edgeConfigTokenId], [contentHint, 'ecfg_1', 'tok_1'])
  assert.equal('gitBranch' in body || 'comment' in body || 'visibility' in body, false)
  for (const [filter, found] of [
    ['edgeConfigId=ecfg_1', 1],
    ['edgeConfigId=x', 0],
    ['edgeConfigTokenId=tok_1', 1],
  ] as const) {
    assert.equal((await world.call('GET', `/v9/projects?${filter}`)).body.projects.length, found, filter)
  }
  const refused = await world.call.try('POST', url, { ...PLAIN, customEnvironmentIds: ['env_x'] })
  assert.equal(refused.status, 400)
  assert.match(refused.body.error.message, /customEnvironmentIds/)
})

onBothEngines('the list pages with limit and until, and filters by target', async (world) => {
  const { url } = await project(world)
  const items = Array.from({ length: 25 }, (_, at) => ({ ...PLAIN, key: `V${at}` }))
  await world.call('POST', url, items)
  await world.call('POST', url, { ...PLAIN, target: ['development'] })
  const seen: string[] = []
  let until = ''
  do {
    const { body } = await world.call('GET', `${url}?limit=10&target=production${until}`)
    seen.push(...body.envs.map((env: { key: string }) => env.key))
    until = body.pagination.next === null ? '' : `&until=${body.pagination.next}`
  } while (until !== '')
  assert.deepEqual(seen, items.map(({ key }) => key).reverse())
  const whole = (await world.call('GET', url)).body
  assert.deepEqual([whole.envs.length, whole.pagination], [26, { count: 26, next: null, prev: null }])
})

onBothEngines('an edit changes only the fields in its body, and increments the version', async (world) => {
  const { url } = await project(world)
  const { id } = (await world.call('POST', url, { ...SECRET, comment: 'c' })).body.created
  const edit = async (body: object) => (await world.call('PATCH', `/v9/projects/web/env/${id}`, body)).body
  assert.equal((await edit({ value: 'other' })).version, 2)
  assert.equal((await edit({ value: 'other' })).version, 2)
  const renamed = await edit({ key: 'NAME', target: ['preview'], gitBranch: 'dev', comment: '' })
  assert.deepEqual(
    [renamed.key, renamed.target, renamed.gitBranch, 'comment' in renamed, renamed.version, renamed.id],
    ['NAME', ['preview'], 'dev', false, 3, id],
  )
  assert.equal('gitBranch' in (await edit({ gitBranch: null })), false)
  // The places that it left are free.
  assert.equal((await world.call('POST', url, SECRET)).status, 201)
  const { value, decrypted } = (await world.call('GET', `/v1/projects/web/env/${id}`)).body
  assert.deepEqual([value, decrypted], ['other', true])
})

onBothEngines('an edit into a taken place is 400 ENV_CONFLICT and changes nothing', async (world) => {
  const { url } = await project(world)
  await world.call('POST', url, PLAIN)
  const { id } = (await world.call('POST', url, { ...PLAIN, target: ['preview'] })).body.created
  const refused = await world.call.try('PATCH', `/v9/projects/web/env/${id}`, { target: ['preview', 'production'] })
  assert.equal(refused.status, 400)
  assert.equal(refused.body.error.code, 'ENV_CONFLICT')
  assert.deepEqual([refused.body.error.envVarKey, refused.body.error.target], ['PORT', ['production', 'preview']])
  const { body } = await world.call('GET', `/v1/projects/web/env/${id}`)
  assert.deepEqual([body.target, body.version], [['preview'], 1])
})

onBothEngines('the type of a sensitive variable cannot be changed, with a new value or without', async (world) => {
  const { url } = await project(world)
  const { id } = (await world.call('POST', url, WRITE_ONLY)).body.created
  const one = `/v9/projects/web/env/${id}` as const
  for (const type of ['plain', 'encrypted', 'secret', 'system']) {
    for (const value of [undefined, 'new']) {
      const refused = await world.call.try('PATCH', one, { type, value })
      assert.deepEqual([refused.status, refused.body.error.code], [400, 'bad_request'])
      assert.match(refused.body.error.message, /`type` of a sensitive variable/)
    }
  }
  const kept = (await world.call('PATCH', one, { comment: 'x', type: 'sensitive' })).body
  assert.deepEqual([kept.value, kept.decrypted], ['', false])
  const refused = await world.call.try('PATCH', one, { type: 'sensitive', target: ['development'] })
  assert.equal(refused.status, 400)
})

onBothEngines('a delete answers the variable without its value, and frees its place', async (world) => {
  const { url } = await project(world)
  const { id } = (await world.call('POST', url, SECRET)).body.created
  const gone = await world.call('DELETE', `/v9/projects/web/env/${id}`)
  assert.deepEqual([gone.status, gone.body.id, gone.body.key, gone.body.decrypted], [200, id, 'TOKEN', false])
  assert.doesNotMatch(gone.text, /hunter2/)
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const lost = await world.call.try(method, `/v9/projects/web/env/${id}`, method === 'PATCH' ? {} : undefined)
    assert.deepEqual([lost.status, lost.body.error.code], [404, 'not_found'])
  }
  assert.equal((await world.call('POST', url, SECRET)).status, 201)
})

onBothEngines('a batch delete deletes existing variables and lists them', async (world) => {
  const { url } = await project(world)
  const other = await project(world, 'other')
  const { created } = (await world.call('POST', url, [PLAIN, SECRET, WRITE_ONLY])).body
  const foreign = (await world.call('POST', other.url, PLAIN)).body.created
  const ids = [created[0].id, foreign.id, 'env_unknown', created[2].id, created[0].id]
  const gone = await world.call('DELETE', '/v1/projects/web/env', { ids })
  assert.deepEqual(gone.body, { deleted: 2, ids: [created[0].id, created[2].id] })
  assert.deepEqual(names((await world.call('GET', url)).body.envs), ['TOKEN'])
  assert.equal((await world.call('GET', other.url)).body.envs.length, 1)
  assert.equal((await world.call.try('DELETE', '/v1/projects/web/env', { ids: [] })).status, 400)
  const many = Array.from({ length: 1001 }, (_, at) => `env_${at}`)
  assert.equal((await world.call.try('DELETE', '/v1/projects/web/env', { ids: many })).body.error.code, 'TOO_MANY_IDS')
})

onBothEngines('a project is created with its variables, or not at all', async (world) => {
  const { call } = world
  const made = await call('POST', '/v10/projects', {
    name: 'full',
    environmentVariables: [
      { ...SECRET, target: 'production' },
      WRITE_ONLY,
      { ...PLAIN, target: 'preview', gitBranch: 'dev' },
    ],
  })
  assert.equal(made.status, 200)
  assert.deepEqual(names(made.body.env), ['KEY', 'PORT', 'TOKEN'])
  assert.equal((await call('GET', '/v9/projects/full/env?decrypt=true')).body.envs.length, 3)
  for (const bad of [
    { ...PLAIN, key: 'a b' },
    PLAIN,
    { ...PLAIN, target: [] },
    { ...PLAIN, target: 'moon' },
    { key: 'A' },
  ]) {
    const refused = await call.try('POST', '/v10/projects', { name: 'half', environmentVariables: [PLAIN, bad] })
    assert.ok(refused.status === 400 || refused.status === 403, refused.text)
    assert.equal((await call.try('GET', '/v9/projects/half')).status, 404)
  }
  const stored = await world.deps.db.read.selectFrom('env_var').select('id').execute()
  assert.equal(stored.length, 3)
})

onBothEngines('a project carries its variables without clear values, in every answer', async (world) => {
  const { url, id } = await project(world)
  await project(world, 'empty')
  await world.call('POST', url, [SECRET, WRITE_ONLY, { ...SECRET, key: 'P', value: 'plain-value', type: 'plain' }])
  const listed = await world.call('GET', '/v9/projects')
  const list = listed.body.projects
  const answers = [
    await world.call.try('GET', `/v9/projects/${id}`),
    await world.call.try('PATCH', `/v9/projects/${id}`, { buildCommand: 'make' }),
    await world.call.try('POST', `/v1/projects/${id}/pause`),
    await world.call.try('PATCH', `/v1/data-cache/projects/${id}`, { disabled: true }),
  ]
  for (const { body, text } of answers) {
    assert.deepEqual(names(body.env), ['KEY', 'P', 'TOKEN'])
    assert.doesNotMatch(text, /hunter2|never-again|plain-value/)
  }
  assert.deepEqual(names(list.find((one) => one.id === id)!.env), ['KEY', 'P', 'TOKEN'])
  assert.doesNotMatch(listed.text, /hunter2|never-again|plain-value/)
  assert.deepEqual(list.find((one: { name: string }) => one.name === 'empty')!.env, [])
})

onBothEngines('a removed project leaves no variable, history or key behind', async (world) => {
  const { url, id } = await project(world)
  await world.call('POST', url, [SECRET, WRITE_ONLY])
  assert.equal((await world.call('DELETE', `/v9/projects/${id}`)).status, 204)
  for (const table of ['env_var', 'env_target', 'env_usage', 'env_history', 'project_key'] as const) {
    assert.deepEqual(await world.deps.db.read.selectFrom(table).selectAll().execute(), [], table)
  }
})

onBothEngines('every request emits one event for its change, with key and target and never a value', async (world) => {
  const { url, id } = await project(world)
  const { created } = (await world.call('POST', url, [SECRET, WRITE_ONLY])).body
  await world.call('PATCH', `/v9/projects/web/env/${created[0].id}`, { value: 'hunter3' })
  await world.call('DELETE', `/v9/projects/web/env/${created[0].id}`)
  const events = await world.deps.db.read
    .selectFrom('event')
    .selectAll()
    .where('type', 'like', 'project.env-variable.%')
    .orderBy('stamp')
    .execute()
  assert.deepEqual(
    events.map((event) => event.type.replace('project.env-variable.', '')),
    ['created', 'updated', 'deleted'],
  )
  const both = created.map(({ id, key, target }: Record<string, unknown>) => ({ id, key, target }))
  const { envVar, envVars } = JSON.parse(events[0]!.payload_json)
  assert.deepEqual([envVar, envVars], [both[0], both])
  assert.deepEqual(JSON.parse(events[2]!.payload_json), {
    team: { id: null },
    user: { id: world.credentials.userId },
    project: { id, name: 'web' },
    envVar: { id: created[0].id, key: 'TOKEN', target: ['production', 'preview'] },
  })
  assert.doesNotMatch(JSON.stringify(events), /hunter|never-again/)
})

onBothEngines('variables cannot change while their project is being transferred', async (world) => {
  const { url, id } = await project(world)
  const made = (await world.call('POST', url, PLAIN)).body.created
  await setInTransfer(world, id, 1)
  const one = `/v9/projects/web/env/${made.id}` as const
  const answers = [
    await world.call.try('POST', url, SECRET),
    await world.call.try('PATCH', one, { value: '1' }),
    await world.call.try('DELETE', one),
    await world.call.try('DELETE', '/v1/projects/web/env', { ids: [made.id] }),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [409, 409, 409, 409],
  )
  assert.equal((await world.call('GET', one)).body.value, '8080')
})

onBothEngines('an account that owes something creates no variable', async (world) => {
  const { url } = await project(world)
  const account = `/operator/v1/accounts/${world.credentials.userId}` as const
  await world.operator('PATCH', account, { softBlocked: true })
  assert.equal((await world.call.try('POST', url, PLAIN)).body.error.code, 'account_soft_blocked')
  await world.operator('PATCH', account, { softBlocked: false, paymentMissing: true })
  assert.equal((await world.call.try('POST', url, PLAIN)).status, 402)
})

onBothEngines('1,000 variables are listed completely, and decrypted when requested', async (world) => {
  await world.call('POST', '/v10/projects', { name: 'full' })
  const url = '/v10/projects/full/env'
  const items = Array.from({ length: 1000 }, (_, at) => {
    return { key: `KEY_${at}`, value: `value number ${at}`, type: 'encrypted', target: ['production', 'preview'] }
  })
  assert.equal((await world.call('POST', url, items)).body.created.length, 1000)
  const { envs } = (await world.call('GET', `${url}?decrypt=true`)).body
  const values = new Map(envs.map(({ key, value }: { key: string; value: string }) => [key, value]))
  assert.deepEqual(values, new Map(items.map(({ key, value }) => [key, value])))
})

onBothEngines('a project with many or heavy variables shows all of them, alone and in their list', async (world) => {
  const shapes = {
    'one-hundred': { count: 100, bytes: 10 },
    'one-more': { count: 101, bytes: 10 },
    heavy: { count: 2, bytes: 40_000 },
  }
  for (const [name, { count, bytes }] of Object.entries(shapes)) {
    await world.call('POST', '/v10/projects', { name })
    const variables = Array.from({ length: count }, (_, at) => ({
      key: `KEY_${at}`,
      value: 'x'.repeat(bytes),
      type: 'plain',
      target: [['preview', 'development'][at % 2]],
    }))
    assert.equal((await world.call('POST', `/v10/projects/${name}/env`, variables)).status, 201)
    const project = (await world.call('GET', `/v9/projects/${name}`)).body
    const { envs } = (await world.call('GET', `/v9/projects/${project.id}/env`)).body
    assert.deepEqual(
      [project.env, envs].map((all) => all.map((one: { key: string }) => one.key)),
      [envs, envs].map(() => variables.map(({ key }) => key).reverse()),
    )
    assert.ok(envs.every(({ value }: { value: string }) => value.length === bytes))
  }
})
