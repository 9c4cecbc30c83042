/** What one request may write and report: variables are counted, and many of them are one event. docs/limits.md; docs/webhooks.md. */
import assert from 'node:assert/strict'
import { onBothEngines, type World } from '../../support/world.ts'

const variables = (count: number, value = 'x') =>
  Array.from({ length: count }, (_, at) => ({ key: `KEY_${at}`, value, type: 'plain', target: ['production'] }))
const URL = '/v10/projects/web/env?upsert=true'

async function open(world: World): Promise<void> {
  assert.equal((await world.call('POST', '/v10/projects', { name: 'web' })).status, 200)
}

const keysHeld = async (world: World) =>
  (await world.deps.db.read.selectFrom('env_var').select('key').execute()).map(({ key }) => key).sort()

onBothEngines(
  'a thousand variables in one request are one delivery for each endpoint, with all of them',
  async (world) => {
    await open(world)
    const body = {
      url: 'https://hooks.example.com/',
      events: ['created', 'updated', 'deleted'].map((end) => `project.env-variable.${end}`),
    }
    for (let hook = 0; hook < 20; hook++) assert.equal((await world.call('POST', '/v1/webhooks', body)).status, 200)
    for (const [said, type] of [
      ['first', 'created'],
      ['second', 'updated'],
    ] as const) {
      const { created } = (await world.call('POST', URL, variables(1000, said))).body
      assert.equal(created.length, 1000)
      const deliveries = await world.deps.db.read
        .selectFrom('delivery')
        .selectAll()
        .where('type', 'like', `%env-variable.${type}`)
        .execute()
      assert.equal(deliveries.length, 20, type)
      assert.equal(new Set(deliveries.map((row) => row.endpoint_id)).size, 20)
      const [event, ...more] = await world.deps.db.read
        .selectFrom('event')
        .selectAll()
        .where('type', 'like', `%env-variable.${type}`)
        .execute()
      assert.equal(more.length, 0)
      const told = JSON.parse(event!.payload_json).envVars
      assert.deepEqual(
        told.map(({ id }: { id: string }) => id).sort(),
        created.map(({ id }: { id: string }) => id).sort(),
      )
    }
  },
)

onBothEngines(
  'an account writes a limited number of variables a minute, and a request above the limit writes none',
  async (world) => {
    await open(world)
    assert.equal((await world.call('POST', URL, variables(6))).status, 201)
    const refused = await world.call.try('POST', URL, variables(5, 'later'))
    assert.equal(refused.status, 429)
    const { name, limit, message } = refused.body.error
    assert.deepEqual([name, limit.total, limit.remaining], ['rows-written', 10, 0])
    assert.match(message, /^Too many variables written - try again in \d+ seconds/)
    assert.equal(refused.headers['x-ratelimit-limit'], '10')
    assert.ok(Number(refused.headers['retry-after']) >= 1)
    const rows = await world.deps.db.read.selectFrom('env_var').select('version').execute()
    assert.deepEqual(
      rows.map(({ version }) => version),
      Array(6).fill(1),
    )
    // The remaining four can still be written.
    assert.equal((await world.call('POST', URL, variables(4, 'again'))).status, 201)
    const { envs } = (await world.call('GET', '/v9/projects/web/env')).body
    for (const [method, path, body] of [
      ['POST', URL, variables(1)[0]],
      ['PATCH', `/v9/projects/web/env/${envs[0].id}`, { value: 'y' }],
      ['DELETE', `/v9/projects/web/env/${envs[0].id}`, undefined],
      ['DELETE', '/v1/projects/web/env', { ids: [envs[0].id] }],
      ['POST', `/v1/projects/web/env/${envs[0].id}/history/1/restore`, undefined],
      ['POST', '/v9/projects/web/custom-environments', { slug: 'qa', copyEnvVarsFrom: 'production' }],
      ['PUT', '/v1/projects/web/env?target=production&mode=replace', new Blob(['A=1'], { type: 'text/plain' })],
      [
        'POST',
        '/v10/projects',
        { name: 'other', environmentVariables: [{ key: 'A', value: '1', target: 'production' }] },
      ],
    ] as const) {
      const answer = await world.call.try(method, path, body)
      assert.deepEqual([answer.status, answer.body.error?.name], [429, 'rows-written'], `${method} ${path}`)
    }
    const dry = await world.call(
      'PUT',
      '/v1/projects/web/env?target=production&dryRun=true',
      new Blob(['A=1'], { type: 'text/plain' }),
    )
    assert.equal(dry.status, 200, 'a plan writes nothing')
    assert.deepEqual(await keysHeld(world), ['KEY_0', 'KEY_1', 'KEY_2', 'KEY_3', 'KEY_4', 'KEY_5'])
    const other = await world.user('other')
    await other.call('POST', '/v10/projects', { name: 'web' })
    assert.equal((await other.call('POST', URL, variables(10))).status, 201, 'another account has its own')
    world.deps.clock.set(world.deps.clock.now() + 61_000)
    assert.equal((await world.call('POST', URL, variables(10, 'next'))).status, 201)
  },
  { BERTH_RATE_LIMITS: '{"rows-written": 10}' },
)

