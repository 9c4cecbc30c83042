/** Variables that several projects of an account have: the SDK's operations, pull, rights, limits, transfer, keys. docs/shared-variables.md. */

import assert from 'node:assert/strict'
import { callWith } from '../../support/call.ts'
import { seedProject } from '../../support/projects.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'
import { seedTransferAccounts } from '../../support/worlds/transfer-world.ts'

const told = ({ status, body }: ApiResponse) => [status, body?.error?.code]

async function make(call: Call, body: object): Promise<{ id: string }> {
  const made = await call('POST', '/v1/env', body)
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(made.body.failed, [])
  return made.body.created[0]
}

const token = (value: string, projectId: string[] = [], target: string[] = ['production', 'preview']) => ({
  evs: [{ key: 'TOKEN', value }],
  type: 'encrypted',
  target,
  projectId,
})

async function pulled(call: Call, project = 'web', target = 'production'): Promise<Record<string, string>> {
  const answer = await call('GET', `/v3/env/pull/${project}/${target}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.env
}

/** What each project is counted to have, and what would be right: nothing may drift. */
async function usage({ deps }: World, projectId: string): Promise<Record<string, number[]>> {
  const rows = await deps.db.read.selectFrom('env_usage').selectAll().where('project_id', '=', projectId).execute()
  const held = rows.filter(({ variables, bytes }) => variables !== 0 || bytes !== 0)
  return Object.fromEntries(held.map(({ target, variables, bytes }) => [target, [variables, bytes]]))
}

onBothEngines('a shared variable is created, listed, read, changed and deleted, with all fields', async (world) => {
  const { call } = world
  const [web, other] = [await seedProject(world, 'web'), await seedProject(world, 'other')]
  const body = { ...token('hunter2', [web]), evs: [{ key: 'TOKEN', value: 'hunter2', comment: 'for the API' }] }
  const { id, ...made } = (await call('POST', '/v1/env', body)).body.created[0]
  assert.match(id, /^env_/)
  const { createdAt, updatedAt, created, ...rest } = made
  assert.equal(created, new Date(createdAt).toISOString())
  assert.equal(updatedAt, createdAt)
  assert.deepEqual(rest, {
    key: 'TOKEN',
    value: '',
    type: 'encrypted',
    target: ['production', 'preview'],
    projectId: [web],
    ownerId: world.credentials.userId,
    comment: 'for the API',
    applyToAllCustomEnvironments: false,
    customEnvironmentIds: [],
    createdBy: world.credentials.userId,
    updatedBy: world.credentials.userId,
    decrypted: false,
  })
  const read = (await call('GET', `/v1/env/${id}`)).body
  assert.deepEqual([read.value, read.decrypted, read.projectId], ['hunter2', true, [web]])
  const update = async (said: object) => {
    const answer = await call('PATCH', '/v1/env', { updates: { [id]: said } })
    assert.equal(answer.status, 200, answer.text)
    return answer.body.updated[0]
  }
  assert.deepEqual((await update({ projectIdUpdates: { link: [other] } })).projectId, [web, other].sort())
  assert.deepEqual((await update({ projectIdUpdates: { unlink: [web] } })).projectId, [other])
  assert.deepEqual((await update({ projectId: [web, other], projectIdUpdates: {} })).projectId, [web, other].sort())
  const changed = await update({ key: 'KEY', value: 'new', target: 'preview', comment: '' })
  assert.deepEqual([changed.key, changed.target, 'comment' in changed], ['KEY', ['preview'], false])
  assert.equal((await call('GET', `/v1/env/${id}`)).body.value, 'new')
  assert.deepEqual(await pulled(call, 'web', 'preview'), { KEY: 'new' })
  const unlinked = await call('PATCH', `/v1/env/${id}/unlink/web`)
  assert.deepEqual([unlinked.status, unlinked.body], [200, { id }])
  assert.deepEqual(await pulled(call, 'web', 'preview'), {})
  assert.equal((await call('PATCH', `/v1/env/${id}/unlink/${web}`)).status, 200, 'again it changes nothing')
  assert.deepEqual((await call('GET', `/v1/env/${id}`)).body.projectId, [other])
  const gone = await call('DELETE', '/v1/env', { ids: [id, id] })
  assert.deepEqual(gone.body, { deleted: [id], failed: [] })
  assert.equal((await call.try('GET', `/v1/env/${id}`)).status, 404)
  assert.deepEqual(await pulled(call, 'other', 'preview'), {})
  assert.deepEqual([await usage(world, web), await usage(world, other)], [{}, {}])
})

onBothEngines(
  'a shared variable has no custom environment: a request for all of them gets an error that says so',
  async (world) => {
    const { call } = world
    const web = await seedProject(world, 'web')
    const asked = { applyToAllCustomEnvironments: true }
    const refused = await call.try('POST', '/v1/env', { ...token('x', [web]), ...asked })
    assert.equal(refused.status, 400)
    assert.match(refused.body.error.message, /`applyToAllCustomEnvironments` cannot be true/)
    const { id } = (await call('POST', '/v1/env', { ...token('x', [web]), applyToAllCustomEnvironments: false })).body
      .created[0]
    assert.equal((await call.try('PATCH', '/v1/env', { updates: { [id]: { value: 'y', ...asked } } })).status, 400)
    assert.equal((await call('GET', `/v1/env/${id}`)).body.value, 'x')
  },
)

onBothEngines('the list has no values, and supports the filters of the SDK', async (world) => {
  const { call } = world
  const [web, other] = [await seedProject(world, 'web'), await seedProject(world, 'other')]
  const a = (await make(call, { evs: [{ key: 'A_KEY', value: 'a' }], projectId: [web] })).id
  const b = (await make(call, { evs: [{ key: 'B_KEY', value: 'b' }], projectId: [web, other] })).id
  const c = (await make(call, { evs: [{ key: 'C', value: 'c' }], type: 'sensitive' })).id
  const list = async (query: string, path: '/v1/env' | '/v1/env/all' = '/v1/env') => {
    const answer = await call('GET', `${path}?${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body.data.map((one: { id: string }) => one.id)
  }
  const whole = (await call('GET', '/v1/env')).body
  assert.deepEqual(whole.pagination, { count: 3, next: null, prev: null })
  for (const one of whole.data) assert.deepEqual([one.value, one.decrypted, one.securityIssues], ['', false, []])
  assert.deepEqual(whole.data[1].projectId, [web, other].sort())
  assert.deepEqual(await list(''), [c, b, a])
  assert.deepEqual(await list('', '/v1/env/all'), [c, b, a])
  assert.deepEqual(await list('search=key'), [b, a])
  assert.deepEqual(await list(`projectId=${other}`), [b])
  assert.deepEqual(await list(`ids=${a},${c}`), [c, a])
  for (const name of ['exclude_ids', 'exclude-ids']) assert.deepEqual(await list(`${name}=${a},${c}`), [b])
  for (const name of ['exclude_projectId', 'exclude-projectId'])
    assert.deepEqual(await list(`${name}=${other}`), [c, a])
  assert.deepEqual(told(await call.try('GET', '/v1/env?gitBranch=x')), [400, 'bad_request'])
  assert.deepEqual((await call('GET', '/v9/projects/web/env')).body.envs, [], 'they are not variables of the project')
})

