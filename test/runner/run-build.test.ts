/** A build ends in exactly one report, however it fails, and nothing of it stays. docs/runner.md: Steps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Finish, Lease } from '../../src/delivery/protocol/runner-protocol.ts'
import type { BuildTools } from '../../src/runner/build/build.ts'
import { runBuild } from '../../src/runner/build/run-build.ts'
import { openControlPlane } from '../../src/runner/lease/control-plane.ts'
import { ToolMissing } from '../../src/runner/toolchain/toolchain.ts'
import { toolsOf } from './build-tools.ts'
import { leaseOf, type ProtocolServer, RUNNER_TOKEN, type Source, startProtocolServer } from './protocol-server.ts'
import { createScriptedSandbox, OUTPUT, type Script } from './scripted-sandbox.ts'

const GOOD: Script = { exit: { code: 0, signal: null } }
const RUNNING: Script = {}
const SOURCE: Source = { 'index.html': '<h1>hello</h1>', 'lib/a.txt': 'a' }

type Case = {
  script?: Script
  lease?: Partial<Lease>
  source?: Source
  tool?: Error
  limits?: Partial<BuildTools['limits']>
  /** Called once the server is there, and with the sandbox. */
  arrange?(server: ProtocolServer, ending: AbortController): void
  expected: { outcome: Finish['outcome'] | 'lost'; code?: string; message?: RegExp }
}

function afterStart(server: ProtocolServer, act: () => void): void {
  const timer = setInterval(() => {
    if (!server.steps.includes('building') && !server.requests.some((one) => one.endsWith('/log'))) return
    clearInterval(timer)
    act()
  }, 20)
}

