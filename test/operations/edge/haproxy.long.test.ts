/** Behind a real HAProxy with deploy/haproxy.cfg and the agent that fills its maps. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  adapt,
  answers,
  arrived,
  newFolder,
  ONE,
  openUpstream,
  run,
  startSite,
  TWO,
  withProgram,
} from '../../support/clients/proxies.ts'
import { eventually } from '../../support/eventually.ts'
import { newHome, processOnBothEngines } from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { callEdgeAt } from '../../support/worlds/edge-world.ts'

withProgram('haproxy', 'haproxy', () => {
  processOnBothEngines(
    'HAProxy follows the edge with its maps, and keeps serving without the control plane',
    async (t, engine) => {
      const site = await startSite(t, await newHome(t, engine), await openUpstream(t))
      const folder = newFolder(t)
      const port = await freePort()
      for (const map of ['state', 'hosts', 'redirects']) writeFileSync(join(folder, `${map}.map`), '')
      const file = adapt('haproxy.cfg', folder, {
        '/etc/haproxy/berth/': `${folder}/`,
        '/run/haproxy/admin.sock': `${folder}/admin.sock`,
        'bind :80\n': `bind 127.0.0.1:${port}\n`,
      })
      const origin = `http://127.0.0.1:${port}`
      await answers(origin, run(t, 'haproxy', ['-db', '-f', file]))
      const agent = join(root, 'deploy', 'haproxy-agent.mjs')
      const said = [
        '--edge',
        `http://${site.edge}`,
        '--socket',
        join(folder, 'admin.sock'),
        '--maps',
        folder,
        '--every',
        '100',
      ]
      const following = run(t, process.execPath, [agent, ...said], { BERTH_EDGE_TOKEN: site.token })
      const visit = (host: string, path = '/', headers = {}) => callEdgeAt(origin, path, { host, ...headers })
      const status = async (host: string) => (await visit(host)).status

      await eventually(async () => (await status(ONE)) === 200)
      const first = await visit(`${ONE.toUpperCase()}:80`, '/a?b=c', {
        'x-edge-status': '1',
        'x-forwarded-for': '6.6.6.6',
      })
      assert.equal(arrived(first).url, '/a?b=c')
      assert.equal(arrived(first).headers['x-edge-status'], undefined)
      assert.equal(arrived(first).headers['x-forwarded-for'], '127.0.0.1')
      for (const code of [301, 302, 307, 308]) {
        await site.call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE, redirectStatusCode: code })
        await eventually(async () => (await status(TWO)) === code)
        assert.equal((await visit(TWO, '/x?y=1')).headers.location, `http://${ONE}/x?y=1`)
      }
      assert.equal(await status('nobody.com'), 404)
      await site.turn('pause')
      await eventually(async () => (await status(ONE)) === 503)
      const paused = await visit(ONE)
      assert.deepEqual([paused.headers['retry-after'], paused.headers['x-edge-error']], ['300', 'DEPLOYMENT_PAUSED'])
      await site.turn('unpause')
      await eventually(async () => (await status(ONE)) === 200)
      // The agent updates HAProxy first, and then writes the file.
      await eventually(() => new RegExp(`^${ONE} live$`, 'm').test(readFileSync(join(folder, 'state.map'), 'utf8')))

      await site.kill('SIGKILL')
      await eventually(async () => following.said().includes('not in step'))
      assert.deepEqual([await status(ONE), await status(TWO)], [200, 308])
    },
  )
})
