/** Visitors who stay with the deployment that their page came from. docs/deploying-sites.md: Skew protection. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readPinnedDeployment } from '../../../src/sites/skew/wish.ts'
import { eventually } from '../../support/eventually.ts'
import { seedDeployment } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { publish } from './publish.ts'
import { openSitesServers } from './servers.ts'

const ONE = 'one.apps.example.net'
const UNKNOWN = `dpl_${'x'.repeat(28)}`
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'same-origin' }

/** A project with an older deployment of production and a newer one that is live, each with a file and a page that name it, and a preview. */
async function openVersions(world: World, t: TestContext) {
  const web = await seedWebProject(world)
  const make = async (name: string, said: object = {}) => {
    const id = await web.deploy(said)
    await publish(world, id, {}, { 'static/app.js': name, 'static/index.html': `page of ${name}` })
    return id
  }
  const [older, newer] = [await make('older'), await make('newer')]
  const preview = await make('preview', { target: 'preview' })
  const change = (said: object) => world.call('PATCH', '/v9/projects/web', said)
  const control = await openInstance(world)
  const site = await openSitesServers(t).start(control.origin)
  await eventually(async () => (await site.visit(ONE, '/app.js')).text === 'newer')
  /** What a visitor gets who asks for the file with these headers. */
  const ask = async (headers: Record<string, string> = {}, path = '/app.js', host = ONE) => {
    const { status, text } = await site.visit(host, path, headers)
    return status === 200 ? text : status
  }
  const from = (id: string) => ({ 'x-deployment-id': id })
  return { web, older, newer, preview, change, control, site, ask, from }
}

onBothEngines(
  'a visitor stays with the deployment that the header, the query or the cookie names, of the same project and environment alone',
  async (world, t) => {
    const { older, newer, preview, change, control, site, ask, from } = await openVersions(world, t)
    const otherId = (await world.call('POST', '/v10/projects', { name: 'other' })).body.id
    const foreign = await seedDeployment(world, otherId, { url: 'other.host.test' })
    await publish(world, foreign, {}, { 'static/app.js': 'foreign' })
    assert.equal(await ask(from(older)), 'newer', 'it is off')
    await change({ skewProtectionMaxAge: 3600 })
    await eventually(async () => (await ask(from(older))) === 'older')

    const cookie = (id: string) => ({ cookie: `a=b; __vdpl=${id}; __vdpl=${UNKNOWN}` })
    assert.equal(await ask({}, `/app.js?dpl=${older}`), 'older')
    assert.equal(await ask(cookie(older)), 'older')
    for (const near of [`\u00a0__vdpl=${older}`, `__vdpl=${older}\u00a0`])
      assert.equal(await ask({ cookie: near }), 'newer', near)
    assert.equal(await ask({ ...from(older), ...cookie(newer) }, `/app.js?dpl=${newer}`), 'older', 'the header first')
    assert.equal(await ask(cookie(newer), `/app.js?dpl=${older}`), 'older', 'the query before the cookie')
    assert.equal(await ask(from(newer)), 'newer')
    for (const id of [preview, foreign, UNKNOWN]) {
      const gone = await site.visit(ONE, '/app.js', from(id))
      assert.deepEqual([gone.status, gone.headers['x-vercel-error']], [404, 'DEPLOYMENT_NOT_FOUND'])
      assert.equal(await ask(cookie(id)), 404)
    }
    assert.equal(await ask(from('my-build-7')), 'newer', 'an id that is none of ours is passed over')
    assert.equal(await ask(from(older), '/app.js', 'd2.host.test'), 'newer', 'an own url serves its deployment')
    for (const [query, headers, shared] of [
      ['', {}, true],
      ['', cookie(newer), true],
      [`?dpl=${older}`, {}, true],
      [`?dpl=${older}`, cookie(newer), true],
      ['', from(older), false],
      ['', cookie(older), false],
      [`?dpl=${older}`, from(newer), false],
      [`?dpl=${older}`, NAVIGATION, false],
      [`?dpl=${older}`, { 'sec-fetch-site': 'cross-site' }, false],
    ] as const) {
      const { headers: sent } = await site.visit(ONE, `/app.js${query}`, { ...headers })
      assert.equal(sent['cache-control']!.startsWith('public'), shared, `${query} ${JSON.stringify(headers)}`)
    }

    assert.equal(await ask({ ...NAVIGATION, ...from(older) }, '/'), 'page of newer')
    assert.equal(await ask(NAVIGATION, `/?dpl=${older}`), 'page of newer')
    assert.equal(await ask({ ...NAVIGATION, ...cookie(older) }, '/'), 'page of older')
    assert.equal(await ask({ ...NAVIGATION, ...cookie(UNKNOWN) }, '/'), 'page of newer', 'a page can be opened')

    await control.close()
    assert.equal(await ask(from(older)), 'older', 'what is known counts')
    const away = await site.visit(ONE, '/app.js', from(`dpl_${'y'.repeat(28)}`))
    assert.deepEqual([away.status, away.headers['retry-after']], [503, '1'])
    await site.stop()
  },
  SETTINGS,
)

