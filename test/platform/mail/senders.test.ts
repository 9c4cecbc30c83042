/** Letters that a user causes to others count for the sender. docs/limits.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { ENGINES, openWorld, type World } from '../../support/world.ts'

/** The subjects of the emails to the victim, in order. */
async function letters({ deps }: World): Promise<string[]> {
  const mails = deps.db.read.selectFrom('mail').select('subject').where('recipient', '=', 'victim@example.com')
  return (await mails.orderBy('created_stamp').execute()).map(({ subject }) => subject)
}

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
    assert.equal((await letters(world)).length, 5, 'of one sender')
    assert.deepEqual([refused.length, ...new Set(refused)], [55, 'letters-to-address'])

    const path = `/v1/teams/${world.credentials.teamId}/members` as const
    assert.equal((await world.call('POST', path, { uid: victim.id, role: 'MEMBER' })).status, 200)
    const link = await world.operator('POST', `/operator/v1/users/${victim.id}/password-link`)
    assert.equal(link.status, 201, link.text)
    assert.deepEqual((await letters(world)).slice(5), ['Invitation to the team team', 'Set your password'])
  })

for (const engine of ENGINES)
  test(`asking to change one's email to the address of a user uses up no invitations to them [${engine}]`, async (t) => {
    const world = await openWorld(engine, {
      BERTH_RATE_LIMITS: '{"email-changes": null}',
      BERTH_SMTP_URL: 'smtp://127.0.0.1:1',
      BERTH_MAIL_FROM: 'berth@example.com',
    })
    t.after(() => world.close())
    const [victim, attacker] = [await world.user('victim'), await world.user('attacker')]
    const client = await openSignedInClient(world, attacker.id, 'attacker')
    const statuses: number[] = []
    for (let n = 0; n < 51; n++) {
      await client.get('/console/account')
      statuses.push((await client.post('/console/account/email/change', { email: 'Victim@example.com' })).status)
    }
    const path = `/v1/teams/${world.credentials.teamId}/members` as const
    assert.equal((await world.call('POST', path, { uid: victim.id, role: 'MEMBER' })).status, 200)
    assert.deepEqual(await letters(world), [
      ...Array.from({ length: 5 }, () => 'Confirm your email'),
      'Invitation to the team team',
    ])
    assert.deepEqual(statuses, [...Array.from({ length: 5 }, () => 303), ...Array.from({ length: 46 }, () => 429)])

    // Invitations of the same sender are of the same share.
    const made = await attacker.call('POST', '/v1/teams', { slug: 'one' })
    const invited = await attacker.call.try('POST', `/v1/teams/${made.body.id}/members`, { uid: victim.id })
    assert.deepEqual([invited.status, invited.body.error.name], [429, 'letters-to-address'])
  })
