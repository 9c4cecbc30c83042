/** Traces as a receiver of OTLP over HTTP gets them: in the caller's trace, and without anything that a caller or a tenant wrote. docs/operations.md: Traces. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { readTraceparent } from '../../../src/platform/tracing/traces.ts'
import { runTimer } from '../../../src/timers.ts'
import { eventually } from '../../support/eventually.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { attributeOf, type OtlpReceiver, type Span, startOtlpReceiver } from '../../support/servers/otlp-receiver.ts'
import { ENGINES, openWorld, type World } from '../../support/world.ts'

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', parentId: 'b7ad6b7169203331' }
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.parentId}-01`
/** As OTLP numbers the kinds of spans. */
const [SERVER, CLIENT] = [2, 3]

/** On both engines, a world whose traces are received. */
function withReceiver(name: string, run: (world: World, receiver: OtlpReceiver) => Promise<void>) {
  for (const engine of ENGINES) {
    test(`${name} [${engine}]`, async (t) => {
      const receiver = await startOtlpReceiver(t)
      const dns = await startDnsServer()
      t.after(() => dns.close())
      const world = await openWorld(engine, {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20receivers',
        BERTH_DNS_SERVERS: dns.address,
        BERTH_ALLOW_PRIVATE_WEBHOOKS: '1',
      })
      t.after(() => world.close())
      await run(world, receiver)
    })
  }
}

/** A target of webhooks. */
async function startTarget(): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    request.resume()
    response.end('ok')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close }
}

withReceiver(
  "a request, its statements, its look-up and its delivery are spans of the caller's trace",
  async (world, receiver) => {
    const target = await startTarget()
    const hook = { url: target.url, events: ['project.created'] }
    assert.equal((await world.call('POST', '/v1/webhooks', hook)).status, 200)
    const headers = { traceparent: TRACEPARENT }
    assert.equal((await world.call('POST', '/v10/projects', { name: 'web' }, headers)).status, 200)
    assert.equal((await world.call.try('POST', '/v10/projects', { name: 'web' }, headers)).status, 409)
    assert.equal((await world.call('GET', '/v9/projects/web', undefined, headers)).status, 200)
    await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
    const verify = '/v9/projects/web/domains/www.example.com/verify' as const
    assert.equal((await world.call.try('POST', verify, undefined, headers)).status, 400)
    await runTimer(world.deps, 'deliveries', world.deps.clock.now())
    const inTrace = () => receiver.spans.filter(({ traceId }) => traceId === CALLER.traceId)
    const named = (name: string) => inTrace().filter((span) => span.name === name)
    const verifying = 'POST /v9/projects/:idOrName/domains/:domain/verify'
    await eventually(() => named('delivery').length === 1 && named(verifying).length === 1)
    target.close()

    const [made, again] = named('POST /v10/projects')
    assert.deepEqual(shown(made!, ['berth.request_id']), {
      kind: SERVER,
      parent: CALLER.parentId,
      'http.request.method': 'POST',
      'http.route': '/v10/projects',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'berth.operation': 'createProject',
    })
    assert.deepEqual([attributeOf(again!, 'http.response.status_code'), again!.status.code ?? 0], [409, 0])
    assert.equal(attributeOf(again!, 'berth.refusal'), 'project_name_taken')

    const below = ({ spanId }: Span) => inTrace().filter(({ parentSpanId }) => parentSpanId === spanId)
    const insert = below(made!).find(({ name }) => name === 'insert project') ?? assert.fail('no span of the statement')
    assert.deepEqual(shown(insert, ['db.query.text']), {
      kind: CLIENT,
      parent: made!.spanId,
      'db.system.name': world.engine === 'sqlite' ? 'sqlite' : 'postgresql',
      'db.query.summary': 'insert project',
    })
    assert.match(String(attributeOf(insert, 'db.query.text')), /^insert into "project" /)
    for (const span of below(made!)) {
      assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano), span.name)
    }
    const [read] = named('GET /v9/projects/:idOrName')
    assert.ok(
      below(read!).some(({ name }) => name.startsWith('select ')),
      'queries of a read have spans too',
    )
    const [delivery] = named('delivery')
    assert.deepEqual(shown(delivery!, ['berth.delivery.id']), {
      kind: CLIENT,
      parent: made!.spanId,
      'berth.event': 'project.created',
      'berth.delivery.outcome': 'delivered',
    })
    assert.ok(
      below(delivery!).some(({ name }) => name.startsWith('update ')),
      'the outcome is written within the delivery',
    )
    const lookUp = below(named(verifying)[0]!).find(({ name }) => name === 'look up TXT')
    assert.deepEqual(shown(lookUp!, []), { kind: CLIENT, parent: named(verifying)[0]!.spanId, 'berth.dns.type': 'TXT' })
    assert.deepEqual(new Set(receiver.requests.map(({ url }) => url)), new Set(['/v1/traces']))
    assert.ok(receiver.requests.every(({ authorization }) => authorization === 'Bearer receivers'))
  },
)

/** Kind, parent and attributes of a span, but for those whose values are other ones each time, which must be there. */
function shown(span: Span, changing: string[]) {
  for (const name of changing) assert.notEqual(attributeOf(span, name) ?? '', '', name)
  const kept = span.attributes.filter(({ key }) => !changing.includes(key))
  return {
    kind: span.kind,
    ...(span.parentSpanId !== undefined && { parent: span.parentSpanId }),
    ...Object.fromEntries(kept.map(({ key }) => [key, attributeOf(span, key)])),
  }
}

