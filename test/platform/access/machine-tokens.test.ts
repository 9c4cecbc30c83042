/** What sites servers and runners ask is answered to no other token. docs/deploying-sites.md, docs/building.md: Runner protocol. */
import assert from 'node:assert/strict'
import { LEASE_PATH, leasePath } from '../../../src/delivery/protocol/runner-protocol.ts'
import { BUILDS, createSource, openRunners, RUNNER_TOKEN } from '../../delivery/builds/building.ts'
import { seedProject } from '../../support/projects.ts'
import { deploySite } from '../../support/sample-requests.ts'
import { onBothEngines } from '../../support/world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

onBothEngines(
  'what sites servers ask is answered to no other token',
  async (world, t) => {
    await seedProject(world, 'web')
    const { siteId, fileId } = await deploySite(world.call)
    const control = await openInstance(world)
    t.after(() => control.close())
    const { token, operatorToken, userId } = world.credentials
    const paths = [
      '/sites/v1/snapshot',
      `/sites/v1/hosts/${siteId}.apps.example.net`,
      `/sites/v1/deployments/${siteId}`,
      `/sites/v1/files/${'0'.repeat(64)}?account=${userId}`,
      `/sites/v1/outputs/${fileId}?account=${userId}`,
      '/sites/v1/usage',
      '/sites/v1/sign-in',
      '/sites/v1/nothing',
    ]
    const wrong = [undefined, '', 'wrong', token!, operatorToken!, SITES_TOKEN.slice(0, -1), `${SITES_TOKEN}x`]
    const told = new Set<string>()
    for (const path of paths) {
      for (const one of wrong) {
        const answer = await control.ask(path, one === undefined ? {} : { authorization: `Bearer ${one}` })
        assert.equal(answer.status, 401, path)
        told.add(answer.text)
      }
    }
    assert.equal(told.size, 1)
    assert.notEqual((await control.ask('/sites/v1/snapshot')).status, 401)
  },
  SETTINGS,
)

/** TABLE what a runner asks below a lease. */
const VERBS: readonly (readonly [method: string, path: string])[] = [
  ['POST', 'beat'],
  ['POST', 'log'],
  ['POST', 'missing'],
  ['POST', 'finish'],
  ['GET', 'source'],
  ['GET', `source/${'0'.repeat(64)}`],
  ['PUT', `output/${'0'.repeat(64)}`],
]

onBothEngines(
  'what runners ask is answered to no other token, and below a lease to no other lease',
  async (world) => {
    await seedProject(world, 'web')
    const foreign = await world.user('foreign')
    await foreign.call('POST', '/v10/projects', { name: 'web' })
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const files = [{ file: 'a', data: 'b' }]
    const theirs = (await foreign.call('POST', '/v13/deployments', { name: 'web', files })).body.id
    const leases = [await runners.take(), await runners.take()]
    const [lease, other] = [id, theirs].map((of) => leases.find(({ deploymentId }) => deploymentId === of)!)
    const { token, operatorToken } = world.credentials
    const wrong = [undefined, '', 'wrong', token!, operatorToken!, foreign.token, SITES_TOKEN]
    for (const one of [...wrong, lease!.token, RUNNER_TOKEN.slice(0, -1), `${RUNNER_TOKEN}x`])
      assert.equal((await runners.ask(LEASE_PATH, 'POST', one)).status, 401, String(one))
    const told = new Set<string>()
    for (const [method, path] of VERBS)
      for (const one of [...wrong, RUNNER_TOKEN, other!.token, `${lease!.token}x`]) {
        const answer = await runners.ask(leasePath(lease!, path), method, one)
        assert.equal(answer.status, one === undefined || one === '' ? 401 : 409, `${method} ${path} ${one}`)
        if (answer.status === 409) told.add(answer.text)
      }
    assert.equal(told.size, 1)
    assert.equal((await runners.of(lease!).beat()).status, 200)
    await runners.close()
  },
  { ...SETTINGS, ...BUILDS },
)
