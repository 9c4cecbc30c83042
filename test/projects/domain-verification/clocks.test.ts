/** The latest verification of an apex counts, whatever the clocks say. docs/domains.md: The latest verification of an apex counts. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { freshApex, seedTwoAccounts } from '../../support/worlds/domain-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
const settings = { BERTH_DNS_SERVERS: dns.address }

/** Verifies an apex for an account. */
async function proveApex({ call }: { call: World['call'] }, apex: string): Promise<void> {
  await call('POST', '/v7/domains', { name: apex })
  const { txtRecord, verificationDomain } = (await call('GET', `/v9/domains/${apex}/verification`)).body
  dns.zones.set(verificationDomain, { txt: [[txtRecord]] })
  const verified = await call('POST', `/v9/domains/${apex}/claim`)
  dns.zones.delete(verificationDomain)
  assert.equal(verified.status, 200, verified.text)
}

for (const what of ['a name', 'an apex'])
  onBothEngines(
    `a verification of ${what} counts over an earlier one by a clock that was ahead`,
    async (world) => {
      const [former, owner] = await seedTwoAccounts(dns, world)
      const { clock } = world.deps
      const apex = freshApex()
      clock.set(clock.now() + 60_000)
      await former.prove(`a.${apex}`)
      clock.set(undefined)
      if (what === 'an apex') await proveApex(owner, apex)
      else await owner.prove(`b.${apex}`)
      assert.equal((await former.add(`login.${apex}`)).body.verified, false)
      assert.equal((await owner.add(`pay.${apex}`)).body.verified, true)
    },
    settings,
  )
