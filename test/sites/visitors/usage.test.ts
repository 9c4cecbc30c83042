/** A sites server counts what it answers for a deployment, whatever that is. docs/deploying-sites.md: Usage. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import type { EdgeReply } from '../../support/worlds/edge-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { SITE } from './control-plane.ts'
import { publish } from './publish.ts'
import { openSitesServers, type Site, showSite } from './servers.ts'

const ONE = 'one.apps.example.net'
const CONFIG = {
  routes: [{ src: '/old', status: 308, headers: { Location: '/style.css' } }, { handle: 'filesystem' }],
}
const PAGES = { 'static/index.html': '<h1>Hello</h1>', 'static/style.css': 'body{}' }

type Line = { requests: number; statuses: Record<string, number>; bytes: number }

/** What hours or lines have together. */
function sumOf(lines: readonly Line[]) {
  const sum = { requests: 0, statuses: { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 } as Record<string, number>, bytes: 0 }
  for (const { requests, statuses, bytes } of lines) {
    sum.requests += requests
    sum.bytes += bytes
    for (const [name, count] of Object.entries(statuses)) sum.statuses[name]! += count
  }
  return sum
}

/** Visits, and adds up what visitors saw of a deployment. */
function openVisits() {
  const seen: Line[] = []
  const visit = async (site: Site, ...said: Parameters<Site['visit']>): Promise<EdgeReply> => {
    const answer = await site.visit(...said)
    const error = answer.headers['x-vercel-error']
    // Before the sites server knows what the host serves.
    if (error === 'DOMAIN_NOT_FOUND' || (answer.status === 503 && error === undefined)) return answer
    const statuses = { [`${Math.floor(answer.status / 100)}xx`]: 1 }
    seen.push({ requests: 1, statuses, bytes: Buffer.byteLength(answer.text) })
    return answer
  }
  return { visit, seen: () => sumOf(seen) }
}

onBothEngines(
  'files, redirects, pages of errors, answers without a body and refusals are counted, and nothing of unknown hosts',
  async (world, t) => {
    const web = await seedWebProject(world)
    const live = await web.deploy()
    await publish(world, live, CONFIG, PAGES)
    const preview = await web.deploy({ target: 'preview' })
    await publish(world, preview, CONFIG, { ...PAGES, 'static/new.html': 'new' })
    const control = await openInstance(world)
    const site = await openSitesServers(t).start(control.origin)
    const { visit, seen } = openVisits()
    await eventually(async () => (await visit(site, ONE)).status === 200)
    const { headers } = await visit(site, ONE, '/style.css')
    assert.equal((await visit(site, ONE, '/style.css', { 'if-none-match': String(headers.etag) })).status, 304)
    assert.equal((await visit(site, ONE, '/style.css', { range: 'bytes=0-1' })).text, 'bo')
    for (const path of ['/old', '/nowhere']) await visit(site, ONE, path)
    for (const method of ['HEAD', 'POST', 'OPTIONS']) await visit(site, ONE, '/', {}, method)
    assert.equal((await site.visit('nobody.example.org')).status, 404)
    assert.equal((await site.visit('d2.host.test', '/new.html')).text, 'new')
    const protection = { deploymentType: 'all', password: 'correct horse battery' }
    await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
    await world.call('PATCH', '/v9/projects/web', { passwordProtection: protection })
    await eventually(async () => (await visit(site, ONE)).status === 401)
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    await eventually(async () => (await visit(site, ONE)).status === 503)
    await site.stop()
    const read = async (id: string) => (await world.call('GET', `/v1/deployments/${id}/usage`)).body.usage as Line[]
    assert.deepEqual(sumOf(await read(live)), seen())
    assert.deepEqual(
      [seen().statuses['2xx']! >= 3, seen().statuses['3xx'], seen().statuses['5xx']],
      [true, 2, 1],
      JSON.stringify(seen()),
    )
    assert.deepEqual(sumOf(await read(preview)), {
      ...{ requests: 1, bytes: 3 },
      statuses: { '2xx': 1, '3xx': 0, '4xx': 0, '5xx': 0 },
    })
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'what two sites servers answer while the control plane is unavailable is added up once it is back',
  async (world, t) => {
    const web = await seedWebProject(world)
    const live = await web.deploy()
    await publish(world, live, CONFIG, PAGES)
    const port = await freePort()
    const control = await openInstance(world, port)
    const { visit, seen } = openVisits()
    const sites = [await openSitesServers(t).start(control.origin), await openSitesServers(t).start(control.origin)]
    for (const site of sites) await eventually(async () => (await visit(site, ONE)).status === 200)
    await control.close()
    await Promise.all(sites.flatMap((site) => Array.from({ length: 20 }, () => visit(site, ONE))))
    const again = await openInstance(world, port)
    await Promise.all(sites.map((site) => site.stop()))
    const { usage } = (await world.call('GET', `/v1/deployments/${live}/usage`)).body
    assert.deepEqual(sumOf(usage), seen())
    assert.equal(seen().requests, 42)
    await again.close()
  },
  SETTINGS,
)

test('of an answer that is cut off what was sent is counted', async (t) => {
  const large = 20_000_000
  const { site, control, origin } = await showSite(t, { contents: { 'static/index.html': 'x'.repeat(large) } })
  const before = (await site.visit(SITE, '/none')).text.length
  const socket = connect(Number(new URL(origin).port), '127.0.0.1', () =>
    socket.write(`GET / HTTP/1.1\r\nHost: ${SITE}\r\n\r\n`),
  )
  socket.on('data', () => socket.destroy())
  await new Promise((resolve) => socket.once('close', resolve))
  await site.stop()
  const { requests, statuses, bytes } = sumOf(control.usage)
  assert.equal(requests, statuses['2xx']! + statuses['4xx']!)
  const whole = large * (statuses['2xx']! - 1) + before * statuses['4xx']!
  assert.ok(bytes > whole && bytes < whole + large, `${bytes - whole} of the last`)
})

test('a visitor who leaves before an answer begins is counted without a status', async (t) => {
  const asked: string[] = []
  const { site, control, origin } = await showSite(t, {
    protection: { password: 'all' },
    // The first visits of the test are refused, and the last one waits for ever.
    check: ({ headers }, response) => {
      asked.push(String(headers['x-forwarded-uri']))
      if (headers['x-forwarded-uri'] === '/waits') return
      response.writeHead(403, { 'x-edge-error': 'NOT_ALLOWED' }).end('no')
    },
  })
  const socket = connect(Number(new URL(origin).port), '127.0.0.1', () =>
    socket.write(`GET /waits HTTP/1.1\r\nHost: ${SITE}\r\n\r\n`),
  )
  await eventually(() => asked.includes('/waits'))
  socket.destroy()
  await site.stop()
  const { requests, statuses } = sumOf(control.usage)
  assert.equal(requests, statuses['4xx']! + 1)
})
