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
