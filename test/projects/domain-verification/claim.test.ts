/** Verification with a real DNS server: which answers verify a domain, and the error for every other one. */

import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDnsServer, type Zone } from '../../support/servers/dns-server.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines } from '../../support/world.ts'
import { claim, freshApex } from '../../support/worlds/domain-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
const settings = { BERTH_DNS_SERVERS: dns.address }

onBothEngines(
  'the right record verifies and ends the challenge, and verifying again returns 200 without a lookup',
  async ({ call, deps }) => {
    const apex = freshApex()
    const { challenge, prove, verify, domain, read } = await claim(dns, call, `www.${apex}`)
    assert.deepEqual(Object.keys(challenge).sort(), ['domain', 'reason', 'type', 'value'])
    assert.equal(challenge.type, 'TXT')
    assert.equal(challenge.domain, `_berth.${apex}`)
    assert.match(challenge.value, new RegExp(`^berth-domain-verify=www\\.${apex},[0-9a-f]{20}$`))
    assert.equal(challenge.reason, 'pending_domain_verification')
    const proved = await prove()
    assert.equal('verification' in proved, false)
    assert.equal(proved.createdAt, domain.createdAt)

    dns.zones.delete(challenge.domain)
    const asked = dns.asked.length
    assert.deepEqual((await verify()).body, proved)
    assert.equal(dns.asked.length, asked)
    assert.deepEqual(await read(), proved)
    const events = await deps.db.read
      .selectFrom('event')
      .selectAll()
      .where('type', 'like', 'project.domain.%')
      .execute()
    assert.deepEqual(events.map((event) => event.type).sort(), ['project.domain.created', 'project.domain.verified'])
  },
  settings,
)

type Case = { zone: (value: string, name: string) => Zone | undefined; status: number; code?: string; says?: RegExp }
const SHORT = { status: 400 }
const CASES: Record<string, Case> = {
  'no such name': {
    zone: () => undefined,
    ...SHORT,
    code: 'missing_txt_record',
    says: /_berth\..* has no TXT record "berth-domain-verify=/,
  },
  'a name with no TXT record': { zone: () => ({ a: ['192.0.2.1'] }), ...SHORT, code: 'missing_txt_record' },
  'a CNAME to nothing': { zone: () => ({ cname: 'nothing.invalid' }), ...SHORT, code: 'missing_txt_record' },
  'records for other names of the apex only': {
    zone: (value) => ({ txt: [[value.replace('=www', '=api')], ['berth-domain-verify=x.y.com,0123456789abcdef0123']] }),
    ...SHORT,
    code: 'missing_txt_record',
  },
  'another token': {
    zone: (value) => ({ txt: [[value.replace(/,.*/, ',00000000000000000000')]] }),
    ...SHORT,
    code: 'txt_record_mismatch',
    says: /is "berth-domain-verify=www\..*,0{20}"; it should be "berth-domain-verify=www/,
  },
  'a record in capitals': {
    zone: (value) => ({ txt: [[value.toUpperCase()]] }),
    ...SHORT,
    code: 'txt_record_mismatch',
  },
  'a record with a blank after it': {
    zone: (value) => ({ txt: [[`${value} `]] }),
    ...SHORT,
    code: 'txt_record_mismatch',
  },
  'a record in quotes': { zone: (value) => ({ txt: [[`"${value}"`]] }), ...SHORT, code: 'txt_record_mismatch' },
  'a long foreign record next to others': {
    zone: () => ({ txt: [['z'.repeat(200)], ['v=spf1 -all'], ['three']] }),
    ...SHORT,
    code: 'txt_record_mismatch',
    says: /is "z{100}…" \(and 2 more\); it should be/,
  },
  'a server that fails': { zone: () => ({ rcode: 'SERVFAIL' }), status: 503, code: 'dns_unavailable' },
  'a server that refuses': { zone: () => ({ rcode: 'REFUSED' }), status: 503, code: 'dns_unavailable' },
  'garbage for an answer': { zone: () => ({ garbage: true }), status: 503, code: 'dns_unavailable' },
  'the value split into chunks': {
    zone: (value) => ({ txt: [[value.slice(0, 9), value.slice(9, 30), value.slice(30)]] }),
    status: 200,
  },
  'the value among several records': { zone: (value) => ({ txt: [['v=spf1 -all'], [value], ['x']] }), status: 200 },
  'two hundred records, and an answer too long for UDP': {
    zone: (value) => ({
      overTcp: true,
      txt: [[value], ...Array.from({ length: 60 }, (_, at) => [`filler ${at} ${'x'.repeat(150)}`])],
    }),
    status: 200,
  },
  'a CNAME to where the record is': {
    zone: (value, name) => {
      dns.zones.set(`elsewhere-${name}`, { txt: [[value]] })
      return { cname: `elsewhere-${name}` }
    },
    status: 200,
  },
  'a slow right answer': { zone: (value) => ({ txt: [[value]], delayMs: 700 }), status: 200 },
}

