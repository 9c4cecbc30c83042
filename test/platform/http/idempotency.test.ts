/** `Idempotency-Key`: asked again, done once. Answers byte for byte, races, other instances, secrets, kill -9 before the answer. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '../../../src/config.ts'
import { acceptsIdempotencyKey } from '../../../src/platform/http/route.ts'
import { ROUTES } from '../../../src/routes.ts'
import { openService } from '../../../src/service.ts'
import { sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { startGitlab } from '../../support/servers/git-servers.ts'
import {
  type ApiResponse,
  type Call,
  callerOf,
  migratedDatabase,
  onBothEngines,
  type World,
} from '../../support/world.ts'

const HOUR_MS = 3_600_000
const key = (name: string) => ({ 'idempotency-key': name })

async function countOf(world: World, table: 'project' | 'event' | 'audit' | 'kept_answer'): Promise<number> {
  return (
    await world.deps.db.read
      .selectFrom(table)
      .select(table === 'audit' ? 'audit.stamp' : (`${table}.id` as 'project.id'))
      .execute()
  ).length
}

function isReplay(answer: ApiResponse): boolean {
  return answer.headers['idempotency-replayed'] === 'true'
}

onBothEngines('the same request with the same key is done once and answered alike, byte for byte', async (world) => {
  const first = await world.call.try('POST', '/v10/projects', { name: 'web' }, key('k1'))
  assert.deepEqual([first.status, isReplay(first)], [200, false])
  const before = [await countOf(world, 'event'), await countOf(world, 'audit')]
  await world.call('PATCH', '/v9/projects/web', { framework: 'nextjs' })
  for (let at = 0; at < 3; at++) {
    const again = await world.call.try('POST', '/v10/projects', { name: 'web' }, key('k1'))
    assert.deepEqual([again.status, again.text, isReplay(again)], [200, first.text, true])
    assert.equal(again.headers['content-type'], first.headers['content-type'])
    assert.equal(again.headers['content-length'], first.headers['content-length'])
  }
  assert.deepEqual([await countOf(world, 'event'), await countOf(world, 'audit')], [before[0], before[1]! + 1])
  assert.equal((await world.call.try('POST', '/v10/projects', { name: 'web' }, key('k2'))).status, 409)
  assert.equal((await world.call.try('POST', '/v10/projects', { name: 'web' })).status, 409)

  const gone = await world.call('DELETE', '/v9/projects/web', undefined, key('k3'))
  const stillGone = await world.call.try('DELETE', '/v9/projects/web', undefined, key('k3'))
  assert.deepEqual([gone.status, stillGone.status, stillGone.text, isReplay(stillGone)], [204, 204, '', true])
  assert.equal(stillGone.headers['content-type'], undefined)
  assert.equal((await world.call.try('DELETE', '/v9/projects/web')).status, 404)
})

onBothEngines(
  'another method, address, query, body or version with a key is refused, and changes nothing',
  async (world) => {
    const { teamId } = world.credentials
    assert.equal((await world.call('POST', '/v10/projects', { name: 'web' }, key('k'))).status, 200)
    const others: Parameters<Call>[] = [
      ['POST', '/v10/projects', { name: 'web2' }],
      ['POST', '/v10/projects', '{"name": "web"}'],
      ['POST', '/v9/projects', { name: 'web' }],
      ['POST', `/v10/projects?teamId=${teamId}`, { name: 'web' }],
      ['PATCH', '/v9/projects/web', { name: 'web' }],
      ['DELETE', '/v9/projects/web'],
    ]
    for (const [method, url, body] of others) {
      const refused = await world.call.try(method, url, body, key('k'))
      assert.deepEqual([refused.status, refused.body.error.code], [422, 'idempotency_key_reused'], `${method} ${url}`)
    }
    assert.equal(await countOf(world, 'project'), 1)
  },
)

onBothEngines('a refused request stores no answer: the same key works once the request can be done', async (world) => {
  const add = () =>
    world.call.try(
      'POST',
      '/v10/projects/web/env',
      { key: 'A', value: '1', type: 'plain', target: ['production'] },
      key('k'),
    )
  assert.equal((await add()).status, 404)
  assert.equal((await world.call.try('POST', '/v10/projects', { name: 5 }, key('k'))).status, 400)
  assert.equal(await countOf(world, 'kept_answer'), 0)
  await world.call('POST', '/v10/projects', { name: 'web' })
  assert.deepEqual([(await add()).status, isReplay(await add())], [201, true])
})

onBothEngines('a key is 1 to 255 printable characters, given once; reads do not look at it', async (world) => {
  for (const bad of ['', 'x'.repeat(256), 'a\tb', 'caf\u00e9']) {
    const answer = await world.call.try('POST', '/v10/projects', { name: 'web' }, key(bad))
    assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], bad)
    assert.match(answer.body.error.message, /Idempotency-Key/)
    assert.equal((await world.call('GET', '/v2/user', undefined, key(bad))).status, 200)
  }
  const address = await world.listen()
  const { hostname, port } = new URL(address)
  const heard = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `POST /v10/projects HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${world.credentials.token}\r\n` +
          'Idempotency-Key: a\r\nidempotency-key: a\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"name":"web"}',
      ),
    )
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
  })
  assert.match(heard, /^HTTP\/1\.1 400 /)
  assert.equal(await countOf(world, 'project'), 0)
  const longest = `${'x y~'.repeat(63)}abc`
  assert.equal((await world.call('POST', '/v10/projects', { name: 'web' }, key(longest))).status, 200)
  assert.ok(isReplay(await world.call.try('POST', '/v10/projects', { name: 'web' }, key(longest))))
})

onBothEngines('of forty requests at once with one key one is done; the others get 409 or its answer', async (world) => {
  for (let round = 0; round < 5; round++) {
    const make = () => world.call.try('POST', '/v10/projects', { name: `web${round}` }, key(`k${round}`))
    const answers = await Promise.all(Array.from({ length: 40 }, make))
    const done = answers.filter(({ status }) => status === 200)
    assert.equal(done.filter((answer) => !isReplay(answer)).length, 1)
    assert.equal(new Set(done.map(({ text }) => text)).size, 1)
    for (const { body, headers } of answers.filter(({ status }) => status !== 200))
      assert.deepEqual([body.error.code, headers['retry-after']], ['idempotency_key_in_use', '1'])
    const later = await make()
    assert.deepEqual([later.text, isReplay(later)], [done[0]!.text, true])
  }
  assert.equal(await countOf(world, 'project'), 5)
})

onBothEngines('a key belongs to its token, and a token that has ended gets no stored answer', async (world) => {
  const mate = await world.user('mate')
  const { teamId } = world.credentials
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${mate.id}`, { role: 'MEMBER' })
  const url = `/v10/projects?teamId=${teamId}`
  assert.equal((await mate.call('POST', url, { name: 'web' }, key('k'))).status, 200)
  assert.equal(
    (await world.call.try('POST', url, { name: 'web' }, key('k'))).status,
    409,
    "another's key is another key",
  )
  assert.ok(isReplay(await mate.call.try('POST', url, { name: 'web' }, key('k'))))
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${mate.id}`, { role: 'VIEWER' })
  assert.equal((await mate.call.try('POST', url, { name: 'web' }, key('k'))).body.error.code, 'forbidden')
  await world.operator('DELETE', `/operator/v1/teams/${teamId}/members/${mate.id}`)
  assert.equal((await mate.call.try('POST', url, { name: 'web' }, key('k'))).body.error.code, 'forbidden')
})

onBothEngines(
  'after 24 hours a key is new, whether or not the sweep has come; the sweep takes the old',
  async (world) => {
    const now = world.deps.clock.now()
    const pause = () => world.call.try('POST', '/v1/projects/web/pause', undefined, key('k'))
    await world.call('POST', '/v10/projects', { name: 'web' }, key('other'))
    assert.equal((await pause()).status, 200)
    world.deps.clock.set(now + 24 * HOUR_MS - 10_000)
    assert.ok(isReplay(await pause()))
    world.deps.clock.set(now + 24 * HOUR_MS + 10_000)
    assert.equal(isReplay(await pause()), false)
    assert.ok(isReplay(await pause()))
    const run = async (at: number) =>
      (await world.operator('POST', '/operator/v1/timers/kept-answers/run', { now: at })).body
    assert.deepEqual(await run(now + 24 * HOUR_MS + 20_000), { swept: 1 })
    assert.deepEqual(await run(now + 49 * HOUR_MS), { swept: 1 })
    assert.equal(await countOf(world, 'kept_answer'), 0)
  },
)

onBothEngines('a repeated request shows its secret again, and the secret is nowhere in the store', async (world) => {
  const userId = world.credentials.userId
  const made = await world.operator.try('POST', '/operator/v1/tokens', { userId }, key('once'))
  const again = await world.operator.try('POST', '/operator/v1/tokens', { userId }, key('once'))
  assert.deepEqual([again.status, again.text, isReplay(again)], [made.status, made.text, true])
  const hook = { url: 'https://hooks.example.com', events: ['project.renamed'] }
  const hooked = await world.call('POST', '/v1/webhooks', hook, key('once'))
  assert.equal((await world.call('POST', '/v1/webhooks', hook, key('once'))).text, hooked.text)
  assert.equal(hooked.headers['cache-control'], 'no-store')
  const rows = await world.deps.db.read.selectFrom('kept_answer').selectAll().execute()
  assert.equal(rows.length, 2)
  const stored =
    JSON.stringify(rows) + rows.map((row) => Buffer.from(row.sealed_body!, 'base64url').toString('latin1')).join()
  for (const secret of [
    made.body.token,
    hooked.body.secret,
    'once',
    world.credentials.token,
    world.credentials.operatorToken,
  ])
    assert.equal(stored.includes(secret), false)
})

onBothEngines(
  "every write that takes a key is answered again from the store, and an app's exchange takes none",
  async (world) => {
    const samples = await seedSamples(world)
    let replayed = 0
    // What is deleted is deleted last.
    const writes = ROUTES.filter(({ method, reads }) => method !== 'GET' && !reads).sort(
      (a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'),
    )
    for (const route of writes) {
      const call =
        route.auth === 'operator' ? world.operator : route.auth === 'public' ? world.call : world.as(undefined)
      const { method, url, body } = sampleRequest(route, samples)
      const first = await call.try(method, url, body, key('each'.concat(route.operationId)))
      if (first.status !== route.status) continue
      const again = await call.try(method, url, body, key('each'.concat(route.operationId)))
      if (!acceptsIdempotencyKey(route))
        assert.equal(again.headers['idempotency-replayed'], undefined, route.operationId)
      else if (again.status !== 401) {
        assert.deepEqual(
          [again.status, again.text, isReplay(again)],
          [first.status, first.text, true],
          route.operationId,
        )
        replayed++
      }
    }
    assert.ok(replayed > 40, `${replayed} were`)
  },
)

/** Two instances on one PostgreSQL, and a way to ask each as the first user and as the operator. */
async function openTwo(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-two-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const off = { BERTH_TIMERS: 'off', BERTH_RATE_LIMITS: 'off' }
  const config = readConfig({ BERTH_DATA: folder, DATABASE_URL: await migratedDatabase(), ...off })
  const open = async () => {
    const service = await openService(config, pino({ level: 'silent' }), (error) => assert.fail(String(error)))
    t.after(() => service.close())
    return service
  }
  const [one, two] = [await open(), await open()]
  const { token, operatorToken, userId } = one.credentials
  return {
    one,
    two,
    calls: [one, two].map((service) => callerOf(service, token)),
    operator: callerOf(one, operatorToken),
    userId,
  }
}

