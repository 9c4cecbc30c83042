/** Features in addition to the specification: history with restore, `.env` imports, pull and export. */
import assert from 'node:assert/strict'
import { tamper } from '../../support/states.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

const URL = '/v10/projects/web/env'
const SECRET = { key: 'TOKEN', value: 'first-value', type: 'encrypted', target: ['production', 'preview'] }
const told = ({ status, body }: ApiResponse) => [status, body.error?.code]

async function made({ call }: Pick<World, 'call'>, item: object = SECRET) {
  await call('POST', '/v10/projects', { name: 'web' })
  const { id } = (await call('POST', URL, item)).body.created
  return { id, one: `/v1/projects/web/env/${id}` as const }
}

onBothEngines('the history has the user, the fields and the time of each change, and never a value', async (world) => {
  const { one } = await made(world)
  await world.call('PATCH', one, { value: 'second-value', comment: 'rotated' })
  const other = await world.token({ scopes: ['read-write:global-project-env-vars'] })
  await other('PATCH', one, { target: ['preview'], gitBranch: 'dev' })
  await world.call('PATCH', one, { target: ['preview'] })
  const answer = await world.call('GET', `${one}/history`)
  assert.equal(answer.status, 200)
  type Item = { version: number; action: string; changed: string[]; target: string[]; restorable: boolean; by: object }
  const shown = answer.body.history.map((row: Item) => [row.version, row.action, row.changed, row.restorable])
  assert.deepEqual(shown, [
    [3, 'updated', ['target', 'gitBranch'], false],
    [2, 'updated', ['value', 'comment'], true],
    [1, 'created', [], true],
  ])
  const [latest] = answer.body.history
  assert.deepEqual(latest.by, { kind: 'user', id: world.credentials.userId })
  assert.deepEqual([latest.target, latest.gitBranch, latest.comment], [['preview'], 'dev', 'rotated'])
  assert.ok(Math.abs(latest.at - Date.now()) < 60_000)
  assert.doesNotMatch(answer.text, /-value|sealed|v1\./)
})

onBothEngines('a restore brings everything of a version back, as a new version', async (world) => {
  const { one, id } = await made(world, { ...SECRET, comment: 'old' })
  await world.call('PATCH', one, {
    key: 'OTHER',
    value: 'second',
    target: ['preview'],
    gitBranch: 'dev',
    comment: 'new',
  })
  const restored = await world.call('POST', `${one}/history/1/restore`)
  assert.equal(restored.status, 200, restored.text)
  const { body } = await world.call('GET', one)
  assert.deepEqual(
    [body.id, body.key, body.value, body.target, body.comment, body.version, 'gitBranch' in body],
    [id, 'TOKEN', 'first-value', ['production', 'preview'], 'old', 3, false],
  )
  await world.call('POST', `${one}/history/2/restore`)
  assert.equal((await world.call('GET', one)).body.value, 'second')
  const { history } = (await world.call('GET', `${one}/history`)).body
  assert.deepEqual(
    history.map((row: { action: string }) => row.action),
    ['restored', 'restored', 'updated', 'created'],
  )
  for (const version of ['0', '9', 'x', '-1', '1e0']) {
    assert.deepEqual(
      told(await world.call.try('POST', `${one}/history/${version}/restore`)),
      [404, 'not_found'],
      version,
    )
  }
})

onBothEngines('a restore never makes a write-only variable readable', async (world) => {
  const { one } = await made(world)
  await world.call('PATCH', one, { type: 'sensitive' })
  assert.equal((await world.call('POST', `${one}/history/1/restore`)).body.type, 'sensitive')
  assert.equal((await world.call.try('PATCH', one, { type: 'plain', value: 'open now' })).status, 400)
  const back = await world.call('POST', `${one}/history/1/restore`)
  assert.deepEqual([back.status, back.body.type, back.body.value], [200, 'sensitive', ''])
  assert.doesNotMatch((await world.call('GET', one)).text, /first-value/)
})