onBothEngines('a deployment gets shared variables below those of its project', async (world) => {
  const { call } = world
  const web = await seedProject(world, 'web')
  await make(call, token('shared', [web]))
  await make(call, { evs: [{ key: 'WRITE_ONLY', value: 'x' }], type: 'sensitive', projectId: [web] })
  await make(call, token('other', [web], ['development']))
  assert.deepEqual(await pulled(call), { TOKEN: 'shared' })
  assert.deepEqual(await pulled(call, 'web', 'development'), { TOKEN: 'other' })
  assert.deepEqual((await call('GET', '/v3/env/pull/web/production')).body.omitted, ['WRITE_ONLY'])
  assert.match((await call('GET', '/v1/projects/web/env/export?target=production')).text, /TOKEN="?shared"?/)
  const own = { key: 'TOKEN', value: 'own', type: 'encrypted', target: ['production'] }
  assert.equal((await call('POST', '/v10/projects/web/env', own)).status, 201)
  assert.deepEqual([await pulled(call), await pulled(call, 'web', 'preview')], [{ TOKEN: 'own' }, { TOKEN: 'shared' }])
  // A token of this project alone has what its deployments have, and nothing of the account's list.
  const narrow = await world.token({ projectIds: [web] })
  assert.deepEqual(await pulled(narrow, 'web', 'preview'), { TOKEN: 'shared' })
  assert.deepEqual(told(await narrow.try('GET', '/v1/env')), [403, 'forbidden'])
  assert.deepEqual(told(await narrow.try('POST', '/v1/env', token('x'))), [403, 'forbidden'])
})

