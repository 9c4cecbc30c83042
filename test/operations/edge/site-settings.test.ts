/** The project settings that sites servers receive. docs/deploying-sites.md: Project settings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHostFacts, type SnapshotLine } from '../../../src/delivery/protocol/snapshot.ts'
import { letsOptionsPass, siteSettingsOf } from '../../../src/platform/verdict/site-settings.ts'
import { READERS } from '../../../src/readers.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'

function settingsOf(lines: readonly SnapshotLine[]) {
  return lines.flatMap((line) => (line.kind === 'project' ? [line.settings] : []))
}

onBothEngines(
  'sites servers receive a project with the settings that they apply, each change of one, and none where all are off',
  async (world) => {
    const web = await seedWebProject(world)
    await web.deploy()
    const { snapshot, host, settle, close } = await openInstance(world)
    const all = (await snapshot())!
    assert.deepEqual(settingsOf(all.lines), [undefined])
    let { version } = all
    for (const [said, told] of [
      [{ directoryListing: true }, { directoryListing: true }],
      [{ protectedSourcemaps: true }, { directoryListing: true, protectedSourcemaps: true }],
      [
        { directoryListing: false, optionsAllowlist: { paths: [{ value: '/a' }] } },
        { protectedSourcemaps: true, optionsPaths: ['/a'] },
      ],
      [
        { protectedSourcemaps: false, optionsAllowlist: null, resourceConfig: { functionDefaultTimeout: 20 } },
        { functionDefaults: { maxDuration: 20 } },
      ],
      [{ resourceConfig: { functionDefaultMemoryType: 'performance' } }, { functionDefaults: { memory: 4096 } }],
      [{ resourceConfig: { functionDefaultRegions: ['fra1'] } }, undefined],
    ] as const) {
      await world.call('PATCH', '/v9/projects/web', said)
      await settle()
      const changed = (await snapshot(version))!
      assert.deepEqual([changed.all, settingsOf(changed.lines)], [false, [told]])
      assert.deepEqual((await host('d1.host.test'))!.project.settings, told)
      version = changed.version
    }
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'a deployment of any target is looked up by its id with the token of sites servers, with its age and its project',
  async (world) => {
    const web = await seedWebProject(world)
    const before = world.deps.clock.now()
    const [live, preview] = [await web.deploy(), await web.deploy({ target: 'preview' })]
    const { ask, close } = await openInstance(world)
    for (const id of [live, preview]) {
      const { deployment, project } = readHostFacts((await ask(`/sites/v1/deployments/${id}`)).text)
      assert.deepEqual([deployment.id, deployment.production, project.id], [id, id === live, web.id])
      assert.ok(deployment.createdAt! >= before && deployment.createdAt! <= world.deps.clock.now())
    }
    for (const id of [`dpl_${'x'.repeat(28)}`, '', 'd1.host.test', '..%2f', '__proto__', `${live}/x`])
      assert.equal((await ask(`/sites/v1/deployments/${id}`)).status, 404, id)
    assert.equal((await ask(`/sites/v1/deployments/${live}`, { authorization: 'Bearer wrong' })).status, 401)
    assert.equal((await ask(`/sites/v1/deployments/${live}`, undefined, 'POST')).status, 405)
    await close()
  },
  SETTINGS,
)

test('the largest settings that a project can have make no line that is too long', () => {
  const all = siteSettingsOf(
    JSON.stringify({
      ...{ directoryListing: true, protectedSourcemaps: true },
      optionsAllowlist: { paths: Array(5).fill({ value: `/${'ü'.repeat(42)}abc` }) },
      ...{ skewProtectionMaxAge: 2 ** 53 - 1, skewProtectionBoundaryAt: 2 ** 53 - 1 },
      skewProtectionAllowedDomains: Array(50).fill(`*.${'a'.repeat(251)}`),
      resourceConfig: { functionDefaultTimeout: 2 ** 53 - 1, functionDefaultMemoryType: 'performance_xl' },
    }),
  )!
  assert.deepEqual([all.optionsPaths!.length, all.skewProtection!.allowedDomains!.length], [5, 50])
  const id = `dpl_${'x'.repeat(28)}`
  const protection = Object.fromEntries(
    ['password', 'signIn', 'trustedIps'].map((part) => [part, 'prod_deployment_urls_and_all_previews']),
  )
  const output = { accountId: id, digest: 'f'.repeat(64), size: 2 ** 53 - 1 }
  const deployment = { kind: 'deployment', id, projectId: id, ready: true, production: true, upstream: null, output }
  const project = { kind: 'project', id, paused: false, liveDeploymentId: id, protection, settings: all }
  const facts = { protocol: 1, version: 'v'.repeat(100), deployment, project }
  assert.ok(JSON.stringify(facts).length < READERS['line of the control plane'].bytes)
})

test('paths are sent as a request writes them, and a path too long for a line is omitted', () => {
  const pathsOf = (...values: string[]) =>
    siteSettingsOf(JSON.stringify({ optionsAllowlist: { paths: values.map((value) => ({ value })) } }))?.optionsPaths
  assert.deepEqual(pathsOf('/a b', '/ü', '/a%20b', '/"\\<', '/\ud800'), [
    ...['/a%20b', '/%C3%BC', '/a%20b', '/%22%5C%3C', '/%EF%BF%BD'],
  ])
  assert.equal(pathsOf(`/${'a'.repeat(256)}`), undefined)
  assert.equal(pathsOf(`/${'ü'.repeat(43)}`), undefined)
  assert.deepEqual(
    pathsOf(`/${'a'.repeat(255)}`)?.map((path) => path.length),
    [256],
  )
  assert.equal(siteSettingsOf('{}'), undefined)
  assert.equal(siteSettingsOf('{"optionsAllowlist":null,"directoryListing":false}'), undefined)
})

test('a path passes where it begins with one of the list and leads nowhere above it', () => {
  const settings = { optionsPaths: ['/api', '/b/'] }
  const passes = (path: string) => letsOptionsPass(settings, path)
  assert.deepEqual(
    ['/api', '/api/v1', '/apis', '/b/c', '/api/.well-known', '/api/..a'].map(passes),
    Array(6).fill(true),
  )
  assert.deepEqual(
    ['/', '/b', '/c/api', '/API', '/api/..', '/api/./x', '/api/%2E./x'].map(passes),
    Array(7).fill(false),
  )
  assert.equal(letsOptionsPass(undefined, '/api'), false)
})
