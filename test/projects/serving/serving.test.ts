/** What a host points to, as the edge's index knows it after every change. docs/deployments.md: What a host points to; docs/edge.md: Three look-ups. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { startHostSync } from '../../../src/operations/edge/index-sync.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused, freshApex, verifyAllClaims } from '../../support/worlds/domain-world.ts'

const ONE = 'one.apps.example.net'
const TWO = 'two.apps.example.net'

/** What the index says that followed every change until now, which must be what one says that was read just now. */
async function asked(world: World, host: string) {
  const { followed } = (await world.openEdge())!
  await followed.catchUp()
  const { serving } = followed.hosts().find(host)
  const anew = await startHostSync(world.deps)
  await anew.stop()
  assert.deepEqual(anew.hosts().find(host).serving, serving, host)
  assert.equal(anew.hosts().size(), followed.hosts().size())
  assert.deepEqual([...anew.hosts().all()].sort(), [...followed.hosts().all()].sort())
  return serving
}

onBothEngines(
  'unknown, unverified, undeployed, live, redirected and paused: each host gets its verdict',
  async (world) => {
    const web = await seedWebProject(world)
    await world.openEdge()
    const projectId = web.id
    await world.call('POST', '/v10/projects/web/domains', { name: 'mine.com' })
    assert.deepEqual(await asked(world, 'nobody.com'), { kind: 'unknown' })
    assert.deepEqual(await asked(world, 'mine.com'), { kind: 'unverified' })
    assert.deepEqual(await asked(world, ONE), { kind: 'undeployed', projectId })
    const building = await web.deploy({ readyState: 'BUILDING' })
    assert.deepEqual(await asked(world, 'd1.host.test'), { kind: 'undeployed', projectId })
    await web.patch(building, { readyState: 'READY', upstream: 'http://10.0.0.7:3000/' })
    const live = { kind: 'live', projectId, deploymentId: building, upstream: 'http://10.0.0.7:3000', output: null }
    for (const host of [ONE, TWO, 'd1.host.test']) assert.deepEqual(await asked(world, host), live)

    await world.call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE })
    assert.deepEqual(await asked(world, TWO), { kind: 'redirect', projectId, location: ONE, status: 307 })
    await world.call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE, redirectStatusCode: 308 })
    const preview = await web.deploy({ target: 'preview', gitBranch: 'dev' })
    await world.call('POST', '/v10/projects/web/domains', { name: 'dev.apps.example.net', gitBranch: 'dev' })

    await world.call('POST', `/v1/projects/${projectId}/pause`)
    const paused = { kind: 'paused', projectId, deploymentId: building }
    for (const host of [ONE, 'd1.host.test']) assert.deepEqual(await asked(world, host), paused)
    assert.deepEqual(await asked(world, TWO), { kind: 'redirect', projectId, location: ONE, status: 308 })
    const unblocked = { kind: 'live', projectId, deploymentId: preview, upstream: null, output: null }
    for (const host of ['dev.apps.example.net', 'd2.host.test']) assert.deepEqual(await asked(world, host), unblocked)
    await world.call('POST', `/v1/projects/${projectId}/unpause`)
    assert.deepEqual(await asked(world, ONE), live)
    await web.promote(preview)
    await web.sweep()
    const hosts = [ONE, 'dev.apps.example.net', 'd2.host.test']
    for (const host of hosts) assert.deepEqual(await asked(world, host), unblocked)
    await world.call('POST', `/v1/projects/${projectId}/pause`)
    const blocked = { kind: 'paused', projectId, deploymentId: preview }
    for (const host of hosts) assert.deepEqual(await asked(world, host), blocked, 'it is the production deployment')
    assert.deepEqual(await asked(world, 'd1.host.test'), live)
    await world.call('DELETE', '/v9/projects/web')
    for (const host of [ONE, 'mine.com', 'd1.host.test'])
      assert.deepEqual(await asked(world, host), { kind: 'unknown' })
    assert.equal((await world.openEdge())!.followed.hosts().size(), 0)
  },
  SETTINGS,
)

