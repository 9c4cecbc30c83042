/** The listener for proxies: what it answers, to whom, and how soon a change is felt. docs/edge.md. */

import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { sql } from 'kysely'
import { listenOnPostgres } from '../../../src/platform/db/postgres/listener.ts'
import { eventually } from '../../support/eventually.ts'
import { launch, newHome } from '../../support/process.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { markDomainsVerified } from '../../support/states.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { migratedDatabase, onBothEngines, openWorld } from '../../support/world.ts'
import { SETTINGS } from '../../support/worlds/deploy-world.ts'
import { callEdgeAt, openEdgeOf, openSite } from '../../support/worlds/edge-world.ts'

const ONE = 'one.apps.example.net'
const TWO = 'two.apps.example.net'
const UPSTREAM = 'http://10.0.0.7:3000'
const CHECK = '/edge/v1/check'
const NGINX = '/edge/v1/check?flavor=nginx'

onBothEngines(
  'check admits visitors to a live site and returns its upstream, also with forged headers',
  async (world) => {
    const { ask, deploymentId, web } = await openSite(world, UPSTREAM)
    const forged = { 'x-edge-upstream': 'http://evil', 'x-edge-status': '503', 'x-edge-project': 'x' }
    for (const host of [ONE, `${ONE}:8443`, ONE.toUpperCase(), `${ONE}.`, `${ONE}.:443`, 'd1.host.test']) {
      for (const headers of [{ host }, { host: 'edge.test', 'x-forwarded-host': host }]) {
        const answer = await ask(CHECK, { ...headers, ...forged })
        assert.equal(answer.status, 200, host)
        assert.equal(answer.headers['x-edge-upstream'], UPSTREAM)
        assert.equal(answer.headers['x-edge-address'], '10.0.0.7:3000')
        assert.equal(answer.headers['x-edge-project'], web.id)
        assert.equal(answer.headers['x-edge-deployment'], deploymentId)
      }
    }
    const nginx = await ask(NGINX, { host: ONE })
    assert.deepEqual([nginx.status, nginx.headers['x-edge-status']], [200, '200'])
    assert.equal(nginx.headers['x-edge-upstream'], UPSTREAM)
    assert.equal(nginx.headers['content-length'], String(nginx.text.length))
    // Envoy asks with the visitor's method and path behind the check's.
    assert.equal((await ask(`${CHECK}/some/path?x=1`, { host: ONE }, 'POST')).status, 200)
  },
  SETTINGS,
)

onBothEngines(
  'a paused project answers 503 with a page, Retry-After and a code, in every flavor; unpause ends it',
  async (world) => {
    const { ask, pause, unpause } = await openSite(world, UPSTREAM)
    await pause()
    await eventually(async () => (await ask(CHECK, { host: ONE })).status === 503)
    const answer = await ask(CHECK, { host: ONE })
    assert.deepEqual([answer.headers['retry-after'], answer.headers['x-edge-error']], ['300', 'DEPLOYMENT_PAUSED'])
    assert.equal(answer.headers['x-edge-upstream'], undefined)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.match(answer.headers['content-type']!, /text\/html/)
    assert.match(answer.text, /This site is paused/)
    assert.doesNotMatch(answer.text, /<script/)
    const nginx = await ask(NGINX, { host: ONE })
    assert.deepEqual([nginx.status, nginx.headers['x-edge-status'], nginx.text], [403, '503', ''])
    for (const headers of [{ host: ONE }, { host: ONE, 'x-edge-status': '503' }, { 'x-edge-status': '503' }]) {
      const page = await ask('/edge/v1/page', headers)
      assert.deepEqual([page.status, page.headers['retry-after']], [503, '300'])
      assert.match(page.text, /This site is paused/)
    }
    assert.equal((await ask('/edge/v1/ask?domain=ONE.apps.example.net.')).status, 200, 'the page needs a certificate')
    await unpause()
    await eventually(async () => (await ask(CHECK, { host: ONE })).status === 200)
    const late = await ask('/edge/v1/page', { host: ONE })
    assert.deepEqual([late.status, late.headers['retry-after']], [503, '1'])
  },
  SETTINGS,
)

