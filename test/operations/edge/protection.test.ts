/** Protection at the edge: passwords, trusted addresses and bypass secrets, after a pause and before a site. docs/edge.md: Passwords at the edge. */
import assert from 'node:assert/strict'
import { runTimer } from '../../../src/timers.ts'
import { eventually } from '../../support/eventually.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { SETTINGS } from '../../support/worlds/deploy-world.ts'
import { openSite } from '../../support/worlds/edge-world.ts'

const ONE = 'one.apps.example.net'
const CHECK = '/edge/v1/check'
const PASSWORD = 'pässword: 100 %'

function basic(password: string) {
  return { authorization: `Basic ${Buffer.from(`anybody:${password}`).toString('base64')}` }
}

async function openProtected(world: World, settings: object) {
  const site = await openSite(world, 'http://10.0.0.7:3000')
  await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
  const protect = async (said: object) => {
    const changed = await world.call('PATCH', '/v9/projects/web', said)
    assert.equal(changed.status, 200, changed.text)
    await site.settle()
  }
  await protect(settings)
  const status = async (headers: Record<string, string> = {}, path = CHECK) =>
    (await site.ask(path, { host: ONE, ...headers })).status
  return { ...site, protect, status }
}

onBothEngines(
  'every flavor asks for a password, and a changed password ends the access of admitted visitors',
  async (world) => {
    const { ask, protect, status, pause, settle } = await openProtected(world, {
      passwordProtection: { deploymentType: 'all', password: PASSWORD },
    })
    const asked = await ask(CHECK, { host: ONE })
    assert.deepEqual([asked.status, asked.headers['x-edge-error']], [401, 'PASSWORD_REQUIRED'])
    assert.match(asked.headers['www-authenticate']!, /^Basic realm="one\.apps\.example\.net"/)
    assert.equal(asked.headers['x-edge-upstream'], undefined)
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all([
        ...Array.from({ length: 6 }, () => status(basic(PASSWORD))),
        ...Array.from({ length: 6 }, (_, at) => status(basic(`wrong ${at}`))),
      ])
      assert.deepEqual(answers, [...Array(6).fill(200), ...Array(6).fill(401)])
    }
    for (const authorization of ['Basic', 'Basic !!', `Basic ${btoa('nocolon')}`, `Basic ${btoa('u:')}`, 'Bearer x'])
      assert.equal(await status({ authorization }), 401, authorization)
    const nginx = await ask(`${CHECK}?flavor=nginx`, { host: ONE })
    assert.deepEqual([nginx.status, nginx.headers['x-edge-status']], [403, '401'])
    assert.equal(await status(basic(PASSWORD), `${CHECK}?flavor=nginx`), 200)
    const ofHost = await ask(`${CHECK}?flavor=nginx&scope=host`, { host: ONE, ...basic(PASSWORD) })
    assert.deepEqual([ofHost.status, ofHost.headers['x-edge-status']], [403, '401'], 'kept for all visitors')
    const page = await ask('/edge/v1/page', { host: ONE, 'x-edge-status': '401' })
    assert.deepEqual([page.status, page.headers['www-authenticate']], [401, asked.headers['www-authenticate']])
    assert.match((await ask('/edge/v1/snapshot')).text, /"protected":true/)
    assert.match((await ask('/edge/v1/snapshot?format=haproxy&map=state')).text, /^one\.apps\.example\.net protected$/m)

    await protect({ passwordProtection: { deploymentType: 'all', password: 'another' } })
    assert.deepEqual([await status(basic(PASSWORD)), await status(basic('another'))], [401, 200])
    await pause()
    await settle()
    assert.deepEqual([await status(), await status(basic('another'))], [503, 503], 'paused comes first')
  },
  SETTINGS,
)

