/** A sites server's knowledge of hosts, from a real control plane: followed, kept, and used while that is unavailable. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { requiresAdmission } from '../../../src/platform/verdict/admission.ts'
import { type KnownHosts, openKnownHosts } from '../../../src/sites/snapshot/known-hosts.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { markDomainsVerified } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { openTampering } from './tampering.ts'

const ONE = 'one.apps.example.net'
const TWO = 'two.apps.example.net'
const OWN = 'd1.host.test'
const VISITOR = '203.0.113.7'

/** A sites server of a world, in a folder that stays from one start to the next. */
function openSitesServers(world: World, t: TestContext, token = SITES_TOKEN) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-sites-'))
  const open: KnownHosts[] = []
  t.after(async () => {
    for (const known of open) await known.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const start = async (origin: string) => {
    const known = await openKnownHosts({ origin, token, folder, log: world.deps.log })
    open.push(known)
    const kind = async (host: string) => {
      const found = await known.find(host, VISITOR)
      return found === 'unavailable' ? found : found.serving.kind
    }
    const stop = async () => {
      await known.stop()
      open.splice(open.indexOf(known), 1)
    }
    return { ...known, kind, stop }
  }
  return { folder, start }
}

onBothEngines(
  'what changes at the control plane is what a visitor gets: names, pauses, deployments, own urls, protection',
  async (world, t) => {
    const web = await seedWebProject(world)
    const live = await web.deploy()
    const control = await openInstance(world)
    const { kind, find, staleMs } = await openSitesServers(world, t).start(control.origin)
    await eventually(async () => (await kind(ONE)) === 'live')
    assert.deepEqual(await find(OWN, VISITOR), {
      serving: { kind: 'live', projectId: web.id, deploymentId: live, upstream: null, output: null },
      guard: undefined,
      environment: 'production',
    })
    assert.equal(await kind('none.host.test'), 'unknown')
    await eventually(() => staleMs() === 0)
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    for (const host of [ONE, OWN]) await eventually(async () => (await kind(host)) === 'paused')
    await world.call('POST', `/v1/projects/${web.id}/unpause`)
    await world.call('DELETE', `/v9/projects/web/domains/${TWO}`)
    await world.call('POST', '/v10/projects/web/domains', { name: 'three.apps.example.net' })
    await eventually(async () => (await kind(TWO)) === 'unknown')
    await eventually(async () => (await kind('three.apps.example.net')) === 'live')
    const passwordProtection = { deploymentType: 'all', password: 'correct horse battery' }
    await world.call('PATCH', '/v9/projects/web', { passwordProtection })
    for (const host of [ONE, OWN])
      await eventually(async () => {
        const found = await find(host, VISITOR)
        return found !== 'unavailable' && requiresAdmission(found.guard)
      })
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'a host that cannot be an own url is not asked for, and stops no look-up of others',
  async (world, t) => {
    const web = await seedWebProject(world)
    await web.deploy()
    const control = await openInstance(world)
    const { kind, version } = await openSitesServers(world, t).start(control.origin)
    await eventually(() => version() !== undefined)
    // What is read of `Host: [::1]`, and what the control plane calls no host.
    for (const host of ['', 'a..b']) assert.equal(await kind(host), 'unknown')
    assert.equal(await kind(OWN), 'live')
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'an own url comes before a wildcard that covers it, which is served while the control plane is unavailable',
  async (world, t) => {
    const web = await seedWebProject(world, ['one'])
    const preview = await web.deploy({ target: 'preview', url: 'preview.wild.com' })
    await world.call('POST', '/v10/projects/web/domains', { name: '*.wild.com' })
    await markDomainsVerified(world)
    const live = await web.deploy()
    const control = await openInstance(world)
    const { kind, find, version } = await openSitesServers(world, t).start(control.origin)
    await eventually(() => version() !== undefined)
    const deploymentOf = async (host: string) => {
      const found = await find(host, VISITOR)
      return found !== 'unavailable' && found.serving.kind === 'live' && found.serving.deploymentId
    }
    await eventually(async () => (await deploymentOf('any.wild.com')) === live)
    assert.equal(await deploymentOf('preview.wild.com'), preview)
    await control.close()
    assert.equal(await deploymentOf('other.wild.com'), live)
    assert.equal(await deploymentOf('preview.wild.com'), preview)
    assert.equal(await kind('none.host.test'), 'unavailable')
  },
  SETTINGS,
)

onBothEngines(
  'without the control plane all goes on as it was, also after a restart, and what changed meanwhile is followed once it is back',
  async (world, t) => {
    const web = await seedWebProject(world)
    await web.deploy()
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const { start, folder } = openSitesServers(world, t)
    const early = await start(origin)
    assert.deepEqual([await early.kind(ONE), early.staleMs()], ['unavailable', Number.POSITIVE_INFINITY])
    let control = await openInstance(world, port)
    await eventually(async () => (await early.kind(ONE)) === 'live')
    await eventually(async () => (await early.kind(OWN)) === 'live')
    await control.close()
    await eventually(() => early.staleMs() > 0)
    const version = early.version()
    await early.stop()

    const again = await start(origin)
    assert.equal(again.version(), version)
    for (const host of [ONE, TWO, OWN]) assert.equal(await again.kind(host), 'live', host)
    assert.ok(again.staleMs() > 0 && again.staleMs() < 3_600_000)
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    await world.call('DELETE', `/v9/projects/web/domains/${TWO}`)
    control = await openInstance(world, port)
    for (const host of [ONE, OWN]) await eventually(async () => (await again.kind(host)) === 'paused')
    await eventually(async () => (await again.kind(TWO)) === 'unknown')
    await eventually(() => again.staleMs() === 0)
    await again.stop()
    await control.close()
    // What was taken meanwhile was appended: the file has the whole of the first start, and the changes behind it.
    const heads = readFileSync(join(folder, 'hosts.ndjson'), 'utf8').match(/"kind":"(head|end)"/g)
    assert.ok(heads!.length >= 3, heads!.join())
    const last = await start(origin)
    assert.deepEqual([await last.kind(ONE), await last.kind(TWO)], ['paused', 'unavailable'])
  },
  SETTINGS,
)

onBothEngines(
  'a list that is cut off, older, of another version or noise changes nothing; the next good one counts',
  async (world, t) => {
    const web = await seedWebProject(world)
    await web.deploy()
    const control = await openInstance(world)
    const proxy = await openTampering(t, control.origin)
    const { kind, version, staleMs } = await openSitesServers(world, t).start(proxy.origin)
    await eventually(async () => (await kind(ONE)) === 'live')
    let isPaused = false
    for (const tamper of [
      (text: string) => text.slice(0, text.length >> 1),
      (text: string) => text.slice(0, text.lastIndexOf('{')),
      (text: string) => text.replace(/(?<="version":"\w+\.)\d+\.\w+/, '5.elsewher'),
      (text: string) => text.replace('"protocol":1', '"protocol":2'),
      (text: string) => `${text}${text}`,
      () => 'x'.repeat(50_000),
    ]) {
      const before = version()
      const seen = proxy.tamperWith(tamper)
      isPaused = !isPaused
      await world.call('POST', `/v1/projects/${web.id}/${isPaused ? 'pause' : 'unpause'}`)
      await seen
      await eventually(() => staleMs() > 0)
      assert.deepEqual([version(), await kind(ONE)], [before, isPaused ? 'live' : 'paused'], `${tamper}`)
      proxy.tamperWith(undefined)
      await eventually(async () => (await kind(ONE)) === (isPaused ? 'paused' : 'live'))
    }
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'a sites server that is too far behind, or ahead of a database that was restored, takes all and loses what is gone',
  async (world, t) => {
    const web = await seedWebProject(world)
    await web.deploy()
    const control = await openInstance(world)
    const proxy = await openTampering(t, control.origin)
    const { kind, find } = await openSitesServers(world, t).start(proxy.origin)
    await eventually(async () => (await kind(TWO)) === 'live')
    await find(OWN, VISITOR)
    await proxy.drop()
    await world.call('DELETE', `/v9/projects/web/domains/${TWO}`)
    // What is asked for is as if the sites server had been away for a day, or had followed what was lost.
    for (const [at, since] of ['1000.elsewher', '9999999999999.elsewher'].entries()) {
      if (at === 1) await world.call('POST', `/v1/projects/${web.id}/pause`)
      proxy.askSince((version) => version.replace(/(?<=^\w+\.)\d+\.\w+/, since))
      await eventually(async () => (await kind(at === 0 ? TWO : ONE)) === (at === 0 ? 'unknown' : 'paused'))
      await eventually(async () => (await kind(OWN)) === (at === 0 ? 'live' : 'paused'))
    }
    await control.close()
  },
  SETTINGS,
)

onBothEngines(
  'a wrong token is said in the log, and nothing is known',
  async (world, t) => {
    await seedWebProject(world)
    const control = await openInstance(world)
    const { version, kind } = await openSitesServers(world, t, 'not-the-token-of-sites').start(control.origin)
    await eventually(() => world.logged().includes('Send BERTH_SITES_TOKEN as a bearer token'))
    assert.deepEqual([version(), await kind(ONE)], [undefined, 'unavailable'])
    await control.close()
  },
  SETTINGS,
)
