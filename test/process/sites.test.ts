/** The sites server that a service on a laptop starts. docs/deploying-sites.md: Local use. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { withSitesProcess } from '../../src/processes/sites-process.ts'
import { eventually } from '../support/eventually.ts'
import { newHome, type RunningService, startService } from '../support/process.ts'
import { freePort } from '../support/servers/free-port.ts'
import { callEdgeAt } from '../support/worlds/edge-world.ts'

const skip =
  existsSync('/proc/self/task/1') || existsSync(`/proc/self/task/${process.pid}/children`) ? false : 'needs /proc'
const WITH_SITES = { BERTH_SITES_PORT: '0' }

/** Where sites servers have listened, in their order. */
function origins({ out }: Pick<RunningService, 'out'>): string[] {
  return [...out().matchAll(/^berth sites listening on (\S+)$/gm)].map(([, origin]) => origin!)
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

/** Its process, and where it listens. */
async function sitesServerOf(running: RunningService, nth: number): Promise<{ pid: number; origin: string }> {
  await eventually(
    () => origins(running).length === nth,
    () => running.out() + running.err(),
  )
  const [pid] = childrenOf(running.child.pid!)
  return { pid: pid!, origin: origins(running)[nth - 1]! }
}

test('a laptop has a sites server, which is started again when it is killed, and ends with the service in order', {
  skip,
}, async (t) => {
  const running = await startService(t, await newHome(t, 'sqlite'), WITH_SITES)
  const first = await sitesServerOf(running, 1)
  const page = await callEdgeAt(first.origin, '/', { host: 'nobody.berth.localhost' })
  assert.deepEqual([page.status, page.headers['x-vercel-error']], [404, 'DOMAIN_NOT_FOUND'])
  const environment = readFileSync(`/proc/${first.pid}/environ`, 'utf8')
  assert.match(environment, /BERTH_SITES_TOKEN=\w{43}/)
  assert.doesNotMatch(environment, /DATABASE_URL/, 'it gets nothing that opens the store')
  process.kill(first.pid, 'SIGKILL')
  const second = await sitesServerOf(running, 2)
  assert.notEqual(second.pid, first.pid)
  assert.equal((await callEdgeAt(second.origin, '/', { host: 'nobody.berth.localhost' })).status, 404)
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.equal(isAlive(second.pid), false)
})

test('a service that is killed takes its sites server along, whose port the greeting has named', {
  skip,
}, async (t) => {
  const port = String(await freePort())
  const running = await startService(t, await newHome(t, 'sqlite'), { BERTH_SITES_PORT: port })
  assert.ok(running.out().includes(`\nSites are at http://*.berth.localhost:${port}\n`), running.out())
  const { pid } = await sitesServerOf(running, 1)
  running.child.kill('SIGKILL')
  await eventually(() => !isAlive(pid))
})

test('a service has a sites server on a laptop alone, and none where the operator turned it off or runs one', () => {
  const given = (settings: Record<string, string>) => withSitesProcess(readConfig(settings))
  assert.match(given({})!.edge.sitesToken!, /^\w{43}$/)
  assert.notEqual(given({})!.edge.sitesToken, given({})!.edge.sitesToken)
  for (const settings of [
    { BERTH_SITES_PORT: 'off' },
    { BERTH_EDGE_PORT: 'off' },
    { BERTH_SITES_TOKEN: 'a-token-of-the-operator' },
    { BERTH_PUBLIC_URL: 'https://berth.example.com' },
    { HOST: '0.0.0.0' },
    { BERTH_TLS_CERT: '/etc/cert.pem', BERTH_TLS_KEY: '/etc/key.pem' },
  ])
    assert.equal(given(settings), undefined, JSON.stringify(settings))
})