onBothEngines(
  'a variable that was write-only in between comes back write-only, also when it is readable today',
  async (world) => {
    const { one } = await made(world)
    await world.call('PATCH', one, { type: 'sensitive' })
    const { key, target } = SECRET
    const open = await world.call('POST', `${URL}?upsert=true`, { key, target, type: 'plain', value: 'open now' })
    assert.deepEqual(
      [open.status, open.body.created.type, open.body.created.value],
      [201, 'plain', 'open now'],
      open.text,
    )
    const back = await world.call('POST', `${one}/history/1/restore`)
    assert.deepEqual([back.status, back.body.type, back.body.value], [200, 'sensitive', ''])
  },
)

onBothEngines('a restore into a taken place is 400, and a developer restores no production', async (world) => {
  const { one } = await made(world)
  await world.call('PATCH', one, { key: 'MOVED' })
  await world.call('POST', URL, SECRET)
  assert.deepEqual(told(await world.call.try('POST', `${one}/history/1/restore`)), [400, 'ENV_CONFLICT'])
  const { teamId } = world.credentials
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
  const { created } = (await world.call('POST', `${URL}?teamId=${teamId}`, SECRET)).body
  const team = `/v1/projects/web/env/${created.id}` as const
  await world.call('PATCH', `${team}?teamId=${teamId}`, { target: ['preview'] })
  const { id, call } = await world.user('dev')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role: 'DEVELOPER' })
  assert.deepEqual(told(await call.try('POST', `${team}/history/1/restore?teamId=${teamId}`)), [403, 'forbidden'])
  assert.equal((await call('GET', `${team}/history?teamId=${teamId}`)).status, 200)
})

onBothEngines(
  'the history of a deleted variable keeps the user and the time of each change for 30 days, and no value',
  async (world) => {
    const { one } = await made(world)
    await world.call('PATCH', one, { value: 'second-value' })
    await world.call('DELETE', one)
    const { history } = (await world.call('GET', `${one}/history`)).body
    assert.deepEqual(
      history.map((row: { action: string; restorable: boolean }) => [row.action, row.restorable]),
      [
        ['deleted', false],
        ['updated', false],
        ['created', false],
      ],
    )
    assert.equal((await world.call.try('POST', `${one}/history/1/restore`)).status, 404)
    const sealed = await world.deps.db.read.selectFrom('env_history').select('sealed_value').execute()
    assert.deepEqual(
      sealed.map((row) => row.sealed_value),
      [null, null, null],
    )
    const sweep = '/operator/v1/timers/deleted-variables/run'
    const now = world.deps.clock.now()
    assert.equal((await world.operator('POST', sweep, { now: now + 29 * 86_400_000 })).body.swept, 0)
    assert.equal((await world.operator('POST', sweep, { now: now + 31 * 86_400_000 })).body.swept, 3)
    assert.equal((await world.call.try('GET', `${one}/history`)).status, 404)
  },
)

onBothEngines('a variable keeps its last 100 versions', async (world) => {
  const { one } = await made(world)
  for (let at = 2; at <= 105; at++) await world.call('PATCH', one, { value: String(at) })
  const { history } = (await world.call('GET', `${one}/history`)).body
  assert.deepEqual([history.length, history[0].version, history[99]!.version], [100, 105, 6])
})

const text = { 'content-type': 'text/plain' }
const put = (world: World, query: string, body: string) =>
  world.call.try('PUT', `/v1/projects/web/env?${query}`, body, text)
const shown = async (world: World, target: string) => {
  const { envs } = (await world.call('GET', `${URL}?decrypt=true&target=${target}`)).body
  return Object.fromEntries(envs.map((env: { key: string; value: string }) => [env.key, env.value]))
}

