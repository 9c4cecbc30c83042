/** What an operator does: a backup, a new root key, and a suspension. */
import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR, type Steps, TEAM, VALUE, variableId, WEB } from './scene.ts'

const SECTIONS = ['teams', 'tokens', 'integrations', 'timers', 'deliveries', 'audit', 'audit/verify', 'health']

export const operatorSteps: Steps = {
  async 'the operator makes a backup'({ tour }) {
    await tour.go(OPERATOR)
    await tour.look('operator')
    if (tour.script) await tour.page.locator('#health-open .state').first().waitFor()
    await tour.follow('All checks')
    await tour.page.getByRole('heading', { name: 'Health' }).waitFor()
    if (!tour.script) await tour.follow('Run checks')
    await tour.page.getByText('checks passed').waitFor()
    await tour.go(`${OPERATOR}/backups`)
    await tour.press('Create backup')
    await eventually(async () => {
      await tour.go(`${OPERATOR}/backups`)
      return (await tour.page.getByText(/berth-.*\.db/).count()) > 0
    })
    await tour.look('backups')
  },

  async 'the operator makes a new root key active, and values are read as before'(scene) {
    const { tour, world } = scene
    const before = (await world.operator('GET', '/operator/v1/keys')).body.activeKeyId
    await tour.go(`${OPERATOR}/keys`)
    await tour.look('keys')
    await tour.pressTwice('Rotate root key')
    await tour.page.getByText('Older').first().waitFor()
    const after = (await world.operator('GET', '/operator/v1/keys')).body.activeKeyId
    assert.notEqual(after, before)
    await tour.page.getByRole('row').filter({ hasText: after }).getByText('Active').waitFor()
    await tour.go(`${WEB}/variables/${await variableId(scene, 'API_KEY')}`)
    assert.equal((await tour.page.locator('turbo-frame pre').innerText()).trim(), VALUE)
  },

  async 'the operator suspends a user, who is signed out at once'({ tour, world, ada }) {
    await ada!.go(TEAM)
    assert.equal(new URL(ada!.page.url()).pathname, TEAM)
    const { users } = (await world.operator('GET', '/operator/v1/users?search=ada')).body
    const { token } = (await world.operator('POST', '/operator/v1/tokens', { userId: users[0]!.id })).body
    assert.equal((await world.as(token)('GET', '/v2/user')).status, 200)
    await tour.go(`${OPERATOR}/people`)
    await tour.look('people', true)
    await tour.follow('ada')
    await tour.look('person')
    await tour.pressTwice('Suspend')
    await tour.page.getByText('Suspended').first().waitFor()
    await ada!.go(TEAM)
    assert.equal(new URL(ada!.page.url()).pathname, '/sign-in')
    assert.equal((await world.as(token).try('GET', '/v2/user')).status, 401)
  },

  async 'every section of the operator is looked at'({ tour }) {
    for (const section of SECTIONS) {
      await tour.go(`${OPERATOR}/${section}`)
      await tour.look(section)
    }
  },
}
