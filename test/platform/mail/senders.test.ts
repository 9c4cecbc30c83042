/** Letters that a user causes to others count for the sender. docs/limits.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENGINES, openWorld } from '../../support/world.ts'

for (const engine of ENGINES)
  test(`inviting and revoking uses up no letters of others: neither for a password nor of other teams [${engine}]`, async (t) => {
    const world = await openWorld(engine, { BERTH_RATE_LIMITS: 'on' })
    t.after(() => world.close())
    const [victim, attacker] = [await world.user('victim'), await world.user('attacker')]
    const teams: string[] = []
    for (const slug of ['one', 'two']) {
      const made = await attacker.call('POST', '/v1/teams', { slug })
      assert.equal(made.status, 200, made.text)
      teams.push(made.body.id)
    }
    const refused: string[] = []
    for (let n = 0; n < 60; n++) {
      const path = `/v1/teams/${teams[n % 2]}/members` as const
      const invited = await attacker.call.try('POST', path, { uid: victim.id, role: 'MEMBER' })
      if (invited.status === 429) refused.push(invited.body.error.name)
      else assert.equal((await attacker.call('DELETE', `${path}/${victim.id}`)).status, 200)
    }
    const letters = async () =>
      (
        await world.deps.db.read
          .selectFrom('mail')
          .select('subject')
          .where('recipient', '=', 'victim@example.com')
          .orderBy('created_stamp')
          .execute()
      ).map(({ subject }) => subject)
    assert.equal((await letters()).length, 5, 'of one sender')
    assert.deepEqual([refused.length, ...new Set(refused)], [55, 'letters-to-address'])

    const path = `/v1/teams/${world.credentials.teamId}/members` as const
    assert.equal((await world.call('POST', path, { uid: victim.id, role: 'MEMBER' })).status, 200)
    const link = await world.operator('POST', `/operator/v1/users/${victim.id}/password-link`)
    assert.equal(link.status, 201, link.text)
    assert.deepEqual((await letters()).slice(5), ['Invitation to the team team', 'Set your password'])
  })
