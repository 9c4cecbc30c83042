/** What `berth doctor` says of builds, and the one that it makes. docs/runner.md: Try a build. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../../../src/config.ts'
import { LEASE_PATH, type Lease, leasePath } from '../../../src/delivery/protocol/runner-protocol.ts'
import { recordRunner } from '../../../src/delivery/runners/registry.ts'
import { CHECKS } from '../../../src/operations/doctor/checks.ts'
import { BUILDS, createSource, entriesOf, OUTPUT, RUNNER, RUNNER_TOKEN } from '../../delivery/builds/building.ts'
import { berth } from '../../support/clients/command.ts'
import { credentialsOf, newHome, processOnBothEngines, startService } from '../../support/process.ts'
import { seedProject } from '../../support/projects.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { openWorld } from '../../support/world.ts'

const SEPARATE = { BERTH_BUILDS: 'sandboxed', BERTH_RUNNER_TOKEN: RUNNER_TOKEN, BERTH_EDGE_PORT: '3001' }

async function checkBuilds(env: Record<string, string>): Promise<string> {
  const findings = await CHECKS.builds!(readConfig(env))
  return findings.map(({ is, found, advice = '' }) => `${is} ${found} ${advice}`).join('\n')
}

test('settings that prevent builds or runners are reported', async (t) => {
  const { env } = await newHome(t, 'sqlite')
  assert.match(await checkBuilds(env), /^well off by BERTH_BUILDS.*--prebuilt works/)
  const trusted = await checkBuilds({ ...env, BERTH_BUILDS: 'trusted' })
  assert.match(trusted, /^well berth serve starts a runner/)
  const server = { ...env, ...SEPARATE, HOST: '0.0.0.0' }
  const { BERTH_RUNNER_TOKEN: _, ...tokenless } = server
  assert.match(await checkBuilds(tokenless), /^wrong BERTH_RUNNER_TOKEN is not set, so runners are refused/)
  assert.match(
    await checkBuilds({ ...server, BERTH_EDGE_PORT: 'off' }),
    /^wrong BERTH_EDGE_PORT is off, and runners ask/,
  )
  const { BERTH_BUILDS: __, ...unset } = server
  assert.match(await checkBuilds(unset), /^well off: BERTH_BUILDS is not set/)
})

processOnBothEngines('a missing runner is a warning, and an error once a build waits for one', async (t, engine) => {
  const home = await newHome(t, engine)
  const env = { ...home.env, ...SEPARATE }
  assert.match(await checkBuilds(env), /^worry no runner asked for one within two minutes; 0 builds wait/)
  const { BERTH_DATA, DATABASE_URL } = home.env
  const world = await openWorld(engine, { ...BUILDS, BERTH_DATA: BERTH_DATA!, DATABASE_URL: DATABASE_URL! })
  await seedProject(world, 'web')
  await createSource(world)
  assert.match(await checkBuilds(env), /^wrong no runner asked for one .*; 1 build waits.* start berth runner/)
  await recordRunner(world.deps, { runner: RUNNER, hostname: 'build-1', version: '1' })
  assert.match(await checkBuilds(env), /^well 1 runner asked for one within two minutes; 1 build waits/)
  const { BERTH_BUILDS: _, ...unset } = env
  assert.match(
    await checkBuilds(unset),
    /^wrong BERTH_BUILDS is not set, so sources are refused, although 1 runner asked/,
  )
  await world.operator('PATCH', `/operator/v1/runners/${RUNNER}`, { draining: true })
  assert.match(await checkBuilds(env), /^wrong every runner is drained \(1\); 1 build waits berth runner resume/)
  await world.close()
})

test('--build has a project of three lines built, and removes it', async (t) => {
  const home = await newHome(t, 'sqlite')
  const edge = await freePort()
  const settings = { ...SEPARATE, BERTH_EDGE_PORT: String(edge), BERTH_PLATFORM_SUFFIX: BUILDS.BERTH_PLATFORM_SUFFIX }
  const { address } = await startService(t, home, settings)
  const env = { ...home.env, ...settings, PORT: new URL(address).port }
  for (const [outcome, expected] of [
    ['succeeded', /^well a project of three lines was built in \d+ s; no sites server is set up/],
    ['failed', /^wrong it failed with RUNNER_FAILED: the disk is full/],
  ] as const) {
    const built = runOne(`http://127.0.0.1:${edge}`, outcome)
    const { out } = await berth(['doctor', '--build', '--json'], env)
    assert.match(await built, /package\.json/)
    const last = JSON.parse(out).findings.at(-1)
    assert.deepEqual([last.about, expected.test(`${last.is} ${last.found}`)], ['a build', true], last.found)
    const headers = { authorization: `Bearer ${credentialsOf(home).token}` }
    assert.deepEqual(((await (await fetch(`${address}/v9/projects`, { headers })).json()) as Projects).projects, [])
  }
})

type Projects = { projects: unknown[] }

/** Runs a build as a runner would, with a given outcome. Returns the list of its source. */
async function runOne(origin: string, outcome: 'succeeded' | 'failed'): Promise<string> {
  const ask = (path: string, method: string, token: string, body?: string) =>
    fetch(origin + path, { method, headers: { authorization: `Bearer ${token}` }, ...(body !== undefined && { body }) })
  const hello = JSON.stringify({ runner: RUNNER, hostname: 'build-1', version: '1' })
  let answer = await ask(LEASE_PATH, 'POST', RUNNER_TOKEN, hello)
  while (answer.status === 204) answer = await ask(LEASE_PATH, 'POST', RUNNER_TOKEN, hello)
  const lease = (await answer.json()) as Lease
  const source = await (await ask(leasePath(lease, 'source'), 'GET', lease.token)).text()
  const entries = entriesOf(OUTPUT)
  // Longer than doctor waits between two looks, so it sees that the build runs.
  await sleep(1500)
  for (const { path, digest } of entries)
    await ask(leasePath(lease, `output/${digest}`), 'PUT', lease.token, OUTPUT[path]!)
  const report =
    outcome === 'succeeded'
      ? { outcome, builder: 'vercel@64.0.2', entries }
      : { outcome, code: 'RUNNER_FAILED', message: 'the disk is full' }
  await ask(leasePath(lease, 'finish'), 'POST', lease.token, JSON.stringify(report))
  return source
}
