/** A sites server, as the real program, behind a real Caddy with deploy/Caddyfile.sites as it is. docs/edge.md: Sites. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ONE, startCaddy, TWO, withProgram } from '../../support/clients/proxies.ts'
import { eventually } from '../../support/eventually.ts'
import { startSites } from '../../support/process.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { publish } from './publish.ts'

const TOKEN = { BERTH_EDGE_TOKEN: 'token-of-the-proxies-at-the-edge' }
const VISITOR = '127.0.0.1'

withProgram('caddy', 'caddy', () => {
  onBothEngines(
    'sites are served over HTTPS with certificates on demand, by the address of the visitor, and go on while the control plane is unavailable',
    async (world, t) => {
      const web = await seedWebProject(world)
      const rules = [
        {
          src: '/.*',
          has: [{ type: 'header', key: 'x-forwarded-proto', value: 'https' }],
          headers: { 'x-by': 'https' },
          continue: true,
        },
      ]
      await publish(world, await web.deploy(), { routes: rules }, { 'static/index.html': 'hello' })
      const control = await openInstance(world)
      const folder = mkdtempSync(join(tmpdir(), 'berth-sites-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const env = {
        BERTH_DATA: folder,
        BERTH_SITES_TOKEN: SITES_TOKEN,
        BERTH_SITES_CONTROL_PLANE: control.origin,
        BERTH_TRUSTED_PROXIES: '127.0.0.1',
      }
      const sites = await startSites(t, { folder, env }, {})
      const { host } = new URL(sites.address)
      const edge = { origin: control.origin, token: TOKEN.BERTH_EDGE_TOKEN }
      const { visit, https } = await startCaddy(t, edge, { recipe: 'Caddyfile.sites', env: { BERTH_SITES: host } })
      await eventually(async () => (await visit(ONE)).status === 200)
      const shown = await visit(ONE, '/', { 'x-forwarded-proto': 'http' })
      assert.deepEqual([shown.text, shown.headers['x-by']], ['hello', 'https'])
      await assert.rejects(visit('nobody.example.com'), /alert internal error/)
      await world.call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE, redirectStatusCode: 308 })
      await eventually(async () => (await visit(TWO)).status === 308)
      assert.equal((await visit(TWO, '/x?y=%20')).headers.location, `https://${ONE}:${https}/x?y=%20`)
      await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
      const trust = (value: string) =>
        world.call('PATCH', '/v9/projects/web', {
          trustedIps: { deploymentType: 'all', protectionMode: 'exclusive', addresses: [{ value }] },
        })
      await trust('203.0.113.7')
      await eventually(async () => (await visit(ONE, '/', { 'x-forwarded-for': '203.0.113.7' })).status === 403)
      await trust(VISITOR)
      await eventually(async () => (await visit(ONE)).status === 200)
      await world.call('PATCH', '/v9/projects/web', { trustedIps: null })
      await eventually(async () => (await visit(ONE)).text === 'hello')
      await control.close()
      await eventually(async () => /cannot follow the control plane/.test(sites.out()))
      assert.equal((await visit(ONE)).text, 'hello')
      assert.equal(await sites.kill('SIGTERM'), 0)
    },
    { ...SETTINGS, ...TOKEN },
  )
})
