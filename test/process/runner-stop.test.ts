/** How a runner stops: at a signal, at a second one, and with the service that started it. docs/runner.md: Stop. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { leaseOf, RUNNER_TOKEN, startProtocolServer } from '../runner/protocol-server.ts'
import { eventually } from '../support/eventually.ts'
import { newHome } from '../support/process.ts'
import { root } from '../support/root.ts'

const LEASE = '/runner/v1/builds/lease'
const SOURCE = '/runner/v1/builds/dpl_1/1/source'

/** A runner of one build at a time, with two that wait. What it asks of `held` is answered after `release`. */
async function openRunner(t: TestContext, held: string) {
  const server = await startProtocolServer(t)
  server.waiting.push({ lease: leaseOf(), source: {} }, { lease: leaseOf({ deploymentId: 'dpl_2' }), source: {} })
  const released = Promise.withResolvers<number | undefined>()
  server.fault = (_, path) => (path === held ? released.promise : undefined)
  const { folder, env } = await newHome(t, 'sqlite')
  const settings = { BERTH_BUILDS: 'trusted', BERTH_RUNNER_TOKEN: RUNNER_TOKEN, BERTH_RUNNER_URL: server.url }
  const runner = spawn(process.execPath, [join(root, 'bin', 'berth.mjs'), 'runner'], {
    // There is no npm, so it installs no tools.
    env: { ...env, ...settings, BERTH_RUNNER_BUILDS: '1', BERTH_RUNNER_CACHE: folder, PATH: folder },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  t.after(() => runner.kill('SIGKILL'))
  let out = ''
  runner.stdout!.on('data', (text) => {
    out += text
  })
  const says = (text: string) =>
    eventually(
      () => out.includes(text),
      () => out,
    )
  const ends = async () => {
    await eventually(
      () => runner.exitCode !== null,
      () => out,
    )
    return runner.exitCode
  }
  await eventually(
    () => server.requests.some((one) => one.endsWith(held)),
    () => out,
  )
  return { server, runner, release: released.resolve, says, ends }
}

test('a signal lets the running build end, and no other begins', async (t) => {
  const { server, runner, release, says, ends } = await openRunner(t, SOURCE)
  runner.kill('SIGTERM')
  await says('waiting for running builds; a second signal ends them')
  release(404)
  assert.equal(await ends(), 0)
  assert.deepEqual([server.reports.map(({ outcome }) => outcome), server.waiting.length], [['failed'], 1])
})

test('a second signal ends the running build, without a report', async (t) => {
  const { server, runner, says, ends } = await openRunner(t, SOURCE)
  runner.kill('SIGTERM')
  await says('waiting for running builds')
  runner.kill('SIGINT')
  await says('"outcome":"lost"')
  assert.equal(await ends(), 0)
  assert.deepEqual([server.reports, server.waiting.length], [[], 1])
})

test('a runner whose service has ended takes no more builds', async (t) => {
  const { server, runner, release, says, ends } = await openRunner(t, LEASE)
  runner.disconnect()
  await says('ending running builds')
  release(204)
  assert.equal(await ends(), 0)
  assert.deepEqual(server.requests, [`POST ${LEASE}`])
})
