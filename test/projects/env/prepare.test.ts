/** Large imports are planned before their transaction: a change in between counts, and the plan is rebuilt. docs/variables.md: Rationale. */
import assert from 'node:assert/strict'
import { onBothEngines, type World } from '../../support/world.ts'

const COUNT = 30
const URL = '/v10/projects/web/env'
const FILE = '/v1/projects/web/env'

const items = (value: string, more: object = {}) =>
  Array.from({ length: COUNT }, (_, at) => ({
    ...{ key: `KEY_${at}`, value: `${value} ${at}`, type: 'encrypted', target: ['production'] },
    ...more,
  }))

/** Does `work` after the next request is prepared, before its transaction begins. */
function before(world: World, work: () => Promise<unknown>): void {
  const { db } = world.deps
  const { write } = db
  db.write = (async (...given: Parameters<typeof write>) => {
    db.write = write
    await work()
    return write(...given)
  }) as typeof write
}

type Shown = {
  id: string
  key: string
  value: string
  version: number
  type: string
  comment?: string
  decrypted: boolean
}

async function shown(world: World, query = ''): Promise<Map<string, Shown>> {
  const { envs } = (await world.call('GET', `${URL}?decrypt=true${query}`)).body as { envs: Shown[] }
  return new Map(envs.map((env) => [env.key, env]))
}

/** The counters, the places and the history are those of the variables that are there. */
async function mustAddUp(world: World, projectId: string): Promise<void> {
  const { read } = world.deps.db
  const of = (table: 'env_var' | 'env_target' | 'env_usage' | 'env_history') =>
    read.selectFrom(table).selectAll().where('project_id', '=', projectId).execute()
  const rows = (await of('env_var')) as { id: string; targets: string; value_bytes: number; version: number }[]
  const places = (await of('env_target')) as { env_id: string; target: string }[]
  assert.deepEqual(
    places.map(({ env_id, target }) => `${env_id} ${target}`).sort(),
    rows.flatMap(({ id, targets }) => targets.split(',').map((target) => `${id} ${target}`)).sort(),
  )
  for (const { target, variables, bytes } of (await of('env_usage')) as {
    target: string
    variables: number
    bytes: number
  }[]) {
    const held = rows.filter(({ targets }) => targets.split(',').includes(target))
    assert.deepEqual([variables, bytes], [held.length, held.reduce((sum, row) => sum + row.value_bytes, 0)], target)
  }
  const versions = (await of('env_history')) as { env_id: string; version: number }[]
  for (const { id, version } of rows) {
    const kept = versions.filter(({ env_id }) => env_id === id).map((row) => row.version)
    assert.deepEqual(
      kept.toSorted((a, b) => a - b),
      Array.from({ length: version }, (_, at) => at + 1),
      id,
    )
  }
}

async function web(world: World): Promise<string> {
  return (await world.call('POST', '/v10/projects', { name: 'web' })).body.id
}

onBothEngines('an upsert sees changes, removals and creations from before its transaction', async (world) => {
  const id = await web(world)
  const made = (await world.call('POST', URL, items('first'))).body.created as Shown[]
  before(world, async () => {
    await world.call('PATCH', `/v9/projects/web/env/${made[3]!.id}`, { value: 'between', comment: 'kept' })
    await world.call('DELETE', `/v9/projects/web/env/${made[4]!.id}`)
    const other = { key: 'KEY_5', value: 'preview', type: 'plain', target: ['preview'] }
    assert.equal((await world.call('POST', URL, other)).status, 201)
  })
  const answer = await world.call('POST', `${URL}?upsert=true`, items('second'))
  assert.deepEqual([answer.status, answer.body.created.length, answer.body.failed], [201, COUNT, []], answer.text)
  const now = await shown(world, '&target=production')
  assert.deepEqual(
    [...now.values()].map(({ value }) => value).sort(),
    items('second')
      .map(({ value }) => value)
      .sort(),
  )
  const versions = ['KEY_2', 'KEY_3', 'KEY_4'].map((key) => [now.get(key)!.version, now.get(key)!.comment])
  assert.deepEqual(versions, [
    [2, undefined],
    [3, 'kept'],
    [1, undefined],
  ])
  assert.notEqual(now.get('KEY_4')!.id, made[4]!.id)
  await mustAddUp(world, id)
})

onBothEngines(
  'a slot that is taken before the transaction begins fails in a create, and the others succeed',
  async (world) => {
    const id = await web(world)
    let taken = ''
    before(world, async () => {
      taken = (await world.call('POST', URL, { ...items('mine')[7]!, target: ['production', 'preview'] })).body.created
        .id
    })
    const { body } = await world.call('POST', URL, items('theirs'))
    assert.equal(body.created.length, COUNT - 1)
    assert.deepEqual(
      body.failed.map(({ error }: { error: { key: string; envVarId: string } }) => [error.key, error.envVarId]),
      [['KEY_7', taken]],
    )
    // The project had no data key when the values were sealed: it got one from the request in between.
    const now = await shown(world)
    assert.deepEqual([now.get('KEY_7')!.value, now.get('KEY_8')!.value], ['mine 7', 'theirs 8'])
    assert.ok([...now.values()].every(({ decrypted }) => decrypted))
    await mustAddUp(world, id)
  },
)

