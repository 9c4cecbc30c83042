/** Automatic checks of unverified domains, with a real DNS server. docs/domains.md: Automatic checks. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { checkDomains } from '../../../src/projects/domain-verification/checks.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { leaseDomainTurns } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { claim, events, freshApex, publish, seedTwoAccounts } from '../../support/worlds/domain-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
const settings = { BERTH_DNS_SERVERS: dns.address }
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Checks what is due at a time. Returns the names that DNS was asked for. */
async function checkAt({ deps }: World, now: number): Promise<string[]> {
  const before = dns.asked.length
  await checkDomains(deps, now)
  return dns.asked.slice(before).map((question) => question.replace('TXT ', ''))
}

const turns = ({ deps }: World) => deps.db.read.selectFrom('domain_turn').selectAll().execute()

onBothEngines(
  'a domain is looked up after 1, 3, 8, 18 and 48 minutes, then hourly, and not after 72 hours',
  async (world) => {
    const { challenge, domain } = await claim(dns, world.call, `www.${freshApex()}`)
    assert.equal(domain.checkedUntil, domain.updatedAt + 72 * HOUR_MS)
    const minutes: number[] = []
    for (let [turn] = await turns(world); turn !== undefined; [turn] = await turns(world)) {
      assert.deepEqual(await checkAt(world, turn.due_at - 1), [])
      assert.deepEqual(await checkAt(world, turn.due_at), [challenge.domain])
      minutes.push((turn.due_at - domain.updatedAt) / MINUTE_MS)
    }
    assert.deepEqual(minutes.slice(0, 7), [1, 3, 8, 18, 48, 108, 168])
    assert.equal(minutes.at(-1), 48 + 71 * 60)
    const after = (await world.call('GET', `/v9/projects/web/domains/${domain.name}`)).body
    assert.deepEqual([after.verified, after.checkedUntil], [false, undefined])
  },
  settings,
)

onBothEngines(
  'a record that appeared verifies the domain, as by its user: event, webhook and audit log, by the timer',
  async (world) => {
    const { challenge, domain, read } = await claim(dns, world.call, `www.${freshApex()}`)
    await world.call('POST', '/v1/webhooks', {
      url: 'https://hooks.example.com/',
      events: ['project.domain.verified'],
    })
    const added = domain.updatedAt
    publish(dns, challenge.domain, `${challenge.value}0`)
    await checkAt(world, added + MINUTE_MS)
    assert.equal((await read()).verified, false, 'another record')
    publish(dns, challenge.domain, challenge.value)
    await checkAt(world, added + 3 * MINUTE_MS)
    const verified = await read()
    assert.deepEqual([verified.verified, verified.verification, verified.checkedUntil], [true, undefined, undefined])
    const [event, ...others] = (await events(world)).filter(({ type }) => type === 'project.domain.verified')
    assert.deepEqual(others, [])
    assert.equal(event!.projectId, domain.projectId)
    assert.deepEqual([event!.payload.user, event!.payload.domain.name], [{ id: null }, domain.name])
    const deliveries = await world.deps.db.read.selectFrom('delivery').select('id').execute()
    assert.equal(deliveries.length, 1)
    const { entries } = (await world.call('GET', '/v1/activity?type=verifyProjectDomain')).body
    assert.deepEqual(
      entries.map(({ actor, subjectId }) => [actor.kind, actor.id, subjectId]),
      [['timer', 'domain-checks', domain.projectId]],
    )
    assert.deepEqual(await turns(world), [])
    assert.deepEqual(await checkAt(world, added + HOUR_MS), [], 'a verified domain is not looked up')
  },
  settings,
)

onBothEngines(
  'of several that check at once one asks, and a turn whose instance died is taken again',
  async (world) => {
    const { challenge } = await claim(dns, world.call, `www.${freshApex()}`)
    dns.zones.set(challenge.domain, { txt: [[challenge.value]], delayMs: 50 })
    const now = world.deps.clock.now() + MINUTE_MS
    const before = dns.asked.length
    await Promise.all([1, 2, 3, 4].map(() => checkDomains(world.deps, now)))
    assert.equal(dns.asked.length - before, 1)
    assert.equal((await events(world)).filter(({ type }) => type === 'project.domain.verified').length, 1)

    const next = await claim(dns, world.call, `www.${freshApex()}`)
    await leaseDomainTurns(world, now + 2 * MINUTE_MS)
    assert.deepEqual(await checkAt(world, now + MINUTE_MS), [], 'leased')
    assert.deepEqual(await checkAt(world, now + 2 * MINUTE_MS), [next.challenge.domain])
  },
  settings,
)

