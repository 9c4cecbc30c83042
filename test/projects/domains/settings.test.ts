/** Settings of the operator for names: verification, the platform suffix, denied domains, the challenge. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines } from '../../support/world.ts'
import { assertRefused, freshApex, seedTwoAccounts, verifyAllClaims } from '../../support/worlds/domain-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
const settings = { BERTH_DNS_SERVERS: dns.address }

onBothEngines(
  'names directly under the platform suffix require no verification and go to the first account that adds them',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    const added = await mine.add('web.apps.example.net')
    assert.equal(added.body.verified, true)
    const taken = await theirs.add('Web.apps.example.net')
    assertRefused(taken, 403, 'forbidden')
    assert.equal(taken.body.error.domain, 'web.apps.example.net')
    for (const name of ['apps.example.net', '*.apps.example.net', 'a.b.apps.example.net', '*.web.apps.example.net'])
      assertRefused(await theirs.add(name), 409, 'domain_not_allowed')
    // It does not verify the parent domain of the suffix.
    assert.equal((await mine.add('www.example.net')).body.verified, false)
    assert.equal((await mine.remove('web.apps.example.net')).status, 200)
    assert.equal((await theirs.add('web.apps.example.net')).body.verified, true)
  },
  { ...settings, BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)

onBothEngines(
  'of many accounts that add one platform name at once exactly one gets it',
  async (world) => {
    const accounts: Awaited<ReturnType<typeof verifyAllClaims>>[] = []
    for (let at = 0; at < 8; at++) accounts.push(await verifyAllClaims(dns, (await world.user(`u${at}`)).call, 'p'))
    for (let round = 0; round < 10; round++) {
      const name = `r${round}.apps.example.net`
      const answers = await Promise.all(accounts.map((account) => account.add(name)))
      assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array(7).fill(403)])
    }
  },
  { BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)

onBothEngines(
  'denied domains, all under them and wildcards over them are 409, also at verify',
  async (world) => {
    const [mine] = await seedTwoAccounts(dns, world)
    for (const name of ['denied.com', 'www.denied.com', '*.denied.com', 'admin.example.org', '*.example.org'])
      assertRefused(await mine.add(name), 409, 'domain_not_allowed')
    for (const name of ['notdenied.com', 'example.org', 'www.example.org'])
      assert.equal((await mine.add(name)).status, 200)
    // Denied after it was claimed, as after a restart with another list.
    world.deps.config.domains.denied.push('notdenied.com')
    const [challenge] = (await mine.read('notdenied.com')).verification
    dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
    assertRefused(await mine.verify('notdenied.com'), 409, 'domain_not_allowed')
    assert.equal((await mine.read('notdenied.com')).verified, false)
  },
  { ...settings, BERTH_DENIED_DOMAINS: 'denied.com,admin.example.org' },
)

onBothEngines(
  'BERTH_DOMAIN_PROOF=contested: verified at once unless another account holds the name or its apex',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    const apex = freshApex()
    assert.equal((await mine.add(apex)).body.verified, true)
    const claim = await theirs.add(apex)
    assert.equal(claim.body.verified, false)
    assert.equal((await theirs.add(`www.${apex}`)).body.verified, false, 'the apex is held')
    await theirs.proveAdded(apex)
    assert.equal((await mine.read(apex)).verified, false)
    assert.equal((await mine.add(`mail.${apex}`)).body.verified, false)
    assert.equal((await theirs.add(`blog.${apex}`)).body.verified, true)

    // A name assigned without verification does not count as verified, neither against other accounts nor for its own.
    const other = freshApex()
    await mine.add(`a.${other}`)
    assert.equal((await theirs.add(`b.${other}`)).body.verified, false)
    world.deps.config.domains.proof = 'always'
    assert.equal((await mine.add(`c.${other}`)).body.verified, false)
  },
  { ...settings, BERTH_DOMAIN_PROOF: 'contested' },
)

onBothEngines(
  'contested: of two accounts that add one free name at once one is verified and the other has a challenge',
  async (world) => {
    const [mine, theirs] = await seedTwoAccounts(dns, world)
    for (let round = 0; round < 20; round++) {
      const name = freshApex()
      const answers = await Promise.all([mine.add(name), theirs.add(name)])
      assert.deepEqual(
        answers.map((answer) => answer.body.verified).sort(),
        [false, true],
        answers.map((answer) => answer.text).join(),
      )
    }
  },
  { BERTH_DOMAIN_PROOF: 'contested' },
)

onBothEngines(
  'label and prefix of the challenge are settings',
  async (world) => {
    const [mine] = await seedTwoAccounts(dns, world)
    const apex = freshApex()
    const [challenge] = (await mine.add(apex)).body.verification
    assert.equal(challenge.domain, `_vercel.${apex}`)
    assert.match(challenge.value, new RegExp(`^vc-domain-verify=${apex},[0-9a-f]{20}$`))
    await mine.proveAdded(apex)
  },
  { ...settings, BERTH_CHALLENGE_LABEL: '_vercel', BERTH_CHALLENGE_PREFIX: 'vc-domain-verify' },
)

onBothEngines('every attachment has a token of its own', async (world) => {
  const [mine] = await seedTwoAccounts(dns, world)
  const values = new Set<string>()
  const name = freshApex()
  for (let at = 0; at < 50; at++) {
    values.add((await mine.add(name)).body.verification[0].value)
    await mine.remove(name)
  }
  assert.equal(values.size, 50)
})