onBothEngines('a .env text is merged, and the result equals the plan', async (world) => {
  await made(world)
  await world.call('POST', URL, [
    { key: 'SAME', value: '1', type: 'plain', target: ['preview'] },
    { key: 'KEPT', value: 'k', type: 'plain', target: ['preview'] },
  ])
  const body = '# from CI\nexport NEW="a\nb"\nSAME=1\nTOKEN=changed\n'
  const plan = { created: ['NEW'], updated: ['TOKEN'], removed: [], unchanged: ['SAME'] }
  const before = (await world.call('GET', URL)).text
  const dry = await put(world, 'mode=merge&target=preview&dryRun=true', body)
  const places = { target: ['preview'], customEnvironmentIds: [] }
  const { planDigest, ...planned } = dry.body
  assert.deepEqual(planned, { mode: 'merge', ...places, dryRun: true, plan })
  assert.equal((await world.call('GET', URL)).text, before)
  const done = await put(world, `target=preview&planDigest=${planDigest}`, body)
  assert.deepEqual(done.body, { mode: 'merge', ...places, dryRun: false, plan })
  assert.deepEqual(await shown(world, 'preview'), { NEW: 'a\nb', SAME: '1', TOKEN: 'changed', KEPT: 'k' })
  // Production shared the variable with preview and keeps its value.
  assert.deepEqual(await shown(world, 'production'), { TOKEN: 'first-value' })
  const again = await put(world, 'target=preview', body)
  assert.deepEqual(again.body.plan, { created: [], updated: [], removed: [], unchanged: ['NEW', 'SAME', 'TOKEN'] })
  const { envs } = (await world.call('GET', URL)).body
  const same = envs.find(({ key }) => key === 'SAME')!
  const { history } = (await world.call('GET', `/v1/projects/web/env/${same.id}/history`)).body
  assert.equal(history.length, 1, 'what has the value already gets no version')
  assert.doesNotMatch(done.text + dry.text, /NEW=|first-value|=changed/)
})

onBothEngines("the platform's own lines of a pulled .env file are skipped and named", async (world) => {
  await made(world)
  const body = 'VERCEL="1"\nVERCEL_URL=""\nNEW=1\nVERCEL_OIDC_TOKEN="eyJ"\nLD_LIBRARY_PATH=/opt/lib\n'
  const { plan } = (await put(world, 'target=preview', body)).body
  assert.deepEqual(
    [plan.created, plan.skipped],
    [
      ['NEW', 'LD_LIBRARY_PATH'],
      ['VERCEL', 'VERCEL_URL', 'VERCEL_OIDC_TOKEN'],
    ],
  )
  const alone = await put(world, 'mode=replace&target=preview', 'VERCEL="1"')
  assert.equal(alone.status, 400, 'a text of these alone is as an empty one')
  assert.equal((await put(world, 'target=preview', 'LD_PRELOAD=/x.so')).status, 400)
})

onBothEngines('a .env text replaces the variables of its targets and branch, and no others', async (world) => {
  await made(world)
  await world.call('POST', URL, [
    { key: 'GONE', value: 'g', target: ['preview'] },
    { key: 'GONE', value: 'branch', target: ['preview'], gitBranch: 'dev' },
    { key: 'DEV', value: 'd', target: ['development'] },
  ])
  const { call } = await seedInstallation(world, {}, { teamId: undefined })
  assert.equal((await call('POST', URL, { key: 'THEIRS', value: 't', target: ['preview'] })).status, 201)
  const done = await put(world, 'mode=replace&target=preview', 'ONLY=1')
  assert.deepEqual(done.body.plan, { created: ['ONLY'], updated: [], removed: ['GONE', 'TOKEN'], unchanged: [] })
  assert.deepEqual(await shown(world, 'preview'), { ONLY: '1', GONE: 'branch', THEIRS: 't' })
  assert.deepEqual(await shown(world, 'production'), { TOKEN: 'first-value' })
  assert.deepEqual(await shown(world, 'development'), { DEV: 'd' })
  const branch = await put(world, 'mode=replace&target=preview&gitBranch=dev&type=plain', 'B=2')
  assert.deepEqual(branch.body.plan, { created: ['B'], updated: [], removed: ['GONE'], unchanged: [] })
  assert.deepEqual(told(await put(world, 'mode=replace&target=preview', '# nothing\n')), [400, 'bad_request'])
  const both = await put(world, 'target=production,development&mode=replace', 'X=1')
  assert.deepEqual(both.body.plan.removed, ['DEV', 'TOKEN'])
})

