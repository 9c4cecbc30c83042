/** Which names are verified at once, which need verification, and which are refused: docs/spec/decisions.md: Domains. */

import assert from 'node:assert/strict'
import { after } from 'node:test'
import { callWith } from '../../support/call.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { clearReleasedProofs, setInherited } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { assertRefused, freshApex, seedTwoAccounts, verifyAllClaims } from '../../support/worlds/domain-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
const settings = { BERTH_DNS_SERVERS: dns.address }

const DAY_MS = 24 * 60 * 60_000

onBothEngines(
  'names under a verified apex of the account are verified at once, on all its projects, but not for other accounts',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    const apex = freshApex()
    assert.equal((await mine.add(`www.${apex}`)).body.verified, false)
    await mine.proveAdded(`www.${apex}`)
    for (const name of [apex, `a.b.${apex}`, `*.${apex}`]) {
      const added = await mine.add(name)
      assert.equal(added.body.verified, true)
      assert.equal('verification' in added.body, false)
    }
    const elsewhere = await verifyAllClaims(dns, mine.call, 'second')
    assert.equal((await elsewhere.add(`second.${apex}`)).body.verified, true)
    await mine.remove(`*.${apex}`)
    assert.equal((await theirs.add(`x.${apex}`)).body.verified, false)
  },
  settings,
)

onBothEngines(
  'a verification outlives its last name by 30 days, so a name that is removed and added again is served at once',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    const apex = freshApex()
    await mine.add(apex)
    assert.equal((await mine.add(`www.${apex}`)).body.verified, false, 'a claim verifies nothing')
    await mine.remove(`www.${apex}`)
    await mine.remove(apex)
    assert.equal((await mine.add(apex)).body.verified, false, 'nor does one that was removed')
    await mine.proveAdded(apex)
    assert.equal((await mine.add(`api.${apex}`)).body.verified, true)
    for (const name of [apex, `api.${apex}`]) await mine.remove(name)
    assert.equal((await theirs.add(apex)).body.verified, false, 'it counts for no other account')
    assert.equal((await mine.add(apex)).body.verified, true)
    await mine.remove(apex)
    const { clock } = world.deps
    clock.set(clock.now() + 30 * DAY_MS - 60_000)
    assert.equal((await mine.add(apex)).body.verified, true)
    await mine.remove(apex)
    clock.set(clock.now() + 30 * DAY_MS)
    assert.equal((await mine.add(apex)).body.verified, false)
  },
  settings,
)

onBothEngines(
  'a released verification ends when another account verifies the apex, when the account removes the apex, and in its sweep',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    const [proven, givenUp, old] = [freshApex(), freshApex(), freshApex()]
    for (const apex of [proven, givenUp, old]) {
      await mine.prove(apex)
      await mine.remove(apex)
    }
    await theirs.prove(proven)
    await theirs.remove(proven)
    assert.equal((await mine.add(proven)).body.verified, false, 'also after the other has removed it again')
    assert.equal((await theirs.add(proven)).body.verified, true)
    assert.equal((await world.call('POST', '/v7/domains', { name: givenUp })).body.domain.verified, true)
    assert.equal((await world.call('DELETE', `/v6/domains/${givenUp}`)).status, 200)
    assert.equal((await mine.add(givenUp)).body.verified, false)
    const sweep = (days: number) =>
      world.operator('POST', '/operator/v1/timers/released-proofs/run', { now: Date.now() + days * DAY_MS })
    assert.deepEqual((await sweep(29)).body, { swept: 0 })
    assert.deepEqual((await sweep(31)).body, { swept: 2 }, 'mine for the old apex, theirs for the newly verified one')
    assert.equal((await mine.add(old)).body.verified, false)
  },
  settings,
)