/** TABLE each step × each way to fail → the one report. */
const CASES: Record<string, Case> = {
  'all goes well': { expected: { outcome: 'succeeded' } },
  'the source has a wrong digest': {
    arrange: (server) => {
      server.fault = (_, path) => (path.includes('/source/') ? 404 : undefined)
    },
    expected: { outcome: 'failed', code: 'RUNNER_FAILED', message: /answered 404/ },
  },
  'a path of the source leads out': {
    source: { '../out': 'x' },
    expected: { outcome: 'failed', code: 'BUILD_FAILED', message: /does not name a place/ },
  },
  'a link of the source leads out': {
    source: { etc: { link: '../../etc' } },
    expected: { outcome: 'failed', code: 'BUILD_FAILED', message: /link etc of the source leads out/ },
  },
  'a path of the source is a file and a directory': {
    source: { a: 'x', 'a/b': 'y' },
    expected: { outcome: 'failed', code: 'BUILD_FAILED', message: /The source has "a" twice/ },
  },
  'the root directory is missing': {
    lease: { settings: { ...leaseOf().settings, rootDirectory: 'apps/web' } },
    expected: { outcome: 'failed', code: 'INVALID_PROJECT_SETTINGS', message: /"apps\/web"/ },
  },
  'the root directory leads out': {
    lease: { settings: { ...leaseOf().settings, rootDirectory: '../..' } },
    expected: { outcome: 'failed', code: 'INVALID_PROJECT_SETTINGS', message: /root directory/ },
  },
  'a tool cannot be installed': {
    tool: new ToolMissing('npm ci failed: no registry'),
    expected: { outcome: 'failed', code: 'BUILDER_UNAVAILABLE', message: /no registry/ },
  },
  'the directory cannot be created': {
    script: { failsIn: 'prepare' },
    expected: { outcome: 'failed', code: 'RUNNER_FAILED', message: /step "source" \(EIO\)/ },
  },
  'the sandbox does not start': {
    script: { failsIn: 'start' },
    expected: { outcome: 'failed', code: 'RUNNER_FAILED', message: /step "build" \(EIO\)/ },
  },
  'the sandbox cannot be waited for': {
    script: { failsIn: 'wait' },
    expected: { outcome: 'failed', code: 'RUNNER_FAILED', message: /step "build" \(EIO\)/ },
  },
  'the builder fails': {
    script: { output: 'Building\nError: no such module\n', exit: { code: 1, signal: null } },
    expected: { outcome: 'failed', code: 'BUILD_FAILED', message: /^Error: no such module\n.*exit code 1/ },
  },
  'the builder runs out of memory': {
    script: { output: 'FATAL ERROR: JavaScript heap out of memory\n', exit: { code: 134, signal: null } },
    expected: { outcome: 'failed', code: 'BUILD_OUT_OF_MEMORY' },
  },
  'the builder is killed': {
    script: { exit: { code: null, signal: 'SIGKILL' } },
    expected: { outcome: 'failed', code: 'BUILD_FAILED', message: /SIGKILL/ },
  },
  'a control group ends the build': {
    script: { exit: { code: null, signal: 'SIGKILL', ranOutOfMemory: true } },
    limits: { memoryBytes: 2 ** 30 },
    expected: { outcome: 'failed', code: 'BUILD_OUT_OF_MEMORY', message: /more than 1024 MiB.*BERTH_BUILD_MEMORY/ },
  },
  'the build takes too long': {
    script: RUNNING,
    lease: { timeLimitMs: 700 },
    expected: { outcome: 'failed', code: 'BUILD_TIMED_OUT', message: /took longer/ },
  },
  'the build uses too much memory': {
    script: { ...RUNNING, pid: process.pid },
    limits: { memoryBytes: 1024 },
    expected: { outcome: 'failed', code: 'BUILD_OUT_OF_MEMORY', message: /BERTH_BUILD_MEMORY/ },
  },
  'the build writes too many files': {
    script: { ...RUNNING, files: Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`file-${at}`, ''])) },
    limits: { files: 20 },
    expected: { outcome: 'failed', code: 'BUILD_OUT_OF_DISK', message: /more than 20 files/ },
  },
  'the ignored build step ends with 0': {
    // What the shell of the sandbox does then: environment.ts.
    script: { ...GOOD, files: { '../ignored': '' } },
    source: { ...SOURCE, 'vercel.json': '{"ignoreCommand":"true"}' },
    expected: { outcome: 'canceled' },
  },
  'an output names a secret': {
    script: { ...GOOD, files: { [`.vercel/output/a-long-secret${'/d'.repeat(70)}/x`]: '' } },
    lease: { env: { TOKEN: 'a-long-secret' }, masked: ['TOKEN'] },
    expected: { outcome: 'failed', code: 'BUILD_OUTPUT_REFUSED', message: /^\.vercel\/output\/\*\*\*\/d/ },
  },
  'a user cancels': {
    script: RUNNING,
    arrange: (server) =>
      afterStart(server, () => {
        server.state.cancel = true
      }),
    expected: { outcome: 'canceled' },
  },
  'the lease is lost': {
    script: RUNNING,
    arrange: (server) => {
      server.fault = (_, path) => (path.endsWith('/log') ? 409 : undefined)
    },
    expected: { outcome: 'lost' },
  },
  'no beat is answered': {
    script: RUNNING,
    arrange: (server) => {
      server.state.leaseMs = 6500
      server.fault = (_, path) => (server.steps.length > 0 && path.endsWith('/beat') ? 'hang' : undefined)
    },
    expected: { outcome: 'lost' },
  },
  'the process ends': {
    script: RUNNING,
    arrange: (server, ending) => afterStart(server, () => ending.abort()),
    expected: { outcome: 'lost' },
  },
  'the builder leaves no output': {
    script: { ...GOOD, files: {} },
    expected: { outcome: 'failed', code: 'BUILD_OUTPUT_REFUSED', message: /\.vercel\/output is not a directory/ },
  },
  'the control plane refuses a file of the output': {
    arrange: (server) => {
      server.fault = (method) => (method === 'PUT' ? 413 : undefined)
    },
    expected: { outcome: 'failed', code: 'RUNNER_FAILED', message: /answered 413/ },
  },
  'the account has no room for the output': {
    arrange: (server) => {
      const full = { status: 409, code: 'budget_used_up', message: 'The account has no room for this file.' }
      server.fault = (method) => (method === 'PUT' ? full : undefined)
    },
    expected: { outcome: 'failed', code: 'BUILD_OUTPUT_REFUSED', message: /^The account has no room for this file\.$/ },
  },
  'the directory cannot be removed': { script: { ...GOOD, failsIn: 'destroy' }, expected: { outcome: 'succeeded' } },
}