onBothEngines('a text that is wrong anywhere changes nothing, and every bad line is named', async (world) => {
  await made(world)
  const before = (await world.call('GET', URL)).text
  const bad = await put(world, 'target=preview', 'GOOD=1\nnonsense hush\n1BAD=hush\nLD_PRELOAD=hush\nGOOD=hush')
  assert.equal(bad.status, 400)
  assert.deepEqual(
    bad.body.error.lines.map(({ line }: { line: number }) => line),
    [2, 3, 4, 5],
  )
  assert.match(bad.body.error.message, /line 2 .*line 3 .*line 4 .* and 1 more/)
  assert.doesNotMatch(bad.text, /hush/)
  const big = `A=${'x'.repeat(40_000)}\nB=${'x'.repeat(40_000)}`
  assert.deepEqual(told(await put(world, 'target=development', big)), [400, 'MAX_ENVS_EXCEEDED'])
  const many = Array.from({ length: 1001 }, (_, at) => `K${at}=1`).join('\n')
  assert.deepEqual(told(await put(world, 'target=development', many)), [400, 'TOO_MANY_KEYS'])
  for (const query of [
    '',
    'target=moon',
    'target=preview,',
    'target=preview&mode=merge2',
    'target=production&gitBranch=x',
  ]) {
    assert.deepEqual(told(await put(world, query, 'A=1')), [400, 'bad_request'], query)
  }
  assert.deepEqual(told(await put(world, 'target=development&type=sensitive', 'A=1')), [400, 'bad_request'])
  assert.deepEqual(told(await put(world, 'target=preview', 'A=\0')), [400, 'bad_request'])
  const url = '/v1/projects/web/env?target=preview'
  assert.deepEqual(told(await world.call.try('PUT', url, { A: '1' })), [415, 'unsupported_media_type'])
  assert.deepEqual(told(await world.call.try('PUT', url, Buffer.from([0x41, 0x3d, 0xff]), text)), [400, 'bad_request'])
  assert.equal((await world.call('GET', URL)).text, before)
})

onBothEngines(
  'only the final size counts, in any order; and a dry run refuses what the import would refuse',
  async (world) => {
    await made(world)
    const kib = (count: number) => 'x'.repeat(count * 1024)
    await put(world, 'target=development', `A=${kib(10)}\nB=${kib(50)}`)
    const swapped = await put(world, 'target=development', `A=${kib(50)}\nC=${kib(3)}\nB=${kib(10)}`)
    assert.deepEqual(
      [swapped.status, swapped.body.plan],
      [200, { created: ['C'], updated: ['A', 'B'], removed: [], unchanged: [] }],
    )
    const big = `A=${kib(50)}\nD=${kib(3)}`
    for (const dry of ['', '&dryRun=true']) {
      assert.deepEqual(told(await put(world, `target=development${dry}`, big)), [400, 'MAX_ENVS_EXCEEDED'])
    }
    const replaced = await put(world, 'target=development&mode=replace', `D=${kib(64)}`)
    assert.deepEqual(replaced.body.plan, { created: ['D'], updated: [], removed: ['A', 'B', 'C'], unchanged: [] })
    const own = await world.token({ scopes: ['read-write:project-env-vars'] })
    await tamper(world, 'env_var', { configuration_id: 'icfg_1' })
    for (const dry of ['', '&dryRun=true']) {
      const url = `/v1/projects/web/env?target=development${dry}` as const
      assert.deepEqual(told(await own.try('PUT', url, 'D=1', text)), [403, 'ENV_ALREADY_EXISTS'])
    }
  },
)

