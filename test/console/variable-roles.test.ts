/** What the pages of variables offer to each role: those of production need a permission of their own. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { ROLES } from '../../src/platform/permissions/roles.ts'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { onBothEngines } from '../support/world.ts'
import { seedVariables } from './production-variables.ts'

onBothEngines('a role without production variables is offered all others, and nothing of these', async (world) => {
  const { slug } = (await world.call('GET', `/v2/teams/${world.credentials.teamId}`)).body
  const { live, tried, liveShared, triedShared } = await seedVariables(world)
  const ofTeam = `/console/t/${slug}/variables`
  const ofProject = `/console/t/${slug}/projects/web/variables`
  for (const role of ROLES) {
    const user = await world.user(role.toLowerCase())
    await world.join(user, role)
    const client = await openSignedInClient(world, user.id, role.toLowerCase())
    const isAbove = role === 'OWNER' || role === 'MEMBER'
    const develops = isAbove || role === 'DEVELOPER'
    const [list, shared, linked] = await Promise.all(
      [ofProject, ofTeam, `${ofProject}/shared`].map(async (path) => (await client.get(path)).text),
    )
    const offers = (text: string | undefined, path: string) =>
      ['', '/edit'].map((end) => text!.includes(`"${path}${end}"`))
    for (const [id, sharedId, isAllowed] of [
      [live, liveShared, isAbove],
      [tried, triedShared, develops],
    ] as const) {
      assert.deepEqual(offers(list, `${ofProject}/${id}`), [isAllowed, isAllowed], role)
      assert.deepEqual(offers(shared, `${ofTeam}/${sharedId}`), [isAllowed, isAllowed], role)
      assert.equal(linked!.includes(`action="${ofProject}/shared/${sharedId}"`), isAllowed, role)
    }
    for (const path of [`${ofProject}/new`, `${ofProject}/import`, `${ofTeam}/new`]) {
      const form = await client.get(path)
      assert.equal(form.status, develops ? 200 : 403, `${role} ${path}`)
      assert.equal(form.text.includes('value="production"'), isAbove, `${role} ${path}`)
      assert.equal(form.text.includes('value="preview"'), develops, `${role} ${path}`)
      const says = form.text.includes('Your role cannot change production variables')
      assert.equal(says, develops && !isAbove, `${role} ${path}`)
    }
    const history = await client.get(`${ofProject}/${live}/history`)
    assert.equal(/Restore version/.test(history.text), isAbove, `${role} restores`)
    for (const path of [`${ofProject}/${live}/edit`, `${ofTeam}/${liveShared}/edit`])
      assert.equal((await client.get(path)).status, isAbove ? 200 : 403, `${role} ${path}`)
  }
})
