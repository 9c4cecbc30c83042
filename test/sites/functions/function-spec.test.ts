/** What names the space of a function. docs/sandbox.md: A namespace for several sandboxes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FunctionSpec, spaceOf } from '../../../src/sites/functions/function-spec.ts'

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
