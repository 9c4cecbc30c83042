/** The accounts that one user owns share the turns of one account, and their number is limited. docs/limits.md: Budgets, Rationale. */
import assert from 'node:assert/strict'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'

type Person = Awaited<ReturnType<World['user']>>

const LISTS = 150

async function makeTeam(person: Person, slug: string): Promise<string> {
  const made = await person.call('POST', '/v1/teams', { slug })
  assert.equal(made.status, 200, made.text)
  return made.body.id
}

/** Makes another user a member of a team, by default its OWNER, with an invitation that they accept. */
async function handOver(giver: Person, team: string, taker: Person, role = 'OWNER'): Promise<ApiResponse> {
  const path = `/v1/teams/${team}/members` as const
  const invited = await giver.call('POST', path, { uid: taker.id, role })
  assert.equal(invited.status, 200, invited.text)
  const inviteCode = invited.body.inviteUrl?.split('/').at(-1)
  return taker.call.try('POST', `${path}/teams/join`, { inviteCode })
}

/** Lists the projects of accounts, all at once, and returns how many got 429. No list was requested before. */
async function refusedOf(lists: readonly [person: Person, team: string][]): Promise<number> {
  const answers = await Promise.all(
    lists.flatMap(([{ call }, team]) =>
      Array.from({ length: LISTS }, (_, n) => call.try('GET', `/v9/projects?teamId=${team}&search=s${n}`)),
    ),
  )
  const refused = answers.filter(({ status }) => status !== 200)
  for (const { body } of refused) assert.equal(body.error.code, 'rate_limited')
  return refused.length
}

onBothEngines(
  'teams of one user take the turns of one account; teams of several users have their own',
  async (world) => {
    const [one, two, three] = [await world.user('one'), await world.user('two'), await world.user('three')]
    const mine: [Person, string][] = []
    for (const slug of ['a', 'b', 'c']) mine.push([one, await makeTeam(one, `mine-${slug}`)])
    const theirs: [Person, string][] = [
      [one, mine[0]![1]],
      [two, await makeTeam(two, 'of-two')],
      [three, await makeTeam(three, 'of-three')],
    ]
    assert.equal(await refusedOf(theirs), 0)
    assert.ok((await refusedOf(mine)) > 0)
  },
)

onBothEngines('a user who is made OWNER without their consent shares nothing with the team', async (world) => {
  const [attacker, victim] = [await world.user('attacker'), await world.user('victim')]
  const team = await makeTeam(attacker, 'heavy')
  const path = `/v1/teams/${team}/members` as const
  assert.equal((await handOver(attacker, team, victim, 'VIEWER')).status, 200)
  assert.equal((await attacker.call('PATCH', `${path}/${victim.id}`, { role: 'OWNER' })).status, 200)
  assert.equal((await attacker.call.try('DELETE', `${path}/${attacker.id}`)).status, 409)
  assert.equal(
    await refusedOf([
      [victim, team],
      [victim, victim.id],
    ]),
    0,
  )
  assert.equal((await victim.call('DELETE', `${path}/${victim.id}`)).status, 200)
})

onBothEngines('a team goes on counting for its OWNER until another OWNER has accepted the role', async (world) => {
  world.deps.config.budgets = { teams: 3 }
  const [one, two] = [await world.user('one'), await world.user('two')]
  const teams: [Person, string][] = []
  for (const slug of ['a', 'b', 'c']) {
    const team = await makeTeam(one, slug)
    teams.push([one, team])
    const of = ({ id }: Person) => `/v1/teams/${team}/members/${id}` as const
    assert.equal((await handOver(one, team, two, 'MEMBER')).status, 200)
    assert.equal((await one.call('PATCH', of(two), { role: 'OWNER' })).status, 200)
    for (const early of [
      await one.call.try('PATCH', of(one), { role: 'MEMBER' }),
      await one.call.try('DELETE', of(one)),
    ]) {
      assert.deepEqual([early.status, early.body.error.code], [409, 'conflict'])
      assert.match(early.body.error.message, /No other OWNER has accepted the role/)
    }
    // An OWNER who changes the role of another one accepts their own.
    assert.equal((await two.call('PATCH', of(one), { role: 'MEMBER' })).status, 200)
    assert.equal((await two.call.try('DELETE', of(two))).status, 409)
  }
  assert.equal((await two.call.try('POST', '/v1/teams', { slug: 'd' })).status, 409)
  await makeTeam(one, 'd')
  assert.ok((await refusedOf(teams)) > 0)
})

onBothEngines('a user is OWNER of at most 20 teams, also when others hand theirs over', async (world) => {
  const [one, two] = [await world.user('one'), await world.user('two')]
  const teams: string[] = []
  for (let n = 0; n < 20; n++) teams.push(await makeTeam(one, `one-${n}`))
  for (const team of teams.slice(0, 19)) assert.equal((await handOver(one, team, two)).status, 200)
  await makeTeam(two, 'two-0')
  const accepted = await handOver(one, teams[19]!, two)
  assert.deepEqual([accepted.status, accepted.body.error.code], [409, 'conflict'])
  assert.match(accepted.body.error.message, /OWNER/)

  // Also as a member who is made OWNER: the change is undone with the refusal.
  const path = `/v1/teams/${teams[19]}/members` as const
  await one.call('PATCH', `${path}/${two.id}`, { role: 'MEMBER' })
  const invited = (await one.call('GET', path)).body.members.find(({ uid }: { uid: string }) => uid === two.id)
  assert.equal(invited?.confirmed, false)
  await one.call('DELETE', `${path}/${two.id}`)
  const again = await one.call('POST', path, { uid: two.id, role: 'MEMBER' })
  const inviteCode = again.body.inviteUrl?.split('/').at(-1)
  assert.equal((await two.call('POST', `${path}/teams/join`, { inviteCode })).status, 200)
  assert.equal((await one.call.try('PATCH', `${path}/${two.id}`, { role: 'OWNER' })).status, 409)
  const { role } = (await one.call('GET', path)).body.members.find(({ uid }: { uid: string }) => uid === two.id)!
  assert.equal(role, 'MEMBER')
})
