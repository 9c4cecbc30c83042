/** Source maps of a project that protects them, on deployments that are open otherwise. docs/deploying-sites.md: Source maps. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { beginAt, enter, HOST, HTML, openMembersOnly, strangerOf } from './members.ts'
import { publish } from './publish.ts'
import { openSitesServers } from './servers.ts'

const ONE = 'one.apps.example.net'
const OVER_HTTPS = { 'x-forwarded-proto': 'https' }
const FILES = { 'static/app.js': 'code', 'static/app.js.map': 'sources', 'static/404.html': 'lost' }
const MAP = '/app.js.map'
const OF_404 = [{ handle: 'error' }, { src: '/.*', status: 404, dest: '/404.html' }]

function basic(password: string) {
  return { authorization: `Basic ${Buffer.from(`visitor:${password}`).toString('base64')}` }
}

onBothEngines(
  'source maps of an open site are for its members, who sign in for them; other visitors find none, by whatever address',
  async (world, t) => {
    const config = { routes: [{ src: '/by-rule', dest: MAP }, { handle: 'filesystem' }, ...OF_404] }
    const { id, teamId, site, protect, close, browser } = await openMembersOnly(world, t, config, FILES)
    const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      site.visit(HOST, path, { ...OVER_HTTPS, ...headers }, method)
    await protect({ ssoProtection: null })
    await eventually(async () => (await ask(MAP)).text === 'sources')
    await protect({ protectedSourcemaps: true })
    await eventually(async () => (await ask(MAP)).status === 404)

    for (const path of [MAP, `${MAP}?x`, '/app.js%2Emap', '/app.js.m%61p', `${MAP}/`, '/by-rule']) {
      const hidden = await ask(path)
      assert.deepEqual([hidden.status, hidden.text], [404, 'lost'], path)
      assert.match(hidden.headers['cache-control']!, /private/)
    }
    assert.equal((await ask(MAP, {}, 'HEAD')).status, 404)
    assert.equal((await ask(MAP, {}, 'OPTIONS')).status, 404)
    assert.equal((await ask('/none.js.map')).text, 'lost')
    const open = await ask('/app.js')
    assert.deepEqual([open.text, open.headers['cache-control']], ['code', 'public, max-age=0, must-revalidate'])

    const mine = browser()
    const page = await beginAt(mine, HOST, MAP)
    const stranger = await strangerOf(world, 'zoe')
    assert.equal((await stranger.client.get(page)).status, 404)
    const admin = await openSignedInClient(world)
    assert.match((await admin.get(page)).text, /see the source maps of this site of the project/)
    await enter(admin, mine, HOST, MAP)
    const shown = await mine.visit(HOST, MAP)
    assert.equal(shown.text, 'sources')
    assert.match(shown.headers['cache-control']!, /private/)
    assert.equal((await mine.visit(HOST, MAP, { accept: '*/*' })).text, 'sources', 'the tools of a browser, too')
    assert.equal((await browser().visit(HOST, MAP, { accept: '*/*' })).status, 404)

    const made = await world.call('PATCH', `/v1/projects/${id}/protection-bypass?teamId=${teamId}`, { generate: {} })
    const [secret = ''] = Object.keys(made.body.protectionBypass)
    await eventually(async () => (await ask(MAP, { 'x-vercel-protection-bypass': secret })).text === 'sources')
    assert.equal((await ask(MAP, { 'x-vercel-protection-bypass': 'wrong' })).status, 404)

    await protect({ protectedSourcemaps: false })
    await eventually(async () => (await ask(MAP)).text === 'sources')
    assert.equal((await ask('/_berth/sign-in')).text, 'lost', 'there is no path of Berth any more')
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'whatever admits a visitor to a deployment of the project gives its source maps, and no visitor gets one while the control plane is unavailable',
  async (world, t) => {
    const password = 'pässword: 100 %'
    const web = await seedWebProject(world)
    await publish(world, await web.deploy(), { routes: OF_404 }, { 'static/index.html': 'open', ...FILES })
    await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
    await world.call('PATCH', '/v9/projects/web', {
      passwordProtection: { deploymentType: 'preview', password },
      protectedSourcemaps: true,
    })
    const control = await openInstance(world)
    const site = await openSitesServers(t, { BERTH_TRUSTED_PROXIES: '127.0.0.1' }).start(control.origin)
    await eventually(async () => (await site.visit(ONE)).status === 200)
    const ask = (headers: Record<string, string> = {}) => site.visit(ONE, MAP, { ...OVER_HTTPS, ...headers })
    assert.equal((await ask()).text, 'lost')
    assert.equal((await ask(basic(password))).text, 'sources')
    assert.equal((await ask(basic('wrong'))).text, 'lost')
    const asked = await ask({ accept: HTML })
    assert.deepEqual([asked.status, asked.headers['x-vercel-error']], [401, 'PASSWORD_REQUIRED'])
    assert.match(asked.text, /sign in<\/a> as a member/)
    await control.close()
    const away = await ask(basic(password))
    assert.deepEqual([away.status, away.headers['retry-after']], [503, '1'])
    assert.equal((await site.visit(ONE)).text, 'open')
    await site.stop()
  },
  SETTINGS,
)
