/** Runs builds of a test against a protocol server. docs/runner.md: Steps. */
import type { TestContext } from 'node:test'
import type { Lease } from '../../src/delivery/protocol/runner-protocol.ts'
import type { BuildTools } from '../../src/runner/build/build.ts'
import { runBuild } from '../../src/runner/build/run-build.ts'
import { openControlPlane } from '../../src/runner/lease/control-plane.ts'
import { leaseOf, RUNNER_TOKEN, type Source, startProtocolServer } from './protocol-server.ts'

const REQUEST = { runner: 'a'.repeat(16), hostname: 'test', version: '1.0.0' }
const SOURCE: Source = { 'index.html': '<h1>hello</h1>' }

/** Opens a server, and a function that leases a build from it and runs that. */
export async function openBuilds(t: TestContext) {
  const server = await startProtocolServer(t)
  const controlPlane = openControlPlane(server.url, RUNNER_TOKEN)
  t.after(() => controlPlane.close())
  const run = async (tools: BuildTools, changes: Partial<Lease> = {}, source = SOURCE) => {
    const lease = leaseOf(changes)
    // The lines of a build begin at 0.
    server.lines = []
    server.waiting.push({ lease, source })
    await controlPlane.lease(REQUEST, t.signal)
    return runBuild({ lease, leasedAt: performance.now(), channel: controlPlane.below(lease) }, tools, t.signal)
  }
  return { server, run }
}
