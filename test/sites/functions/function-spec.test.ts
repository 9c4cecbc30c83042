/** What names the space of a function, and what it may use. docs/sandbox.md: A namespace for several sandboxes; docs/functions.md: Processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FunctionBundle } from '../../../src/delivery/protocol/routing-manifest.ts'
import {
  type FunctionSpec,
  maxDurationMs,
  memoryOf,
  spaceOf,
  specOf,
} from '../../../src/sites/functions/function-spec.ts'

test('functions share a space within a project, an environment and the resolvers of the host', () => {
  const spec = { projectId: 'prj_1', environment: 'production', deploymentId: 'dpl_1' } as FunctionSpec
  const name = spaceOf(spec, ['10.0.0.53'])
  assert.equal(spaceOf({ ...spec, deploymentId: 'dpl_2' }, ['10.0.0.53']), name)
  const others = [
    spaceOf({ ...spec, projectId: 'prj_2' }, ['10.0.0.53']),
    spaceOf({ ...spec, environment: 'preview' }, ['10.0.0.53']),
    spaceOf(spec, ['10.0.0.54']),
  ]
  assert.equal(new Set([name, ...others]).size, 4)
})

test('a function has its own limits, else those of its project, else those of all, and no request takes longer than 300 s', () => {
  const owner = { account: 'team_1', deploymentId: 'dpl_1', projectId: 'prj_1', environment: 'production' }
  const bundle = { name: 'api', kind: 'node', files: { digest: 'a', size: 1 } } as FunctionBundle
  const limitsOf = (own: object, defaults?: object) => {
    const spec = specOf({ ...owner, ...(defaults && { defaults }) }, { ...bundle, ...own })!
    return [maxDurationMs(spec) / 1000, memoryOf(spec)]
  }
  const project = { maxDuration: 20, memory: 2048 }
  assert.deepEqual(limitsOf({}), [60, 512])
  assert.deepEqual(limitsOf({}, project), [20, 2048])
  assert.deepEqual(limitsOf({ memory: 128 }, project), [20, 128])
  assert.deepEqual(limitsOf({ maxDuration: 10, memory: 128 }, project), [10, 128])
  assert.deepEqual(limitsOf({}, { maxDuration: 9999 }), [300, 512])
})