test('two instances on one database: one effect, and the second gives the answer of the first', async (t) => {
  const { one, calls } = await openTwo(t)
  for (let round = 0; round < 20; round++) {
    const body = { name: `web${round}` }
    const [a, b] = await Promise.all(calls.map((call) => call.try('POST', '/v10/projects', body, key(`k${round}`))))
    assert.deepEqual([a!.status, b!.status], [200, 200], `${a!.text} ${b!.text}`)
    assert.equal(a!.text, b!.text)
    assert.equal([a!, b!].filter(isReplay).length, 1)
  }
  const rows = await one.deps.db.read.selectFrom('event').select('id').where('type', '=', 'project.created').execute()
  assert.equal(rows.length, 20)
})

test('what the first created meanwhile does not refuse the second, which gives its answer', async (t) => {
  const { one, two, calls, operator, userId } = await openTwo(t)
  await operator('PATCH', `/operator/v1/accounts/${userId}`, { plan: 'enterprise' })
  const { passwords } = two.deps.adapters
  const [reached, first] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  // The second has looked for an answer by then, and looks for the name afterwards.
  two.deps.adapters.passwords = {
    ...passwords,
    async hash(...password) {
      reached.resolve()
      await first.promise
      return passwords.hash(...password)
    },
  }
  const body = {
    name: 'web',
    gitRepository: { type: 'github', repo: 'acme/web' },
    passwordProtection: { deploymentType: 'all', password: 'a password of ours' },
  }
  const ask = (call: Call) => call.try('POST', '/v10/projects', body, key('k'))
  const second = ask(calls[1]!)
  await reached.promise
  const made = await ask(calls[0]!)
  first.resolve()
  const again = await second
  assert.deepEqual([made.status, isReplay(made), again.status, isReplay(again)], [200, false, 200, true])
  assert.equal(again.text, made.text)
  const rows = await one.deps.db.read.selectFrom('project').select('id').execute()
  assert.equal(rows.length, 1)
})