onBothEngines(
  'a deployment that is too old or of before the boundary is left, and protection and pause hold for it',
  async (world, t) => {
    const { web, older, newer, change, control, site, ask, from } = await openVersions(world, t)
    await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
    await change({ skewProtectionMaxAge: 3600 })
    await eventually(async () => (await ask(from(older))) === 'older')
    const { body } = await world.call('GET', `/v13/deployments/${newer}`)
    await change({ skewProtectionBoundaryAt: body.createdAt })
    await eventually(async () => (await ask(from(older))) === 404)
    assert.equal(await ask(from(newer)), 'newer')
    await change({ skewProtectionBoundaryAt: null })
    await eventually(async () => (await ask(from(older))) === 'older')

    await change({ passwordProtection: { deploymentType: 'all', password: 'correct horse' } })
    await eventually(async () => (await ask(from(older))) === 401)
    const known = { authorization: `Basic ${Buffer.from('visitor:correct horse').toString('base64')}` }
    assert.equal(await ask({ ...from(older), ...known }), 'older')
    assert.equal(await ask(from(UNKNOWN)), 401, 'an unauthenticated client learns nothing of ids')
    await change({ passwordProtection: null })
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    await eventually(async () => (await ask(from(older))) === 503)
    await world.call('POST', `/v1/projects/${web.id}/unpause`)
    await eventually(async () => (await ask(from(older))) === 'older')

    await change({ skewProtectionMaxAge: 1 })
    await eventually(async () => (await ask(from(older))) === 404)
    assert.equal(await ask(from(newer)), 'newer', 'what is live has no age')
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'the pages of another origin stay with a deployment where the project names their domain',
  async (world, t) => {
    const { older, change, control, site, ask, from } = await openVersions(world, t)
    await change({ skewProtectionMaxAge: 3600 })
    await eventually(async () => (await ask(from(older))) === 'older')
    const by = (origin: string, site = 'cross-site') =>
      ask({ ...from(older), origin: `https://${origin}`, 'sec-fetch-site': site, 'sec-fetch-mode': 'cors' })
    assert.equal(await by('shop.example'), 'newer')
    assert.equal(await by(ONE, 'same-origin'), 'older')
    await change({ skewProtectionAllowedDomains: ['Shop.example', '*.cdn.example', 'no host'] })
    await eventually(async () => (await by('shop.example')) === 'older')
    assert.deepEqual([await by('a.cdn.example'), await by('shop.example:8443', 'same-site')], ['older', 'older'])
    for (const host of ['cdn.example', 'a.b.cdn.example', 'my.shop.example', 'other.example'])
      assert.equal(await by(host), 'newer', host)
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

test('the requester is known from Sec-Fetch-Site, else by Origin, or by Referer where a script or a picture is loaded; a program is not a page', () => {
  const id = `dpl_${'a'.repeat(28)}`
  const wished = (headers: Record<string, string>) =>
    readPinnedDeployment(
      {
        method: 'GET',
        host: 'site.example',
        path: '/',
        search: `?dpl=${id}`,
        headers: new Map(Object.entries(headers)),
      },
      { maxAge: 1, allowedDomains: ['shop.example'] },
    ).deploymentId === id
  for (const [headers, is] of [
    [{}, true],
    [{ origin: 'https://site.example' }, true],
    [{ origin: 'https://other.example' }, false],
    [{ origin: 'null' }, true],
    [{ 'sec-fetch-site': 'none' }, true],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'null' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://site.example' }, false],
    [{ 'sec-fetch-site': 'cross-site', referer: 'https://shop.example/a' }, true],
    [{ 'sec-fetch-site': 'same-site', referer: 'https://a.example/' }, false],
  ] as const)
    assert.equal(wished({ ...headers }), is, JSON.stringify(headers))
})