onBothEngines('an import with the digest of a plan is refused once the plan is another one', async (world) => {
  await made(world)
  const body = 'NEW=a\nTOKEN=changed\n'
  const of = async (query: string, text = body) =>
    String((await put(world, `${query}&dryRun=true`, text)).body.planDigest)
  const planDigest = await of('target=preview')
  assert.match(planDigest, /^[\w-]{43}$/)
  assert.equal(await of('target=preview'), planDigest)
  // Which keys, in which mode and where: each makes another plan.
  for (const [query, text] of [
    ['target=preview&mode=replace', body],
    ['target=preview&gitBranch=next', body],
    ['target=development', body],
    ['target=preview', `${body}MORE=1`],
  ] as const)
    assert.notEqual(await of(query, text), planDigest, query)
  const before = (await world.call('GET', URL)).text
  const stale = await put(world, 'target=preview&planDigest=other', body)
  assert.deepEqual(told(stale), [409, 'conflict'])
  assert.equal((await world.call('GET', URL)).text, before, 'a refused import changes nothing')

  // Another user changes a value: the keys of the plan stay, but it would overwrite another value.
  await put(world, 'target=preview', 'TOKEN=of somebody else')
  assert.deepEqual(told(await put(world, `target=preview&planDigest=${planDigest}`, body)), [409, 'conflict'])
  const second = await of('target=preview')
  // A change to another environment is not part of the plan.
  await world.call('POST', URL, { key: 'ELSEWHERE', value: '1', target: ['preview'] })
  await world.call('POST', URL, { key: 'NEW', value: '1', target: ['development'] })
  assert.equal((await put(world, `target=preview&planDigest=${second}`, body)).status, 200)
  const { NEW, TOKEN } = await shown(world, 'preview')
  assert.deepEqual([NEW, TOKEN], ['a', 'changed'])
})

onBothEngines('a long import that was planned before its transaction keeps to the digest too', async (world) => {
  await made(world)
  const body = Array.from({ length: 30 }, (_, at) => `KEY_${at}=${at}`).join('\n')
  const { planDigest } = (await put(world, 'target=preview&dryRun=true', body)).body
  await put(world, 'target=preview', 'KEY_7=of somebody else')
  assert.deepEqual(told(await put(world, `target=preview&planDigest=${planDigest}`, body)), [409, 'conflict'])
  const again = (await put(world, 'target=preview&dryRun=true', body)).body
  assert.deepEqual(again.plan.updated, ['KEY_7'])
  assert.equal((await put(world, `target=preview&planDigest=${again.planDigest}`, body)).status, 200)
})

onBothEngines('a sensitive variable is never reported as unchanged, so a guess learns nothing', async (world) => {
  await made(world, { key: 'S', value: 'guess', type: 'sensitive', target: ['preview'] })
  const { plan } = (await put(world, 'target=preview&dryRun=1', 'S=guess')).body
  assert.deepEqual(plan, { created: [], updated: ['S'], removed: [], unchanged: [] })
  await put(world, 'target=preview', 'S=other')
  const { envs } = (await world.call('GET', `${URL}?decrypt=true`)).body
  assert.deepEqual([envs[0].type, envs[0].value, envs[0].version], ['sensitive', '', 2])
})

