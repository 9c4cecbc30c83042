/** Metrics: who can read them, what they count, and that no label has user data. docs/operations.md. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createMetrics, METRICS, observe } from '../../../src/metrics.ts'
import { ROUTES } from '../../../src/routes.ts'
import { withQuery } from '../../support/call.ts'
import { root } from '../../support/root.ts'
import { callerOf, sampleRequest, seedSamples, teamQuery } from '../../support/sample-requests.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** `name{labels}` -> value, of a whole reading. Fails on a line that Prometheus would not take. */
async function figuresOf(world: World): Promise<Map<string, number>> {
  const answer = await world.operator('GET', '/metrics')
  assert.equal(answer.status, 200, answer.text)
  const figures = new Map<string, number>()
  let described = ''
  for (const line of answer.text.trimEnd().split('\n')) {
    const head = /^# (HELP|TYPE) ([a-z_]\w*) (\S.*)$/.exec(line)
    if (head) {
      described = head[2]!
      continue
    }
    const label = '[a-z_]+="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
    const told = new RegExp(`^(([a-z_]\\w*)(?:\\{${label}(?:,${label})*\\})?) (-?[0-9.e+-]+)$`).exec(line)
    assert.ok(told, line)
    assert.match(told[2]!, new RegExp(`^${described}(_bucket|_sum|_count)?$`))
    assert.ok(!figures.has(told[1]!), `${told[1]} is there twice`)
    figures.set(told[1]!, Number(told[3]))
  }
  return figures
}

const answered = (operation: string, method: string, status: string) =>
  `berth_http_requests_total{operation="${operation}",method="${method}",status="${status}"}`

