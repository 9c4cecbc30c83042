/** Which deployments CI finds: by the fields of their meta, by their commit, by project and by who made them. docs/deployments.md. */
import assert from 'node:assert/strict'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'

/** Every page of a list, and that none but the last is short. */
async function list(world: World, query: string, call = world.call): Promise<string[]> {
  const seen: string[] = []
  const limit = Number(/limit=(\d+)/.exec(query)?.[1] ?? 20)
  for (let until = ''; ; ) {
    const { body, text } = await call('GET', `/v6/deployments?${query}${until}`)
    assert.ok(body.deployments, text)
    seen.push(...body.deployments.map(({ uid }: { uid: string }) => uid))
    if (body.pagination.next === null) return seen
    assert.equal(body.deployments.length, limit)
    until = `&until=${body.pagination.next}`
  }
}

const commit = (at: number) => ({ githubCommitSha: `c0ffee${at}`, githubCommitRef: at % 2 === 0 ? 'main' : 'dev' })

onBothEngines(
  'a list by fields of the meta holds the deployments that have each of them, and no other',
  async (world) => {
    const web = await seedWebProject(world, [])
    const ids: string[] = []
    for (let at = 0; at < 12; at++) ids.push(await web.deploy({ meta: commit(at) }))
    const bare = await web.deploy({})
    const otherId = await seedProject(world, 'other')
    const other = await seedDeployment(world, otherId, { url: 'other.host.test', meta: commit(3) })
    const gitlab = await web.deploy({ meta: { gitlabCommitSha: 'c0ffee4', name: 'a = "b" & ü' } })
    const rival = await world.user('rival')
    const rivals = await rival.call('POST', '/v10/projects', { name: 'web' })
    const theirs = await seedDeployment(world, rivals.body.id, { url: 'rival.host.test', meta: commit(3) })
    const main = ids.filter((_, at) => at % 2 === 0).reverse()
    const dev = ids.filter((_, at) => at % 2 === 1).reverse()

    const both = async () => {
      assert.deepEqual(await list(world, 'meta-githubCommitSha=c0ffee3'), [other, ids[3]])
      assert.deepEqual(await list(world, `meta-githubCommitSha=c0ffee3&projectId=${web.id}`), [ids[3]])
      assert.deepEqual(await list(world, 'meta-githubCommitSha=c0ffee3&app=other'), [other])
      assert.deepEqual(await list(world, 'meta-githubCommitSha=c0ffee3&meta-githubCommitRef=dev&app=web'), [ids[3]])
      assert.deepEqual(await list(world, 'meta-githubCommitSha=c0ffee3&meta-githubCommitRef=main'), [])
      assert.deepEqual(await list(world, 'meta-githubCommitRef=main&limit=2'), main)
      assert.deepEqual(await list(world, 'meta-githubCommitRef=dev&limit=3'), [other, ...dev])
      assert.deepEqual(await list(world, 'meta-githubCommitRef=Main'), [])
      assert.deepEqual(await list(world, 'meta-githubCommitSha='), [])
      assert.deepEqual(await list(world, 'meta-constructor=x'), [])
      assert.deepEqual(await list(world, `meta-name=${encodeURIComponent('a = "b" & ü')}`), [gitlab])
      assert.deepEqual(await list(world, 'sha=c0ffee4'), [gitlab, ids[4]])
      assert.deepEqual(await list(world, 'sha=unknown'), [])
      assert.deepEqual(await list(world, 'meta-githubCommitRef=main&since=1&target=production&limit=5'), main)
      assert.deepEqual(await list(world, 'meta-githubCommitRef=main&target=preview'), [])
      const narrow = await world.token({ projectIds: [otherId] })
      assert.deepEqual(await list(world, 'meta-githubCommitSha=c0ffee3', narrow), [other])
      assert.deepEqual(await list(world, 'sha=c0ffee3', rival.call), [theirs])
    }
    await both()
    // As if hundreds more had each value: then the list is walked, and each row is asked for its meta.
    const marks = await world.deps.db.read
      .selectFrom('deployment_meta')
      .select(['project_id', 'mark'])
      .distinct()
      .execute()
    const gone = [...Array(501).keys()].flatMap((at) => marks.map((row) => ({ ...row, deployment_id: `gone-${at}` })))
    await addRows(world, 'deployment_meta', gone)
    await both()
    assert.ok(!(await list(world, 'sha=c0ffee3')).includes(bare))
  },
  SETTINGS,
)

onBothEngines(
  'a list is filtered by projects and users, and is empty for an unknown custom environment',
  async (world) => {
    const web = await seedWebProject(world, [])
    const mine = await web.deploy({})
    const otherId = await seedProject(world, 'other')
    const other = await seedDeployment(world, otherId, { url: 'other.host.test' })
    const third = await seedDeployment(world, await seedProject(world, 'third'), { url: 'third.host.test' })
    assert.deepEqual(await list(world, `projectIds=${web.id}&projectIds=${otherId}`), [other, mine])
    assert.deepEqual(await list(world, `projectIds=${web.id},third`), [third, mine])
    assert.deepEqual(await list(world, 'projectIds=other'), [other])
    assert.deepEqual(await list(world, 'projectIds=prj_unknown'), [])
    assert.deepEqual(await list(world, `projectIds=${web.id}&projectId=other`), [])
    assert.deepEqual(await list(world, `users=usr_x,${world.credentials.userId}`), [third, other, mine])
    assert.deepEqual(await list(world, 'users=usr_x'), [])
    assert.deepEqual(await list(world, 'customEnvironmentSlugOrId=env_nosuch'), [])
    const many = Array.from({ length: 21 }, (_, at) => `meta-k${at}=v`).join('&')
    for (const query of [many, 'projectIds=', `projectIds=${'a,'.repeat(100)}b`, 'state=READY&state=ERROR']) {
      assertRefused(await world.call.try('GET', `/v6/deployments?${query}`), 400, 'bad_request')
    }
  },
  SETTINGS,
)

onBothEngines(
  'the meta of a deployment moves with its project and is removed with it',
  async (world) => {
    const web = await seedWebProject(world, [])
    const id = await web.deploy({ meta: commit(1) })
    const { body } = await world.call('POST', '/projects/web/transfer-request')
    const team = `teamId=${world.credentials.teamId}`
    assert.equal((await world.call('PUT', `/projects/transfer-request/${body.code}?${team}`, {})).status, 202)
    assert.equal((await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})).status, 200)
    assert.deepEqual(await list(world, 'sha=c0ffee1'), [])
    assert.deepEqual(await list(world, `sha=c0ffee1&${team}`), [id])
    assert.equal((await world.call('DELETE', `/v9/projects/web?${team}`)).status, 204)
    assert.deepEqual(await world.deps.db.read.selectFrom('deployment_meta').selectAll().execute(), [])
  },
  SETTINGS,
)
