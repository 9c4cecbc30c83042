/** A second Berth on a machine, whose port for proxies is in use, says what is off, and takes nothing that it would not build. docs/runner.md: Local use. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { callerAt, credentialsOf, newHome, startService } from '../support/process.ts'

const DEFAULT_PORT = 3001

test('where the default port for proxies is in use, builds are off and a source is refused', async (t) => {
  const other = createServer().listen(DEFAULT_PORT, '127.0.0.1')
  // Whatever else has the port serves the test as well.
  await Promise.race([once(other, 'listening'), once(other, 'error')]).catch(() => {})
  t.after(() => other.close())
  const home = await newHome(t, 'sqlite')
  const { BERTH_EDGE_PORT: _, ...env } = home.env
  const running = await startService(t, { ...home, env: { ...env, BERTH_BUILDS: 'trusted' } })
  assert.match(running.out(), /No proxy can ask/)
  assert.match(running.out(), /Builds are off: .*BERTH_EDGE_PORT/)
  const call = callerAt(running, credentialsOf(home).token)
  const refused = await call('POST', '/v13/deployments', { name: 'web', files: [{ file: 'index.html', data: 'a' }] })
  assert.equal(refused.status, 400)
  assert.equal(await running.kill('SIGTERM'), 0)
})
