/**
 * Static builds of another project: folders of `packages/static-build` of a clone of vercel/vercel (Apache-2.0), whose folder `packages`
 * BERTH_PACKAGE_FIXTURES names, are built by the newest CLI, deployed by it, and asked what their probes ask. They are not in this repository; without
 * the folder the test is skipped. docs/testing.md.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSitesServers } from '../sites/visitors/servers.ts'
import { eventually } from '../support/eventually.ts'
import { openWorld } from '../support/world.ts'
import { openInstance, SETTINGS } from '../support/worlds/sites-world.ts'
import { openCli } from './cli-world.ts'
import { linkFolder, prepareFolder } from './outside/folders.ts'
import { askProbes, type Probed } from './outside/probes.ts'
import { BUILT, FAILING_PROBES, NOT_BUILT } from './static-builds.ts'
import { buildFolder } from './static-folders.ts'

const packages = process.env.BERTH_PACKAGE_FIXTURES ?? ''
const fixtures = join(packages, 'static-build', 'test', 'fixtures')
const FEWEST_FOLDERS = 20
const LEAST_SHARE = 0.95
/** For one that hangs: a build takes up to some minutes, and they run one after another. */
const TIMEOUT_MS = 3 * 3_600_000
const ADDRESS = /https:\/\/(site-[a-z0-9]{9}\.apps\.example\.net)/

const skip = !existsSync(packages) && 'BERTH_PACKAGE_FIXTURES names no folder of packages'

test('static builds of another project are served as their probes expect', { skip, timeout: TIMEOUT_MS }, async (t) => {
  assert.deepEqual(readdirSync(fixtures).sort(), [...Object.keys(BUILT), ...Object.keys(NOT_BUILT)].sort())
  const deploy = await openDeploying(t)
  const probed: Probed[] = []
  const unbuilt: string[] = []
  for (const [folder, framework] of Object.entries(BUILT)) {
    const outcome = await deploy(folder, framework)
    if (typeof outcome === 'string') unbuilt.push(`${folder}: ${outcome}`)
    else probed.push(...outcome)
    t.diagnostic(typeof outcome === 'string' ? unbuilt.at(-1)! : `${folder}: ${outcome.length} probes`)
  }
  assert.deepEqual(unbuilt, [])
  const failed = probed.filter(({ fault }) => fault !== undefined)
  t.diagnostic(`${Object.keys(BUILT).length} folders, ${probed.length - failed.length} of ${probed.length} probes`)
  assert.deepEqual(failed.map(({ name }) => name).sort(), Object.keys(FAILING_PROBES).sort(), JSON.stringify(failed))
  assert.ok(Object.keys(BUILT).length >= FEWEST_FOLDERS)
  assert.ok(probed.length - failed.length >= LEAST_SHARE * probed.length)
})

/** What builds a folder, deploys it by the CLI and asks its probes. A sentence says why it could not. */
async function openDeploying(t: TestContext) {
  const world = await openWorld('sqlite', SETTINGS)
  t.after(() => world.close())
  const { api, cli, at } = await openCli(world, '64.0.2')
  const project = (await api('POST', '/v10/projects', { name: 'site' })).body
  const control = await openInstance(world)
  t.after(() => control.close())
  const site = await openSitesServers(t).start(control.origin)
  return async (folder: string, framework: string | null): Promise<Probed[] | string> => {
    const settings = { framework, nodeVersion: '24.x', createdAt: 0, ...NO_SETTINGS }
    const { probes } = prepareFolder(join(fixtures, folder), at(folder))
    linkFolder(at(folder), { projectId: project.id, orgId: world.credentials.teamId, settings })
    const failed = await buildFolder(at(folder), at('home'))
    if (failed !== undefined) return failed
    const said = await cli(['deploy', '--prebuilt', '--yes'], { folder })
    const host = ADDRESS.exec(said.out)?.[1]
    if (said.code !== 0 || host === undefined) return said.out + said.err
    await eventually(async () => (await site.visit(host)).headers['x-vercel-error'] !== 'DOMAIN_NOT_FOUND')
    return askProbes(folder, probes, {
      host,
      visit: (path, { method, headers }) => site.visit(host, path, headers, method),
      log: async () => assert.fail('no probe of these folders reads the log'),
    })
  }
}

/** As the CLI writes them for a project that has no settings of its own. */
const NO_SETTINGS = {
  devCommand: null,
  installCommand: null,
  buildCommand: null,
  outputDirectory: null,
  rootDirectory: null,
  directoryListing: false,
}