withReceiver('writes that wait in one queue stay each in its own trace', async (world, receiver) => {
  const traceIds = ['a', 'b', 'c', 'd', 'e', 'f'].map((digit) => digit.repeat(32))
  const create = (traceId: string) =>
    world.call.try(
      'POST',
      '/v10/projects',
      { name: `web-${traceId[0]}` },
      { traceparent: `00-${traceId}-${CALLER.parentId}-01` },
    )
  for (const { status } of await Promise.all(traceIds.map(create))) assert.equal(status, 200)
  const inserts = () => receiver.spans.filter(({ name }) => name === 'insert project')
  const requests = () => receiver.spans.filter(({ name }) => name === 'POST /v10/projects')
  await eventually(() => requests().length === traceIds.length)
  // A transaction of PostgreSQL that lost a race runs again.
  assert.deepEqual([...new Set(inserts().map(({ traceId }) => traceId))].sort(), traceIds)
  for (const { traceId, parentSpanId } of inserts())
    assert.equal(parentSpanId, requests().find((request) => request.traceId === traceId)?.spanId)
})

/** TABLE every attribute that a span may have. None holds what a caller or a tenant wrote. */
const ATTRIBUTES = `http.request.method http.route http.response.status_code url.scheme error.type
  db.system.name db.query.summary db.query.text
  berth.operation berth.request_id berth.refusal berth.dns.type berth.delivery.id berth.event berth.delivery.outcome`
  .trim()
  .split(/\s+/)

withReceiver(
  'nothing that a caller or a tenant wrote is in a span, and a trace that the caller does not keep is not sent',
  async (world, receiver) => {
    const canary = 'canary-of-a-value'
    const { credentials } = world
    await world.call('POST', '/v10/projects', { name: canary })
    const variable = { key: 'CANARY', value: `${canary}-1`, type: 'encrypted', target: ['preview'] }
    assert.equal((await world.call('POST', `/v10/projects/${canary}/env`, variable)).status, 201)
    const added = await world.call('POST', `/v10/projects/${canary}/domains`, { name: `${canary}.example.com` })
    assert.equal(added.status, 200)
    const refused = [
      await world.call.try('POST', `/v9/projects/${canary}/domains/${canary}.example.com/verify`),
      await world.as(canary).try('GET', '/v9/projects'),
      await world.as(undefined).try('POST', '/sign-in', `email=${canary}%40example.com&password=${canary}`),
      await world.call.try('GET', `/no/such/${canary}`),
      await world.call.try('GET', '/v9/projects/web', undefined, { traceparent: TRACEPARENT.replace(/01$/, '00') }),
    ]
    assert.ok(refused.every(({ status }) => status >= 400))
    await world.call('GET', `/v9/projects?search=${canary}`)
    const hook = { url: `http://${canary}.example.com/${canary}`, events: ['project.created'] }
    assert.equal((await world.call('POST', '/v1/webhooks', hook)).status, 200)
    await world.call('POST', '/v10/projects', { name: `${canary}-2` })
    await runTimer(world.deps, 'deliveries', world.deps.clock.now())
    await world.call('GET', '/v2/user')
    await eventually(() => receiver.spans.some(({ name }) => name === 'GET /v2/user'))

    const names = new Set(receiver.spans.map(({ name }) => name))
    for (const name of ['look up TXT', 'look up A', 'delivery', 'POST /sign-in', 'GET /v9/projects'])
      assert.ok(names.has(name), name)
    const keys = new Set(receiver.spans.flatMap(({ attributes }) => attributes.map(({ key }) => key)))
    assert.deepEqual(
      [...keys].filter((key) => !ATTRIBUTES.includes(key)),
      [],
    )
    const sent = receiver.texts.join('\n')
    for (const secret of ['canary', 'CANARY', credentials.token, credentials.operatorToken, CALLER.traceId])
      assert.ok(!sent.includes(secret), secret)
  },
)

withReceiver('a lookup outside of a request is made without a span', async (world, receiver) => {
  assert.deepEqual(await world.deps.traces!.lookUp('TXT', async () => ['found']), ['found'])
  await world.call('GET', '/v2/user')
  // The stop sends what waits.
  await world.stop()
  const names = receiver.spans.map(({ name }) => name)
  assert.ok(names.includes('GET /v2/user'))
  assert.deepEqual(
    names.filter((name) => name.startsWith('look up')),
    [],
  )
})

test('text that is not a traceparent is not taken for one', () => {
  const { traceId, parentId } = CALLER
  assert.deepEqual(readTraceparent(TRACEPARENT), { ...CALLER, sampled: true })
  assert.deepEqual(readTraceparent(`00-${traceId}-${parentId}-00`), { ...CALLER, sampled: false })
  assert.deepEqual(readTraceparent(`01-${traceId}-${parentId}-03-more`), { ...CALLER, sampled: true })
  for (const text of [
    undefined,
    '',
    `ff-${traceId}-${parentId}-01`,
    `00-${'0'.repeat(32)}-${parentId}-01`,
    `00-${traceId}-${parentId}-01-more`,
  ])
    assert.equal(readTraceparent(text), undefined, String(text))
})