onBothEngines(
  'a host that cannot be in DNS is unknown, also under a wildcard, and a deployment without an upstream is not served',
  async (world) => {
    const projectId = await seedProject(world, 'web')
    await seedDeployment(world, projectId, { url: 'web-1.example.net', upstream: UPSTREAM })
    assert.equal((await world.call('POST', '/v10/projects/web/domains', { name: '*.wild.com' })).status, 200)
    await markDomainsVerified(world)
    const { ask } = await openEdgeOf(world)
    const certificate = async (name: string) => (await ask(`/edge/v1/ask?domain=${encodeURIComponent(name)}`)).status
    assert.equal(await certificate('A-b.wild.com'), 200)
    for (const name of ['.wild.com', 'a..wild.com', 'e@x.wild.com', 'a"b.wild.com', `${'x'.repeat(64)}.wild.com`]) {
      assert.equal(await certificate(name), 404, name)
    }
    const odd = await ask(CHECK, { host: 'a"b.wild.com' })
    assert.deepEqual([odd.status, odd.headers['x-edge-error']], [404, 'DOMAIN_NOT_FOUND'])
    await seedDeployment(world, projectId, { url: 'web-2.example.net' })
    const nowhere = () => ask(CHECK, { host: 'web-2.example.net' })
    await eventually(async () => (await nowhere()).headers['x-edge-error'] === 'DEPLOYMENT_NOT_FOUND')
    assert.equal((await nowhere()).status, 404)
  },
  SETTINGS,
)

onBothEngines(
  'unknown, unverified and undeployed hosts are 404 with a page of their own and, the first two, without a certificate',
  async (world) => {
    const projectId = await seedProject(world, 'web')
    await world.call('POST', '/v10/projects/web/domains', { name: 'claimed.com' })
    await world.call('POST', '/v10/projects/web/domains', { name: ONE })
    const { ask } = await openEdgeOf(world)
    for (const [host, code, certificate] of [
      ['nobody.com', 'DOMAIN_NOT_FOUND', 404],
      ['claimed.com', 'DOMAIN_NOT_VERIFIED', 404],
      [ONE, 'DEPLOYMENT_NOT_FOUND', 200],
    ] as const) {
      const answer = await ask(CHECK, { host })
      assert.deepEqual([answer.status, answer.headers['x-edge-error']], [404, code])
      assert.ok(answer.text.includes(`${host} · 404`))
      assert.equal(answer.headers['x-edge-project'], code === 'DEPLOYMENT_NOT_FOUND' ? projectId : undefined)
      const nginx = await ask(NGINX, { host })
      assert.deepEqual([nginx.status, nginx.headers['x-edge-status']], [403, '404'])
      assert.equal((await ask('/edge/v1/page', { host })).text, answer.text)
      assert.equal((await ask(`/edge/v1/ask?domain=${host}`)).status, certificate)
    }
    for (const host of ['', '[::1]:80', '<script>', 'a b', '.', 'x'.repeat(300), `${'a.'.repeat(126)}com`, '*.com']) {
      const answer = await ask(CHECK, { 'x-forwarded-host': host })
      assert.equal(answer.status, 404, host)
      assert.doesNotMatch(answer.text, /<script/)
    }
    assert.equal((await ask('/edge/v1/ask')).status, 400)
    assert.equal((await ask('/edge/v1/ask?domain=%00')).status, 404)
  },
  SETTINGS,
)

