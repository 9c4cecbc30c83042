/** A sites server while the control plane is unavailable, and files that cannot be had. docs/deploying-sites.md: Sites server. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { publish } from './publish.ts'
import { openSitesServers } from './servers.ts'

const ONE = 'one.apps.example.net'
const OWN = 'd1.host.test'

onBothEngines(
  'what was visited is shown while the control plane is unavailable, also after a restart; the rest is 503',
  async (world, t) => {
    const web = await seedWebProject(world)
    await publish(world, await web.deploy(), {}, { 'static/index.html': 'here', 'static/other.html': 'not visited' })
    const control = await openInstance(world)
    const servers = openSitesServers(t)
    const first = await servers.start(control.origin)
    await eventually(async () => (await first.visit(ONE)).status === 200)
    assert.equal((await first.visit(OWN)).text, 'here')
    const visitors = Array.from({ length: 50 }, () => first.visit(ONE))
    const closing = control.close()
    for (const { status, text } of await Promise.all(visitors)) assert.deepEqual([status, text], [200, 'here'])
    await closing
    await first.stop()
    const second = await servers.start(control.origin)
    for (const host of [ONE, OWN]) assert.equal((await second.visit(host)).text, 'here', host)
    const missing = await second.visit(ONE, '/other.html')
    assert.deepEqual([missing.status, missing.headers['retry-after']], [503, '1'])
    assert.match(missing.text, /Please wait/)
    assert.equal((await second.visit('d2.host.test')).status, 503, 'it may be the url of a deployment')
    assert.equal((await second.visit(ONE, '/nowhere')).status, 404)
    await second.stop()
  },
  SETTINGS,
)

onBothEngines(
  'a file that the control plane has lost is 502, a manifest 404, and one of another content is never shown',
  async (world, t) => {
    const web = await seedWebProject(world)
    const first = await publish(world, await web.deploy(), {}, { 'static/index.html': 'gone', 'static/here.html': 'x' })
    const files = await world.deps.db.read.selectFrom('blob').selectAll().execute()
    const lost = files.find(({ size }) => size === 4)!
    await world.deps.files.remove(first.accountId, lost.sha256)
    const control = await openInstance(world)
    const site = await openSitesServers(t).start(control.origin)
    await eventually(async () => (await site.visit(ONE, '/here.html')).status === 200)
    const answer = await site.visit(ONE)
    assert.deepEqual([answer.status, answer.headers['x-vercel-error']], [502, 'CONTENT_UNAVAILABLE'])
    const second = await publish(world, await web.deploy(), {}, { 'static/index.html': 'second' })
    await world.deps.files.remove(second.accountId, second.digest)
    await eventually(
      async () => (await site.visit('d2.host.test')).headers['x-vercel-error'] === 'DEPLOYMENT_NOT_FOUND',
    )
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'a cache that was emptied on the disk is filled again, and visitors notice nothing',
  async (world, t) => {
    const web = await seedWebProject(world)
    const { accountId } = await publish(world, await web.deploy(), {}, { 'static/index.html': 'here' })
    const control = await openInstance(world)
    const servers = openSitesServers(t)
    const site = await servers.start(control.origin)
    await eventually(async () => (await site.visit(ONE)).status === 200)
    rmSync(join(servers.folder, 'sites', 'objects', accountId), { recursive: true })
    assert.equal((await site.visit(ONE)).text, 'here')
    await site.stop()
    await control.close()
  },
  SETTINGS,
)