for (const [what, { zone, status, code, says }] of Object.entries(CASES)) {
  onBothEngines(
    `DNS answers ${what}: ${status} ${code ?? ''}`,
    async ({ call, deps }) => {
      const apex = freshApex()
      const { domain, challenge, verify, read } = await claim(dns, call, `www.${apex}`)
      const made = zone(challenge.value, `www.${apex}`)
      if (made) dns.zones.set(challenge.domain, made)
      const before = await read()
      const answer = await verify()
      assert.equal(answer.status, status, answer.text)
      if (made?.overTcp) assert.ok(dns.asked.includes(`tcp TXT ${challenge.domain}`))
      if (status === 200) {
        assert.equal(answer.body.verified, true)
        return
      }
      assert.equal(answer.body.error.code, code)
      if (says) assert.match(answer.body.error.message, says)
      if (status === 503) assert.match(String(answer.headers['retry-after']), /^\d+$/)
      assert.deepEqual(await read(), before)
      assert.deepEqual(before.verification, domain.verification)
      const told = await deps.db.read
        .selectFrom('event')
        .select('type')
        .where('type', '=', 'project.domain.verified')
        .execute()
      assert.deepEqual(told, [])
    },
    settings,
  )
}

onBothEngines(
  'a server that never answers is 503 within 5 s, and the next try with an answer verifies (a bound on time)',
  async ({ call }) => {
    const { challenge, verify, read, prove } = await claim(dns, call, freshApex())
    dns.zones.set(challenge.domain, { silent: true })
    const before = await read()
    const began = performance.now()
    const answer = await verify()
    assertWithin(performance.now() - began, 5500)
    assert.equal(answer.status, 503)
    assert.equal(answer.body.error.code, 'dns_unavailable')
    assert.deepEqual(await read(), before)
    dns.zones.delete(challenge.domain)
    await prove()
  },
  settings,
)

onBothEngines(
  'of many concurrent verifies at most 32 query DNS at once, and all get a response',
  async ({ call }) => {
    const claims: Awaited<ReturnType<typeof claim>>[] = []
    for (let at = 0; at < 80; at++) claims.push(await claim(dns, call, freshApex()))
    for (const { challenge } of claims) dns.zones.set(challenge.domain, { txt: [[challenge.value]], delayMs: 200 })
    const insist = async ({ verify }: Awaited<ReturnType<typeof claim>>) => {
      for (;;) {
        const answer = await verify()
        if (answer.status !== 429) return answer
        // On a busy machine some exceed the concurrency limit of the account and retry after `Retry-After`.
        await sleep(1000 * Number(answer.headers['retry-after']))
      }
    }
    const answers = await Promise.all(claims.map(insist))
    assert.deepEqual(
      answers.map((answer) => answer.body.error?.code).filter((code) => code !== undefined),
      [],
    )
    assert.ok(dns.mostOpen() <= 32, `${dns.mostOpen()} open at once`)
    assert.ok(dns.mostOpen() > 8, `${dns.mostOpen()} open at once`)
  },
  settings,
)