onBothEngines(
  'a redirect domain answers its code with the path and query, also while its project is paused',
  async (world) => {
    const { ask, pause, settle } = await openSite(world, UPSTREAM)
    for (const code of [301, 302, 307, 308]) {
      const body = { redirect: ONE, redirectStatusCode: code }
      const changed = await world.call('PATCH', `/v9/projects/web/domains/${TWO}`, body)
      assert.equal(changed.status, 200, changed.text)
      await settle()
      const headers = { host: TWO, 'x-forwarded-uri': '/a//b?x=1&y=%2F' }
      const answer = await ask(CHECK, headers)
      assert.deepEqual([answer.status, answer.headers.location], [code, `https://${ONE}/a//b?x=1&y=%2F`])
      const nginx = await ask(NGINX, headers)
      assert.deepEqual([nginx.status, nginx.headers['x-edge-status']], [403, String(code)])
      assert.equal(nginx.headers['x-edge-location'], `https://${ONE}`)
      const page = await ask('/edge/v1/page', { ...headers, 'x-edge-status': String(code) })
      assert.deepEqual([page.status, page.headers.location], [code, answer.headers.location])
    }
    const local = { host: `${TWO}:8080`, 'x-forwarded-proto': 'http', 'x-forwarded-uri': '//evil.com/' }
    assert.equal((await ask(CHECK, local)).headers.location, `http://${ONE}:8080//evil.com/`)
    const whole = { host: TWO, 'x-forwarded-uri': 'http://evil.com/a?b' }
    assert.equal((await ask(CHECK, whole)).headers.location, `https://${ONE}/a?b`)
    assert.equal((await ask(`${CHECK}/of/envoy?q`, { host: TWO })).headers.location, `https://${ONE}/of/envoy?q`)
    assert.equal((await ask('/edge/v1/ask?domain=two.apps.example.net')).status, 200)
    await pause()
    await settle()
    assert.equal((await ask(CHECK, { host: TWO })).status, 308)
  },
  SETTINGS,
)

onBothEngines(
  'a snapshot has every host, a tag that holds while nothing changes, and the maps of HAProxy',
  async (world) => {
    const { ask, web, deploymentId, pause, settle } = await openSite(world, UPSTREAM)
    await world.call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE })
    await settle()
    const whole = await ask('/edge/v1/snapshot')
    const live = { state: 'live', projectId: web.id, deploymentId, upstream: UPSTREAM }
    assert.deepEqual(JSON.parse(whole.text), {
      hosts: [
        { host: 'd1.host.test', ...live },
        { host: ONE, ...live },
        { host: TWO, state: 'redirect', projectId: web.id, location: ONE, status: 307 },
      ],
    })
    const same = await ask('/edge/v1/snapshot', { 'if-none-match': whole.headers.etag! })
    assert.deepEqual([same.status, same.text, same.headers['content-length']], [304, '', undefined])
    const map = async (name: string) => (await ask(`/edge/v1/snapshot?format=haproxy&map=${name}`)).text
    assert.equal(await map('state'), `d1.host.test live\n${ONE} live\n${TWO} redirect-307\n`)
    assert.equal(await map('hosts'), `d1.host.test http/10.0.0.7:3000\n${ONE} http/10.0.0.7:3000\n`)
    assert.equal(await map('redirects'), `${TWO} ${ONE}\n`)
    await pause()
    await settle()
    assert.equal(await map('state'), `d1.host.test paused\n${ONE} paused\n${TWO} redirect-307\n`)
    const after = await ask('/edge/v1/snapshot', { 'if-none-match': whole.headers.etag! })
    assert.equal(after.status, 200)
    assert.notEqual(after.headers.etag, whole.headers.etag)
    assert.equal((await ask('/edge/v1/snapshot?format=haproxy&map=none')).status, 400)
    assert.deepEqual(JSON.parse((await ask('/edge/v1/ready')).text), { ready: true, hosts: 3, staleSeconds: 0 })
  },
  SETTINGS,
)

onBothEngines(
  'where a token is set, the edge answers only requests with it, as a bearer or in the query',
  async (world) => {
    const { ask } = await openEdgeOf(world)
    const paths = ['ask?domain=a.com', 'check?x=1', 'page?', 'snapshot?', 'ready?', 'none?']
    for (const path of paths) {
      for (const wrong of ['', '&token=', '&token=secret-of-the-proxie', '&token=secret-of-the-proxiess']) {
        assert.equal((await ask(`/edge/v1/${path}${wrong}`)).status, 401, path + wrong)
      }
      assert.equal((await ask(`/edge/v1/${path}`, { authorization: 'Bearer wrong' })).status, 401)
      const byQuery = await ask(`/edge/v1/${path}&token=secret-of-the-proxies`, {
        authorization: "Basic the visitor's",
      })
      const byHeader = await ask(`/edge/v1/${path}`, { authorization: 'Bearer secret-of-the-proxies' })
      assert.notEqual(byQuery.status, 401)
      assert.equal(byQuery.status, byHeader.status)
    }
    assert.equal((await world.call.try('GET', '/edge/v1/ready')).status, 404, 'the API knows nothing of it')
  },
  { BERTH_EDGE_TOKEN: 'secret-of-the-proxies' },
)