test('what the second instance did outside is undone: a webhook at the git host for each project, and no more', async (t) => {
  const gitlab = await startGitlab('glpat-token', {
    'acme/web': {
      ...{ id: 1, name: 'Web', name_with_namespace: 'Acme / Web', path_with_namespace: 'acme/web' },
      namespace: { id: 7, name: 'Acme', path: 'acme', kind: 'group', full_path: 'acme' },
      ...{ web_url: 'https://gitlab.example/acme/web', default_branch: 'main' },
    } as { id: number },
  })
  t.after(() => gitlab.close())
  const { calls, operator, userId } = await openTwo(t)
  const credential = {
    token: 'glpat-token',
    baseUrl: gitlab.url,
    webhookUrl: 'https://build.example.com/push',
    webhookSecret: 's',
  }
  const set = await operator('PUT', `/operator/v1/accounts/${userId}/git-credentials/gitlab`, credential)
  assert.equal(set.status, 200, set.text)
  const gitRepository = { type: 'gitlab', repo: 'acme/web' }
  const made = () => gitlab.asked.filter((asked) => asked.startsWith('POST')).length
  let round = 0
  // Until both instances made one for the same project: on a busy machine one may be done before the other begins.
  for (; round < 6 || (made() === round && round < 60); round++) {
    const body = { name: `web${round}`, gitRepository }
    const [a, b] = await Promise.all(calls.map((call) => call.try('POST', '/v10/projects', body, key(`k${round}`))))
    assert.deepEqual([a!.status, a!.text], [200, b!.text])
  }
  const again = await calls[1]!.try('POST', '/v10/projects', { name: 'web0', gitRepository }, key('k0'))
  assert.ok(isReplay(again))
  assert.ok(made() > round, 'both instances made one at times')
  assert.equal(gitlab.hooks.length, round)
})
