/** The index of hosts in memory. docs/edge.md: Three look-ups. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHosts } from '../../../src/platform/verdict/hosts.ts'

const PROJECT = { id: 'prj_1', paused: false, liveDeploymentId: null, protection: undefined }
const DEPLOYMENT = {
  ...{ id: 'dpl_1', projectId: 'prj_1', url: 'web-1.apps.example.net' },
  ...{ ready: true, production: false, upstream: 'http://10.0.0.7:3000', output: null },
}

test('a deployment whose project is not known is led to nowhere, and its project is asked for', () => {
  const hosts = openHosts()
  hosts.setDeployment('dpl_1', DEPLOYMENT)
  assert.deepEqual(hosts.missing(), { projects: ['prj_1'], deployments: [] })
  assert.equal(hosts.find(DEPLOYMENT.url).serving.kind, 'unknown')
  hosts.setProject('prj_1', PROJECT)
  assert.deepEqual(hosts.missing(), { projects: [], deployments: [] })
  assert.notEqual(hosts.find(DEPLOYMENT.url).serving.kind, 'unknown')
})