onBothEngines('where no token is set, the edge answers callers on its own machine alone', async (world, t) => {
  const outer = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)
  if (outer === undefined) return t.skip('this machine has no address but those of loopback')
  const edge = (await world.openEdge())!
  const { port } = new URL(await edge.listen('0.0.0.0', 0))
  for (const path of ['ask?domain=a.com', 'check', 'page', 'snapshot', 'ready', 'none']) {
    // Also by the name of this machine, which any caller may say.
    for (const headers of [{}, { host: `127.0.0.1:${port}` }]) {
      const refused = await callEdgeAt(`http://${outer.address}:${port}`, `/edge/v1/${path}`, headers)
      assert.deepEqual([refused.status, /BERTH_EDGE_TOKEN/.test(refused.text)], [403, true], `${path}: ${refused.text}`)
    }
    const here = await callEdgeAt(`http://127.0.0.1:${port}`, `/edge/v1/${path}`)
    assert.doesNotMatch(here.text, /BERTH_EDGE_TOKEN/, path)
  }
})

onBothEngines('only GET is taken where a proxy does not pass on the method', async (world) => {
  const { ask } = await openEdgeOf(world)
  for (const path of ['ask?domain=a.com', 'page', 'snapshot', 'ready']) {
    const answer = await ask(`/edge/v1/${path}`, {}, 'POST')
    assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET, HEAD'])
  }
  assert.equal((await ask('/edge/v1/ready', {}, 'HEAD')).text, '')
})

onBothEngines(
  'a pause is felt within 50 ms of its answer on one instance, and everything that visitors feel is followed (a bound on time)',
  async (world) => {
    const { ask, pause, unpause, web } = await openSite(world, UPSTREAM)
    const status = async (host: string) => (await ask(CHECK, { host })).status
    const times: number[] = []
    for (let round = 0; round < 10; round++) {
      await pause()
      times.push(await eventually(async () => (await status(ONE)) === 503))
      await unpause()
      times.push(await eventually(async () => (await status(ONE)) === 200))
    }
    const median = times.toSorted((a, b) => a - b)[times.length >> 1]!
    assertWithin(median, 50)

    const second = await seedDeployment(world, web.id, { url: 'second.host.test', upstream: 'http://10.0.0.8' })
    const deployment = async () => (await ask(CHECK, { host: ONE })).headers['x-edge-deployment']
    await eventually(async () => (await deployment()) === second)
    await web.patch(second, { upstream: 'https://10.0.0.9' })
    await eventually(async () => (await ask(CHECK, { host: ONE })).headers['x-edge-address'] === '10.0.0.9:443')
    await world.call('DELETE', `/v9/projects/web/domains/${ONE}`)
    await eventually(async () => (await status(ONE)) === 404)
    await world.call('DELETE', '/v9/projects/web')
    await eventually(async () => (await status(TWO)) === 404 && (await status('second.host.test')) === 404)
  },
  SETTINGS,
)