onBothEngines(
  'a place of an account is taken once, also by many at once, and a refused request changes nothing',
  async (world) => {
    const { call } = world
    const web = await seedProject(world, 'web')
    const { id } = await make(call, token('first', [web], ['production']))
    assert.deepEqual(told(await call.try('POST', '/v1/env', token('second'))), [409, 'existing_key_and_target'])
    const second = (await make(call, token('second', [], ['preview']))).id
    const update = (said: object) =>
      call.try('PATCH', '/v1/env', { updates: { [id]: { comment: 'x' }, [second]: said } })
    assert.deepEqual(told(await update({ target: ['production', 'preview'] })), [409, 'existing_key_and_target'])
    assert.equal((await call('GET', `/v1/env/${id}`)).body.comment, undefined)
    const evs = [
      { key: 'NEW', value: 'n' },
      { key: 'TOKEN', value: 't' },
    ]
    assert.deepEqual(told(await call.try('POST', '/v1/env', { evs, target: ['preview'] })), [
      409,
      'existing_key_and_target',
    ])
    assert.equal((await call('GET', '/v1/env')).body.data.length, 2)
    const many = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        call.try('POST', '/v1/env', { evs: [{ key: 'RACE', value: `${at}` }], target: ['preview'] }),
      ),
    )
    assert.deepEqual(many.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)])
    for (const [body, code] of [
      [{ evs: [{ key: '1', value: 'v' }] }, 'KEY_INVALID_CHARACTERS'],
      [{ evs: [{ key: 'VERCEL_URL', value: 'v' }] }, 'RESERVED_ENV_VARIABLE'],
      [{ evs: [{ key: 'A', value: 'v' }], type: 'plain' }, 'bad_request'],
      [{ evs: [{ key: 'A', value: 'v' }], type: 'sensitive', target: ['development'] }, 'bad_request'],
      [{ evs: [{ key: 'A', value: 'v' }], projectId: ['prj_nosuch'] }, 'bad_request'],
      [{ evs: [] }, 'bad_request'],
    ] as const)
      assert.deepEqual(told(await call.try('POST', '/v1/env', body)), [400, code], JSON.stringify(body))
    assert.deepEqual(told(await call.try('PATCH', '/v1/env', { updates: { env_nosuch: {} } })), [404, 'not_found'])
    assert.deepEqual(told(await call.try('DELETE', '/v1/env', { ids: [id, 'env_nosuch'] })), [404, 'not_found'])
    assert.equal((await call('GET', `/v1/env/${id}`)).status, 200)
  },
)

onBothEngines(
  'shared variables count toward the limits of a project, and their share is released again',
  async (world) => {
    const { call } = world
    const [web, other] = [await seedProject(world, 'web'), await seedProject(world, 'other')]
    const big = 'x'.repeat(40 * 1024)
    const { id } = await make(call, token(big, [web, other], ['preview']))
    const own = { key: 'OWN', value: big, type: 'encrypted', target: ['preview'] }
    assert.deepEqual(told(await call.try('POST', '/v10/projects/web/env', own)), [400, 'MAX_ENVS_EXCEEDED'])
    const second = { evs: [{ key: 'SECOND', value: big }], target: ['preview'] }
    assert.deepEqual(told(await call.try('POST', '/v1/env', { ...second, projectId: [web] })), [
      400,
      'MAX_ENVS_EXCEEDED',
    ])
    const spare = (await make(call, second)).id
    const link = (projectId: string) => ({ updates: { [spare]: { projectIdUpdates: { link: [projectId] } } } })
    assert.deepEqual(told(await call.try('PATCH', '/v1/env', link(other))), [400, 'MAX_ENVS_EXCEEDED'])
    const update = (said: object) => call.try('PATCH', '/v1/env', { updates: { [id]: said } })
    assert.equal((await update({ value: 'small' })).status, 200)
    assert.deepEqual(await usage(world, web), { preview: [1, 5] })
    assert.equal((await call('PATCH', '/v1/env', link(other))).status, 200)
    assert.equal((await call('POST', '/v10/projects/web/env', own)).status, 201)
    assert.deepEqual(told(await update({ value: big })), [400, 'MAX_ENVS_EXCEEDED'])
    assert.equal((await update({ target: ['development'], projectIdUpdates: { unlink: [other] } })).status, 200)
    assert.deepEqual(await usage(world, web), { preview: [1, big.length], development: [1, 5] })
    assert.deepEqual(await usage(world, other), { preview: [1, big.length] })
    assert.equal((await call('DELETE', '/v9/projects/other')).status, 204)
    assert.deepEqual((await call('GET', `/v1/env/${spare}`)).body.projectId, [])
  },
)

