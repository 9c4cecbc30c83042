/** Behind a real Caddy with on-demand TLS by its internal CA, with deploy/Caddyfile as it is. */
import assert from 'node:assert/strict'
import { arrived, ONE, openUpstream, startCaddy, TWO, withProgram } from '../../support/clients/proxies.ts'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS } from '../../support/worlds/deploy-world.ts'
import { openSite } from '../../support/worlds/edge-world.ts'

const TOKEN = { BERTH_EDGE_TOKEN: 'token-of-the-proxies-at-the-edge' }

withProgram('caddy', 'caddy', () => {
  onBothEngines(
    'a verified domain serves over HTTPS; pause is a 503 on the next request and unpause a 200; redirects; no certificate for others',
    async (world, t) => {
      const upstream = await openUpstream(t)
      const { web, origin, pause, unpause, settle } = await openSite(world, upstream)
      await world.call('POST', '/v10/projects/web/domains', { name: 'claimed.com' })
      const { visit, https } = await startCaddy(t, { origin, token: TOKEN.BERTH_EDGE_TOKEN })

      const forged = {
        'x-edge-upstream': 'http://127.0.0.1:1',
        'x-edge-address': '127.0.0.1:1',
        'x-forwarded-host': TWO,
      }
      const first = await visit(ONE, '/a?b=c', forged)
      assert.equal(first.status, 200, first.text)
      assert.equal(arrived(first).url, '/a?b=c')
      assert.equal(arrived(first).headers.host, `${ONE}:${https}`)
      assert.deepEqual(
        Object.keys(arrived(first).headers).filter((name) => name.startsWith('x-edge')),
        [],
      )

      for (let round = 0; round < 3; round++) {
        await pause()
        if (world.engine === 'postgres') await settle()
        const paused = await visit(ONE)
        assert.deepEqual([paused.status, paused.headers['retry-after']], [503, '300'])
        assert.match(paused.text, /This site is paused/)
        await unpause()
        if (world.engine === 'postgres') await settle()
        assert.equal((await visit(ONE)).status, 200)
      }
      for (const host of ['claimed.com', 'nobody.com']) await assert.rejects(visit(host), /alert internal error/)
      for (const code of [301, 302, 307, 308]) {
        await world.call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE, redirectStatusCode: code })
        await settle()
        const moved = await visit(TWO, '/x?y=%20')
        assert.deepEqual([moved.status, moved.headers.location], [code, `https://${ONE}:${https}/x?y=%20`])
      }
      // A domain that is there no more has its certificate still, and no site.
      await world.call('DELETE', `/v9/projects/web/domains/${ONE}`)
      await eventually(async () => (await visit(ONE)).status === 404)
      assert.equal((await visit('d1.host.test')).status, 200, web.id)
    },
    { ...SETTINGS, ...TOKEN },
  )
})