onBothEngines(
  'a removed name with an earlier verification does not replace the later one of another removed name',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    const { clock } = world.deps
    const [kept, expired] = [freshApex(), freshApex()]
    for (const apex of [kept, expired]) {
      await mine.prove(`old.${apex}`)
      clock.set(clock.now() + 1)
      await theirs.prove(`between.${apex}`)
      clock.set(clock.now() + 1)
      await mine.prove(`new.${apex}`)
      await mine.remove(`new.${apex}`)
    }
    await mine.remove(`old.${kept}`)
    assert.equal((await theirs.add(`login.${kept}`)).body.verified, false)
    assert.equal((await mine.add(`login.${kept}`)).body.verified, true)
    clock.set(clock.now() + 30 * DAY_MS)
    await mine.remove(`old.${expired}`)
    assert.equal(
      (await mine.add(`login.${expired}`)).body.verified,
      false,
      'what has expired stays so before the sweep',
    )
    assert.equal((await theirs.add(`login.${expired}`)).body.verified, true)
  },
  settings,
)

onBothEngines(
  'deleting a project releases the verifications of its names, except of names that it received in a transfer',
  async (world) => {
    const [mine] = await seedTwoAccounts(dns, world)
    const apex = freshApex()
    await mine.prove(apex)
    const project = (await mine.read(apex)).projectId
    assert.equal((await world.call('DELETE', `/v9/projects/${project}`)).status, 204)
    const again = (await world.call('POST', '/v10/projects', { name: 'again' })).body.id
    const added = await world.call('POST', `/v10/projects/${again}/domains`, { name: apex })
    assert.equal(added.body.verified, true)
    await setInherited(world, apex)
    await clearReleasedProofs(world)
    assert.equal((await world.call('DELETE', `/v9/projects/${again}/domains/${apex}`)).status, 200)
    assert.equal((await world.call('POST', `/v10/projects/${again}/domains`, { name: apex })).body.verified, false)
  },
  settings,
)

onBothEngines(
  'only the latest account to verify an apex holds it: a former owner gets no further names without DNS',
  async (world) => {
    const [previous, present] = await seedTwoAccounts(dns, world)
    const apex = freshApex()
    await previous.prove(apex)
    await previous.prove(`www.${apex}`)
    world.deps.clock.set(world.deps.clock.now() + 1)
    await present.prove(apex)
    assert.equal((await previous.read(apex)).verified, false)
    assert.equal(
      (await previous.read(`www.${apex}`)).verified,
      true,
      'a name that the other account did not verify stays',
    )
    assert.equal((await previous.add(`login.${apex}`)).body.verified, false)
    assert.equal((await present.add(`mail.${apex}`)).body.verified, true)
    // A name that the former owner still holds is reassigned by a verification, not by a claim.
    assert.equal((await present.add(`www.${apex}`)).body.verified, false)
    await present.proveAdded(`www.${apex}`)
    assert.equal((await previous.read(`www.${apex}`)).verified, false)
  },
  settings,
)

onBothEngines(
  'a wildcard and a name under it are not verified in two accounts, whichever comes first',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    const relations: [held: string, asked: string, conflict: boolean][] = [
      ['*.A', 'x.A', true],
      ['*.A', 'x.y.A', true],
      ['*.A', '*.x.A', true],
      ['x.A', '*.A', true],
      ['x.y.A', '*.A', true],
      ['*.x.A', '*.A', true],
      ['*.A', 'A', false],
      ['A', '*.A', false],
      ['A', 'x.A', false],
      ['x.A', 'A', false],
      ['x.A', 'y.A', false],
      ['x.A', '*.x.A', false],
    ]
    for (const [held, asked, conflict] of relations) {
      const apex = freshApex()
      const [first, second] = [held.replace('A', apex), asked.replace('A', apex)]
      await mine.prove(first)
      const added = await theirs.add(second)
      if (!conflict) {
        assert.equal(added.body.verified, false, `${held} then ${asked}`)
        continue
      }
      assertRefused(added, 409, 'conflict_with_verified_domain')
      assert.ok(added.body.error.message.includes(first))
      assert.equal((await theirs.call.try('GET', `/v9/projects/shop/domains/${second}`)).status, 404)
    }
  },
  settings,
)

onBothEngines(
  'a claim from before the other name was verified gets the conflict on verifying, and keeps its challenge',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    const apex = freshApex()
    const claimed = (await theirs.add(`*.${apex}`)).body
    assert.equal(claimed.verified, false)
    await mine.prove(`x.${apex}`)
    dns.zones.set(`_berth.${apex}`, { txt: [[claimed.verification[0].value]] })
    assertRefused(await theirs.verify(`*.${apex}`), 409, 'conflict_with_verified_domain')
    assert.deepEqual(await theirs.read(`*.${apex}`), claimed)
    // The error message gives the solution: verify the name itself first.
    await theirs.add(`x.${apex}`)
    await theirs.proveAdded(`x.${apex}`)
    await theirs.proveAdded(`*.${apex}`)
  },
  settings,
)