const dns = await startDnsServer()
after(() => dns.close())
const BY_DNS = { BERTH_DNS_SERVERS: dns.address }

onBothEngines(
  'a name that another account verifies serves their deployment at once',
  async (world) => {
    const apex = freshApex()
    await world.openEdge()
    const eve = await world.user('eve')
    const [mine, theirs] = [await verifyAllClaims(dns, world.call, 'web'), await verifyAllClaims(dns, eve.call, 'shop')]
    const { body: web } = await world.call('GET', '/v9/projects/web')
    const { body: shop } = await eve.call('GET', '/v9/projects/shop')
    const first = await seedDeployment(world, web.id, { url: 'web.host.test' })
    await mine.prove(apex)
    const ours = await asked(world, apex)
    assert.deepEqual(ours, { kind: 'live', projectId: web.id, deploymentId: first, upstream: null, output: null })
    await theirs.add(apex)
    assert.deepEqual(await asked(world, apex), ours, 'a claim changes nothing')
    const second = await seedDeployment(world, shop.id, { url: 'shop.host.test' })
    assert.deepEqual(await asked(world, apex), ours, 'nor does the deployment of who only claims')
    await theirs.proveAdded(apex)
    assert.deepEqual(await asked(world, apex), {
      kind: 'live',
      projectId: shop.id,
      deploymentId: second,
      upstream: null,
      output: null,
    })
    assert.deepEqual((await world.call('GET', '/v9/projects/web')).body.targets.production.alias, [])
    // What the loser still does with the name changes nothing for the holder.
    await world.call('DELETE', `/v9/projects/web/domains/${apex}`)
    assert.equal((await asked(world, apex)).kind, 'live')
  },
  BY_DNS,
)

onBothEngines(
  'a claim that is older than a deployment of its name is not verified, and the name stays that of the deployment',
  async (world) => {
    const apex = freshApex()
    await world.openEdge()
    const mine = await verifyAllClaims(dns, world.call, 'web')
    const theirs = await verifyAllClaims(dns, (await world.user('eve')).call, 'shop')
    const claimed = (await theirs.add(apex)).body
    assert.equal(claimed.verified, false)
    assert.deepEqual(await asked(world, apex), { kind: 'unverified' })
    const { id: projectId } = (await mine.call('GET', '/v9/projects/web')).body
    const deploymentId = await seedDeployment(world, projectId, { url: apex })
    const served = { kind: 'live', projectId, deploymentId, upstream: null, output: null }
    assert.deepEqual(await asked(world, apex), served)
    const [challenge] = claimed.verification
    dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
    assertRefused(await theirs.verify(apex), 409, 'domain_not_allowed')
    assert.deepEqual(await theirs.read(apex), claimed)
    assert.deepEqual(await asked(world, apex), served)
  },
  BY_DNS,
)

onBothEngines(
  'a wildcard covers names without a domain or deployment of their own, the closest one first',
  async (world) => {
    const apex = freshApex()
    await world.openEdge()
    const mine = await verifyAllClaims(dns, world.call, 'web')
    const { id: projectId } = (await world.call('GET', '/v9/projects/web')).body
    const otherId = await seedProject(world, 'other')
    await mine.prove(apex)
    await mine.add(`*.${apex}`)
    const wide = await seedDeployment(world, projectId, { url: `x.${apex}` })
    await world.call('POST', '/v10/projects/other/domains', { name: `*.deep.${apex}` })
    const close = await seedDeployment(world, otherId, { url: `y.${apex}` })
    const at = async (host: string) => {
      const serving = await asked(world, host)
      return serving.kind === 'live' ? serving.deploymentId : serving.kind
    }
    assert.deepEqual(await at(`a.${apex}`), wide)
    assert.deepEqual(await at(`a.b.${apex}`), wide)
    assert.deepEqual(await at(`a.deep.${apex}`), close)
    assert.deepEqual(await at(`y.${apex}`), close)
    await mine.add(`exact.${apex}`, { redirect: apex })
    assert.deepEqual(await at(`exact.${apex}`), 'redirect')
    assert.deepEqual(await at('a.b.unknown.com'), 'unknown')
  },
  BY_DNS,
)