onBothEngines(
  'a write that lost races is counted once',
  async (world) => {
    await open(world)
    const puts = await Promise.all(
      Array.from({ length: 20 }, (_, at) => world.call.try('POST', URL, { ...variables(1)[0], key: `K${at}` })),
    )
    assert.deepEqual(
      puts.map(({ status }) => status),
      Array(20).fill(201),
    )
    assert.equal((await world.call.try('POST', URL, variables(1)[0])).status, 429)
  },
  { BERTH_RATE_LIMITS: '{"rows-written": 20}' },
)

onBothEngines('an upsert of a thousand variables lets others read in between', async (world) => {
  await open(world)
  const other = await world.user('other')
  for (const said of ['first', 'second']) {
    let answered = 0
    let over = false
    const reading = (async () => {
      while (!over) {
        assert.equal((await other.call('GET', '/v2/user')).status, 200)
        answered++
      }
    })()
    const answer = await world.call('POST', URL, variables(1000, said))
    over = true
    await reading
    assert.equal(answer.body.created.length, 1000)
    assert.ok(answered >= 3, `${answered} answers meanwhile`)
  }
})

onBothEngines(
  'many concurrent upserts end as if they ran one at a time: some grow, some shrink, some split',
  async (world) => {
    await open(world)
    const item = (key: string, value: string, target: string[], type = 'plain') => ({ key, value, target, type })
    const everywhere = ['production', 'preview', 'development']
    await world.call('POST', URL, [
      item('WIDE', 'wide', everywhere),
      item('A', 'a', ['production']),
      item('B', 'b', ['preview']),
      item('SAME', 's', ['production']),
      item('TWO', '1', ['production']),
      item('TWO', '2', ['preview']),
    ])
    const { created, failed } = (
      await world.call('POST', URL, [
        item('WIDE', 'narrow', ['production']),
        item('A', 'aa', ['production', 'preview']),
        item('NEW', 'n', ['development']),
        item('SAME', 's', ['production']),
        item('TWO', 'one', everywhere),
        item('B', 'first', ['preview']),
        item('B', 'second', ['preview', 'production']),
      ])
    ).body
    assert.deepEqual(failed, [])
    const key = ({ key }: { key: string }) => key
    assert.deepEqual(created.map(key), ['WIDE', 'A', 'NEW', 'SAME', 'TWO', 'B', 'B'])
    const { envs } = (await world.call('GET', '/v9/projects/web/env?decrypt=true')).body
    const shown = envs.map(
      (env: { key: string; value: string; target: string[] }) => `${env.key}=${env.value} ${env.target}`,
    )
    assert.deepEqual(shown.sort(), [
      'A=aa production,preview',
      'B=second production,preview',
      'NEW=n development',
      'SAME=s production',
      'TWO=one production,preview,development',
      'WIDE=narrow production',
      'WIDE=wide preview,development',
    ])
    const versions = await world.deps.db.read.selectFrom('env_var').select(['key', 'version']).orderBy('key').execute()
    assert.equal(versions.find((row) => row.key === 'SAME')!.version, 1, 'what is the same is not written')
    const usage = await world.deps.db.read.selectFrom('env_usage').selectAll().orderBy('target').execute()
    assert.deepEqual(
      usage.map(({ target, variables, bytes }) => [target, Number(variables), Number(bytes)]),
      [
        ['development', 3, 'wide'.length + 'n'.length + 'one'.length],
        ['preview', 4, 'wide'.length + 'aa'.length + 'one'.length + 'second'.length],
        ['production', 5, 'narrow'.length + 'aa'.length + 's'.length + 'one'.length + 'second'.length],
      ],
    )
  },
)

onBothEngines('an upsert above the limit names it, and the others of its request are committed', async (world) => {
  await open(world)
  const item = (key: string, bytes: number) => ({
    key,
    value: 'x'.repeat(bytes),
    type: 'plain',
    target: ['production'],
  })
  await world.call('POST', URL, [item('A', 30_000), item('B', 30_000)])
  const { created, failed } = (await world.call('POST', URL, [item('A', 40_000), item('B', 10), item('C', 10)])).body
  assert.deepEqual(
    created.map(({ key }: { key: string }) => key),
    ['B', 'C'],
  )
  assert.deepEqual(
    failed.map(({ error }: { error: { key: string } }) => error.key),
    ['A'],
  )
  // Now there is room.
  assert.deepEqual((await world.call('POST', URL, [item('A', 40_000)])).body.failed, [])
})