onBothEngines(
  'figures are for the operator and for BERTH_METRICS_TOKEN, which opens nothing else',
  async (world) => {
    const scraper = world.as('a-token-for-figures-only')
    const seen = await scraper('GET', '/metrics')
    assert.equal(seen.status, 200)
    assert.equal(seen.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    assert.equal((await world.operator('GET', '/metrics')).status, 200)
    for (const call of [world.call, world.as(undefined), world.as('a-token-for-figures-onlY'), world.as('undefined')]) {
      const refused = await call.try('GET', '/metrics')
      assert.deepEqual([refused.status, refused.body.error.code], [401, 'forbidden'])
      assert.match(refused.body.error.message, /BERTH_METRICS_TOKEN or the operator token/)
    }
    assert.equal((await scraper.try('GET', '/operator/v1/audit')).status, 401)
    assert.equal((await scraper.try('GET', '/v9/projects')).status, 401)
  },
  { BERTH_METRICS_TOKEN: 'a-token-for-figures-only' },
)

onBothEngines('without the setting no word but the operator token opens them', async (world) => {
  for (const said of ['undefined', 'null', '']) assert.equal((await world.as(said).try('GET', '/metrics')).status, 401)
})

onBothEngines('requests are counted by operation, method and kind of answer, refusals by their key', async (world) => {
  await world.call('POST', '/v10/projects', { name: 'web' })
  const before = await figuresOf(world)
  const grew = async (ask: () => Promise<unknown>) => {
    const [then, , now] = [await figuresOf(world), await ask(), await figuresOf(world)]
    return (name: string) => (now.get(name) ?? 0) - (then.get(name) ?? 0)
  }
  const many = await grew(() =>
    Promise.all([
      ...Array.from({ length: 7 }, () => world.call.try('GET', '/v9/projects/web')),
      world.call.try('GET', '/v9/projects/none'),
      world.call.try('HEAD', '/v9/projects/web'),
      world.call.try('POST', '/v10/projects', { name: 'web' }),
      world.as(undefined).try('GET', '/v9/projects/web'),
      world.call.try('GET', '/no/such/path'),
      world.call.try('PUT', '/v9/projects/web', {}),
      world.call.try('PATCH', '/v9/projects/web', 'x'.repeat(70_000)),
      world.as(undefined).try('GET', '/sign-in'),
    ]).then((answers) => answers.map(({ status }) => status)),
  )
  assert.equal(many(answered('getProject', 'GET', '2xx')), 7)
  assert.equal(many(answered('getProject', 'GET', '4xx')), 2)
  assert.equal(many(answered('getProject', 'HEAD', '2xx')), 1)
  assert.equal(many(answered('createProject', 'POST', '4xx')), 1)
  assert.equal(many(answered('unreached', 'GET', '4xx')), 1)
  assert.equal(many(answered('unreached', 'PUT', '4xx')), 1)
  assert.equal(many(answered('unreached', 'PATCH', '4xx')), 1)
  assert.equal(many('berth_refusals_total{key="not_found"}'), 2)
  assert.equal(many('berth_refusals_total{key="project_name_taken"}'), 1)
  assert.equal(many('berth_refusals_total{key="missing_token"}'), 1)
  assert.equal(many('berth_refusals_total{key="payload_too_large"}'), 1)
  assert.equal(many('berth_http_request_duration_seconds_count{operation="getProject"}'), 10)
  assert.equal(many('berth_http_request_duration_seconds_bucket{operation="getProject",le="+Inf"}'), 10)
  assert.equal([...(await figuresOf(world))].find(([name]) => name === 'berth_http_requests_in_flight')?.[1], 1)
  assert.equal(before.get('berth_store_up'), 1)
})

onBothEngines('commits, sweeps, emails, deliveries, checks and backlogs are counted', async (world) => {
  const grown = async (ask: () => Promise<unknown>) => {
    const [then, , now] = [await figuresOf(world), await ask(), await figuresOf(world)]
    return (name: string) => (now.get(name) ?? 0) - (then.get(name) ?? 0)
  }
  const creates = await grown(() =>
    Promise.all(Array.from({ length: 40 }, (_, at) => world.call.try('POST', '/v10/projects', { name: `web-${at}` }))),
  )
  assert.equal(creates('berth_commit_writes_sum'), 40)
  assert.ok(creates('berth_commit_writes_count') <= 40)
  if (world.engine === 'sqlite') assert.ok(creates('berth_commit_writes_count') < 20, 'they share commits')
  assert.equal(creates('berth_commit_duration_seconds_count'), creates('berth_commit_writes_count'))
  assert.equal(creates('berth_audit_unlinked'), world.engine === 'sqlite' ? 0 : 40)

  const sweep = await grown(() => world.operator.try('POST', '/operator/v1/timers/audit-chain/run', {}))
  assert.ok(sweep('berth_timer_last_run_timestamp_seconds{timer="audit-chain"}') > 1e9)
  assert.equal(sweep('berth_timer_swept_total{timer="audit-chain"}') >= 40, world.engine === 'postgres')

  await world.call('POST', '/v1/webhooks', { url: 'https://hooks.example.com', events: ['project.created'] })
  const told = await grown(() => world.call.try('POST', '/v10/projects', { name: 'told' }))
  assert.equal(told('berth_deliveries_due'), 1)
  const delivered = await grown(() => world.operator.try('POST', '/operator/v1/timers/deliveries/run', {}))
  assert.equal(delivered('berth_deliveries_total{outcome="retried"}'), 1)
  assert.equal(delivered('berth_deliveries_due'), -1)

  const edge = (await world.openEdge())!
  const address = await edge.listen('127.0.0.1', 0)
  const checked = await grown(() =>
    fetch(`${address}/edge/v1/check`, { headers: { 'x-forwarded-host': 'canary.example.com' } }),
  )
  assert.equal(checked('berth_edge_checks_total{verdict="DOMAIN_NOT_FOUND"}'), 1)
  const figures = await figuresOf(world)
  assert.equal(figures.get('berth_edge_stale_seconds'), 0)
  for (const name of ['process_resident_memory_bytes', 'nodejs_heap_size_used_bytes', 'process_start_time_seconds'])
    assert.ok(figures.get(name)! > 1e6, name)
  assert.equal(figures.has('berth_db_connections{state="idle"}'), world.engine === 'postgres')
})

onBothEngines('a store that does not answer leaves the other metrics readable', async (world) => {
  const executor = world.deps.db.read.getExecutor() as { executeQuery: (...said: unknown[]) => Promise<unknown> }
  const real = executor.executeQuery
  executor.executeQuery = () => Promise.reject(new Error('gone'))
  const figures = await figuresOf(world)
  executor.executeQuery = real
  assert.equal(figures.get('berth_store_up'), 0)
  assert.equal(figures.has('berth_deliveries_due'), false)
  assert.ok(figures.has('process_resident_memory_bytes'))
})

onBothEngines('whatever is asked, labels are words of the code and their number is bounded', async (world) => {
  const samples = await seedSamples(world)
  const statuses = new Set<number>()
  for (const route of ROUTES) {
    const { method, url, body } = sampleRequest(route, samples)
    const byWhomItMay = await callerOf(route, world).try(method, withQuery(url, teamQuery(route, samples)), body)
    const byAnyone = await world.call.try(method, url, body)
    statuses.add(byWhomItMay.status).add(byAnyone.status)
  }
  assert.ok(
    [200, 201, 204, 400, 403, 404].every((status) => statuses.has(status)),
    [...statuses].join(' '),
  )
  const settled = (await figuresOf(world)).size
  for (let at = 0; at < 200; at++) {
    const unknown = await world.call.try('GET', `/v9/projects/canary-${at}`)
    const nowhere = await world.call.try('GET', `/canary-${at}/x?canary=${at}`)
    const headers = { 'x-request-id': `canary-${at}` }
    const stranger = await world.as(`canary-${at}`).try('GET', '/v9/projects', undefined, headers)
    assert.deepEqual([unknown.status, nowhere.status, stranger.status], [404, 404, 401])
  }
  const { text } = await world.operator('GET', '/metrics')
  assert.ok((await figuresOf(world)).size <= settled + 40)
  assert.doesNotMatch(text, /canary|prj_|usr_|team_|tok_|example\.com/)
})

test('a label is escaped, buckets add up, and an undeclared label is an error', async () => {
  const metrics = createMetrics()
  metrics.counter('berth_refusals_total', 'a"b\\c\nd').value = 3
  const spread = metrics.histogram('berth_commit_writes')
  for (const value of [1, 1, 3, 1000]) observe(spread, value)
  const text = await metrics.render()
  assert.match(text, /^berth_refusals_total\{key="a\\"b\\\\c\\nd"\} 3$/m)
  assert.match(text, /_bucket\{le="1"\} 2\n.*_bucket\{le="2"\} 2\n.*_bucket\{le="4"\} 3\n/)
  assert.match(
    text,
    /_bucket\{le="256"\} 3\n.*_bucket\{le="\+Inf"\} 4\nberth_commit_writes_sum 1005\nberth_commit_writes_count 4\n/,
  )
  assert.throws(() => metrics.counter('berth_refusals_total'))
})

test('the page names every figure with its labels, and none that is not there; each is counted somewhere', () => {
  const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `((?:berth|process|nodejs)_\w+)`\s*\|\s*([^|]*?)\s*\|/gm)]
  assert.deepEqual(
    rows.map(([, name, labels]) => [name, labels]),
    Object.entries(METRICS).map(([name, { labels }]) => [name, labels.map((label) => `\`${label}\``).join(', ')]),
  )
  const code = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && path !== 'metrics.ts')
    .map((path) => readFileSync(join(root, 'src', path), 'utf8'))
    .join('\n')
  for (const name of Object.keys(METRICS)) assert.ok(code.includes(`'${name}'`), `${name} is never counted`)
})
