/** Deployments with files, as sites servers and proxies receive them. docs/deploying-sites.md: Data of the sites server; docs/edge.md: Sites. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BadSetting, readConfig } from '../../../src/config.ts'
import { openKnownHosts } from '../../../src/sites/snapshot/known-hosts.ts'
import { eventually } from '../../support/eventually.ts'
import { addOutput, showOutput } from '../../support/stores/outputs.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openEdgeOf } from '../../support/worlds/edge-world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

const ONE = 'one.apps.example.net'
const OWN = 'd1.host.test'
const CHECK = '/edge/v1/check'
const NGINX = `${CHECK}?flavor=nginx`
const UPSTREAM = 'http://10.0.0.7:3000'
const SITES = 'http://10.0.0.9:3002'
const EDGE_TOKEN = 'token-of-the-proxies-1'
const BEARER = { authorization: `Bearer ${SITES_TOKEN}` }

onBothEngines(
  'setting, replacing and removing the output of a deployment are changes, with its names and its own url',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const live = await web.deploy()
    const { userId } = world.credentials
    const [first, second] = [await addOutput(world, userId, '{"a":1}'), await addOutput(world, userId, '{"b":22}')]
    const { snapshot, host, settle, close } = await openInstance(world)
    const outputOf = (lines: readonly object[]) =>
      lines.flatMap((line) => ('upstream' in line && 'output' in line ? [line.output] : []))
    const all = (await snapshot())!
    assert.deepEqual(outputOf(all.lines), [null])
    let { version } = all
    for (const output of [first, second, null]) {
      await showOutput(world, live, output)
      await settle()
      const changed = (await snapshot(version))!
      assert.deepEqual([changed.all, outputOf(changed.lines)], [false, [output?.facts ?? null]])
      assert.deepEqual((await host(OWN))!.deployment.output, output?.facts ?? null)
      assert.deepEqual(outputOf((await snapshot())!.lines), [output?.facts ?? null])
      version = changed.version
    }
    assert.deepEqual([first.facts.size, second.facts.size], [7, 8])
    assert.notEqual(first.facts.digest, second.facts.digest)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'a sites server follows a promote and a rollback from one output to another, and the removal of a deployment',
  async (world, t) => {
    const web = await seedWebProject(world, ['one'])
    const { userId } = world.credentials
    const [older, newer] = [await web.deploy(), await web.deploy({ upstream: UPSTREAM })]
    const [first, second] = [await addOutput(world, userId, '{"a":1}'), await addOutput(world, userId, '{"b":22}')]
    await showOutput(world, older, first)
    await showOutput(world, newer, second)
    const control = await openInstance(world)
    const folder = mkdtempSync(join(tmpdir(), 'berth-sites-'))
    const known = await openKnownHosts({ origin: control.origin, token: SITES_TOKEN, folder, log: world.deps.log })
    t.after(async () => {
      await known.stop()
      await control.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const shown = async (host: string) => {
      const found = await known.find(host, '203.0.113.7')
      return found !== 'unavailable' && found.serving.kind === 'live' ? found.serving.output?.digest : undefined
    }
    await eventually(async () => (await shown(ONE)) === second.facts.digest)
    assert.deepEqual([await shown(OWN), await shown('d2.host.test')], [first.facts.digest, second.facts.digest])
    assert.equal((await web.rollback(older)).status, 201)
    await web.sweep()
    await eventually(async () => (await shown(ONE)) === first.facts.digest)
    assert.equal((await web.promote(newer)).status, 201)
    await web.sweep()
    await eventually(async () => (await shown(ONE)) === second.facts.digest)
    assert.equal((await world.call('DELETE', `/v13/deployments/${older}`)).status, 200)
    await eventually(async () => (await shown(OWN)) === undefined)
    assert.equal(await shown(ONE), second.facts.digest)
  },
  SETTINGS,
)

onBothEngines(
  'proxies send visitors of a deployment with an output to the sites server, and those of one with an upstream there',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    await showOutput(world, await web.deploy(), await addOutput(world, world.credentials.userId, '{}'))
    const both = await web.deploy({ target: 'preview', upstream: UPSTREAM })
    await showOutput(world, both, await addOutput(world, world.credentials.userId, '{"both":1}'))
    await web.deploy({ target: 'preview' })
    const { ask } = await openEdgeOf(world)
    for (const host of [ONE, OWN]) {
      const answer = await ask(CHECK, { host })
      assert.equal(answer.status, 200, host)
      assert.deepEqual([answer.headers['x-edge-upstream'], answer.headers['x-edge-address']], [SITES, '10.0.0.9:3002'])
      for (const path of [NGINX, `${NGINX}&scope=host`]) {
        const nginx = await ask(path, { host })
        assert.deepEqual([nginx.status, nginx.headers['x-edge-upstream']], [200, SITES], path)
      }
    }
    assert.equal((await ask(CHECK, { host: 'd2.host.test' })).headers['x-edge-upstream'], UPSTREAM)
    const neither = await ask(CHECK, { host: 'd3.host.test' })
    assert.deepEqual([neither.status, neither.headers['x-edge-error']], [404, 'DEPLOYMENT_NOT_FOUND'])
    const { hosts } = JSON.parse((await ask('/edge/v1/snapshot')).text) as { hosts: Record<string, unknown>[] }
    const upstreams = Object.fromEntries(hosts.map(({ host, upstream }) => [host, upstream]))
    assert.deepEqual(upstreams, { [ONE]: SITES, [OWN]: SITES, 'd2.host.test': UPSTREAM, 'd3.host.test': null })
    assert.ok(hosts.every((host) => !('output' in host)))
    const map = (await ask('/edge/v1/snapshot?format=haproxy&map=hosts')).text.trim().split('\n')
    assert.deepEqual(map, [`${OWN} http/10.0.0.9:3002`, 'd2.host.test http/10.0.0.7:3000', `${ONE} http/10.0.0.9:3002`])
  },
  { ...SETTINGS, BERTH_SITES_ADDRESS: SITES },
)

onBothEngines(
  'without a sites server address, an output is not found for proxies under any token, and live for sites servers',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const live = await web.deploy()
    await showOutput(world, live, await addOutput(world, world.credentials.userId, '{}'))
    await web.deploy({ target: 'preview' })
    const { ask } = await openEdgeOf(world)
    const nowhere = async (path: string, headers: Record<string, string>) => {
      const answer = await ask(path, { ...headers, 'x-forwarded-host': ONE })
      return [answer.headers['x-edge-status'] ?? String(answer.status), answer.headers['x-edge-error']]
    }
    for (const path of [CHECK, NGINX, `${NGINX}&scope=host`, '/edge/v1/page'])
      assert.deepEqual(await nowhere(path, {}), ['404', 'DEPLOYMENT_NOT_FOUND'], path)
    assert.deepEqual(await nowhere(CHECK, { authorization: `Bearer ${SITES_TOKEN}x` }), ['404', 'DEPLOYMENT_NOT_FOUND'])
    assert.doesNotMatch((await ask('/edge/v1/snapshot?format=haproxy&map=hosts')).text, /one\.apps/)
    for (const [path, headers] of [
      [CHECK, BEARER],
      [`${CHECK}?token=${SITES_TOKEN}`, {}],
    ] as const) {
      const answer = await ask(path, { ...headers, 'x-forwarded-host': ONE })
      assert.deepEqual([answer.status, answer.headers['x-edge-deployment']], [200, live], path)
      assert.equal(answer.headers['x-edge-upstream'], undefined)
    }
    const neither = await ask(CHECK, { ...BEARER, 'x-forwarded-host': 'd2.host.test' })
    assert.deepEqual([neither.status, neither.headers['x-edge-error']], [404, 'DEPLOYMENT_NOT_FOUND'])
  },
  SETTINGS,
)

onBothEngines(
  'a sites server can call only the check of visitors, which applies pauses and passwords as for proxies',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    await showOutput(world, await web.deploy(), await addOutput(world, world.credentials.userId, '{}'))
    const passwordProtection = { deploymentType: 'all', password: 'correct horse' }
    assert.equal((await world.call('PATCH', '/v9/projects/web', { passwordProtection })).status, 200)
    const { ask, settle } = await openEdgeOf(world)
    const visit = async (path: string, authorization: string) =>
      (await ask(path, { authorization, 'x-forwarded-host': ONE })).status
    const basic = (password: string) => `Basic ${Buffer.from(`x:${password}`).toString('base64')}`
    assert.equal(await visit(CHECK, BEARER.authorization), 401)
    const withToken = `${CHECK}?token=${SITES_TOKEN}`
    assert.deepEqual(
      [await visit(withToken, basic('wrong')), await visit(withToken, basic('correct horse'))],
      [401, 200],
    )
    assert.equal(await visit(`${CHECK}?token=${EDGE_TOKEN}`, basic('correct horse')), 404, 'a proxy has nowhere to go')
    for (const path of ['ask?domain=a.com', 'page', 'snapshot', 'ready', 'checked'])
      assert.equal((await ask(`/edge/v1/${path}`, BEARER)).status, 401, path)
    assert.equal((await ask(CHECK, { authorization: 'Bearer wrong', 'x-forwarded-host': ONE })).status, 401)
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    await settle()
    assert.equal(await visit(withToken, basic('correct horse')), 503)
  },
  { ...SETTINGS, BERTH_EDGE_TOKEN: EDGE_TOKEN },
)

test('the token of sites servers, which opens the files of all accounts, is not that of proxies', () => {
  const token = 'x'.repeat(20)
  const equal = { BERTH_EDGE_TOKEN: token, BERTH_SITES_TOKEN: token }
  assert.throws(
    () => readConfig(equal),
    (error) => error instanceof BadSetting && /^BERTH_SITES_TOKEN must differ/.test(error.message),
  )
  assert.equal(readConfig({ ...equal, BERTH_EDGE_TOKEN: 'y'.repeat(20) }).edge.sitesToken, token)
})
