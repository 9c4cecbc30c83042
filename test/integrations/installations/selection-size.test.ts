/** How many projects an installation can select, and what a list shows of them. docs/integrations.md: The projects of an installation. */
import assert from 'node:assert/strict'
import { MAX_LISTED_PROJECTS, MAX_SELECTED } from '../../../src/integrations/installations/selection.ts'
import { seedProject } from '../../support/projects.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `prj_${from + at}`)

async function select(world: World, configuration_id: string, projectIds: readonly string[]): Promise<void> {
  const rows = projectIds.map((project_id) => ({ configuration_id, project_id }))
  for (let at = 0; at < rows.length; at += 500) await addRows(world, 'configuration_project', rows.slice(at, at + 500))
}

onBothEngines(
  'a list of installations leaves out long selections, and one installation shows its own',
  async (world) => {
    const team = `teamId=${world.credentials.teamId}` as const
    const web = await seedProject(world, 'web', `?${team}`)
    const projects = [web]
    const short = await consentAndInstall(world, await seedIntegration(world, { slug: 'short' }), { projects })
    const long = await consentAndInstall(world, await seedIntegration(world, { slug: 'long' }), { projects })
    await select(world, short.installationId, ids(MAX_LISTED_PROJECTS - 1))
    await select(world, long.installationId, ids(MAX_LISTED_PROJECTS))
    const listed = (await world.call('GET', `/v1/integrations/configurations?${team}`)).body
    const lengths = new Map(listed.map((one) => [one.id, one.projects?.length]))
    assert.deepEqual([lengths.get(short.installationId), lengths.get(long.installationId)], [1000, undefined])
    assert.ok(listed.every(({ projectSelection }) => projectSelection === 'selected'))
    const one = (await world.call('GET', `/v1/integrations/configuration/${long.installationId}?${team}`)).body
    assert.equal(one.projects?.length, 1001)
  },
)

onBothEngines(
  'an installation reads its own long selection without a search for each of its projects',
  async (world) => {
    const team = `teamId=${world.credentials.teamId}` as const
    const web = await seedProject(world, 'web', `?${team}`)
    const scopes = ['read:project', 'read:integration-configuration']
    const { installationId, call } = await seedInstallation(world, { scopes }, { projects: [web] })
    await select(world, installationId, ids(MAX_SELECTED - 1))
    const { includes } = Array.prototype
    let searches = 0
    const search: typeof includes = function (this: unknown[], ...words) {
      if (this.length > 1000) searches++
      return includes.apply(this, words)
    }
    Array.prototype.includes = search
    try {
      const one = (await call('GET', `/v1/integrations/configuration/${installationId}?${team}`)).body
      assert.equal(one.projects?.length, MAX_SELECTED)
    } finally {
      Array.prototype.includes = includes
    }
    assert.ok(searches < 10, `${searches} searches`)
  },
)

onBothEngines('no project joins a selection that is full, also none that the installation creates', async (world) => {
  const team = `teamId=${world.credentials.teamId}` as const
  const [web, late] = [await seedProject(world, 'web', `?${team}`), await seedProject(world, 'late', `?${team}`)]
  const app = await seedIntegration(world)
  const { installationId, call } = await seedInstallation(world, { app }, { projects: [web] })
  await select(world, installationId, ids(MAX_SELECTED - 1))
  const set = (project: string, allowed: boolean) =>
    world.call.try('POST', `/v1/integrations/configuration/${installationId}/project/${project}?${team}`, { allowed })
  for (const full of [await set(late, true), await call.try('POST', `/v10/projects?${team}`, { name: 'more' })])
    assert.deepEqual([full.status, full.body.error.name], [409, 'selected projects'], full.text)
  assert.equal((await world.call.try('GET', `/v9/projects/more?${team}`)).status, 404)
  assert.equal((await set(web, false)).status, 200)
  assert.equal((await set(late, true)).status, 200)
})

onBothEngines('an installation keeps all projects where the others are more than it can select', async (world) => {
  const team = `teamId=${world.credentials.teamId}` as const
  const { teamId: account_id } = world.credentials
  const [web] = [await seedProject(world, 'web', `?${team}`), await seedProject(world, 'other', `?${team}`)]
  const { installationId } = await seedInstallation(world)
  const path = `/v1/integrations/configuration/${installationId}` as const
  const rows = ids(MAX_SELECTED).map((id) => {
    const updated_stamp = world.deps.clock.stamp()
    return { id, name: id, account_id, git_fork_protection: 1, settings_json: '{}', created_at: 0, updated_stamp }
  })
  for (let at = 0; at < rows.length; at += 500) await addRows(world, 'project', rows.slice(at, at + 500))
  const refused = await world.call.try('POST', `${path}/project/${web}?${team}`, { allowed: false })
  assert.deepEqual([refused.status, refused.body.error.name], [409, 'selected projects'], refused.text)
  assert.equal((await world.call('GET', `${path}?${team}`)).body.projectSelection, 'all')
  await world.call('DELETE', `/v9/projects/other?${team}`)
  assert.equal((await world.call('POST', `${path}/project/${web}?${team}`, { allowed: false })).status, 200)
  assert.equal((await world.call('GET', `${path}?${team}`)).body.projects?.length, MAX_SELECTED)
})