onBothEngines(
  'many concurrent password attempts get a retry error, and other visitors do not wait',
  async (world) => {
    const { ask, status } = await openProtected(world, {
      passwordProtection: { deploymentType: 'all', password: PASSWORD },
    })
    const tried = await Promise.all(
      Array.from({ length: 80 }, (_, at) => ask(CHECK, { host: ONE, ...basic(`guess ${at}`) })),
    )
    const busy = tried.filter((answer) => answer.status === 503)
    assert.ok(busy.length > 0 && tried.every(({ status }) => status === 401 || status === 503))
    assert.deepEqual([busy[0]!.headers['retry-after'], busy[0]!.headers['x-edge-error']], ['1', 'TOO_MANY_PASSWORDS'])
    assert.equal(await status(basic(PASSWORD)), 200)
  },
  SETTINGS,
)

onBothEngines(
  'failed attempts from one address (or IPv6 /64) limit neither another address at the site nor another site',
  async (world) => {
    const { ask, web, settle } = await openProtected(world, {
      passwordProtection: { deploymentType: 'all', password: PASSWORD },
    })
    const other = await world.call('POST', '/v10/projects', { name: 'other' })
    await world.operator('POST', `/operator/v1/projects/${other.body.id}/deployments`, {
      ...{ url: 'other.host.test', target: 'production', readyState: 'READY', upstream: 'http://127.0.0.1:9' },
    })
    const passwordProtection = { deploymentType: 'all', password: 'right' }
    assert.equal((await world.call('PATCH', '/v9/projects/other', { passwordProtection })).status, 200)
    await web.deploy({ url: 'also.host.test', upstream: 'http://127.0.0.1:9' })
    await settle()
    const visit = async (host: string, address: string, password: string) =>
      (await ask(CHECK, { host, 'x-forwarded-for': address, ...basic(password) })).status
    // A /64 counts as one address, and so do requests by another name of the site.
    const guesses = Array.from({ length: 300 }, (_, at) =>
      visit(at % 2 === 0 ? ONE : 'also.host.test', `2001:db8:1:2::${at.toString(16)}`, `guess ${at}`),
    )
    // The others come once the failed attempts have all slots: one of those gets a retry error.
    await Promise.any(guesses.map(async (guess) => assert.equal(await guess, 503)))
    const others = await Promise.all([
      visit(ONE, '2001:db8:1:3::1', PASSWORD),
      visit('other.host.test', '2001:db8:1:2::1', 'right'),
    ])
    assert.deepEqual(others, [200, 200])
    const counts: Record<number, number> = {}
    for (const status of await Promise.all(guesses)) counts[status] = (counts[status] ?? 0) + 1
    assert.ok(counts[401]! >= 16 && counts[503]! > 200, JSON.stringify(counts))
  },
  SETTINGS,
)

onBothEngines(
  'trusted addresses are compared with the last address that the proxy names, never with one that a visitor claims',
  async (world) => {
    const { status, protect } = await openProtected(world, {
      trustedIps: { deploymentType: 'all', protectionMode: 'exclusive', addresses: [{ value: '192.0.2.0/24' }] },
    })
    for (const [said, expected] of [
      ['192.0.2.9', 200],
      ['6.6.6.6, 192.0.2.9', 200],
      ['::ffff:192.0.2.9', 200],
      ['192.0.2.9, 6.6.6.6', 403],
      ['6.6.6.6', 403],
      ['nonsense', 403],
    ] as const) {
      assert.equal(await status({ 'x-forwarded-for': said }), expected, said)
    }
    assert.equal(await status(), 403, 'a proxy that does not say')
    await protect({ trustedIps: null })
    assert.equal(await status(), 200)
  },
  SETTINGS,
)

