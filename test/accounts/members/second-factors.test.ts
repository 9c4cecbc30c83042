/** Who sees which users have a second factor: the operator, and the owners of a team. docs/accounts.md: Members. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { setUpCodes } from '../../support/clients/second-factor.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** Username → whether a second factor, as a list says it. */
function factorsOf(rows: readonly { username: string; secondFactor?: boolean }[]) {
  return Object.fromEntries(rows.map(({ username, secondFactor }) => [username, secondFactor]))
}

/** A member with one-time codes, and one who began to set them up. */
async function open(world: World) {
  const [ada, bob] = [await world.user('ada'), await world.user('bob')]
  for (const user of [ada, bob]) await world.join(user, 'MEMBER')
  await setUpCodes(world, await openSignedInClient(world, ada.id, 'ada'))
  const begun = await openSignedInClient(world, bob.id, 'bob')
  await begun.get('/console/account/security/factors')
  assert.equal((await begun.post('/console/account/security/factors/codes/begin')).status, 303)
  return { ada, bob, path: `/v3/teams/${world.credentials.teamId}/members` as const }
}

onBothEngines('an owner sees which members have a second factor, and other members do not', async (world) => {
  const { ada, path } = await open(world)
  const { members } = (await world.call('GET', path)).body
  assert.deepEqual(factorsOf(members), { admin: false, ada: true, bob: false })
  const theirs = (await ada.call('GET', path)).body
  assert.deepEqual(factorsOf(theirs.members), { admin: undefined, ada: undefined, bob: undefined })
  const page = (await (await openSignedInClient(world)).get('/console/t/team/members')).text
  assert.match(
    page,
    /ada@example\.com[\s\S]*data-label="Two-factor">[^\n]*On<[\s\S]*admin[\s\S]*data-label="Two-factor">[^\n]*Off</,
  )
})

onBothEngines('the operator sees it of all users', async (world) => {
  await open(world)
  const { users } = (await world.operator('GET', '/operator/v1/users')).body
  assert.deepEqual(factorsOf(users), { admin: false, ada: true, bob: false })
  assert.equal((await world.operator('GET', '/operator/v1/users/ada')).body.secondFactor, true)
  assert.equal((await world.operator('GET', '/operator/v1/users/bob')).body.secondFactor, false)
})
