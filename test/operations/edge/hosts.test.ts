/** The index of hosts in memory. docs/edge.md: Three look-ups. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHostIndex, versionOf } from '../../../src/platform/verdict/hosts.ts'

const PROJECT = { id: 'prj_1', paused: false, liveDeploymentId: null, protection: undefined }
const DEPLOYMENT = {
  ...{ id: 'dpl_1', projectId: 'prj_1', url: 'web-1.apps.example.net' },
  ...{ ready: true, production: false, upstream: 'http://10.0.0.7:3000', output: null },
}

test('a deployment with an unknown project resolves to nothing, and its project is requested', () => {
  const hosts = createHostIndex()
  hosts.setDeployment('dpl_1', DEPLOYMENT)
  assert.deepEqual(hosts.missing(), { projects: ['prj_1'], deployments: [] })
  assert.equal(hosts.find(DEPLOYMENT.url).serving.kind, 'unknown')
  hosts.setProject('prj_1', PROJECT)
  assert.deepEqual(hosts.missing(), { projects: [], deployments: [] })
  assert.notEqual(hosts.find(DEPLOYMENT.url).serving.kind, 'unknown')
})

test('with skew protection, the versions of a project have the environment that their protection uses', () => {
  const project = { ...PROJECT, liveDeploymentId: 'dpl_live', settings: { skewProtection: { maxAge: 60 } } }
  const environmentOf = (more: object, preview?: boolean) =>
    versionOf({ ...DEPLOYMENT, ...more }, project, preview).version?.environment
  assert.equal(environmentOf({ production: true }), 'production')
  assert.equal(environmentOf({}), 'preview')
  assert.equal(environmentOf({ environmentId: 'env_1' }), 'env_1')
  assert.equal(environmentOf({ id: 'dpl_live' }), 'production', 'a preview that was promoted')
  assert.equal(environmentOf({ production: true }, true), 'preview', 'a branch is guarded as previews are')
  assert.deepEqual(versionOf(DEPLOYMENT, PROJECT), {})
  const hosts = createHostIndex()
  hosts.setProject('prj_1', project)
  hosts.setDeployment('dpl_1', DEPLOYMENT)
  assert.equal(hosts.find(DEPLOYMENT.url).version, undefined, 'its own url resolves to the deployment alone')
})
