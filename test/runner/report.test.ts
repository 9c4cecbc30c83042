/** The report of a build, whose answer comes late, or which is refused. docs/runner.md: Steps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { BuildCache } from '../../src/runner/cache/build-cache.ts'
import { toolsOf } from './build-tools.ts'
import { openBuilds } from './running.ts'
import { createScriptedSandbox } from './scripted-sandbox.ts'

const GOOD = { exit: { code: 0, signal: null } }

test('a beat that is refused while the report is on its way does not cancel the report', {
  timeout: 300_000,
}, async (t) => {
  const { server, run } = await openBuilds(t)
  const refused = Promise.withResolvers<void>()
  let isReported = false
  server.fault = async (_, path) => {
    if (path.endsWith('/beat') && isReported) {
      refused.resolve()
      return 409
    }
    if (!path.endsWith('/finish')) return undefined
    isReported = true
    await refused.promise
    // The runner reads the answer to the beat first.
    for (let turns = 0; turns < 50; turns++) await turn()
    return undefined
  }
  let saved = 0
  const cache: BuildCache = {
    restore: async () => 'none',
    async save() {
      saved++
    },
  }
  assert.equal(await run(toolsOf(createScriptedSandbox(GOOD), { cache })), 'succeeded')
  assert.deepEqual([server.reports.length, saved], [1, 1])
})

test('a report that is refused ends the build with the reason, and is not left to the end of the lease', {
  timeout: 300_000,
}, async (t) => {
  const { server, run } = await openBuilds(t)
  const isFinish = (one: string) => one.endsWith('/finish')
  server.fault = (_, path) => (isFinish(path) && server.requests.filter(isFinish).length === 1 ? 400 : undefined)
  assert.equal(await run(toolsOf(createScriptedSandbox(GOOD))), 'failed')
  const [report, ...others] = server.reports
  assert.ok(report?.outcome === 'failed' && report.code === 'RUNNER_FAILED' && others.length === 0)
  assert.match(report.message, /answered 400 to POST .*finish/)
  assert.deepEqual(server.lines.at(-1), { ...server.lines.at(-1), type: 'fatal', text: report.message })
  server.fault = (_, path) => (isFinish(path) ? 400 : undefined)
  server.requests = []
  assert.equal(await run(toolsOf(createScriptedSandbox(GOOD))), 'lost')
  assert.equal(server.requests.filter(isFinish).length, 2)
})
