/** `/v1/drains`: the same drains as by the older paths, what they receive, and what of the newer shape is refused. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { seedProject } from '../../support/projects.ts'
import { deliver, LOCAL, type Received, receiver } from '../../support/servers/receiver.ts'
import { holdDrain } from '../../support/states.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall } from '../../support/worlds/installation-rows.ts'
import { seedIntegration } from '../../support/worlds/integration-world.ts'

const LINE = { timestamp: 1_700_000_000_000, message: 'hello', source: 'lambda' }
const SCHEMAS = { log: { version: 'v1' } }
const URL = 'https://logs.example.com/in'
const HTTP = { type: 'http', endpoint: URL, encoding: 'json', headers: {} }
const GOOD = { name: 'logs', projects: 'all', schemas: SCHEMAS, delivery: HTTP }

async function make(world: World, body: object = {}) {
  const made = await world.call('POST', '/v1/drains', { ...GOOD, ...body })
  assert.equal(made.status, 200, made.text)
  return made.body
}

async function change(world: World, id: string, body: object) {
  const changed = await world.call('PATCH', `/v1/drains/${id}`, body)
  assert.equal(changed.status, 200, changed.text)
  return changed.body
}

async function hand(world: World, projectId: string, lines: object[]) {
  const taken = await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines })
  assert.equal(taken.status, 202, taken.text)
  return taken.body
}

const messages = (got: Received[]) => got.flatMap(({ body }) => body.map(({ message }: { message: string }) => message))

onBothEngines('the code of an endpoint is one for each account, as Terraform reads it', async (world) => {
  const code = async (query: string) => {
    const answer = await world.call('GET', `/v1/verify-endpoint${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body.verificationCode
  }
  assert.match(await code(''), /^[0-9a-f]{40}$/)
  assert.equal(await code(''), await code(''))
  assert.notEqual(await code(''), await code(`?teamId=${world.credentials.teamId}`))
})

onBothEngines(
  'a drain that is made by the newer paths is answered whole, and is the same by the older ones',
  async (world) => {
    const web = await seedProject(world, 'web')
    const filter = {
      version: 'v2',
      filter: { type: 'basic', log: { sources: ['build', 'redirect'] }, deployment: { environments: ['preview'] } },
    }
    const delivery = { ...HTTP, encoding: 'ndjson', headers: { 'X-Key': 'canary' }, secret: 'a-secret-of-twenty-chars' }
    const sampling = [{ type: 'head_sampling', rate: 0.5, env: 'preview' }]
    const source = { kind: 'self-served' }
    const made = await make(world, {
      projects: 'some',
      projectIds: [web],
      filter,
      delivery,
      sampling,
      source,
      transforms: [],
    })
    assert.deepEqual(made, {
      id: made.id,
      name: 'logs',
      ownerId: world.credentials.userId,
      createdAt: made.createdAt,
      updatedAt: made.updatedAt,
      status: 'enabled',
      projectIds: [web],
      schemas: SCHEMAS,
      delivery: { ...delivery, compression: 'none', headers: { 'x-key': 'canary' } },
      filterV2: { version: 'v2', filter: { ...filter.filter, project: { ids: [web] } } },
      sampling,
      source,
    })
    const { secret: _, ...shown } = made.delivery
    const later = { ...made, delivery: { ...shown, headers: { 'x-key': '' } } }
    assert.deepEqual((await world.call('GET', `/v1/drains/${made.id}`)).body, later)
    assert.deepEqual((await world.call('GET', '/v1/drains')).body, { drains: [later] })
    // The older clients know no `redirect`.
    const old = (await world.call('GET', '/v1/log-drains')).body[0]
    assert.deepEqual([old.id, old.url, old.sources, old.environments], [made.id, URL, ['build'], ['preview']])
    const rows = JSON.stringify(await world.deps.db.read.selectFrom('log_drain').selectAll().execute())
    assert.ok(!rows.includes('canary') && !rows.includes('a-secret-of'), 'secret and headers are sealed')
    assert.equal((await world.call('DELETE', `/v1/drains/${made.id}`)).status, 204)
    assert.equal((await world.call.try('GET', `/v1/drains/${made.id}`)).status, 404)
    assert.deepEqual((await world.call('GET', '/v1/log-drains')).body, [])
  },
)

onBothEngines('a list of drains is narrowed to those that get lines of a project', async (world) => {
  const [web, other] = [await seedProject(world, 'web'), await seedProject(world, 'other')]
  const all = await make(world)
  const named = await make(world, { projects: 'some', projectIds: [web] })
  // The ids may also stand in the filter.
  const filter = { version: 'v2', filter: { type: 'basic', project: { ids: [other] } } }
  const filtered = await make(world, { projects: 'some', filter })
  assert.deepEqual(filtered.projectIds, [other])
  const listed = async (projectId: string) =>
    (await world.call('GET', `/v1/drains?projectId=${projectId}`)).body.drains.map(({ id }: { id: string }) => id)
  assert.deepEqual(await listed(web), [named.id, all.id])
  assert.deepEqual(await listed(other), [filtered.id, all.id])
})

onBothEngines(
  'an update changes what the drain receives and where it goes, and keeps what it does not name',
  async (world, t) => {
    const [one, two] = [await receiver(t), await receiver(t)]
    const [web, other] = [await seedProject(world, 'web'), await seedProject(world, 'other')]
    const secret = 'a-secret-of-twenty-chars'
    const delivery = { ...HTTP, endpoint: one.url, headers: { authorization: 'Bearer one', 'x-b': 'b' }, secret }
    const { id, sampling } = await make(world, { delivery, sampling: [{ type: 'head_sampling', rate: 0 }] })
    assert.deepEqual(sampling, [{ type: 'head_sampling', rate: 0 }])
    assert.equal((await hand(world, web, [LINE])).drains, 0)
    const renamed = await change(world, id, { name: 'renamed', sampling: null })
    assert.deepEqual(
      [renamed.name, renamed.sampling, renamed.delivery.endpoint, renamed.delivery.headers],
      ['renamed', undefined, one.url, { authorization: '', 'x-b': '' }],
    )
    await hand(world, web, [LINE])
    await deliver(world)
    assert.deepEqual([one.got[0]!.headers.authorization, one.got[0]!.headers['x-b']], ['Bearer one', 'b'])
    const signature = one.got[0]!.headers['x-vercel-signature']!

    // A header that is said empty, as it is shown, stays as it is. One that is not said goes.
    await change(world, id, { delivery: { ...HTTP, endpoint: one.url, headers: { Authorization: '' } } })
    const filter = { version: 'v2', filter: { type: 'basic', log: { sources: ['lambda'] } } }
    await change(world, id, { projects: 'some', projectIds: [other], filter })
    assert.equal((await hand(world, web, [LINE])).drains, 0)
    assert.equal((await hand(world, other, [{ ...LINE, source: 'build' }])).drains, 0)
    await hand(world, other, [{ ...LINE, message: 'of the other' }])
    await deliver(world)
    assert.deepEqual(messages(one.got), ['hello', 'of the other'])
    assert.deepEqual([one.got[1]!.headers.authorization, one.got[1]!.headers['x-b']], ['Bearer one', undefined])

    // What a header was is for the address that it was said for.
    const moved = { ...HTTP, endpoint: two.url, headers: { authorization: '' } }
    const refused = await world.call.try('PATCH', `/v1/drains/${id}`, { delivery: moved })
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'bad_request'])
    assert.match(refused.body.error.message, /`delivery\.headers\.authorization` should be sent again/)
    await change(world, id, {
      delivery: { ...moved, headers: {} },
      projectIds: null,
      filter: { version: 'v2', filter: { type: 'basic' } },
    })
    await hand(world, web, [{ ...LINE, source: 'build' }])
    await deliver(world)
    assert.equal(two.got.length, 1)
    assert.equal(two.got[0]!.headers.authorization, undefined)
    assert.equal(one.got.length, 2)
    const sent = two.got[0]!
    assert.equal(
      sent.headers['x-vercel-signature'],
      createHmac('sha1', secret).update(sent.text).digest('hex'),
      'the secret stays',
    )
    assert.notEqual(sent.headers['x-vercel-signature'], signature)
  },
  LOCAL,
)

onBothEngines(
  'a drain that is disabled gets no lines until it is enabled, and none that waited',
  async (world, t) => {
    const hook = await receiver(t)
    const web = await seedProject(world, 'web')
    const { id } = await make(world, { delivery: { ...HTTP, endpoint: hook.url } })
    await hand(world, web, [{ ...LINE, message: 'waiting' }])
    const off = await change(world, id, { status: 'disabled' })
    assert.deepEqual([off.status, off.disabledReason, off.disabledAt > 0], ['disabled', 'disabled-by-owner', true])
    assert.equal((await change(world, id, { status: 'disabled' })).disabledAt, off.disabledAt)
    assert.equal((await world.call('GET', `/v1/log-drains/${id}`)).body.status, 'disabled')
    assert.equal((await hand(world, web, [{ ...LINE, message: 'meanwhile' }])).drains, 0)
    await deliver(world)
    const on = await change(world, id, { status: 'enabled' })
    assert.deepEqual([on.status, on.disabledAt, on.disabledReason], ['enabled', undefined, undefined])
    await hand(world, web, [{ ...LINE, message: 'after' }])
    await deliver(world)
    assert.deepEqual(messages(hook.got), ['after'])
  },
  LOCAL,
)

onBothEngines(
  'a held drain is not given a new address and not enabled before an OWNER takes ownership of it',
  async (world) => {
    const { id } = await make(world)
    await holdDrain(world, id)
    for (const body of [{ status: 'enabled' }, { delivery: { ...HTTP, endpoint: 'https://elsewhere.example.com' } }]) {
      const refused = await world.call.try('PATCH', `/v1/drains/${id}`, body)
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'], refused.text)
      assert.match(refused.body.error.message, /transfer-ownership/)
    }
    assert.equal((await change(world, id, { name: 'renamed', delivery: HTTP })).name, 'renamed')
    await world.call('POST', `/v1/log-drains/${id}/transfer-ownership`)
    assert.equal((await change(world, id, { status: 'enabled' })).status, 'enabled')
  },
)

onBothEngines('a user who gives a drain a new address is its maker from then on', async (world) => {
  const { teamId, userId } = world.credentials
  const mate = await world.user('mate')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${mate.id}`, { role: 'MEMBER' })
  const { body } = await world.call('POST', `/v1/drains?teamId=${teamId}`, GOOD)
  const maker = async () =>
    (await world.deps.db.read.selectFrom('log_drain').select('created_by').executeTakeFirstOrThrow()).created_by
  const patch = (said: object) => mate.call('PATCH', `/v1/drains/${body.id}?teamId=${teamId}`, said)
  await patch({ name: 'same', delivery: HTTP })
  assert.equal(await maker(), userId)
  await patch({ delivery: { ...HTTP, endpoint: 'https://mate.example.com' } })
  assert.equal(await maker(), mate.id)
})

onBothEngines(
  'fields of the newer shape that Berth does not have are refused by name, and nothing is made',
  async (world) => {
    const web = await seedProject(world, 'web')
    const basic = (filter: object) => ({ version: 'v2', filter: { type: 'basic', ...filter } })
    const bucket = {
      type: 's3',
      endpoint: 's3://b',
      encoding: 'json',
      compression: 'none',
      fileStructure: 'hive',
      roleArn: 'r',
      region: 'e',
    }
    const traces = { type: 'otlphttp', endpoint: { traces: URL }, encoding: 'proto', headers: {} }
    const rule = { type: 'head_sampling', rate: 0.5 }
    const wrong: [object, RegExp][] = [
      [{ schemas: { trace: { version: 'v1' } } }, /no `trace` to send/],
      [{ schemas: { ...SCHEMAS, audit_log: { version: 'v1' } } }, /no `audit_log` to send/],
      [{ schemas: {} }, /`schemas`/],
      [{ schemas: { log: { version: 'v2' } } }, /`schemas\.log\.version` should be one of "v1"/],
      [{ delivery: bucket }, /`delivery\.type` should be one of "http"/],
      [{ delivery: traces }, /`delivery\.type` should be one of "http"/],
      [{ delivery: undefined }, /`delivery`/],
      [{ delivery: { ...HTTP, compression: 'gzip' } }, /`delivery\.compression` should be one of "none"/],
      [{ delivery: { ...HTTP, roleArn: 'r' } }, /`delivery\.roleArn` is not a setting that Berth has/],
      [{ delivery: { ...HTTP, endpoint: 'http://127.0.0.1/' } }, /`delivery\.endpoint`: the address is private/],
      [{ delivery: { ...HTTP, headers: { Host: 'x' } } }, /`delivery\.headers\.Host` cannot be set/],
      [{ delivery: { ...HTTP, secret: 'short' } }, /`delivery\.secret`/],
      [
        { filter: { version: 'v2', filter: { type: 'odata', text: 'a eq b' } } },
        /`filter\.filter\.type` should be one of "basic"/,
      ],
      [{ filter: basic({ text: 'a eq b' }) }, /`filter\.filter\.text` is not a setting/],
      [{ filter: basic({ log: { sources: ['moon'] } }) }, /`filter\.filter\.log\.sources\.0`/],
      [{ sampling: [{ ...rule, rate: 1.1 }] }, /`sampling\.0\.rate`/],
      [{ sampling: [{ ...rule, requestPath: '/api' }] }, /`sampling\.0\.requestPath` is not a setting/],
      [{ transforms: [{ id: 'tr' }] }, /`transforms` is not a setting/],
      [{ source: { kind: 'integration' } }, /`source\.kind` should be `self-served`/],
      [{ source: { kind: 'self-served', resourceId: 'r' } }, /`source\.resourceId` is not a setting/],
      [{ projects: 'some' }, /`projectIds` should name projects/],
      [{ projects: 'all', projectIds: [web] }, /leave out the ids/],
      [{ projects: 'all', filter: basic({ project: { ids: [web] } }) }, /leave out the ids/],
      [
        { projects: 'some', projectIds: [web], filter: basic({ project: { ids: ['prj_other'] } }) },
        /different projects/,
      ],
      [{ projects: 'some', projectIds: ['prj_none'] }, /prj_none/],
    ]
    const kept = await make(world)
    for (const [body, sentence] of wrong) {
      const answers: ApiResponse[] = [await world.call.try('POST', '/v1/drains', { ...GOOD, ...body })]
      if (!('delivery' in body && body.delivery === undefined))
        answers.push(await world.call.try('PATCH', `/v1/drains/${kept.id}`, body))
      for (const answer of answers) {
        assert.equal(answer.status, 400, `${JSON.stringify(body)} ${answer.text}`)
        assert.match(answer.body.error.message, sentence)
      }
    }
    const none = await world.call.try('PATCH', `/v1/drains/${kept.id}`, { projects: 'some', projectIds: null })
    assert.deepEqual([none.status, none.body.error.code], [400, 'bad_request'])
    const { drains } = (await world.call('GET', '/v1/drains')).body
    assert.deepEqual(
      drains.map(({ id }: { id: string }) => id),
      [kept.id],
    )
    assert.equal(drains[0].updatedAt, kept.updatedAt)
    // The 20 of an account are counted over all paths, also among many at once.
    const racing = await Promise.all(Array.from({ length: 22 }, () => world.call.try('POST', '/v1/drains', GOOD)))
    assert.equal(racing.filter(({ status }) => status === 200).length, 19)
  },
)

onBothEngines(
  'an installation knows its own drains alone, and says of them that they are of an integration',
  async (world) => {
    const { teamId, userId } = world.credentials
    const team = `?teamId=${teamId}`
    await seedIntegration(world, { slug: 'logs', scopes: ['read-write:log-drain'] })
    const integration = await world.deps.db.read.selectFrom('integration').selectAll().executeTakeFirstOrThrow()
    const account = { id: teamId, kind: 'team' } as const
    const { configuration, token } = await consentAndInstall(world, integration, { userId, account })
    const { body: peoples } = await world.call('POST', `/v1/drains${team}`, GOOD)
    const call = world.as(token)
    const source = { kind: 'integration' }
    const made = await call('POST', `/v1/drains${team}`, { ...GOOD, source })
    assert.equal(made.status, 200, made.text)
    assert.deepEqual(made.body.source, {
      ...source,
      integrationId: integration.id,
      integrationConfigurationId: configuration.id,
    })
    const wrong = await call.try('POST', `/v1/drains${team}`, { ...GOOD, source: { kind: 'self-served' } })
    assert.match(wrong.body.error.message, /`source\.kind` should be `integration`/)
    const { drains } = (await call('GET', `/v1/drains${team}`)).body
    assert.deepEqual(
      drains.map(({ id }: { id: string }) => id),
      [made.body.id],
    )
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? { name: 'taken' } : undefined
      assert.equal((await call.try(method, `/v1/drains/${peoples.id}${team}`, body)).status, 404)
    }
  },
)

onBothEngines('a token of some projects cannot widen a drain to all', async (world) => {
  const web = await seedProject(world, 'web')
  const made = await world.call('POST', '/v3/user/tokens', { name: 'narrow', projectId: web })
  assert.equal(made.status, 200, made.text)
  const call = world.as(made.body.bearerToken)
  const own = await call('POST', '/v1/drains', { ...GOOD, projects: 'some', projectIds: [web] })
  assert.equal(own.status, 200, own.text)
  const wide = await call.try('PATCH', `/v1/drains/${own.body.id}`, { projects: 'all' })
  assert.deepEqual([wide.status, wide.body.error.code], [403, 'forbidden'], wide.text)
  assert.equal((await call('PATCH', `/v1/drains/${own.body.id}`, { name: 'mine' })).body.name, 'mine')
})

onBothEngines(
  'a share of the lines is sent, by the first rule that counts for their environment',
  async (world, t) => {
    const hook = await receiver(t)
    const web = await seedProject(world, 'web')
    const of = (rate: number, env?: string) => ({ type: 'head_sampling', rate, ...(env && { env }) })
    await make(world, { delivery: { ...HTTP, endpoint: hook.url }, sampling: [of(0, 'preview'), of(0.5), of(0)] })
    const lines = Array.from({ length: 500 }, (_, at) => ({ ...LINE, message: String(at), environment: 'production' }))
    await hand(world, web, [...lines, ...lines.map((line) => ({ ...line, environment: 'preview' }))])
    await deliver(world)
    const got = hook.got.flatMap(({ body }) => body) as { environment: string }[]
    // Of 500 coins fewer than 150 or more than 350 fall on one side once in 10^18 runs.
    assert.ok(got.length > 150 && got.length < 350, String(got.length))
    assert.ok(got.every(({ environment }) => environment === 'production'))
  },
  LOCAL,
)

onBothEngines(
  'a test sends one signed line, says why it did not arrive, and keeps nothing',
  async (world, t) => {
    const hook = await receiver(t)
    const secret = 'a-secret-of-twenty-chars'
    const delivery = { ...HTTP, endpoint: hook.url, headers: { 'x-key': 'canary' }, secret }
    const ask = (said: object = {}) =>
      world.call.try('POST', '/v1/drains/test', { schemas: SCHEMAS, delivery: { ...delivery, ...said } })
    const arrived = await ask()
    assert.deepEqual([arrived.status, arrived.body], [200, {}])
    const [sent] = hook.got
    assert.deepEqual([sent!.body.length, sent!.body[0].source, sent!.headers['x-key']], [1, 'external', 'canary'])
    assert.equal(sent!.headers['x-vercel-signature'], createHmac('sha1', secret).update(sent!.text).digest('hex'))
    hook.answer((response) => response.writeHead(503).end('secret of the network'))
    const failed = await ask({ encoding: 'ndjson' })
    assert.deepEqual(
      [failed.status, failed.body],
      [200, { status: 'failed', endpoint: hook.url, error: 'the receiver responded 503' }],
    )
    assert.equal(hook.got[1]!.headers['content-type'], 'application/x-ndjson')
    hook.close()
    assert.deepEqual((await ask()).body.error, 'the connection was refused')
    const other = await world.call.try('POST', '/v1/drains/test', { schemas: { trace: { version: 'v1' } }, delivery })
    assert.match(other.body.error.message, /no `trace`/)
    assert.deepEqual(await world.deps.db.read.selectFrom('log_drain').selectAll().execute(), [])
    assert.deepEqual(await world.deps.db.read.selectFrom('delivery').selectAll().execute(), [])
  },
  LOCAL,
)

onBothEngines(
  'an account tests 20 addresses a minute',
  async (world) => {
    const delivery = { ...HTTP, endpoint: 'https://logs.invalid' }
    const ask = () => world.call.try('POST', '/v1/drains/test', { schemas: SCHEMAS, delivery })
    const answers = await Promise.all(Array.from({ length: 21 }, ask))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(20).fill(200), 429])
  },
  { BERTH_RATE_LIMITS: 'on' },
)