onBothEngines('a name is on one project of an account: again 400, elsewhere 409 with the project', async (world) => {
  const [mine] = await seedTwoAccounts(dns, world)
  const second = await verifyAllClaims(dns, mine.call, 'second')
  const name = freshApex()
  const added = await mine.add(name)
  assertRefused(await mine.add(name), 400, 'domain_already_in_use')
  const elsewhere = await second.add(name)
  assertRefused(elsewhere, 409, 'domain_already_in_use')
  assert.equal(elsewhere.body.error.projectId, added.body.projectId)
  // A token limited to the second project does not see the first.
  const secondId = (await mine.call('GET', '/v9/projects/second')).body.id
  const narrow = await world.token({ projectIds: [secondId] })
  const hidden = await narrow.try('POST', '/v10/projects/second/domains', { name })
  assertRefused(hidden, 409, 'domain_already_in_use')
  assert.equal(hidden.text.includes(added.body.projectId), false)
})

onBothEngines('of 50 simultaneous adds of one name one wins', async (world) => {
  const [mine] = await seedTwoAccounts(dns, world)
  await verifyAllClaims(dns, mine.call, 'second')
  const name = freshApex()
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) =>
      mine.call.try('POST', `/v10/projects/${at % 2 === 0 ? 'web' : 'second'}/domains`, { name }),
    ),
  )
  const won = answers.filter((answer) => answer.status === 200)
  assert.equal(won.length, 1, answers.map((answer) => answer.status).join())
  const codes = answers.filter((answer) => answer.status !== 200).map((answer) => answer.body.error.code)
  assert.deepEqual(new Set(codes), new Set(['domain_already_in_use']))
  const rows = await world.deps.db.read.selectFrom('project_domain').selectAll().execute()
  assert.equal(rows.length, 1)
  const events = await world.deps.db.read
    .selectFrom('event')
    .select('id')
    .where('type', '=', 'project.domain.created')
    .execute()
  assert.equal(events.length, 1)
})

onBothEngines(
  'a name that is verified in another account of the caller is 409; for a token bound to a team it is a claim like any other',
  async (world) => {
    const { call, credentials } = world
    const name = freshApex()
    const mine = await verifyAllClaims(dns, call, 'web')
    await mine.prove(name)
    const team = `?teamId=${credentials.teamId}`
    await call('POST', `/v10/projects${team}`, { name: 'teamweb' })
    assertRefused(
      await call.try('POST', `/v10/projects/teamweb/domains${team}`, { name }),
      409,
      'domain_owned_by_your_other_account',
    )
    // Whom the operator placed there did not ask for it: their claim is one like any other.
    const placed = await world.user('placed')
    await world.operator('PUT', `/operator/v1/teams/${credentials.teamId}/members/${placed.id}`, { role: 'OWNER' })
    await placed.call('POST', '/v10/projects', { name: 'own' })
    const teams = freshApex()
    await (await verifyAllClaims(dns, callWith(call, team.slice(1)), 'third')).prove(teams)
    const claimed = await placed.call('POST', '/v10/projects/own/domains', { name: teams })
    assert.deepEqual([claimed.status, claimed.body.verified], [200, false])
    const bound = await world.token({ teamId: credentials.teamId })
    const added = await bound('POST', `/v10/projects/teamweb/domains${team}`, { name })
    assert.equal(added.status, 200)
    assert.equal(added.body.verified, false)

    // The reverse: the team holds the name and the user adds it.
    const other = freshApex()
    const onTeam = await call('POST', `/v10/projects/teamweb/domains${team}`, { name: other })
    dns.zones.set(`_berth.${other}`, { txt: [[onTeam.body.verification[0].value]] })
    assert.equal((await call('POST', `/v9/projects/teamweb/domains/${other}/verify${team}`)).status, 200)
    assertRefused(await mine.add(other), 409, 'domain_owned_by_your_other_account')
  },
  settings,
)
