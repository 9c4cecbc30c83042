/** Protected sites at a sites server: the control plane says who may come in, and no visitor may while it is unavailable. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { publish } from './publish.ts'
import { openSitesServers } from './servers.ts'

const ONE = 'one.apps.example.net'
const PASSWORD = 'pässword: 100 %'
const TRUSTED = { BERTH_TRUSTED_PROXIES: '127.0.0.1' }

function basic(password: string) {
  return { authorization: `Basic ${Buffer.from(`visitor:${password}`).toString('base64')}` }
}

async function openProtected(world: World, t: TestContext, protection: object, config: object = {}) {
  const web = await seedWebProject(world)
  await publish(world, await web.deploy(), config, { 'static/index.html': 'secret' })
  await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
  const protect = async (said: object) => {
    const changed = await world.call('PATCH', '/v9/projects/web', said)
    assert.equal(changed.status, 200, changed.text)
  }
  await protect(protection)
  const port = await freePort()
  const control = await openInstance(world, port)
  const site = await openSitesServers(t, TRUSTED).start(control.origin)
  await eventually(async () => ![404, 503].includes((await site.visit(ONE)).status))
  return { web, site, control, protect, port }
}

onBothEngines(
  'a visitor of a protected site is admitted by the password or a bypass secret, and sees the page of the edge without',
  async (world, t) => {
    const { site, control, protect, web } = await openProtected(world, t, {
      passwordProtection: { deploymentType: 'all', password: PASSWORD },
    })
    const asked = await site.visit(ONE)
    assert.deepEqual([asked.status, asked.headers['x-vercel-error']], [401, 'PASSWORD_REQUIRED'])
    assert.match(asked.headers['www-authenticate']!, /^Basic realm="one\.apps\.example\.net"/)
    assert.match(asked.text, /This site asks for a password/)
    assert.deepEqual(
      Object.keys(asked.headers).filter((name) => name.startsWith('x-edge')),
      [],
      'what the edge sends proxies stays here',
    )
    const let_in = await site.visit(ONE, '/', basic(PASSWORD))
    assert.deepEqual([let_in.status, let_in.text], [200, 'secret'])
    assert.equal((await site.visit(ONE, '/', basic('wrong'))).status, 401)
    const made = await world.call('PATCH', `/v1/projects/${web.id}/protection-bypass`, { generate: {} })
    const [bypass] = Object.keys(made.body.protectionBypass)
    await eventually(async () => (await site.visit(ONE, '/', { 'x-vercel-protection-bypass': bypass! })).status === 200)
    assert.equal((await site.visit(ONE, `/?x-vercel-protection-bypass=${bypass}`)).text, 'secret')
    assert.equal((await site.visit(ONE, '/?x-vercel-protection-bypass=wrong')).status, 401)
    // What proxies in front of the edge say is not a visitor's to say.
    for (const header of ['x-forwarded-host', 'x-forwarded-uri', 'x-edge-status', 'x-sites-token'])
      assert.equal((await site.visit(ONE, '/', { [header]: 'two.apps.example.net' })).status, 401, header)
    await protect({ passwordProtection: null })
    await eventually(async () => (await site.visit(ONE)).status === 200)
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'a browser stays in by a cookie that it asked for with the secret, for as long as the secret counts',
  async (world, t) => {
    const setsCookies = { src: '/sets', dest: '/', headers: { 'set-cookie': 'theme=dark' } }
    const protection = { passwordProtection: { deploymentType: 'all', password: PASSWORD } }
    const { site, control, web } = await openProtected(world, t, protection, { routes: [setsCookies] })
    const change = (said: object) => world.call('PATCH', `/v1/projects/${web.id}/protection-bypass`, said)
    const made = await change({ generate: {} })
    const [secret = ''] = Object.keys(made.body.protectionBypass)
    const https = { 'x-forwarded-proto': 'https' }
    const ask = (query: string, headers: Record<string, string> = {}) =>
      site.visit(ONE, query, { ...https, ...headers })
    const given = { 'x-vercel-protection-bypass': secret }
    await eventually(async () => (await ask('/', given)).status === 200)
    const cookiesOf = async (query: string, headers: Record<string, string>) =>
      [(await ask(query, headers)).headers['set-cookie'] ?? []].flat()
    const kept = `__Host-berth_bypass=${secret}`
    const rest = 'Path=/; HttpOnly; SameSite=Lax; Max-Age=86400; Secure'
    const wish = { 'x-vercel-set-bypass-cookie': 'true' }
    assert.deepEqual(await cookiesOf('/', { ...given, ...wish }), [`${kept}; ${rest}`])
    const both = [`${kept}; ${rest}`, 'theme=dark']
    assert.deepEqual(await cookiesOf('/sets', { ...given, ...wish }), both, 'the site sets a cookie too')
    const query = `/?x-vercel-protection-bypass=${secret}&x-vercel-set-bypass-cookie=samesitenone`
    assert.deepEqual(await cookiesOf(query, {}), [`${kept}; ${rest.replace('Lax', 'None')}`])
    assert.deepEqual(await cookiesOf('/', given), [], 'no request asked for it')
    assert.deepEqual(await cookiesOf('/', { ...wish, ...basic(PASSWORD) }), [], 'there is no secret to keep')
    assert.deepEqual(await cookiesOf('/', { ...wish, 'x-vercel-protection-bypass': 'wrong' }), [])
    const plain = await site.visit(ONE, '/', { ...given, ...wish })
    assert.deepEqual([plain.status, plain.headers['set-cookie']], [200, undefined], 'others on the way could read it')

    const cookie = { cookie: `a=b; ${kept}` }
    assert.equal((await ask('/', cookie)).text, 'secret')
    assert.equal(
      (await ask('/', { cookie: `berth_bypass=${secret}` })).status,
      401,
      'another name, which others may set',
    )
    assert.equal(
      (await ask('/', { cookie: `${kept}; ${kept}` })).status,
      401,
      'a name that is there twice says nothing',
    )
    // What a request says itself counts before what a browser kept.
    const stale = { cookie: '__Host-berth_bypass=stale' }
    assert.equal((await ask('/', { ...stale, ...given })).status, 200)
    assert.equal((await ask(`/?x-vercel-protection-bypass=${secret}`, stale)).status, 200)
    await change({ revoke: { secret, regenerate: false } })
    await eventually(async () => (await ask('/', cookie)).status === 401)
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'the address of a visitor is that of the connection, or the last one that a trusted proxy names',
  async (world, t) => {
    const { site, control } = await openProtected(world, t, {
      trustedIps: { deploymentType: 'all', protectionMode: 'exclusive', addresses: [{ value: '203.0.113.7' }] },
    })
    const from = async (chain: string) => (await site.visit(ONE, '/', { 'x-forwarded-for': chain })).status
    assert.deepEqual([await from('203.0.113.7'), await from('1.2.3.4, 203.0.113.7')], [200, 200])
    assert.deepEqual([await from('203.0.113.7, 1.2.3.4'), await from('203.0.113.7,'), await from('')], [403, 403, 403])
    const untrusting = await openSitesServers(t).start(control.origin)
    await eventually(async () => (await untrusting.visit(ONE)).status === 403)
    const forged = await untrusting.visit(ONE, '/', { 'x-forwarded-for': '203.0.113.7' })
    assert.equal(forged.status, 403, 'this proxy is not configured as trusted')
    await untrusting.stop()
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'while the control plane is unavailable no visitor sees a protected site, with the right password neither, and others are served',
  async (world, t) => {
    const { site, control, port } = await openProtected(world, t, {
      passwordProtection: { deploymentType: 'preview', password: PASSWORD },
    })
    // Production is not covered.
    assert.equal((await site.visit(ONE)).status, 200)
    await world.call('PATCH', '/v9/projects/web', { passwordProtection: { deploymentType: 'all', password: PASSWORD } })
    await eventually(async () => (await site.visit(ONE)).status === 401)
    assert.equal((await site.visit(ONE, '/', basic(PASSWORD))).status, 200)
    await control.close()
    for (const headers of [{}, basic(PASSWORD)]) {
      const closed = await site.visit(ONE, '/', headers)
      assert.deepEqual([closed.status, closed.headers['retry-after']], [503, '1'])
      assert.doesNotMatch(closed.text, /secret/)
    }
    assert.match(site.logged(), /the control plane cannot check access to protected sites/)
    const again = await openInstance(world, port)
    await eventually(async () => (await site.visit(ONE, '/', basic(PASSWORD))).status === 200)
    await site.stop()
    await again.close()
  },
  SETTINGS,
)