onBothEngines(
  'an account with many domains has one look-up a second, and others do not wait for it',
  async (world) => {
    const [many, one] = await seedTwoAccounts(dns, world)
    for (let count = 0; count < 5; count++) await many.add(`www.${freshApex()}`)
    const alone = (await one.add(`www.${freshApex()}`)).body.verification[0].domain
    const now = world.deps.clock.now() + MINUTE_MS
    const first = await checkAt(world, now)
    assert.equal(first.length, 2)
    assert.ok(first.includes(alone))
    assert.deepEqual(await checkAt(world, now + 999), [])
    const asked = [...first]
    for (let seconds = 1; seconds < 5; seconds++) asked.push(...(await checkAt(world, now + seconds * 1000)))
    assert.equal(new Set(asked).size, 6)
    assert.equal(asked.length, 6)
  },
  settings,
)

onBothEngines(
  'a user who asks starts the 72 hours again',
  async (world) => {
    const { domain, verify, read, challenge } = await claim(dns, world.call, `www.${freshApex()}`)
    assert.equal((await verify()).status, 400)
    assert.equal((await read()).checkedUntil, domain.checkedUntil, 'within an hour it is the same')
    const later = domain.updatedAt + 100 * HOUR_MS
    assert.deepEqual(await checkAt(world, later), [])
    assert.equal((await read()).checkedUntil, undefined)
    world.deps.clock.set(later)
    assert.equal((await verify()).status, 400)
    const asked = (await read()).checkedUntil! - 72 * HOUR_MS
    assert.ok(asked >= later && asked <= world.deps.clock.now(), `${asked - later}`)
    assert.deepEqual(await checkAt(world, asked + MINUTE_MS), [challenge.domain])
  },
  settings,
)

onBothEngines(
  'what a user would be refused changes nothing: no answer, a limit, and a conflict with another account',
  async (world) => {
    const [holder, other] = await seedTwoAccounts(dns, world)
    const apex = freshApex()
    const name = `www.${apex}`
    const [challenge] = (await other.add(name)).body.verification
    await holder.prove(`*.${apex}`)
    dns.zones.set(challenge.domain, { rcode: 'SERVFAIL' })
    const now = world.deps.clock.now()
    assert.ok((await checkAt(world, now + MINUTE_MS)).length > 0)
    dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
    assert.deepEqual(await checkAt(world, now + 3 * MINUTE_MS), [challenge.domain])
    assert.equal((await other.read(name)).verified, false)
    world.deps.clock.set(now + 3 * MINUTE_MS)
    for (let count = 0; count < 2; count++) assert.equal((await other.verify(name)).status, 409)
    assert.deepEqual(await checkAt(world, now + 8 * MINUTE_MS), [challenge.domain], 'a conflict ends no checks')
    assert.equal((await other.verify(name)).status, 429, 'checks count in the limit of the account')
    assert.deepEqual(await checkAt(world, now + 18 * MINUTE_MS), [])
    assert.equal((await other.read(name)).verified, false)
    assert.equal((await events(world)).filter(({ type }) => type === 'project.domain.verified').length, 1)
  },
  { ...settings, BERTH_RATE_LIMITS: '{"account-lookup": {"total": 5, "seconds": 86400}}' },
)

onBothEngines(
  'a new challenge is looked up: of a name that moved, and of one that another account verified. A removed name is not',
  async (world) => {
    const [holder, other] = await seedTwoAccounts(dns, world)
    const [apex, moved] = [freshApex(), freshApex()]
    await holder.prove(apex)
    await holder.add(moved)
    await world.call('POST', '/v10/projects', { name: 'target' })
    const later = (ms: number) => checkAt(world, world.deps.clock.now() + ms)
    assert.deepEqual(await later(80 * HOUR_MS), [])
    assert.deepEqual(await turns(world), [])
    const { id } = (await world.call('GET', '/v9/projects/target')).body
    await world.call('POST', `/v1/projects/web/domains/${moved}/move`, { projectId: id })
    assert.deepEqual(await later(MINUTE_MS), [`_berth.${moved}`])
    await world.call('DELETE', `/v9/projects/target/domains/${moved}`)
    assert.deepEqual(await later(HOUR_MS), [])
    assert.deepEqual(await turns(world), [])
    await other.prove(apex)
    const [challenge] = (await holder.read(apex)).verification
    publish(dns, challenge.domain, challenge.value)
    assert.deepEqual(await later(MINUTE_MS), [challenge.domain])
    assert.equal((await holder.read(apex)).verified, true, 'its new record verifies it again')
    assert.equal((await other.read(apex)).verified, false)
  },
  settings,
)

onBothEngines(
  'a domain that is added while another one waits does not delay its check',
  async (world) => {
    const first = await claim(dns, world.call, `www.${freshApex()}`)
    world.deps.clock.set(world.deps.clock.now() + MINUTE_MS / 2)
    const second = await claim(dns, world.call, `www.${freshApex()}`, 'again')
    assert.ok(second.domain.updatedAt > first.domain.updatedAt)
    assert.deepEqual(await checkAt(world, first.domain.updatedAt + MINUTE_MS), [first.challenge.domain])
  },
  settings,
)
