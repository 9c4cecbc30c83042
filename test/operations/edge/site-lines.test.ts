/** The index of hosts as lines for sites servers. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keysThatDiffer, linesOf } from '../../../src/operations/edge/site-lines.ts'
import { createHostIndex } from '../../../src/platform/verdict/hosts.ts'

const DEPLOYMENT = {
  ...{ id: 'd1', projectId: 'p1', url: 'd1.test', ready: true, production: true },
  ...{ upstream: null, output: null },
}
const OUTPUT = { accountId: 'a1', digest: 'a1'.repeat(32), size: 100 }
const PROJECT = { id: 'p1', paused: false, liveDeploymentId: 'd1', protection: undefined }
const DOMAIN = {
  name: 'a.com',
  projectId: 'p1',
  redirect: null,
  redirectStatusCode: null,
  ofBranch: false,
  deploymentId: 'd1',
}

function openFilled() {
  const hosts = createHostIndex()
  hosts.setName('a.com', { name: 'a.com', domain: DOMAIN })
  hosts.setName('b.com', { name: 'b.com', domain: undefined })
  hosts.setDeployment('d1', DEPLOYMENT)
  hosts.setProject('p1', PROJECT)
  return hosts
}

test('sites servers receive exactly the differences that a full scan finds', async () => {
  assert.deepEqual(await keysThatDiffer(openFilled(), openFilled()), [])
  const cases: [change: (hosts: ReturnType<typeof openFilled>) => void, key: string][] = [
    [(hosts) => hosts.setName('a.com', undefined), 'domain a.com'],
    [(hosts) => hosts.setName('c.com', { name: 'c.com', domain: undefined }), 'domain c.com'],
    [(hosts) => hosts.setName('b.com', { name: 'b.com', domain: { ...DOMAIN, name: 'b.com' } }), 'domain b.com'],
    [(hosts) => hosts.setDeployment('d1', { ...DEPLOYMENT, url: 'other.test' }), 'deployment d1'],
    [(hosts) => hosts.setDeployment('d1', { ...DEPLOYMENT, ready: false }), 'deployment d1'],
    [(hosts) => hosts.setDeployment('d1', { ...DEPLOYMENT, output: OUTPUT }), 'deployment d1'],
    [(hosts) => hosts.setProject('p1', { ...PROJECT, paused: true }), 'project p1'],
    [(hosts) => hosts.setProject('p1', undefined), 'project p1'],
  ]
  for (const [change, key] of cases) {
    const changed = openFilled()
    change(changed)
    assert.deepEqual(await keysThatDiffer(openFilled(), changed), [key])
    assert.deepEqual(await keysThatDiffer(changed, openFilled()), [key])
  }
})

test('a name is sent with its deployment, also when that is deleted', () => {
  const hosts = openFilled()
  const kinds = (key: string) => [...linesOf(hosts, [key])].map(({ kind }) => kind)
  assert.deepEqual(kinds('domain a.com'), ['name', 'deployment', 'project'])
  hosts.setDeployment('d1', undefined)
  assert.deepEqual(kinds('domain a.com'), ['name', 'gone', 'project'])
  assert.deepEqual(kinds('domain b.com'), ['name'])
  assert.deepEqual(
    [kinds('domain none.com'), kinds('deployment d1'), kinds('project p1')],
    [['gone'], ['gone'], ['project']],
  )
})

test('thousands of names that move to one deployment are sent with it and its project once, and names come first', () => {
  const hosts = openFilled()
  const names = Array.from({ length: 1000 }, (_, at) => `n${at}.com`)
  for (const name of names) hosts.setName(name, { name, domain: { ...DOMAIN, name } })
  hosts.setDeployment('d2', { ...DEPLOYMENT, id: 'd2', projectId: 'p2' })
  const keys = ['project p1', 'deployment d2', ...names.map((name) => `domain ${name}`), 'deployment d1', 'domain gone']
  const kinds = [...linesOf(hosts, keys)].map((line) => `${line.kind} ${'id' in line ? line.id : line.name}`)
  assert.deepEqual(kinds.slice(0, 1001), [...names.map((name) => `name ${name}`), 'gone gone'])
  assert.deepEqual(kinds.slice(1001).sort(), ['deployment d1', 'deployment d2', 'project p1'])
})
