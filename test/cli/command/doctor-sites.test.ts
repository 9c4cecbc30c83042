/** What `berth doctor` says of what visitors of sites need. docs/deploying-sites.md: Sites server. */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { CHECKS } from '../../../src/operations/doctor/checks.ts'
import { publish } from '../../sites/visitors/publish.ts'
import { eventually } from '../../support/eventually.ts'
import { newHome, processOnBothEngines, startService, startSites } from '../../support/process.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { openWorld } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

/** What a check finds: its kind and its sentence. */
async function check(about: keyof typeof CHECKS, env: Record<string, string>): Promise<[string, string][]> {
  return (await CHECKS[about]!(readConfig(env))).map(({ is, found }) => [is, found])
}

processOnBothEngines('the files that deployments name are looked for, and who shows them', async (t, engine) => {
  const home = await newHome(t, engine)
  const { env, folder } = home
  const files = join(folder, 'files')
  assert.deepEqual(await check('files', env), [['well', `${files} does not exist yet; the first start creates it`]])
  assert.deepEqual(await check('sites server', env), [])
  const { BERTH_DATA, DATABASE_URL } = env
  const world = await openWorld(engine, { ...SETTINGS, BERTH_DATA: BERTH_DATA!, DATABASE_URL: DATABASE_URL! })
  const web = await seedWebProject(world)
  mkdirSync(files, { recursive: true })
  assert.deepEqual(await check('files', env), [['well', `${files}, no deployment has files yet`]])
  await publish(world, await web.deploy(), {}, { 'static/index.html': 'here', 'static/new.html': 'new' })
  await world.close()
  const [[is, found] = []] = await check('files', env)
  assert.match(`${is} ${found}`, /^well .*files has the newest \d+$/)
  const [[sites, told] = []] = await check('sites server', env)
  assert.match(`${sites} ${told}`, /^worry deployments have files, and no sites server is set up/)
  // As where its disk is not mounted.
  renameSync(files, `${files}-away`)
  const [[away, why] = []] = await check('files', env)
  assert.match(`${away} ${why}`, /^wrong .*files is not there, and deployments have files/)
  const other = await check('files', { ...env, BERTH_FILES_TO: `${files}-away/arriving` })
  assert.match(other.join(), /^wrong,\d+ of the newest \d+ files are not in .*arriving/)
})

test('the doctor reports how builds are isolated, and why a sandbox does not start', {
  timeout: 300_000,
}, async (t) => {
  const { env } = await newHome(t, 'sqlite')
  const own = { ...env, BERTH_RUNNER_CACHE: join(env.BERTH_DATA!, 'runner') }
  assert.deepEqual(await check('sandbox', { ...own, BERTH_BUILDS: 'off' }), [])
  assert.match(
    (await check('sandbox', { ...own, BERTH_BUILDS: 'trusted' })).join(),
    /^worry,builds run as plain processes/,
  )
  // As root, whom no sandbox runs as; else by a directory that is a file.
  const wrong = process.getuid?.() === 0 ? { BERTH_SANDBOX_USER: 'root' } : { BERTH_RUNNER_CACHE: import.meta.filename }
  const sandboxed = { ...own, BERTH_BUILDS: 'sandboxed', ...wrong }
  assert.match((await check('sandbox', sandboxed)).join(), /^wrong,no sandbox starts on this machine: \S/)
  const separate = { ...sandboxed, BERTH_RUNNER_TOKEN: 'r'.repeat(40) }
  assert.match((await check('sandbox', separate)).join(), /^worry,no sandbox starts on this machine: \S/)
})

test('the doctor distinguishes a sites server, another program and a closed port where proxies are sent', async (t) => {
  const home = await newHome(t, 'sqlite')
  const port = await freePort()
  const token = { BERTH_SITES_TOKEN: SITES_TOKEN }
  assert.match((await check('sites server', { ...home.env, ...token })).join(), /^well,those with BERTH_SITES_TOKEN/)
  const nobody = { ...home.env, ...token, BERTH_SITES_ADDRESS: `http://127.0.0.1:${port}` }
  assert.match((await check('sites server', nobody)).join(), /^wrong,.*ECONNREFUSED/)
  await startService(t, home, { ...token, BERTH_EDGE_PORT: String(port) })
  const controlPlane = { BERTH_SITES_CONTROL_PLANE: `http://127.0.0.1:${port}` }
  const sites = await startSites(t, home, { ...token, ...controlPlane })
  const real = { ...home.env, ...token, BERTH_SITES_ADDRESS: sites.address }
  await eventually(async () => (await check('sites server', real)).join() === `well,one responds at ${sites.address}`)
  const address = await otherProgram(t)
  assert.match(
    (await check('sites server', { ...real, BERTH_SITES_ADDRESS: address })).join(),
    /^wrong,.* is not a sites/,
  )
  // On a laptop it runs on the same machine.
  const laptop = { ...home.env, BERTH_SITES_PORT: new URL(address).port, BERTH_EDGE_PORT: '1' }
  assert.match((await check('sites server', laptop)).join(), /^wrong,.* is not a sites server/)
  const free = { ...laptop, BERTH_SITES_PORT: String(await freePort()) }
  assert.match((await check('sites server', free)).join(), /^well,berth serve starts one at/)
})

async function otherProgram(t: TestContext): Promise<string> {
  const server = createServer((_, answer) => answer.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('the names of deployments are looked up where the platform has a suffix', async (t) => {
  const dns = await startDnsServer()
  t.after(() => dns.close())
  const names = (suffix: string) =>
    check('names of sites', { BERTH_PLATFORM_SUFFIX: suffix, BERTH_DNS_SERVERS: dns.address })
  assert.match((await names('apps.example.net')).join(), /^worry,berth-doctor\.apps\.example\.net does not resolve/)
  dns.zones.set('berth-doctor.apps.example.net', { a: ['127.0.0.1'] })
  assert.deepEqual(await names('apps.example.net'), [['well', '*.apps.example.net resolves']])
  assert.deepEqual(await names('berth.localhost'), [])
})

test('doctor says whether pictures are resized, and why not', async () => {
  const found = async (env: Record<string, string>) => (await check('pictures', env)).join()
  assert.match(await found({ BERTH_FUNCTIONS: 'sandboxed' }), /^well,resized, each in a sandbox/)
  assert.match(await found({ BERTH_FUNCTIONS: 'trusted' }), /^well,sent as they are: BERTH_FUNCTIONS is trusted/)
  assert.match(await found({ BERTH_FUNCTIONS: 'off' }), /^well,sent as they are: BERTH_FUNCTIONS is off/)
  assert.equal(await found({ BERTH_SITES_TOKEN: SITES_TOKEN }), '')
})