onBothEngines('permissions are those of the variables of a project', async (world) => {
  const team = `teamId=${world.credentials.teamId}`
  const inTeam = (call: Call) => callWith(call, team)
  const owner = inTeam(world.call)
  const { id } = await make(owner, token('secret'))
  const preview = (await make(owner, { ...token('p', [], ['preview']), evs: [{ key: 'P', value: 'p' }] })).id
  const people: Record<string, Call> = {}
  for (const role of ['DEVELOPER', 'VIEWER', 'BILLING']) {
    const user = await world.user(role.toLowerCase())
    await world.join(user, role)
    people[role] = inTeam(user.call)
  }
  const { DEVELOPER, VIEWER, BILLING } = people as Record<'DEVELOPER' | 'VIEWER' | 'BILLING', Call>
  const value = async (call: Call, of: string) => (await call('GET', `/v1/env/${of}`)).body.value
  assert.deepEqual(
    [await value(DEVELOPER, id), await value(DEVELOPER, preview), await value(VIEWER, preview)],
    ['', 'p', ''],
  )
  assert.equal((await VIEWER('GET', '/v1/env')).body.data.length, 2)
  assert.equal((await BILLING.try('GET', '/v1/env')).status, 403)
  const change = (of: string, said: object) => ({ updates: { [of]: said } })
  assert.equal((await VIEWER.try('PATCH', '/v1/env', change(preview, { value: 'x' }))).status, 403)
  assert.equal((await DEVELOPER('PATCH', '/v1/env', change(preview, { value: 'x' }))).status, 200)
  assert.equal((await DEVELOPER.try('PATCH', '/v1/env', change(preview, { target: ['production'] }))).status, 403)
  assert.equal((await DEVELOPER.try('PATCH', '/v1/env', change(id, { comment: 'x' }))).status, 403)
  assert.equal((await DEVELOPER.try('DELETE', '/v1/env', { ids: [id] })).status, 403)
  assert.equal((await DEVELOPER.try('POST', '/v1/env', { evs: [{ key: 'D', value: 'd' }] })).status, 403)
  const rival = await world.user('rival')
  assert.equal((await rival.call.try('GET', `/v1/env/${id}`)).status, 404)
  assert.deepEqual(told(await rival.call.try('POST', '/v1/env', token('x', [await seedProject(world, 'web')]))), [
    400,
    'bad_request',
  ])
  assert.deepEqual((await world.call('GET', '/v1/env')).body.data, [], 'the personal account has none of the team')
  await owner('PATCH', `/v2/teams/${world.credentials.teamId}`, { sensitiveEnvironmentVariablePolicy: 'on' })
  const sensitive = await owner('POST', '/v1/env', { evs: [{ key: 'S', value: 's' }] })
  assert.deepEqual(
    [sensitive.body.created[0].type, sensitive.body.created[0].target],
    ['sensitive', ['production', 'preview']],
  )
  const kept = await owner('PATCH', '/v1/env', change(preview, { comment: 'of before the policy' }))
  assert.equal(kept.body.updated[0].type, 'encrypted', 'a comment alone leaves the type as it was')
  assert.equal((await owner('PATCH', '/v1/env', change(preview, { value: 'v' }))).body.updated[0].type, 'sensitive')
  const s = sensitive.body.created[0].id
  assert.equal(await value(owner, s), '')
  assert.deepEqual(told(await owner.try('PATCH', '/v1/env', change(s, { type: 'encrypted' }))), [400, 'bad_request'])
  assert.equal((await owner('PATCH', '/v1/env', change(s, { value: 'anew' }))).body.updated[0].type, 'sensitive')
})

