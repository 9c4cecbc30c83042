/** What a process of a function may use, and what its log says of its end. docs/functions.md: Processes. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { Policy } from '../../../src/sandbox/policy.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { startProcess } from '../../../src/sites/functions/function-process.ts'
import type { FunctionSpec } from '../../../src/sites/functions/function-spec.ts'
import { createFunctionPace } from '../../../src/sites/functions/pace/function-pace.ts'
import { describeExit } from '../../../src/sites/functions/processes.ts'
import { eventually } from '../../support/eventually.ts'
import { name, project } from '../snapshot/lines.ts'
import { functionOf, showFunctions } from './function-site.ts'

const MIB = 1024 ** 2

test('a process has the memory of its function, and room for Node.js and /tmp', async (t) => {
  const sockets = mkdtempSync(`${tmpdir()}/b-`)
  t.after(() => rmSync(sockets, { recursive: true, force: true }))
  const policies: Policy[] = []
  const ended = new PassThrough().end()
  const sandbox: Sandbox = {
    prepare: async () => ({ workDirectory: sockets, insideWork: sockets }),
    inside: (path) => path,
    mounted: (_, path) => path,
    start: (policy) => void policies.push(policy),
    output: () => ended,
    pid: () => undefined,
    wait: async () => ({ code: 0, signal: null }),
    destroy: async () => {},
  }
  const means = {
    createSandbox: async () => sandbox,
    runAs: undefined,
    network: 'none',
    sockets,
    launcher: '/launcher',
  } as const
  const rest = { serveData: () => {}, pace: createFunctionPace() }
  const node = { folder: undefined, program: '/node' }
  for (const memory of [undefined, 128, 10_240]) {
    const bundle = { kind: 'node', name: 'api', runtime: 'nodejs22.x', entrypoint: 'a.js', ...(memory && { memory }) }
    const spec = { account: 'team_1', role: 'function', bundle } as unknown as FunctionSpec
    const code = { folder: '/code', environment: {}, release: () => {} }
    const started = await startProcess(
      { ...means, ...rest },
      { spec, code, env: {}, node },
      { onMessage() {}, onLine() {} },
    )
    await started.ended
    const { command, limits } = policies.pop()!
    assert.deepEqual(
      [command[1], limits.memoryBytes],
      [`--max-old-space-size=${memory ?? 512}`, ((memory ?? 512) + 512) * MIB],
    )
  }
})

test('the log of a function says how its process ended', () => {
  assert.equal(describeExit({ code: 1, signal: null }), 'The process ended with exit code 1.')
  assert.equal(describeExit({ code: null, signal: 'SIGTERM' }), 'The process ended with signal SIGTERM.')
  assert.match(describeExit({ code: null, signal: 'SIGKILL', ranOutOfMemory: true }), /used more memory/)
})

test('a function that says no duration and memory has those of its project, within the limits of all', async (t) => {
  const module = `export default (req, res) => { if (req.url.endsWith('stay')) return; res.json(process.execArgv) }`
  const own = functionOf('api/own', module, { memory: 256, maxDuration: 2 })
  const { visit, control, site } = await showFunctions(t, { ...functionOf('api/it', module), ...own })
  const functionDefaults = { maxDuration: 1, memory: 4096 }
  control.change([project('p1', { settings: { functionDefaults } }), name('later.example', 'd1')])
  await eventually(async () => (await site.visit('later.example', '/api/it')).status === 200)
  const argumentsOf = async (path: string) => (await visit(path)).text
  assert.match(await argumentsOf('/api/own'), /--max-old-space-size=256"/)
  await eventually(async () => (await argumentsOf('/api/it')).includes('--max-old-space-size=4096"'))
  assert.deepEqual([(await visit('/api/it?stay')).status, (await visit('/api/own?stay')).status], [504, 504])
  const texts = () => control.lines.map(({ text }) => text).join()
  await eventually(() => /timed out after 1 seconds[\s\S]*timed out after 2 seconds/.test(texts()))
})

test('invocations are reported by function: a middleware too, with failures and statuses from 500 on as errors', async (t) => {
  const module = `export default (req, res) => {
  if (req.url.endsWith('bad')) throw new Error('bad')
  res.writeHead(req.url.endsWith('503') ? 503 : 200).end()
}`
  const pass = `export default () => new Response(null, { headers: { 'x-middleware-next': '1' } })`
  const { visit, control, site } = await showFunctions(
    t,
    { ...functionOf('api/it', module), ...functionOf('middleware', pass, { useWebApi: true }) },
    { config: { routes: [{ src: '/api/it', middlewarePath: 'middleware', continue: true }] } },
  )
  const statuses = []
  for (const query of ['', '?503', '?bad']) statuses.push((await visit(`/api/it${query}`)).status)
  assert.deepEqual(statuses, [200, 503, 500])
  await site.stop()
  const sums = new Map<string, number[]>()
  for (const { name: of, invocations, errors, ms } of control.functions) {
    const [all = 0, failed = 0] = sums.get(of) ?? []
    sums.set(of, [all + invocations, failed + errors])
    assert.ok(Number.isSafeInteger(ms) && ms >= 0)
  }
  assert.deepEqual(Object.fromEntries(sums), { middleware: [3, 0], 'api/it': [3, 2] })
})
