/** Which account holds a name that several accounts verify, in sequence and concurrently. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { iterations } from '../../support/iterations.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines } from '../../support/world.ts'
import { claim, freshApex, publish } from '../../support/worlds/domain-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
const settings = { BERTH_DNS_SERVERS: dns.address }

onBothEngines(
  'a record with the token of another account has an error of its own, and does not verify',
  async ({ call, user }) => {
    const name = freshApex()
    const eve = await user('eve')
    const mine = await claim(dns, call, name)
    const theirs = await claim(dns, eve.call, name, 'shop')
    publish(dns, mine.challenge.domain, mine.challenge.value)
    const refused = await theirs.verify()
    assert.equal(refused.status, 400)
    assert.equal(refused.body.error.code, 'txt_verifies_another_project')
    assert.equal((await theirs.read()).verified, false)
    assert.equal((await mine.verify()).status, 200)
    const still = await theirs.verify()
    assert.equal(still.body.error.code, 'txt_verifies_another_project')
  },
  settings,
)

onBothEngines(
  'a second account that verifies a name gets it; the first becomes unverified, with a new challenge and an event',
  async ({ call, user, deps }) => {
    const name = freshApex()
    const eve = await user('eve')
    const first = await claim(dns, call, name)
    const second = await claim(dns, eve.call, name, 'shop')
    await first.prove()
    assert.equal((await second.read()).verified, false)
    await second.prove()
    const lost = await first.read()
    assert.equal(lost.verified, false)
    assert.equal(lost.verification[0].domain, first.challenge.domain)
    assert.notEqual(lost.verification[0].value, first.challenge.value)
    // The old record is still in DNS but no longer verifies.
    const again = await first.verify()
    assert.equal(again.status, 400)
    assert.equal((await second.read()).verified, true)

    const [event] = await deps.db.read
      .selectFrom('event')
      .selectAll()
      .where('type', '=', 'project.domain.unverified')
      .execute()
    const [project] = (await call('GET', '/v9/projects')).body.projects
    assert.equal(event!.account_id, project.accountId)
    assert.equal(event!.project_id, project.id)
    const payload = JSON.parse(event!.payload_json)
    assert.deepEqual(payload.user, { id: null })
    assert.equal(payload.domain.verified, false)
    assert.equal(payload.project.name, 'web')
    assert.equal(JSON.stringify(event).includes(eve.id), false)
  },
  settings,
)

onBothEngines(
  'the record of a domain that was removed verifies no later attachment, neither for the account nor for another',
  async ({ call, user, deps }) => {
    const name = freshApex()
    const first = await claim(dns, call, name)
    await first.prove()
    assert.equal((await call('DELETE', `/v9/projects/web/domains/${name}`)).status, 200)
    // Simulates 30 days later: until then the released verification counts, without a DNS lookup.
    deps.clock.set(deps.clock.now() + 30 * 86_400_000)
    const again = await claim(dns, call, name)
    assert.notEqual(again.challenge.value, first.challenge.value)
    assert.equal((await again.verify()).body.error.code, 'txt_record_mismatch')
    const eve = await user('eve')
    const theirs = await claim(dns, eve.call, name, 'shop')
    assert.equal((await theirs.verify()).body.error.code, 'txt_record_mismatch')
  },
  settings,
)

onBothEngines(
  'when two accounts verify one name at once, exactly one holds it',
  async ({ call, user, deps }) => {
    const eve = await user('eve')
    for (let round = 0; round < iterations(8, 40); round++) {
      const name = freshApex()
      const claims = [await claim(dns, call, name), await claim(dns, eve.call, name, 'shop')]
      for (const { challenge } of claims) publish(dns, challenge.domain, challenge.value)
      let watching = true
      const watch = (async () => {
        while (watching) {
          const held = await deps.db.read
            .selectFrom('project_domain')
            .select('account_id')
            .where('name', '=', name)
            .where('verified_at', 'is not', null)
            .execute()
          assert.ok(held.length <= 1, `${held.length} verified holders of ${name}`)
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
      const answers = await Promise.all(claims.map(({ verify }) => verify()))
      watching = false
      await watch
      assert.deepEqual(
        answers.map((answer) => answer.status),
        [200, 200],
        answers.map((answer) => answer.text).join(),
      )
      const holders = await Promise.all(claims.map(({ read }) => read()))
      assert.equal(holders.filter((domain) => domain.verified).length, 1)
    }
  },
  settings,
)