onBothEngines(
  'a pull returns the values of a target, branch values over general ones, and lists the omitted keys',
  async (world) => {
    await made(world)
    const project = (await world.call('GET', '/v9/projects/web')).body.id
    await world.call('POST', URL, [
      { key: 'TOKEN', value: 'of-branch', target: ['preview'], gitBranch: 'feature/a' },
      { key: 'HUSH', value: 'write-only', type: 'sensitive', target: ['preview'] },
      { key: 'HUSH', value: 'readable', target: ['preview'], gitBranch: 'feature/a' },
      { key: 'PLAIN', value: 'p', type: 'plain', target: ['preview'] },
      { key: 'PLAIN', value: 'covered', type: 'sensitive', target: ['preview'], gitBranch: 'feature/a' },
      { key: 'VERCEL_URL', value: 'VERCEL_URL', type: 'system', target: ['preview'] },
      { key: 'EMPTY', value: '', target: ['preview'] },
    ])
    const general = await world.call('GET', `/v3/env/pull/${project}/preview?source=vercel-cli:env:pull`)
    assert.deepEqual(general.body, {
      env: { TOKEN: 'first-value', PLAIN: 'p', EMPTY: '' },
      buildEnv: {},
      omitted: ['HUSH', 'VERCEL_URL'],
    })
    const branch = await world.call('GET', `/v2/env/pull/web/preview/${encodeURIComponent('feature/a')}`)
    assert.deepEqual(branch.body, {
      env: { TOKEN: 'of-branch', HUSH: 'readable', EMPTY: '' },
      buildEnv: {},
      omitted: ['PLAIN', 'VERCEL_URL'],
    })
    assert.deepEqual((await world.call('GET', '/v3/env/pull/web/production')).body.env, { TOKEN: 'first-value' })
    assert.deepEqual((await world.call('GET', '/v3/env/pull/web/development')).body, {
      env: {},
      buildEnv: {},
      omitted: [],
    })
    await world.call('POST', URL, { key: 'LOCAL', value: 'l', target: ['development'] })
    for (const path of ['/v3/env/pull/web', `/v2/env/pull/${project}/?source=vercel-cli:dev`])
      assert.deepEqual(
        (await world.call('GET', path as '/v3/env/pull/web')).body.env,
        { LOCAL: 'l' },
        'without a target: development',
      )
    assert.equal((await world.call.try('GET', '/v3/env/pull/web/moon')).status, 404)
    assert.equal((await world.call.try('GET', '/v3/env/pull/other/preview')).status, 404)
    const exported = await world.call('GET', '/v1/projects/web/env/export?target=preview&gitBranch=feature/a')
    assert.match(String(exported.headers['content-type']), /^text\/plain/)
    assert.equal(
      exported.text,
      'EMPTY=\nHUSH=readable\nTOKEN=of-branch\n# PLAIN is left out: its value cannot be read\n# VERCEL_URL is left out: its value cannot be read\n',
    )
  },
)

onBothEngines('a pull needs the right to read values, and for production the right to production', async (world) => {
  const { teamId } = world.credentials
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
  await world.call('POST', `${URL}?teamId=${teamId}`, SECRET)
  const pull = (target: string) => `/v3/env/pull/web/${target}?teamId=${teamId}` as const
  const answers: Record<string, number[]> = {}
  for (const role of ['MEMBER', 'DEVELOPER', 'VIEWER', 'BILLING']) {
    const { id, call } = await world.user(role.toLowerCase())
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role })
    const asked = [pull('preview'), pull('production'), `/v1/projects/web/env/export?target=preview&teamId=${teamId}`]
    answers[role] = await Promise.all(asked.map(async (url) => (await call.try('GET', url)).status))
  }
  assert.deepEqual(answers, {
    MEMBER: [200, 200, 200],
    DEVELOPER: [200, 403, 200],
    VIEWER: [403, 403, 403],
    BILLING: [403, 403, 403],
  })
})

onBothEngines(
  'a pull with a value that does not decrypt fails, instead of omitting it (logs an error)',
  async (world) => {
    await made(world)
    await tamper(world, 'env_var', { sealed_value: 'v1.x.y' })
    assert.deepEqual(told(await world.call.try('GET', '/v3/env/pull/web/preview')), [500, 'internal_server_error'])
  },
)
