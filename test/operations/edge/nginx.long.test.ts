/** Behind a real nginx with deploy/nginx.conf: what it says, and that known sites stay up when the control plane is killed. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  adapt,
  answers,
  arrived,
  makeFolders,
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
import { freePort } from '../../support/servers/free-port.ts'
import { callEdgeAt } from '../../support/worlds/edge-world.ts'

withProgram('nginx', 'nginx', () => {
  processOnBothEngines(
    'nginx serves, pauses, redirects and asks for passwords, and outlives the control plane',
    async (t, engine) => {
      const site = await startSite(t, await newHome(t, engine), await openUpstream(t))
      const origin = await startNginx(t, site)
      const visit = (host: string, path = '/', headers = {}, method = 'GET') =>
        callEdgeAt(origin, path, { host, ...headers }, method)
      const status = async (host: string) => (await visit(host)).status

      const edges = ['Project', 'Deployment', 'Address', 'Location', 'Error', 'Stale'].map((name) => [
        `x-edge-${name}`,
        'x',
      ])
      const forged = {
        ...Object.fromEntries(edges),
        'x-edge-status': '404',
        'x-edge-upstream': 'http://127.0.0.1:1',
        'x-forwarded-host': 'evil.com',
        'x-forwarded-uri': '/evil',
      }
      const first = await visit(ONE, '/a?b=c', forged, 'POST')
      assert.equal(first.status, 200, first.text)
      assert.deepEqual([arrived(first).method, arrived(first).url], ['POST', '/a?b=c'])
      const names = Object.keys(arrived(first).headers)
      assert.deepEqual(
        names.filter((name) => /^x-(edge-|forwarded-uri)/.test(name)),
        [],
      )
      assert.deepEqual([arrived(first).headers.host, arrived(first).headers['x-forwarded-host']], [ONE, ONE])
      for (const code of [301, 302, 307, 308]) {
        await site.call('PATCH', `/v9/projects/web/domains/${TWO}`, { redirect: ONE, redirectStatusCode: code })
        await eventually(async () => (await status(TWO)) === code)
        assert.equal((await visit(TWO, '/x?y=1')).headers.location, `http://${ONE}/x?y=1`)
      }
      const unknown = await visit('nobody.com', '/', {}, 'POST')
      assert.equal(unknown.status, 404)
      assert.match(unknown.text, /There is no site here/)
      await site.turn('pause')
      await eventually(async () => (await status(ONE)) === 503)
      const paused = await visit(ONE)
      assert.match(paused.text, /This site is paused/)
      assert.equal(paused.headers['retry-after'], '300')
      await site.turn('unpause')
      await eventually(async () => (await status(ONE)) === 200)

      await protect(site, { deploymentType: 'all', password: 'open sesame' })
      await eventually(async () => (await status(ONE)) === 401)
      assert.match((await visit(ONE)).headers['www-authenticate']!, /^Basic realm=/)
      const basic = (password: string) => ({ authorization: `Basic ${btoa(`me:${password}`)}` })
      assert.equal((await visit(ONE, '/in', basic('open sesame'))).status, 200)
      assert.equal((await visit(ONE, '/in', basic('closed'))).status, 401)
      await protect(site, null)
      // What is kept of the host must be younger than that.
      await sleep(2500)
      await eventually(async () => (await status(ONE)) === 200)

      await site.kill('SIGKILL')
      // What nginx keeps of the sites is older than it may be while the service answers.
      await sleep(2500)
      for (let round = 0; round < 10; round++) {
        assert.equal(await status(ONE), 200)
        assert.equal((await visit(TWO, '/x')).headers.location, `http://${ONE}/x`)
      }
      const away = await visit('never-seen.com')
      assert.deepEqual([away.status, away.headers['retry-after']], [503, '300'])
      assert.equal(await status('nobody.com'), 404, 'what was known not to be there is known still')
    },
  )
})

type Site = Awaited<ReturnType<typeof startSite>>

async function protect(site: Site, passwordProtection: object | null): Promise<void> {
  const { accountId } = await site.call('GET', '/v9/projects/web')
  await site.call('PATCH', `/operator/v1/accounts/${accountId}`, { plan: 'enterprise' })
  await site.call('PATCH', '/v9/projects/web', { passwordProtection })
}

async function startNginx(t: Parameters<typeof newFolder>[0], site: Site): Promise<string> {
  const folder = newFolder(t)
  const [http, https] = [await freePort(), await freePort()]
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  makeFolders(folder, ...temporary)
  const file = adapt('nginx.conf', folder, {
    'server 127.0.0.1:3001;': `server ${site.edge};`,
    'default "";\n\t}\n\n\t# What is known': `default ${site.token};\n\t}\n\n\t# What is known`,
    'listen 80 ': `listen 127.0.0.1:${http} `,
    'listen 443 ': `listen 127.0.0.1:${https} `,
    '/var/cache/nginx/berth-edge': `${folder}/cache`,
    // Where Debian's nginx keeps them only root may write.
    'http {\n': `http {\naccess_log off;\n${temporary.map((name) => `${name}_temp_path ${folder}/${name};\n`).join('')}`,
  })
  const own = `daemon off; pid ${folder}/nginx.pid; error_log stderr;`
  const nginx = run(t, 'nginx', ['-c', file, '-p', folder, '-e', `${folder}/error.log`, '-g', own])
  const origin = `http://127.0.0.1:${http}`
  await answers(origin, nginx)
  return origin
}
