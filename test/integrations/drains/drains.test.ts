/** Log drains: made, listed and removed by both families of paths; which lines they get, in which format, and how requests are signed. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { seedProject } from '../../support/projects.ts'
import { deliver, deliveries, LOCAL, receiver } from '../../support/servers/receiver.ts'
import { disableInstallation, enableInstallation } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall } from '../../support/worlds/installation-rows.ts'
import { seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const LINE = { timestamp: 1_700_000_000_000, message: 'hello', source: 'lambda' }

async function drain(world: World, body: object, query = '') {
  const wanted = {
    deliveryFormat: 'json',
    sources: ['lambda', 'edge', 'build', 'static', 'external', 'firewall'],
    ...body,
  }
  const made = await world.call('POST', `/v1/log-drains${query}`, wanted)
  assert.equal(made.status, 200, made.text)
  return made.body
}

function hand(world: World, projectId: string, lines: object[]) {
  return world.operator.try('POST', `/operator/v1/projects/${projectId}/logs`, { lines })
}

onBothEngines(
  'lines arrive at the drains that want them, as JSON or NDJSON, signed, with the headers that were set',
  async (world, t) => {
    const [json, lined, filtered, preview, other] = await Promise.all([0, 1, 2, 3, 4].map(() => receiver(t)))
    const web = await seedProject(world, 'web')
    const second = await seedProject(world, 'second')
    const headers = { 'X-Api-Key': 'canary-credential', authorization: 'Bearer abc' }
    const one = await drain(world, { url: json!.url, headers, secret: 'a-secret-of-twenty-chars' })
    const two = await drain(world, { url: lined!.url, deliveryFormat: 'ndjson' })
    await drain(world, { url: filtered!.url, sources: ['build'] })
    await drain(world, { url: preview!.url, environments: ['preview'] })
    await drain(world, { url: other!.url, projectIds: [second] })
    const lines = [LINE, { ...LINE, source: 'build', message: 'two\nlines "quoted"', deploymentId: 'dpl_1' }]
    const taken = await hand(world, web, [...lines, { ...LINE, environment: 'preview' }])
    assert.deepEqual([taken.status, taken.body], [202, { lines: 3, drains: 4, dropped: 0 }])
    await deliver(world)

    assert.equal(json!.got.length, 1)
    const [got] = json!.got
    assert.deepEqual(
      got!.body.map((line: { id: string }) => ({ ...line, id: '' })),
      [
        { id: '', ...LINE, projectId: web, projectName: 'web', environment: 'production' },
        { id: '', ...lines[1], projectId: web, projectName: 'web', environment: 'production' },
        { id: '', ...LINE, projectId: web, projectName: 'web', environment: 'preview' },
      ],
    )
    assert.equal(got!.headers['x-api-key'], 'canary-credential')
    assert.equal(got!.headers.authorization, 'Bearer abc')
    const sign = (secret: string, text: string) => createHmac('sha1', secret).update(text).digest('hex')
    assert.equal(one.secret, 'a-secret-of-twenty-chars')
    assert.equal(got!.headers['x-vercel-signature'], sign(one.secret, got!.text))

    const { text, headers: sent } = lined!.got[0]!
    assert.equal(sent['content-type'], 'application/x-ndjson')
    assert.equal(sent['x-vercel-signature'], sign(two.secret, text))
    assert.deepEqual(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).message),
      ['hello', 'two\nlines "quoted"', 'hello'],
    )
    assert.deepEqual(
      filtered!.got.map(({ body }) => body.map(({ source }: { source: string }) => source)),
      [['build']],
    )
    assert.deepEqual(
      preview!.got.map(({ body }) => body.map(({ environment }: { environment: string }) => environment)),
      [['preview']],
    )
    assert.equal(other!.got.length, 0)
    const kept = await world.deps.db.read.selectFrom('delivery').select('body').execute()
    assert.ok(
      kept.every(({ body }) => body === null),
      'delivered lines are not kept',
    )
    const drains = await world.deps.db.read.selectFrom('log_drain').selectAll().execute()
    for (const secret of ['canary-credential', 'a-secret-of-twenty-chars', two.secret]) {
      assert.equal(JSON.stringify(drains).includes(secret), false)
      assert.equal(world.logged().includes(secret), false)
    }
  },
  LOCAL,
)

onBothEngines(
  'a line without an environment has the environment of its deployment',
  async (world, t) => {
    const hook = await receiver(t)
    await drain(world, { url: hook.url, environments: ['preview'] })
    const id = await seedProject(world, 'web')
    const deployed = (target: string) =>
      world.operator.try('POST', `/operator/v1/projects/${id}/deployments`, {
        url: `${target}.example.net`,
        target,
        readyState: 'READY',
      })
    const [preview, production] = [await deployed('preview'), await deployed('production')]
    assert.deepEqual([preview.status, production.status], [201, 201], preview.text)
    const lines = [preview.body.id, production.body.id, 'dpl_unknown'].map((deploymentId) => ({
      ...LINE,
      deploymentId,
    }))
    assert.equal((await hand(world, id, lines)).body.drains, 1)
    await deliver(world)
    const told = hook.got[0]!.body.map((line: { deploymentId: string; environment: string }) => [
      line.deploymentId,
      line.environment,
    ])
    assert.deepEqual(told, [[preview.body.id, 'preview']])
  },
  LOCAL,
)

onBothEngines(
  'both families of paths make, list and remove the same drains, and each answer is complete',
  async (world) => {
    const url = 'https://logs.example.com/in'
    const one = await drain(world, { url, name: 'first' })
    const two = (
      await world.call('POST', '/v2/integrations/log-drains', { url, name: 'second', headers: { 'x-a': 'b' } })
    ).body
    for (const path of ['/v1/log-drains', '/v2/integrations/log-drains'] as const) {
      const listed = (await world.call('GET', path)).body
      assert.deepEqual(
        listed.map(({ name }: { name: string }) => name),
        ['second', 'first'],
      )
      for (const shown of listed) {
        assert.equal('secret' in shown || 'headers' in shown, false)
        assert.deepEqual(shown.environments, ['production', 'preview'])
      }
    }
    const got = (await world.call('GET', `/v1/log-drains/${one.id}`)).body
    assert.deepEqual([got.secret, got.name, got.deletedAt, got.status], ['', 'first', null, 'enabled'])
    assert.equal((await world.call('DELETE', `/v1/integrations/log-drains/${one.id}`)).status, 204)
    assert.equal((await world.call('DELETE', `/v1/log-drains/${two.id}`)).status, 204)
    assert.deepEqual((await world.call('GET', '/v1/log-drains')).body, [])
    assert.equal((await world.call.try('GET', `/v1/log-drains/${one.id}`)).status, 404)
  },
)

onBothEngines('an invalid drain is refused with the field and the reason', async (world) => {
  const good = { url: 'https://logs.example.com', sources: ['edge'], deliveryFormat: 'json' }
  const wrong: [object, RegExp][] = [
    [{ ...good, url: 'ftp://a' }, /`url`/],
    [{ ...good, sources: ['moon'] }, /`sources\.0`/],
    [{ ...good, sources: [] }, /`sources`/],
    [{ ...good, deliveryFormat: 'xml' }, /`deliveryFormat`/],
    [{ ...good, environments: ['moon'] }, /`environments\.0`/],
    [{ ...good, secret: 'short' }, /`secret`/],
    [{ ...good, projectIds: ['prj_none'] }, /prj_none/],
    [{ ...good, headers: { 'Content-Length': '1' } }, /cannot be set/],
    [{ ...good, headers: { 'X-Vercel-Signature': 'x' } }, /cannot be set/],
    [{ ...good, headers: { Host: 'x' } }, /cannot be set/],
    [{ ...good, headers: { 'a b': 'x' } }, /not a valid header name/],
    [{ ...good, headers: { a: 'x\r\nb: y' } }, /visible ASCII/],
    [{ ...good, headers: { a: '1', A: '2' } }, /present twice/],
    [{ ...good, headers: { a: 'x'.repeat(9000) } }, /8 KiB/],
  ]
  for (const [body, sentence] of wrong) {
    const answer = await world.call.try('POST', '/v1/log-drains', body)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.body.error.message, sentence)
  }
  const id = await seedProject(world, 'web')
  for (const lines of [[], [{}], Array.from({ length: 1001 }, () => LINE), [{ ...LINE, source: 'moon' }]])
    assert.equal((await hand(world, id, lines)).status, 400)
  assert.equal((await hand(world, id, [{ ...LINE, message: 'x'.repeat(250_000) }])).status, 202)
  assert.equal(
    (
      await hand(
        world,
        id,
        Array.from({ length: 5 }, () => ({ ...LINE, message: 'x'.repeat(250_000) })),
      )
    ).status,
    413,
  )
  assert.equal((await hand(world, 'prj_none', [LINE])).status, 404)
  // The 21st is refused, also among many at once.
  const racing = await Promise.all(Array.from({ length: 25 }, () => world.call.try('POST', '/v1/log-drains', good)))
  assert.equal(racing.filter(({ status }) => status === 200).length, 20)
  assert.match(racing.find(({ status }) => status === 400)!.body.error.message, /20 already/)
})

onBothEngines(
  'a drain of a disabled installation gets no lines, and does not get them later',
  async (world, t) => {
    const { teamId, userId } = world.credentials
    const team = `?teamId=${teamId}`
    const hook = await receiver(t)
    const app = await seedIntegration(world, { slug: 'logs', scopes: ['read-write:log-drain'] })
    const integration = await world.deps.db.read.selectFrom('integration').selectAll().executeTakeFirstOrThrow()
    assert.equal(integration.id, app.id)
    const { configuration, token } = await consentAndInstall(world, integration, {
      userId,
      account: { id: teamId, kind: 'team' },
    })
    const theirs = await drain(world, { url: 'https://logs.example.com' }, team)
    const call = world.as(token)
    const made = await call('POST', `/v2/integrations/log-drains${team}`, { url: hook.url, name: 'logs' })
    assert.equal(made.status, 200, made.text)
    assert.equal(made.body.configurationId, configuration.id)
    const listed = (await call('GET', `/v2/integrations/log-drains${team}`)).body
    assert.deepEqual(
      listed.map(({ id }: { id: string }) => id),
      [made.body.id],
    )
    assert.equal((await call.try('DELETE', `/v1/log-drains/${theirs.id}${team}`)).status, 404)
    await world.call('DELETE', `/v1/log-drains/${theirs.id}${team}`)

    const id = await seedProject(world, 'web', team)
    const messages = () => hook.got.flatMap(({ body }) => body.map(({ message }: { message: string }) => message))
    await hand(world, id, [{ ...LINE, message: 'waiting' }])
    await disableInstallation(world, configuration.id)
    assert.equal((await hand(world, id, [{ ...LINE, message: 'meanwhile' }])).body.drains, 0)
    await deliver(world)
    await enableInstallation(world, configuration.id)
    await hand(world, id, [{ ...LINE, message: 'after' }])
    await deliver(world)
    assert.deepEqual(messages(), ['after'])
    assert.equal((await deliveries(world, '&status=dropped')).length, 1)
    const bodies = await world.deps.db.read.selectFrom('delivery').select('body').execute()
    assert.ok(bodies.every(({ body }) => body === null))
  },
  LOCAL,
)

onBothEngines(
  'a drain of an installation that lost the log-drain scope gets no more lines, also none that waited',
  async (world, t) => {
    const { teamId } = world.credentials
    const team = `?teamId=${teamId}`
    const hook = await receiver(t)
    const app = await seedIntegration(world, { slug: 'logs', scopes: ['read-write:log-drain', 'read:project'] })
    const { call } = await seedInstallation(world, { app })
    const made = await call('POST', `/v2/integrations/log-drains${team}`, { url: hook.url, name: 'logs' })
    assert.equal(made.status, 200, made.text)
    const id = await seedProject(world, 'web', team)
    assert.equal((await hand(world, id, [{ ...LINE, message: 'waiting' }])).body.drains, 1)
    const patched = await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { scopes: ['read:project'] })
    assert.equal(patched.status, 200, patched.text)
    assert.equal((await hand(world, id, [{ ...LINE, message: 'after' }])).body.drains, 0)
    await deliver(world)
    assert.deepEqual(hook.got, [])
  },
  LOCAL,
)

onBothEngines(
  'a drain of an installation on selected projects gets no lines of other projects',
  async (world, t) => {
    const team = `?teamId=${world.credentials.teamId}`
    const hook = await receiver(t)
    const chosen = await seedProject(world, 'chosen', team)
    const other = await seedProject(world, 'other', team)
    const app = await seedIntegration(world, { slug: 'logs', scopes: ['read-write:log-drain', 'read:project'] })
    const { call } = await seedInstallation(world, { app }, { projects: [chosen] })
    const made = await call('POST', `/v2/integrations/log-drains${team}`, { url: hook.url, name: 'logs' })
    assert.equal(made.status, 200, made.text)
    assert.equal((await hand(world, other, [{ ...LINE, message: 'of the other' }])).body.drains, 0)
    assert.equal((await hand(world, chosen, [{ ...LINE, message: 'of the chosen' }])).body.drains, 1)
    await deliver(world)
    assert.deepEqual(
      hook.got.flatMap(({ body }) => body.map(({ message }: { message: string }) => message)),
      ['of the chosen'],
    )
  },
  LOCAL,
)

onBothEngines('the deployment of another project does not decide the environment of a line', async (world) => {
  await drain(world, { url: 'https://logs.example.com', environments: ['preview'] })
  const [one, two] = [await seedProject(world, 'one'), await seedProject(world, 'two')]
  const said = { url: 'two.example.net', target: 'preview', readyState: 'READY' }
  const { body } = await world.operator('POST', `/operator/v1/projects/${two}/deployments`, said)
  const line = { ...LINE, deploymentId: body.id }
  assert.equal((await hand(world, two, [line])).body.drains, 1)
  assert.equal(
    (await hand(world, one, [line])).body.drains,
    0,
    'a line without a deployment of its project is of production',
  )
})
