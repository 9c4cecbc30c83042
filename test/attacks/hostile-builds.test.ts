/** What the API and visitors feel while four builds take of the machine what they get. docs/threats.md; docs/runner.md: Limits of a build. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RUNNER_TOKEN } from '../delivery/builds/building.ts'
import { createOf, askerAt as deployerAt, endOf, missingOf, siteOf, uploadAll } from '../faults/deploying.ts'
import { aroundSandboxes, TOOLS, whyNoSandbox } from '../faults/function-place.ts'
import { eventually } from '../support/eventually.ts'
import { callerAt, credentialsOf, launch, newHome, startService, startSites } from '../support/process.ts'
import { root } from '../support/root.ts'
import { SITES_TOKEN } from '../support/worlds/sites-world.ts'
import { FULL, sayFigure } from './form.ts'
import { boundOf, ROUNDS } from './noisy-neighbor/bound.ts'
import { type Measured, startMeter } from './noisy-neighbor/meter.ts'
import { mustDo, openTeam } from './noisy-neighbor/scene.ts'
import { openProcessorGroup } from './processor-group.ts'

const why = whyNoSandbox()
const BUILDS = 4
const LASTS_MS = FULL ? 15_000 : 5000
const ALONE_MS = 5000

/** Four processes compute, one fills memory up to its limit, again and again, and one writes without end. */
const SCRIPT = `import { fork } from 'node:child_process'
const [, , kind] = process.argv
if (kind === undefined) {
  for (const one of ['spin', 'spin', 'spin', 'spin', 'fill', 'write']) fork(import.meta.filename, [one], { stdio: 'inherit' })
  console.log('all have begun')
} else if (kind === 'spin') for (;;);
else if (kind === 'fill') for (;;) { const kept = []; for (let at = 0; at < 64; at++) kept.push(Buffer.alloc(1 << 20, at)) }
else setInterval(() => process.stdout.write('x'.repeat(1000) + '\\n'), 1)
`

const HOSTILE = [
  { file: 'package.json', data: '{"name":"page","private":true,"scripts":{"build":"node build.mjs"}}' },
  { file: 'build.mjs', data: SCRIPT },
]

type Felt = { api: Measured; visitors: Measured }

/** Measures both for a while. */
async function measure(api: Parameters<typeof startMeter>[0], site: Parameters<typeof startMeter>[0], ms: number) {
  const stops = [startMeter(api), startMeter(site)] as const
  await sleep(ms)
  const [ofApi, visitors] = await Promise.all(stops.map((stop) => stop()))
  return { api: ofApi!, visitors: visitors! } satisfies Felt
}