for (const [name, one] of Object.entries(CASES))
  test(`${name}: ${one.expected.code ?? one.expected.outcome}`, { timeout: 300_000 }, async (t) => {
    const server = await startProtocolServer(t)
    const controlPlane = openControlPlane(server.url, RUNNER_TOKEN)
    t.after(() => controlPlane.close())
    const ending = new AbortController()
    server.waiting.push({ lease: leaseOf(one.lease), source: one.source ?? SOURCE })
    const request = { runner: 'a'.repeat(16), hostname: 'test', version: '1.0.0' }
    const leasedAt = performance.now()
    const answer = await controlPlane.lease(request, ending.signal)
    assert.ok(answer.outcome === 'done' && answer.value !== undefined)
    one.arrange?.(server, ending)
    const sandbox = createScriptedSandbox(one.script ?? GOOD)
    const leased = { lease: answer.value, leasedAt, channel: controlPlane.below(answer.value) }
    const outcome = await runBuild(leased, toolsOf(sandbox, one), ending.signal)
    const { expected } = one
    assert.equal(outcome, expected.outcome, JSON.stringify(server.reports))
    assert.equal(server.reports.length, expected.outcome === 'lost' ? 0 : 1)
    assert.ok(sandbox.destroys > 0, 'the sandbox is destroyed')
    const report = server.reports[0]
    if (report?.outcome === 'failed') {
      assert.equal(report.code, expected.code)
      assert.match(report.message, expected.message ?? /./)
      assert.doesNotMatch(report.message, /secret/)
      assert.equal(server.lines.at(-1)!.type, 'fatal', 'the log ends with the reason')
    }
    if (report?.outcome === 'succeeded') {
      assert.deepEqual(report.entries.map(({ path }) => path).sort(), Object.keys(OUTPUT))
      assert.deepEqual([...server.files.values()].map(String).sort(), Object.values(OUTPUT).sort())
    }
  })

test('a request that fails is repeated, and a report that was received twice counts once', {
  timeout: 300_000,
}, async (t) => {
  const server = await startProtocolServer(t)
  const controlPlane = openControlPlane(server.url, RUNNER_TOKEN)
  t.after(() => controlPlane.close())
  const seen = new Set<string>()
  server.fault = (method, path) => {
    const isFirst = !seen.has(`${method} ${path}`)
    seen.add(`${method} ${path}`)
    return isFirst ? 503 : undefined
  }
  const lease = leaseOf({ env: { TOKEN: 'a-long-secret' }, masked: ['TOKEN'] })
  server.waiting.push({ lease, source: SOURCE })
  const request = { runner: 'a'.repeat(16), hostname: 'test', version: '1.0.0' }
  assert.equal((await controlPlane.lease(request, t.signal)).outcome, 'retry')
  assert.equal((await controlPlane.lease(request, t.signal)).outcome, 'done')
  const sandbox = createScriptedSandbox({ ...GOOD, output: 'it is a-long-secret\n' })
  const leased = { lease, leasedAt: performance.now(), channel: controlPlane.below(lease) }
  const memoryBytes = 6 * 2 ** 30
  assert.equal(await runBuild(leased, toolsOf(sandbox, { limits: { memoryBytes } }), t.signal), 'succeeded')
  assert.equal(server.reports.length, 1)
  assert.ok(server.lines.some(({ text }) => text === 'it is ***'))
  assert.equal(sandbox.policy!.env.TOKEN, 'a-long-secret')
  // A variable would come before a `.npmrc` of the source.
  assert.equal(sandbox.policy!.env.npm_config_registry, undefined)
  assert.equal(sandbox.npmSettings, 'registry=https://registry.example/\n')
  assert.equal(sandbox.policy!.env.COREPACK_NPM_REGISTRY, 'https://registry.example')
  assert.equal(sandbox.policy!.limits.memoryBytes, memoryBytes)
  assert.deepEqual(sandbox.policy!.command.slice(-3), ['build', '--yes', '--target=preview'])
})