onBothEngines('a data key that is created before the transaction begins is used', async (world) => {
  await web(world)
  before(world, async () => {
    const { id } = (await world.call('POST', URL, items('mine')[0])).body.created
    await world.call('DELETE', `/v9/projects/web/env/${id}`)
  })
  assert.equal((await world.call('POST', URL, items('theirs'))).body.created.length, COUNT)
  const now = await shown(world)
  assert.deepEqual(
    [...now.values()].map(({ value }) => value).sort(),
    items('theirs')
      .map(({ value }) => value)
      .sort(),
  )
})

onBothEngines('a permission revoked, or a rule added, before the transaction begins counts', async (world) => {
  const { teamId } = world.credentials
  const team = `teamId=${teamId}`
  await world.call('POST', `/v10/projects?${team}`, { name: 'web' })
  const user = await world.user('somebody')
  const role = (name: string) =>
    world.operator.try('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role: name })
  await role('MEMBER')
  before(world, () => role('DEVELOPER'))
  const refused = await user.call.try('POST', `${URL}?upsert=true&${team}`, items('x'))
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'], refused.text)
  before(world, () => world.call.try('PATCH', `/v2/teams/${teamId}`, { sensitiveEnvironmentVariablePolicy: 'on' }))
  const made = await world.call('POST', `${URL}?${team}`, items('x'))
  assert.deepEqual(new Set(made.body.created.map(({ type }: Shown) => type)), new Set(['sensitive']), made.text)
})

onBothEngines('an import and a copy see changes from before their transaction', async (world) => {
  const id = await web(world)
  const made = (await world.call('POST', URL, items('first'))).body.created as Shown[]
  const text = items('second')
    .map(({ key, value }) => `${key}='${value}'`)
    .join('\n')
  const edit = (at: number, value: string) => () =>
    world.call.try('PATCH', `/v9/projects/web/env/${made[at]!.id}`, { value })
  before(world, edit(3, 'second 3'))
  const imported = await world.call('PUT', `${FILE}?target=production`, text, { 'content-type': 'text/plain' })
  assert.deepEqual(imported.body.plan.unchanged, ['KEY_3'], imported.text)
  assert.equal(imported.body.plan.updated.length, COUNT - 1)
  before(world, edit(5, 'between'))
  const body = { slug: 'qa', copyEnvVarsFrom: 'production' }
  const environment = await world.call('POST', '/v9/projects/web/custom-environments', body)
  assert.equal(environment.status, 201, environment.text)
  const copies = await shown(world, `&customEnvironmentId=${environment.body.id}`)
  assert.deepEqual(
    [copies.size, copies.get('KEY_5')!.value, copies.get('KEY_6')!.value],
    [COUNT, 'between', 'second 6'],
  )
  await mustAddUp(world, id)
})

onBothEngines(
  'variables that are planned and then stored count once against the write limit',
  async (world) => {
    await web(world)
    before(world, () => world.call.try('POST', URL, { ...items('y')[0], key: 'OTHER' }))
    assert.equal((await world.call('POST', URL, items('x'))).status, 201)
    const over = await world.call.try('POST', `${URL}?upsert=true`, items('y'))
    assert.deepEqual([over.status, (await shown(world)).get('KEY_0')!.value], [429, 'x 0'])
  },
  { BERTH_RATE_LIMITS: `{"rows-written": ${COUNT + 5}}` },
)

onBothEngines('many drafts of one variable each follow on the one before', async (world) => {
  const id = await web(world)
  const drafts = Array.from({ length: 120 }, (_, at) => {
    return {
      key: 'ONE',
      value: `v${at}`,
      type: 'encrypted',
      target: at % 2 ? ['production'] : ['production', 'preview'],
    }
  })
  const answer = await world.call('POST', `${URL}?upsert=true`, drafts)
  assert.deepEqual([answer.body.created.length, answer.body.failed], [drafts.length, []], answer.text)
  const { envs } = (await world.call('GET', `${URL}?decrypt=true`)).body as { envs: (Shown & { target: string[] })[] }
  assert.deepEqual(envs.map(({ target, value }) => [target.join(), value]).sort(), [
    ['preview', 'v118'],
    ['production', 'v119'],
  ])
  const places = await world.deps.db.read.selectFrom('env_target').selectAll().where('project_id', '=', id).execute()
  assert.equal(places.length, 2)
  const usage = await world.deps.db.read.selectFrom('env_usage').selectAll().where('project_id', '=', id).execute()
  assert.deepEqual(usage.map(({ target, variables, bytes }) => [target, variables, bytes]).sort(), [
    ['preview', 1, 4],
    ['production', 1, 4],
  ])
})