async function open(t: TestContext, group: string | undefined) {
  const home = await newHome(t, 'sqlite')
  const folder = mkdtempSync(join(tmpdir(), 'berth-hostile-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  mkdirSync(TOOLS, { recursive: true })
  symlinkSync(TOOLS, join(folder, 'tools'))
  const service = await startService(t, home, {
    ...{ BERTH_EDGE_PORT: '0', BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_RUNNER_TOKEN: RUNNER_TOKEN },
    ...{ BERTH_BUILDS: 'sandboxed', BERTH_BUILDS_PER_ACCOUNT: String(BUILDS) },
  })
  const edge = /Proxies ask (\S+)/.exec(service.out())![1]!
  const sites = await startSites(
    t,
    { folder: home.folder, env: { BERTH_DATA: join(folder, 'sites') } },
    { BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_SITES_CONTROL_PLANE: edge, BERTH_FUNCTIONS: 'off' },
  )
  const words = [...aroundSandboxes('sandboxed'), process.execPath, join(root, 'bin', 'berth.mjs'), 'runner']
  const own = { BERTH_RUNNER_TOKEN: RUNNER_TOKEN, BERTH_BUILDS: 'sandboxed', BERTH_RUNNER_BUILDS: String(BUILDS) }
  const runner = launch(t, home, { ...own, BERTH_RUNNER_URL: edge, BERTH_RUNNER_CACHE: folder }, words)
  // What it starts from then on is in the group.
  if (group !== undefined) writeFileSync(join(group, 'cgroup.procs'), String(runner.child.pid), { flag: 'r+' })
  await eventually(() => runner.out().includes('berth runner builds for'))
  return { home, service, sites, runner }
}

/** Deploys a static site and gives its host. */
async function deploySite(address: string, token: string): Promise<string> {
  const contents = siteOf([Buffer.from('neighbor')])
  const ask = deployerAt(address, token)
  const create = createOf('site', contents)
  await uploadAll(ask, contents, missingOf(await create(ask))!)
  const { deployment, end } = endOf(await create(ask), contents)
  assert.ok(deployment !== undefined, end)
  return new URL(`http://${deployment.url}`).hostname
}

async function compare(
  t: TestContext,
  name: string,
  group: string | undefined,
): Promise<{ alone: Felt; beside: Felt }> {
  const { home, service, sites, runner } = await open(t, group)
  const neighbor = await openTeam(service, home, 'neighbor')
  await mustDo(neighbor.call, 'POST', '/v10/projects', { name: 'neighbor' })
  const { token } = credentialsOf(home)
  const attacker = await openTeam(service, home, 'attacker')
  await mustDo(callerAt(service, token), 'POST', '/v10/projects', { name: 'site' })
  const host = await deploySite(service.address, token)
  const settings = { name: 'hostile', installCommand: 'true', outputDirectory: 'public' }
  await mustDo(attacker.call, 'POST', '/v10/projects', settings)
  const api = { address: service.address, token: neighbor.token, teamId: neighbor.teamId }
  const visitors = { address: sites.address, host, paths: ['/0.bin'] }
  await measure(api, visitors, 1000)
  const alone = await measure(api, visitors, ALONE_MS)
  const ids = await Promise.all(
    Array.from({ length: BUILDS }, async () => {
      const body = { name: 'hostile', project: 'hostile', files: HOSTILE }
      return ((await mustDo(attacker.call, 'POST', '/v13/deployments?forceNew=1', body)) as { id: string }).id
    }),
  )
  const hasBegun = async (id: string) => {
    const { body } = await attacker.call('GET', `/v3/deployments/${id}/events?limit=100&builds=1`)
    return JSON.stringify(body).includes('all have begun')
  }
  await eventually(async () => (await Promise.all(ids.map(hasBegun))).every(Boolean))
  const beside = await measure(api, visitors, LASTS_MS)
  const show = ({ p50, p99, longest }: Measured) => [p50, p99, longest].map((ms) => ms.toFixed(1)).join(', ')
  sayFigure(
    `four hostile builds, ${name}: p50, p99, longest of the API ${show(beside.api)} ms (alone ${show(alone.api)}), of visitors ${show(beside.visitors)} ms (alone ${show(alone.visitors)})`,
  )
  for (const id of ids) await attacker.call('PATCH', `/v12/deployments/${id}/cancel`, {})
  await runner.kill('SIGTERM')
  return { alone, beside }
}

test('the API and visitors hardly feel four hostile builds in a processor group', {
  skip: why,
  timeout: 900_000,
}, async (t) => {
  const group = openProcessorGroup(t)
  if (group === undefined) return t.skip('there are no processor groups for root')
  const late: string[] = []
  while (late.length < ROUNDS) {
    const { alone, beside } = await compare(t, 'in a processor group', group)
    for (const side of ['api', 'visitors'] as const) {
      const bound = boundOf(alone[side])
      if (beside[side].p99 >= bound) late.push(`${side}: p99 ${beside[side].p99} ms; the bound is ${bound} ms`)
      assert.equal(beside[side].failed, 0, side)
    }
    if (late.length === 0) return
  }
  assert.fail(late.join('\n'))
})

test('what the API and visitors feel of four hostile builds without a processor group is printed', {
  skip: why,
  timeout: 900_000,
}, async (t) => {
  await compare(t, 'without a processor group', undefined)
})