onBothEngines(
  'a project that moves leaves shared variables behind, and nothing is linked while it does',
  async (world) => {
    const sides = await seedTransferAccounts(world)
    const { id } = await make(world.call, token('mine', [sides.projectId]))
    await sides.take(await sides.offer())
    for (const said of [{ projectId: [] }, { projectIdUpdates: { unlink: [sides.projectId] } }])
      assert.deepEqual(told(await world.call.try('PATCH', '/v1/env', { updates: { [id]: said } })), [409, 'conflict'])
    const other = await make(world.call, { evs: [{ key: 'OTHER', value: 'o' }] })
    const link = { updates: { [other.id]: { projectIdUpdates: { link: [sides.projectId] } } } }
    assert.deepEqual(told(await world.call.try('PATCH', '/v1/env', link)), [409, 'conflict'])
    await sides.sweep()
    assert.deepEqual(await pulled(sides.taker.call), {})
    assert.deepEqual((await world.call('GET', `/v1/env/${id}`)).body.projectId, [])
    assert.deepEqual(await usage(world, sides.projectId), {})
  },
)

onBothEngines('values are sealed for the account and the version, and open after a rotation of keys', async (world) => {
  const { call, deps, operator } = world
  const { id } = await make(call, token('hunter2'))
  const second = (await make(call, { evs: [{ key: 'SECOND', value: 'other' }] })).id
  const rows = await deps.db.read.selectFrom('shared_env_var').selectAll().execute()
  assert.ok(rows.every(({ sealed_value }) => /^v1\.dk_/.test(sealed_value)))
  assert.equal((await operator('POST', '/operator/v1/keys/rotate')).status, 200)
  await operator('POST', '/operator/v1/timers/rewrap-project-keys/run', {})
  assert.equal((await call('GET', `/v1/env/${id}`)).body.value, 'hunter2')
  const { entries } = (await operator('GET', '/operator/v1/audit?limit=100')).body
  const audited = entries.filter(({ type }: { type: string }) => type === 'createSharedEnvVariable')
  assert.deepEqual(
    audited.map(({ subjectId }: { subjectId: string }) => subjectId),
    [second, id],
  )
  assert.ok(!JSON.stringify(entries).includes('hunter2'))
  await call('PATCH', '/v1/env', { updates: { [second]: { value: 'newer' } } })
  assert.equal((await call('GET', `/v1/env/${second}`)).body.value, 'newer')
})

onBothEngines(
  'an uninstall deletes the variables that the installation shared, and keeps those that users shared',
  async (world) => {
    const { teamId } = world.credentials
    const query = `?teamId=${teamId}`
    const project = await world.call('POST', `/v10/projects${query}`, { name: 'web' })
    assert.equal(project.status, 200, project.text)
    const installed = await seedInstallation(world, {
      scopes: ['read-write:global-project-env-vars', 'read-write:project'],
    })
    const share = async (call: Call, key: string) => {
      const evs = [{ key, value: 'v' }]
      const body = { evs, type: 'encrypted', target: ['preview'], projectId: [project.body.id] }
      const made = await call('POST', `/v1/env${query}`, body)
      assert.equal(made.status, 201, made.text)
    }
    await share(installed.call, 'ITS')
    await share(world.call, 'OURS')
    const path = `/v1/integrations/configuration/${installed.installationId}${query}` as const
    const gone = await world.call('DELETE', path)
    assert.equal(gone.status, 204, gone.text)
    const listed = await world.call('GET', `/v1/env${query}`)
    assert.equal(listed.status, 200, listed.text)
    assert.deepEqual(
      listed.body.data.map(({ key }: { key: string }) => key),
      ['OURS'],
    )
    for (const table of ['shared_env_var', 'shared_env_link', 'shared_env_target'] as const)
      assert.equal((await world.deps.db.read.selectFrom(table).selectAll().execute()).length, 1, table)
    // Its place is free again.
    await share(world.call, 'ITS')
  },
)
