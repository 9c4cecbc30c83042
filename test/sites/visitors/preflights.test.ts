/** Preflights that pass the protection of a site. docs/deploying-sites.md: Preflights. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { publish } from './publish.ts'
import { openSitesServers, sendRaw } from './servers.ts'

const ONE = 'one.apps.example.net'
const OF_404 = [{ handle: 'error' }, { src: '/.*', status: 404, dest: '/404.html' }]

onBothEngines(
  'OPTIONS requests to the listed paths pass the protection and are answered without a body; nothing else passes',
  async (world, t) => {
    const arrived: IncomingMessage[] = []
    const backend = createServer((request, response) => {
      arrived.push(request)
      response.writeHead(200, { 'access-control-allow-origin': '*', 'content-encoding': 'identity' }).end('secret')
    })
    backend.listen(0, '127.0.0.1')
    await once(backend, 'listening')
    t.after(() => {
      backend.close()
      backend.closeAllConnections()
    })
    const to = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
    const web = await seedWebProject(world)
    const config = { routes: [{ src: '/api/(.*)', dest: `${to}/$1` }, { handle: 'filesystem' }, ...OF_404] }
    await publish(world, await web.deploy(), config, { 'static/index.html': 'secret', 'static/404.html': 'secret' })
    await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
    const change = (said: object) => world.call('PATCH', '/v9/projects/web', said)
    await change({ passwordProtection: { deploymentType: 'all', password: 'correct horse' } })
    const control = await openInstance(world)
    const site = await openSitesServers(t, {}, () => true).start(control.origin)
    await eventually(async () => (await site.visit(ONE)).status === 401)
    const ask = (path: string, method = 'OPTIONS', headers = {}) => site.visit(ONE, path, headers, method)
    assert.equal((await ask('/api/x')).status, 401)
    await change({ optionsAllowlist: { paths: [{ value: '/api' }, { value: '/ü' }] } })
    await eventually(async () => (await ask('/api/x')).status === 200)

    const { status, headers, text } = await ask('/api/x?a=1', 'OPTIONS', { authorization: 'Bearer mine' })
    assert.deepEqual([status, text, headers['content-length']], [200, '', '0'])
    assert.equal(headers['access-control-allow-origin'], '*')
    assert.match(headers['cache-control']!, /private/)
    assert.deepEqual([arrived.at(-1)!.url, arrived.at(-1)!.method], ['/x?a=1', 'OPTIONS'])
    assert.equal(arrived.at(-1)!.headers.authorization, undefined, 'it may be the password of the site')
    const file = await ask('/api')
    assert.deepEqual([file.status, file.text], [404, ''], 'the page of 404 is of the site')
    assert.equal((await ask('/%C3%BC')).status, 404, 'a path is compared as it is written in a request')
    for (const [path, method] of [
      ['/', 'OPTIONS'],
      ['/index.html', 'OPTIONS'],
      ['/API/x', 'OPTIONS'],
      ['/api/../index.html', 'OPTIONS'],
      ['/api/%2e%2E/index.html', 'OPTIONS'],
      ['/api/x', 'GET'],
      ['/api/x', 'HEAD'],
      ['/api/x', 'POST'],
    ] as const)
      assert.equal((await ask(path, method)).status, 401, `${method} ${path}`)
    const before = arrived.length
    for (const body of ['Content-Length: 1\r\n\r\nx', 'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n']) {
      const request = `OPTIONS /api/x HTTP/1.1\r\nHost: ${ONE}\r\nConnection: close\r\n${body}`
      assert.match(await sendRaw(t, site.origin, request), /^HTTP\/1\.1 401 /, 'a preflight has no body')
    }
    assert.equal(arrived.length, before)

    await change({ optionsAllowlist: null })
    await eventually(async () => (await ask('/api/x')).status === 401)
    await site.stop()
    await control.close()
  },
  SETTINGS,
)
