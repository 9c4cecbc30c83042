/** What visitors of a sites server get, with a real control plane behind it. docs/deploying-sites.md: Sites server. */
import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { publish } from './publish.ts'
import { openSitesServers } from './servers.ts'

const ONE = 'one.apps.example.net'
const TWO = 'two.apps.example.net'
const OWN = 'd1.host.test'

const PAGES = {
  'static/index.html': '<h1>Hello</h1>',
  'static/404.html': '<h1>Lost</h1>',
  'static/style.css': 'body{}',
}

onBothEngines(
  'a deployment with files is shown by its domain and its own url: files, the page of 404, redirects, headers of rules',
  async (world, t) => {
    const web = await seedWebProject(world)
    const live = await web.deploy()
    const config = {
      routes: [
        { src: '/old', status: 308, headers: { Location: '/style.css' } },
        { src: '/style.css', headers: { 'x-from-rule': 'yes' }, continue: true },
        { handle: 'filesystem' },
        { handle: 'error' },
        { src: '/.*', status: 404, dest: '/404.html' },
      ],
    }
    await publish(world, live, config, PAGES)
    const control = await openInstance(world)
    const site = await openSitesServers(t).start(control.origin)
    await eventually(async () => (await site.visit(ONE)).status === 200)
    for (const host of [ONE, `${ONE}:8443`, ONE.toUpperCase(), `${ONE}.`, OWN]) {
      const answer = await site.visit(host)
      assert.deepEqual([answer.status, answer.text], [200, '<h1>Hello</h1>'], host)
      assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
    }
    const css = await site.visit(ONE, '/style.css?x=1')
    assert.deepEqual([css.status, css.text, css.headers['x-from-rule']], [200, 'body{}', 'yes'])
    const kept = await site.visit(ONE, '/style.css', { 'if-none-match': String(css.headers.etag) })
    assert.deepEqual([kept.status, kept.text], [304, ''])
    const moved = await site.visit(ONE, '/old?a=1')
    assert.deepEqual([moved.status, moved.headers.location], [308, '/style.css?a=1'])
    const lost = await site.visit(ONE, '/nowhere')
    assert.deepEqual([lost.status, lost.text], [404, '<h1>Lost</h1>'])
    const head = await site.visit(ONE, '/style.css', {}, 'HEAD')
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', '6'])
    const post = await site.visit(ONE, '/style.css', { 'content-length': '0' }, 'POST')
    assert.deepEqual([post.status, post.headers.allow], [405, 'GET, HEAD'])
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'the verdict on a host comes before the site: redirects, pauses, nothing deployed, unverified and unknown hosts',
  async (world, t) => {
    const web = await seedWebProject(world)
    const control = await openInstance(world)
    const site = await openSitesServers(t).start(control.origin)
    await eventually(async () => (await site.visit(ONE)).headers['x-vercel-error'] === 'DEPLOYMENT_NOT_FOUND')
    await publish(world, await web.deploy(), {}, PAGES)
    await eventually(async () => (await site.visit(ONE)).status === 200)
    const unknown = await site.visit('nobody.example.org')
    assert.deepEqual([unknown.status, unknown.headers['x-vercel-error']], [404, 'DOMAIN_NOT_FOUND'])
    assert.match(unknown.text, /There is no site here/)
    assert.equal((await site.visit('nobody.example.org', '/', {}, 'HEAD')).text, '')
    await world.call('POST', '/v10/projects/web/domains', { name: 'claimed.example.org' })
    await eventually(
      async () => (await site.visit('claimed.example.org')).headers['x-vercel-error'] === 'DOMAIN_NOT_VERIFIED',
    )
    await world.call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE, redirectStatusCode: 301 })
    await eventually(async () => (await site.visit(TWO)).status === 301)
    const moved = await site.visit(`${TWO}:8443`, '/a?b=1')
    assert.equal(moved.headers.location, `http://${ONE}:8443/a?b=1`)
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    await eventually(async () => (await site.visit(ONE)).status === 503)
    const paused = await site.visit(ONE)
    assert.deepEqual([paused.headers['retry-after'], paused.headers['x-vercel-error']], ['300', 'DEPLOYMENT_PAUSED'])
    assert.match(paused.text, /This site is paused/)
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'a deployment with an upstream alone is not shown here: the proxy in front sends its visitors there',
  async (world, t) => {
    const web = await seedWebProject(world)
    await web.deploy({ upstream: 'http://10.0.0.7:3000' })
    const control = await openInstance(world)
    const site = await openSitesServers(t).start(control.origin)
    await eventually(async () => (await site.visit(ONE)).headers['x-vercel-error'] === 'DEPLOYMENT_NOT_FOUND')
    assert.match((await site.visit(ONE)).text, /Nothing is published here yet/)
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'search engines are asked to pass over the own urls of previews, and nothing else',
  async (world, t) => {
    const web = await seedWebProject(world)
    await publish(world, await web.deploy(), {}, PAGES)
    await publish(world, await web.deploy({ target: 'preview' }), {}, { ...PAGES, 'static/new.html': 'new' })
    const control = await openInstance(world)
    const site = await openSitesServers(t).start(control.origin)
    await eventually(async () => (await site.visit(ONE)).status === 200)
    assert.equal((await site.visit(ONE)).headers['x-robots-tag'], undefined)
    assert.equal((await site.visit(OWN)).headers['x-robots-tag'], undefined)
    assert.equal((await site.visit('d2.host.test')).headers['x-robots-tag'], 'noindex')
    assert.equal((await site.visit('d2.host.test', '/style.css')).headers['x-robots-tag'], 'noindex')
    await site.stop()
    await control.close()
  },
  SETTINGS,
)