onBothEngines(
  'a bypass secret passes, in a header or the query; previews only are guarded where that was asked',
  async (world) => {
    const { status, ask, web, protect, settle } = await openProtected(world, {
      passwordProtection: { deploymentType: 'all', password: PASSWORD },
    })
    const secret = 'a1'.repeat(16)
    const setBypass = async (change: object) => {
      const changed = await world.call('PATCH', `/v1/projects/${web.id}/protection-bypass`, change)
      assert.equal(changed.status, 200, changed.text)
      await settle()
    }
    await setBypass({ generate: { secret } })
    const name = 'x-vercel-protection-bypass'
    assert.equal(await status({ [name]: secret }), 200)
    assert.equal(await status({ 'x-forwarded-uri': `/a?b=c&${name}=${secret}` }), 200)
    assert.equal(await status({ [name]: `${secret}x` }), 401)
    assert.equal(await status({ 'x-forwarded-uri': `/${name}=${secret}` }), 401)
    await setBypass({ revoke: { secret } })
    assert.equal(await status({ [name]: secret }), 401, 'revoked')

    await protect({ passwordProtection: { deploymentType: 'preview' } })
    await web.deploy({ target: 'preview', url: 'preview.host.test', upstream: 'http://127.0.0.1:9' })
    await settle()
    assert.equal(await status(), 200)
    assert.equal((await ask(CHECK, { host: 'preview.host.test' })).status, 401)
    await protect({ passwordProtection: { deploymentType: 'prod_deployment_urls_and_all_previews' } })
    assert.deepEqual([await status(), (await ask(CHECK, { host: 'd1.host.test' })).status], [200, 401])
  },
  SETTINGS,
)

onBothEngines(
  'a protection of previews applies to every name of a preview, until it is promoted',
  async (world) => {
    const { web, ask, settle } = await openProtected(world, {
      passwordProtection: { deploymentType: 'prod_deployment_urls_and_all_previews', password: PASSWORD },
    })
    const statusOf = async (name: string) => (await ask(CHECK, { host: `${name}.apps.example.net` })).status
    const preview = await web.deploy({ target: 'preview', url: 'preview.host.test', upstream: 'http://127.0.0.1:9' })
    for (const alias of ['given', 'two']) {
      const assigned = await world.call('POST', `/v2/deployments/${preview}/aliases`, { alias })
      assert.equal(assigned.status, 200, assigned.text)
    }
    await settle()
    assert.deepEqual(await Promise.all(['one', 'two', 'given'].map(statusOf)), [200, 401, 401])
    assert.equal((await world.call('POST', `/v10/projects/web/promote/${preview}`)).status, 201)
    await runTimer(world.deps, 'alias-requests', Date.now())
    await settle()
    assert.deepEqual(await Promise.all(['one', 'two', 'given'].map(statusOf)), [200, 200, 200])
  },
  SETTINGS,
)

onBothEngines(
  'change records are purged after an hour, and later changes still take effect',
  async (world) => {
    const { status, pause, unpause } = await openProtected(world, {})
    const stamps = () => world.deps.db.read.selectFrom('edge_change').select('stamp').orderBy('stamp').execute()
    const noted = await stamps()
    assert.ok(noted.length > 3)
    assert.equal(await runTimer(world.deps, 'edge-changes', Date.now()), 0)
    // On PostgreSQL several things may have changed in the newest millisecond.
    const newest = noted.filter(({ stamp }) => stamp === noted.at(-1)!.stamp)
    assert.ok(newest.length === 1 || world.engine === 'postgres')
    const gone = await runTimer(world.deps, 'edge-changes', Date.now() + 2 * 3_600_000)
    assert.ok(gone > 0)
    assert.equal(gone, noted.length - newest.length)
    assert.deepEqual(await stamps(), newest)
    await pause()
    await eventually(async () => (await status()) === 503)
    await unpause()
    await eventually(async () => (await status()) === 200)
  },
  SETTINGS,
)

onBothEngines(
  'the stamp of a thing rises with every change, also when the clock does not',
  async (world) => {
    const { web, pause } = await openSite(world, 'http://10.0.0.7:3000')
    const key = `project ${web.id}`
    const stampOf = async () =>
      (
        await world.deps.db.read
          .selectFrom('edge_change')
          .select('stamp')
          .where('key', '=', key)
          .executeTakeFirstOrThrow()
      ).stamp
    const ahead = Date.now() + 60_000
    await tamper(world, 'edge_change', { stamp: ahead }, { key })
    await pause()
    const then = await stampOf()
    assert.ok(then > ahead, `${then} after ${ahead}`)
  },
  SETTINGS,
)
