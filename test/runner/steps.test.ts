/** The time limit of a step, and the build cache among the steps. docs/runner.md: Steps. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { runBuild } from '../../src/runner/build/run-build.ts'
import { STEPS } from '../../src/runner/build/steps.ts'
import { type BuildCache, openBuildCache } from '../../src/runner/cache/build-cache.ts'
import { cacheKeysOf } from '../../src/runner/cache/cache-key.ts'
import { cacheBudgetOf } from '../../src/runner/cache/eviction.ts'
import { openControlPlane } from '../../src/runner/lease/control-plane.ts'
import { toolsOf } from './build-tools.ts'
import { leaseOf, RUNNER_TOKEN, startProtocolServer } from './protocol-server.ts'
import { openBuilds } from './running.ts'
import { createScriptedSandbox, OUTPUT } from './scripted-sandbox.ts'

const json = JSON.stringify
const isGnu = spawnSync('tar', ['--version'], { encoding: 'utf8' }).stdout?.includes('GNU tar')

test('a step that takes too long gets a signal to end, and the build fails', { timeout: 300_000 }, async (t) => {
  const step = STEPS.find(({ name }) => name === 'tools')!
  const { limitMs } = step
  step.limitMs = 50
  t.after(() => {
    step.limitMs = limitMs
  })
  const server = await startProtocolServer(t)
  const controlPlane = openControlPlane(server.url, RUNNER_TOKEN)
  t.after(() => controlPlane.close())
  const lease = leaseOf()
  server.waiting.push({ lease, source: { 'index.html': 'hello' } })
  await controlPlane.lease({ runner: 'a'.repeat(16), hostname: 'test', version: '1.0.0' }, t.signal)
  const tools = toolsOf(createScriptedSandbox({}))
  let reason: unknown
  tools.toolchain.install = (_, signal) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
        reject(signal.reason)
      })
    })
  const leased = { lease, leasedAt: performance.now(), channel: controlPlane.below(lease) }
  assert.equal(await runBuild(leased, tools, t.signal), 'failed')
  assert.match(String(reason), /step_timed_out/)
  const [report] = server.reports
  assert.ok(report?.outcome === 'failed' && report.code === 'BUILDER_UNAVAILABLE')
  assert.match(report.message, /The step "tools" of the build took longer/)
})

test('the cache is restored before the builder starts, and saved when the deployment is there', {
  timeout: 300_000,
}, async (t) => {
  const server = await startProtocolServer(t)
  const controlPlane = openControlPlane(server.url, RUNNER_TOKEN)
  t.after(() => controlPlane.close())
  const lease = leaseOf()
  const sandbox = createScriptedSandbox({ exit: { code: 0, signal: null } })
  const seen: unknown[] = []
  const cache: BuildCache = {
    async restore(keys) {
      seen.push(['restore', keys.own, sandbox.policy])
      return 'restored'
    },
    async save(keys, { folder }) {
      seen.push(['save', keys.own, server.reports.length, existsSync(folder)])
    },
  }
  for (const settings of [lease.settings, { ...lease.settings, skipsCache: true }]) {
    server.waiting.push({ lease: { ...lease, settings }, source: { 'index.html': 'hello' } })
    await controlPlane.lease({ runner: 'a'.repeat(16), hostname: 'test', version: '1.0.0' }, t.signal)
    const leased = {
      lease: { ...lease, settings },
      leasedAt: performance.now(),
      channel: controlPlane.below(lease),
    }
    assert.equal(await runBuild(leased, toolsOf(sandbox, { cache }), t.signal), 'succeeded')
    sandbox.policy = undefined
  }
  const { own } = cacheKeysOf(lease, 22)
  assert.deepEqual(seen, [
    ['restore', own, undefined],
    ['save', own, 1, true],
    ['save', own, 2, true],
  ])
  assert.ok(server.lines.some(({ text }) => text === 'Restored the build cache.'))
})

test('the tools of a build are those that its source and its variables ask for', { timeout: 300_000 }, async (t) => {
  const { run } = await openBuilds(t)
  const manifest = json({ engines: { node: '^20 || >=22' }, scripts: { build: 'yarn compile' } })
  const lock = "lockfileVersion: '6.0'\n"
  const nearest = { 'apps/web/index.js': '', 'package.json': manifest, 'pnpm-lock.yaml': lock }
  const { settings } = leaseOf()
  for (const [changes, source, managers] of [
    [{}, { 'index.html': '' }, ['node-22', 'npm-10']],
    [{ settings: { ...settings, rootDirectory: 'apps/web' } }, nearest, ['node-24', 'npm-11', 'pnpm-8', 'yarn-1']],
    [{ env: { ENABLE_EXPERIMENTAL_COREPACK: '1' } }, { 'index.html': '' }, ['node-22', 'npm-10', 'corepack']],
    [{}, { 'vercel.json': json({ installCommand: 'corepack enable' }) }, ['node-22', 'npm-10', 'corepack']],
  ] as const) {
    const sandbox = createScriptedSandbox({ exit: { code: 0, signal: null } })
    assert.equal(await run(toolsOf(sandbox), changes, source), 'succeeded')
    const { readOnly, env } = sandbox.policy!
    assert.deepEqual(
      readOnly,
      ['builder', ...managers].map((unit) => `/tools/${unit}`),
    )
    assert.deepEqual(
      env.PATH!.split(':').filter((place) => place.includes('/tools/')),
      managers.map((unit) => `/host/tools/${unit}/node_modules/.bin`),
    )
  }
})

test('a build starts where the one before left a cache next to the project file', {
  timeout: 300_000,
}, async (t) => {
  const { server, run } = await openBuilds(t)
  const folder = mkdtempSync(join(tmpdir(), 'berth-cache-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const options = { folder, budget: cacheBudgetOf(2 ** 40), maxInside: 2 ** 40, log: pino({ level: 'silent' }) }
  const cache = await openBuildCache(options)
  const files = { ...OUTPUT, '.vercel/cache/a': 'a', '.vercel/node_modules/b': 'b' }
  for (const build of ['first', 'second']) {
    const sandbox = createScriptedSandbox({ exit: { code: 0, signal: null }, files })
    assert.equal(await run(toolsOf(sandbox, { cache })), 'succeeded', build)
  }
  assert.ok(!isGnu || server.lines.some(({ text }) => text === 'Restored the build cache.'))
})