test('a pause on one instance is felt on another within 500 ms (a bound on time) [postgres]', async () => {
  const [one, other] = await twoInstances()
  try {
    const { web, pause, unpause } = await openSite(one!, UPSTREAM)
    const { ask } = await openEdgeOf(other!)
    const status = async () => (await ask(CHECK, { host: ONE })).status
    assert.equal(await status(), 200)
    for (let round = 0; round < 5; round++) {
      await pause()
      assertWithin(await eventually(async () => (await status()) === 503), 500)
      await unpause()
      assertWithin(await eventually(async () => (await status()) === 200), 500)
    }
    // The listener is disconnected and misses a pause: it is read on reconnecting, or by the poll.
    const cutOff = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query = 'listen berth_changes'`
    await cutOff.execute(one!.deps.db.read)
    await pause()
    await eventually(async () => (await status()) === 503)
    // Without any notification: only the poll is left.
    await sql`alter table project disable trigger all`.execute(one!.deps.db.read)
    await unpause()
    await sql`insert into edge_change (key, stamp) values (${`project ${web.id}`}, ${Date.now()})
      on conflict (key) do update set stamp = excluded.stamp`.execute(one!.deps.db.read)
    await eventually(async () => (await status()) === 200)
  } finally {
    await one?.close()
    await other?.close()
  }
})

test('a transaction that noted a change early and commits late is not missed [postgres]', async () => {
  const [one, other] = await twoInstances()
  try {
    const { web, settle, ask } = await openSite(one!, UPSTREAM)
    const { promise: may, resolve: go } = Promise.withResolvers<void>()
    const late = one!.deps.db.read.transaction().execute(async (tx) => {
      await tx.updateTable('project').set({ paused_at: 1 }).where('id', '=', web.id).execute()
      await may
    })
    await world2(other!)
    await settle()
    assert.equal((await ask(CHECK, { host: 'later.apps.example.net' })).status, 404)
    assert.equal((await ask(CHECK, { host: ONE })).status, 200)
    go()
    await late
    await eventually(async () => (await ask(CHECK, { host: ONE })).status === 503)
  } finally {
    await one?.close()
    await other?.close()
  }

  /** Another project's change, noted later and committed earlier. */
  async function world2(world: NonNullable<typeof one>) {
    await seedProject(world, 'later')
    await world.call('POST', '/v10/projects/later/domains', { name: 'later.apps.example.net' })
  }
})

async function twoInstances() {
  const shared = {
    ...SETTINGS,
    DATABASE_URL: await migratedDatabase(),
    BERTH_OPERATOR_TOKEN: 'operator-of-two-instances',
  }
  const one = await openWorld('postgres', shared)
  const other = await openWorld('postgres', { ...shared, BERTH_KEYS: `${one.folder}/keys.json` })
  return [one, { ...other, call: one.call }]
}

test('when the database is unavailable the index keeps serving, and reports its age [postgres]', async () => {
  const world = await openWorld('postgres', SETTINGS)
  try {
    const { ask } = await openSite(world, UPSTREAM)
    await sql`alter table edge_change rename to away`.execute(world.deps.db.read)
    await eventually(async () => Number((await ask('/edge/v1/ready')).text.match(/staleSeconds":(\d+)/)?.[1]) > 5)
    const answer = await ask(CHECK, { host: ONE })
    assert.equal(answer.status, 200)
    assert.ok(Number(answer.headers['x-edge-stale']) >= 5)
    await sql`alter table away rename to edge_change`.execute(world.deps.db.read)
    await eventually(async () => (await ask(CHECK, { host: ONE })).headers['x-edge-stale'] === undefined)
  } finally {
    await world.close()
  }
})

test('the program prints the address for proxies; a configured port that is taken ends the start, a default port does not', async (t) => {
  const home = await newHome(t, 'sqlite')
  const first = launch(t, home)
  await eventually(async () => /Proxies ask http:\/\/127\.0\.0\.1:\d+ /.test(first.out()))
  const origin = /Proxies ask (\S+)/.exec(first.out())![1]!
  assert.equal((await callEdgeAt(origin, '/edge/v1/ready')).status, 200)
  const taken = launch(t, await newHome(t, 'sqlite'), { BERTH_EDGE_PORT: new URL(origin).port })
  await eventually(async () => taken.child.exitCode !== null)
  assert.equal(taken.child.exitCode, 1)
  assert.match(taken.err() + taken.out(), /port for proxies, \d+, is taken by another program: set BERTH_EDGE_PORT/)
  const without = launch(t, await newHome(t, 'sqlite'), { BERTH_EDGE_PORT: 'off' })
  await eventually(async () => without.out().includes('/docs'))
  assert.doesNotMatch(without.out(), /Proxies|proxy/)
  assert.equal(await first.kill('SIGTERM'), 0)
})

test('the listener of the database can be stopped while it connects (a bound on time)', {
  timeout: 300_000,
}, async (t) => {
  // A server that accepts connections and sends nothing.
  let connected = false
  const silent = createServer((socket) => {
    connected = true
    t.after(() => socket.destroy())
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.after(() => silent.close())
  const ignore = () => {}
  const url = `postgres://berth@127.0.0.1:${(silent.address() as AddressInfo).port}/berth`
  const stop = listenOnPostgres(url, 'berth_changes', ignore, ignore)
  await eventually(() => connected)
  const before = performance.now()
  await stop()
  assertWithin(performance.now() - before, 1500)
})
