/** Domains of accounts: listing, verification, loss, removal and visibility. docs/domains.md: Domains of the account are derived, Verifying an apex for the account, Removing a domain of the account. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { Vercel as Vercel110 } from 'sdk-1.1.0'
import { Vercel as Vercel163 } from 'sdk-1.6.3'
import { Vercel as Vercel12835 } from 'sdk-1.28.35'
import { seedDeployment } from '../../support/projects.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { addRows, markDomainsVerified, setInTransfer, setStamp } from '../../support/states.ts'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, type Call, onBothEngines } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import {
  assertRefused,
  events,
  freshApex,
  named,
  publish,
  seedDomains,
  verifyAllClaims,
} from '../../support/worlds/domain-world.ts'
import { openEdgeOf } from '../../support/worlds/edge-world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
const REAL = { BERTH_DNS_SERVERS: dns.address }

/** Says what one account does with an apex. */
function owner(call: Call) {
  const post = (name: string, more: object = {}) => call.try('POST', '/v7/domains', { name, ...more })
  const read = async (name: string) => (await call('GET', `/v5/domains/${name}`)).body.domain
  const claim = (name: string) => call.try('POST', `/v9/domains/${name}/claim`)
  const record = async (name: string) => (await call('GET', `/v9/domains/${name}/verification`)).body
  return {
    post,
    read,
    claim,
    record,
    list: async (query = '') => (await call('GET', `/v5/domains?${query}`)).body.domains,
    remove: (name: string) => call.try('DELETE', `/v6/domains/${name}`),
    /** Adds an apex if it is missing, publishes its record and verifies it. */
    prove: async (name: string) => {
      assert.ok([200, 409].includes((await post(name)).status))
      const { txtRecord, verificationDomain } = await record(name)
      publish(dns, verificationDomain, txtRecord)
      const proven = await claim(name)
      assert.equal(proven.status, 200, proven.text)
      assert.equal(proven.body.domain.verified, true)
      return { txtRecord, verificationDomain }
    },
  }
}

onBothEngines(
  'an account has the apexes of the names on its projects, newest first, and not those of the platform',
  async (world) => {
    const { call, credentials } = world
    await seedDomains(world, ['www.one.com', 'one.apps.example.net', 'a.two.com', '*.two.com'])
    await seedDomains(world, ['shop.one.com'], 'second')
    const listed = await call('GET', '/v5/domains?limit=20')
    assert.equal(listed.status, 200)
    assert.deepEqual(named(listed.body.domains), ['two.com', 'one.com'])
    assert.deepEqual(listed.body.pagination, { count: 2, next: null, prev: null })
    const [{ id, createdAt, ...two }] = listed.body.domains
    assert.match(id, /^dom_\w+$/)
    assert.ok(Math.abs(createdAt - Date.now()) < 60_000)
    assert.deepEqual(two, {
      name: 'two.com',
      verified: false,
      suffix: false,
      serviceType: 'external',
      nameservers: [],
      intendedNameservers: [],
      creator: { id: credentials.userId, username: 'admin', email: '' },
      userId: credentials.userId,
      teamId: null,
      boughtAt: null,
      expiresAt: null,
      echMode: 'disabled',
      renew: false,
    })
    const one = listed.body.domains[1]
    for (const name of ['one.com', 'www.one.com', 'never.added.one.com', '*.one.com', 'ONE.com.'])
      assert.deepEqual((await call('GET', `/v4/domains/${name}`)).body, { domain: one }, name)
    await call('DELETE', '/v9/projects/web/domains/www.one.com')
    assert.deepEqual(named((await call('GET', '/v5/domains')).body.domains), ['one.com', 'two.com'])
    await call('DELETE', '/v9/projects/second')
    assert.deepEqual(named((await call('GET', '/v5/domains')).body.domains), ['two.com'])
    assertRefused(await call.try('GET', '/v5/domains/one.com'), 404, 'not_found')
    assertRefused(await call.try('GET', '/v5/domains/10.0.0.1'), 404, 'not_found')

    const label = await call('GET', '/v5/domains/free.apps.example.net')
    assert.deepEqual([label.body.domain.name, label.body.domain.suffix], ['apps.example.net', true])
    assert.deepEqual((await call('GET', '/v5/domains/apps.example.net')).body, label.body)
    assertRefused(await call.try('GET', '/v5/domains/example.net'), 404, 'not_found')
    assertRefused(await call.try('DELETE', '/v6/domains/apps.example.net'), 404, 'not_found')
    assertRefused(await call.try('DELETE', '/v6/domains/example.net'), 404, 'not_found')
    for (const path of [
      '/v1/registrar/domains/one.com/price',
      '/v1/registrar/domains/one.com/availability',
      '/v3/domains/price?name=one.com',
      '/v3/domains/status?name=one.com',
    ])
      assertRefused(await call.try('GET', path), 404, 'not_found')
    assertRefused(await call.try('PATCH', '/v3/domains/two.com', { op: 'move-out' }), 405, 'method_unknown')
  },
  SETTINGS,
)

onBothEngines(
  'an apex is verified once, and every name added under it later is verified at once',
  async (world) => {
    const { call } = world
    const mine = owner(call)
    const apex = freshApex()
    await call('POST', '/v10/projects', { name: 'web' })
    const added = await mine.post(apex, { method: 'add', zone: true, cdnEnabled: false })
    assert.equal(added.status, 200, added.text)
    const { domain } = added.body
    assert.equal(domain.verified, false)
    const [challenge] = domain.verification
    assert.equal(challenge.domain, `_berth.${apex}`)
    assert.ok(challenge.value.startsWith(`berth-domain-verify=${apex},`))
    assert.deepEqual(await mine.record(apex), { txtRecord: challenge.value, verificationDomain: challenge.domain })
    assert.deepEqual(await mine.list(), [domain])

    assertRefused(await mine.claim(apex), 400, 'missing_txt_record')
    publish(dns, challenge.domain, `${challenge.value}0`)
    assertRefused(await mine.claim(apex), 400, 'txt_record_mismatch')
    const waiting = await call('POST', '/v10/projects/web/domains', { name: apex })
    dns.zones.set(challenge.domain, { txt: [[waiting.body.verification[0].value]] })
    assertRefused(await mine.claim(apex), 400, 'txt_verifies_another_project')
    await call('DELETE', `/v9/projects/web/domains/${apex}`)
    dns.zones.set(challenge.domain, { silent: true })
    assertRefused(await mine.claim(apex), 503, 'dns_unavailable')
    assert.equal((await mine.read(apex)).verified, false)

    dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
    const proven = await mine.claim(apex)
    assert.equal(proven.status, 200, proven.text)
    assert.equal(proven.body.domain.verified, true)
    assert.equal(proven.body.domain.verification, undefined)
    dns.zones.delete(challenge.domain)
    assert.equal(
      (await mine.claim(apex)).body.domain.verified,
      true,
      'a verified apex stays verified without its record',
    )
    for (const name of [apex, `www.${apex}`, `*.${apex}`])
      assert.equal((await call('POST', '/v10/projects/web/domains', { name })).body.verified, true, name)
    assert.deepEqual(named(await mine.list()), [apex], 'it is listed once')
    for (const name of [apex, `www.${apex}`, `*.${apex}`]) await call('DELETE', `/v9/projects/web/domains/${name}`)
    assert.equal((await mine.read(apex)).verified, true, 'the account is verified for the apex, not only for one name')
    assert.deepEqual(await mine.remove(apex).then(({ status, body }) => [status, body]), [200, { uid: domain.id }])
    assertRefused(await mine.claim(apex), 404, 'not_found')
    const after = await call('POST', '/v10/projects/web/domains', { name: `late.${apex}` })
    assert.equal(after.body.verified, false, 'and it ends with the domain')
  },
  REAL,
)

onBothEngines(
  'an apex is added to an account once, if it is allowed, and nothing is bought',
  async ({ call, user, operator, credentials }) => {
    const mine = owner(call)
    for (const name of ['www.one.com', '*.one.com', 'com', '10.0.0.1', 'one.com/x'])
      assertRefused(await mine.post(name), 400, 'invalid_domain')
    assertRefused(await mine.post('denied.com'), 409, 'domain_not_allowed')
    for (const body of [{ name: 'one.com', method: 'transfer-in' }, { name: 1 }, {}])
      assertRefused(await call.try('POST', '/v5/domains', body), 400, 'bad_request')
    assert.equal((await mine.post('ONE.com.')).body.domain.name, 'one.com')
    assertRefused(await mine.post('one.com'), 409, 'domain_already_exists')
    const rival = owner((await user('eve')).call)
    assert.equal((await rival.post('one.com')).status, 200, 'a claim does not block other accounts')
    const many = await Promise.all(Array.from({ length: 20 }, () => mine.post('two.com')))
    assert.deepEqual(many.map(({ status }) => status).sort(), [200, ...Array(19).fill(409)])
    await operator('PATCH', `/operator/v1/accounts/${credentials.userId}`, { softBlocked: true })
    assertRefused(await mine.post('three.com'), 402, 'account_soft_blocked')
  },
  { BERTH_DENIED_DOMAINS: 'denied.com' },
)

onBothEngines(
  'a verified name counts for the account also after the name is removed',
  async ({ call }) => {
    const mine = owner(call)
    const apex = freshApex()
    const web = await verifyAllClaims(dns, call, 'web')
    await web.prove(`www.${apex}`)
    const added = await mine.post(apex)
    assert.deepEqual([added.body.domain.verified, added.body.domain.verification], [true, undefined])
    await web.remove(`www.${apex}`)
    assert.equal((await mine.read(apex)).verified, true)

    const other = freshApex()
    await mine.post(other)
    await web.prove(`www.${other}`)
    const asked = dns.asked.length
    assert.equal((await mine.claim(other)).body.domain.verified, true)
    assert.equal(dns.asked.length, asked, 'nothing was left to ask')
    await web.remove(`www.${other}`)
    assert.equal((await mine.read(other)).verified, true, 'the claim keeps the verification of the removed name')
  },
  REAL,
)

onBothEngines(
  'only the account that verified an apex last has it, and the record of an earlier account does not verify it again',
  async ({ call, user }) => {
    const [mine, web] = [owner(call), await verifyAllClaims(dns, call, 'web')]
    const eve = (await user('eve')).call
    const [hers, shop] = [owner(eve), await verifyAllClaims(dns, eve, 'shop')]
    const apex = freshApex()
    const { verificationDomain, txtRecord } = await mine.prove(apex)
    assert.equal((await web.add(`mine.${apex}`)).body.verified, true)
    dns.zones.delete(verificationDomain)

    await shop.prove(`hers.${apex}`)
    assert.equal((await mine.read(apex)).verified, false)
    assert.equal(
      (await web.read(`mine.${apex}`)).verified,
      true,
      'an assigned name stays verified until another account verifies that name',
    )
    assert.equal((await web.add(`next.${apex}`)).body.verified, false)
    publish(dns, verificationDomain, txtRecord)
    assertRefused(await mine.claim(apex), 400, 'txt_record_mismatch')
    dns.zones.delete(verificationDomain)

    await mine.prove(apex)
    assert.equal((await mine.read(apex)).verified, true)
    assert.equal((await shop.add(`two.${apex}`)).body.verified, false)
    dns.zones.delete(verificationDomain)
    await hers.prove(apex)
    assert.deepEqual([(await mine.read(apex)).verified, (await hers.read(apex)).verified], [false, true])
    assert.equal((await shop.add(`three.${apex}`)).body.verified, true)
    assert.equal(
      (await shop.add(`mine.${apex}`)).body.verified,
      false,
      'a name of another account requires its own verification',
    )
    dns.zones.delete(verificationDomain)

    await mine.prove(apex)
    assert.deepEqual([(await mine.read(apex)).verified, (await hers.read(apex)).verified], [true, false])
    dns.zones.delete(verificationDomain)
  },
  REAL,
)

onBothEngines(
  'when accounts verify one apex at the same time, every request gets a response and one account holds the apex',
  async (world) => {
    const apex = freshApex()
    const people = [owner(world.call)]
    for (const name of ['ada', 'bob', 'cy', 'dan', 'eve']) people.push(owner((await world.user(name)).call))
    for (const person of people) {
      await person.post(apex)
      const { verificationDomain, txtRecord } = await person.record(apex)
      publish(dns, verificationDomain, txtRecord)
    }
    const answers = await Promise.all(people.map((person) => person.claim(apex)))
    // Who lost it before its own turn came has a new record to publish.
    for (const answer of answers) assert.ok([200, 400].includes(answer.status), answer.text)
    const verified = await Promise.all(people.map(async (person) => (await person.read(apex)).verified))
    assert.equal(verified.filter(Boolean).length, 1)
    const rows = await world.deps.db.read.selectFrom('account_domain').selectAll().execute()
    assert.equal(rows.filter((row) => row.proven_at !== null).length, 1)
    dns.zones.clear()
  },
  REAL,
)

onBothEngines(
  'in contested mode an apex verified by another account counts as contested',
  async ({ call, user }) => {
    const [mine, hers] = [owner(call), owner((await user('eve')).call)]
    const apex = freshApex()
    assert.equal((await mine.post(apex)).body.domain.verified, true)
    assertRefused(await mine.claim(apex), 400, 'missing_txt_record')
    await hers.prove(apex)
    assert.equal((await mine.read(apex)).verified, false)
    await call('POST', '/v10/projects', { name: 'web' })
    assert.equal((await call('POST', '/v10/projects/web/domains', { name: `www.${apex}` })).body.verified, false)
  },
  { ...REAL, BERTH_DOMAIN_PROOF: 'contested' },
)

onBothEngines(
  'removing a domain takes every name under it from its project, with their events and where they led',
  async (world) => {
    const { call, deps } = world
    const web = await seedWebProject(world, [])
    const add = (project: string, body: object) => call('POST', `/v10/projects/${project}/domains`, body)
    for (const name of ['one.com', 'www.one.com', 'two.com']) await add('web', { name })
    await markDomainsVerified(world)
    await web.deploy({ upstream: 'http://10.0.0.7:3000' })
    const second = await seedDomains(world, ['shop.one.com'], 'second')
    await call('PATCH', '/v9/projects/web/domains/two.com', { redirect: 'one.com' })
    await call('PATCH', '/v9/projects/web/domains/one.com', { redirect: 'www.one.com' })
    await call('POST', '/v7/domains', { name: 'one.com' })
    const edge = await openEdgeOf(world)
    assert.equal((await edge.ask('/edge/v1/check', { host: 'www.one.com' })).status, 200)

    await setInTransfer(world, second.id, deps.clock.now())
    const before = await digest(world)
    assertRefused(await call.try('DELETE', '/v6/domains/one.com'), 409, 'conflict')
    assert.equal(await digest(world), before, 'all of it stays while one project is in transfer')
    await setInTransfer(world, second.id, null)
    const still = await digest(world)
    assertRefused(await call.try('DELETE', '/v6/domains/www.one.com'), 404, 'not_found')
    assertRefused(await call.try('DELETE', '/v6/domains/nosuch.com'), 404, 'not_found')
    assert.equal(await digest(world), still)

    const earlier = (await events(world)).length
    assert.equal((await call('DELETE', '/v3/domains/one.com')).status, 200)
    const told = (await events(world)).slice(earlier)
    const deleted = told.filter(({ type }) => type === 'project.domain.deleted')
    assert.deepEqual(
      deleted.map(({ projectId, payload }) => [projectId, payload.domain.name]).sort(),
      [
        [second.id, 'shop.one.com'],
        [web.id, 'one.com'],
        [web.id, 'www.one.com'],
      ].sort(),
    )
    const changed = told.filter(({ type }) => type === 'project.domain.updated')
    assert.deepEqual(
      changed.map(({ payload }) => [payload.domain.name, payload.domain.redirect, payload.previous.redirect]),
      [['two.com', null, 'one.com']],
    )
    assert.equal(told.length, 4)
    assert.deepEqual(named((await call('GET', '/v9/projects/web/domains')).body.domains), ['two.com'])
    assert.deepEqual(named((await call('GET', '/v9/projects/second/domains')).body.domains), [])
    assert.deepEqual(named((await call('GET', '/v5/domains')).body.domains), ['two.com'])
    assertRefused(await call.try('DELETE', '/v6/domains/one.com'), 404, 'not_found')
    const { aliases } = (await call('GET', '/v4/aliases')).body
    assert.deepEqual(
      aliases.map((row: { alias: string }) => row.alias),
      ['two.com'],
    )
    await edge.settle()
    assert.equal((await edge.ask('/edge/v1/check', { host: 'www.one.com' })).status, 404)
    assert.equal((await edge.ask('/edge/v1/check', { host: 'two.com' })).status, 200)
  },
)

onBothEngines('one request removes a thousand names and refuses to begin with more', async (world) => {
  const { id } = await seedDomains(world, ['n0.one.com'])
  const { deps, call } = world
  const row = await deps.db.read.selectFrom('project_domain').selectAll().executeTakeFirstOrThrow()
  await seedDeployment(world, id, { url: 'd1.host.test' })
  const more = Array.from({ length: 1000 }, (_, at) => ({
    ...row,
    name: `n${at + 1}.one.com`,
    created_stamp: row.created_stamp + at + 1,
  }))
  await addRows(world, 'project_domain', more)
  const before = await digest(world)
  assertRefused(await call.try('DELETE', '/v6/domains/one.com'), 409, 'conflict')
  assert.equal(await digest(world), before)
  await call('DELETE', '/v9/projects/web/domains/n0.one.com')
  const earlier = (await events(world)).length
  assert.equal((await call('DELETE', '/v6/domains/one.com')).status, 200)
  assert.equal((await events(world)).length - earlier, 1000)
  assert.deepEqual((await call('GET', '/v5/domains')).body.domains, [])
})

onBothEngines(
  'a token or an installation that is limited to projects sees and removes the domains of those alone',
  async (world) => {
    const { call } = world
    const web = await seedDomains(world, ['www.one.com', 'www.two.com'])
    await seedDomains(world, ['shop.one.com', 'www.three.com'], 'second')
    await call('POST', '/v7/domains', { name: 'one.com' })
    await call('POST', '/v7/domains', { name: 'four.com' })
    const { call: installed } = await seedInstallation(
      world,
      { slug: 'narrow', scopes: ['read-write:project', 'read-write:domain'] },
      { teamId: undefined, projects: [web.id] },
    )
    assert.deepEqual(named((await call('GET', '/v5/domains')).body.domains), [
      'four.com',
      'one.com',
      'three.com',
      'two.com',
    ])
    for (const narrow of [await world.token({ projectIds: [web.id] }), installed]) {
      assert.deepEqual(named((await narrow('GET', '/v5/domains')).body.domains), ['two.com', 'one.com'])
      const one = (await narrow('GET', '/v5/domains/one.com')).body.domain
      assert.equal(one.verification, undefined, 'the claim is the account\u2019s')
      for (const name of ['three.com', 'four.com', 'nosuch.com']) {
        const answer = await narrow.try('GET', `/v5/domains/${name}`)
        assertRefused(answer, 404, 'not_found')
        assert.equal(answer.text, (await narrow.try('GET', '/v5/domains/five.com')).text.replaceAll('five.com', name))
        assertRefused(await narrow.try('DELETE', `/v6/domains/${name}`), 404, 'not_found')
      }
      assertRefused(await narrow.try('POST', '/v7/domains', { name: 'five.com' }), 403, 'forbidden')
      assertRefused(await narrow.try('GET', '/v9/domains/one.com/verification'), 404, 'not_found')
      assertRefused(await narrow.try('POST', '/v9/domains/one.com/claim'), 404, 'not_found')
      assert.equal((await narrow('GET', '/project-domains/www.one.com')).body.projectId, web.id)
      for (const name of ['shop.one.com', 'nosuch.one.com'])
        assertRefused(await narrow.try('GET', `/project-domains/${name}`), 404, 'not_found')
    }
    assert.equal((await installed('DELETE', '/v6/domains/one.com')).status, 200)
    assert.deepEqual(named((await installed('GET', '/v5/domains')).body.domains), ['two.com'])
    assert.deepEqual(named((await call('GET', '/v9/projects/second/domains')).body.domains), [
      'www.three.com',
      'shop.one.com',
    ])
    assert.ok((await call('GET', '/v5/domains/one.com')).body.domain.verification, 'the claim is left as well')
    const nothing = await seedInstallation(
      world,
      { slug: 'nothing', scopes: ['read-write:domain'] },
      { teamId: undefined, projects: [web.id] },
    )
    await call('DELETE', '/v9/projects/web')
    assert.deepEqual((await nothing.call('GET', '/v5/domains')).body.domains, [])
  },
)

onBothEngines('domains of another account return 404, and roles decide who can change a domain', async (world) => {
  const { call, user, credentials, operator } = world
  await seedDomains(world, ['www.one.com'])
  await call('POST', '/v7/domains', { name: 'two.com' })
  const eve = await user('eve')
  for (const [method, path] of [
    ['GET', '/v5/domains/NAME'],
    ['DELETE', '/v6/domains/NAME'],
    ['GET', '/v9/domains/NAME/verification'],
    ['POST', '/v9/domains/NAME/claim'],
    ['GET', '/project-domains/NAME'],
  ] as const) {
    const unknown = await eve.call.try(method, path.replace('NAME', 'three.com'))
    assert.equal(unknown.status, 404)
    for (const name of ['one.com', 'two.com', 'www.one.com']) {
      const answer = await eve.call.try(method, path.replace('NAME', name))
      const said = path.startsWith('/v5') ? name.replace('www.', '') : name
      assert.deepEqual(
        [answer.status, answer.text.replaceAll(said, '')],
        [404, unknown.text.replaceAll('three.com', '')],
      )
    }
  }
  assert.deepEqual((await eve.call('GET', '/v5/domains')).body.domains, [])

  const team = `teamId=${credentials.teamId}`
  assert.equal((await call('POST', `/v7/domains?${team}`, { name: 'team.com' })).status, 200)
  const status = async (asked: Promise<ApiResponse>) => (await asked).status
  for (const [role, reads, writes] of [
    ['BILLING', 403, 403],
    ['VIEWER', 200, 403],
    ['DEVELOPER', 200, 409],
    ['MEMBER', 200, 409],
  ] as const) {
    await operator('PUT', `/operator/v1/teams/${credentials.teamId}/members/${eve.id}`, { role })
    assert.equal(await status(eve.call.try('GET', `/v5/domains?${team}`)), reads, role)
    assert.equal(await status(eve.call.try('GET', `/v5/domains/team.com?${team}`)), reads, role)
    assert.equal(await status(eve.call.try('POST', `/v7/domains?${team}`, { name: 'team.com' })), writes, role)
    if (writes === 403) assert.equal(await status(eve.call.try('DELETE', `/v6/domains/team.com?${team}`)), 403, role)
  }
  const shown = (await call('GET', `/v5/domains/team.com?${team}`)).body.domain
  assert.deepEqual([shown.teamId, shown.creator.username], [credentials.teamId, 'team'])
  assert.equal(await status(eve.call.try('DELETE', `/v6/domains/team.com?${team}`)), 200)
})

onBothEngines(
  'paginating the list returns each domain once, also when names and claims were created at the same time',
  async (world) => {
    const { deps, call } = world
    await seedDomains(world, ['www.sx0.com'])
    await call('POST', '/v7/domains', { name: 'sy0.com' })
    const name = await deps.db.read.selectFrom('project_domain').selectAll().executeTakeFirstOrThrow()
    const claim = await deps.db.read.selectFrom('account_domain').selectAll().executeTakeFirstOrThrow()
    const at = name.created_stamp
    await setStamp(world, 'account_domain', at)
    for (let n = 1; n < 30; n++) {
      const apex = { ...name, name: `www.sx${n}.com`, apex_name: `sx${n}.com`, created_stamp: at + n }
      await addRows(world, 'project_domain', [apex, { ...apex, name: `a.sx${n}.com`, created_stamp: at + 100 + n }])
      await addRows(world, 'account_domain', [{ ...claim, name: `sy${n}.com`, created_stamp: at + n }])
    }
    for (const limit of [1, 7, 59, 60, 100]) {
      const seen: string[] = []
      let until = ''
      for (let last = Number.POSITIVE_INFINITY; ; ) {
        const { domains, pagination } = (await call('GET', `/v5/domains?limit=${limit}${until}`)).body
        seen.push(...named(domains))
        assert.equal(pagination.count, domains.length)
        assert.equal(pagination.prev === null, until === '')
        if (pagination.next === null) break
        assert.ok(pagination.next < last)
        last = pagination.next
        until = `&until=${last}`
      }
      assert.equal(seen.length, 60, String(limit))
      assert.deepEqual(seen, Array.from({ length: 30 }, (_, n) => [`sy${29 - n}.com`, `sx${29 - n}.com`]).flat())
    }
    const moment = Math.floor(at / 1024)
    const count = async (query: string) => (await call('GET', `/v5/domains?limit=100&${query}`)).body.domains.length
    assert.equal(await count(`since=${moment - 1}`), 60)
    assert.equal(await count(`since=${moment + 1}`), 0)
    assert.equal(await count(`until=${moment}`), 0)
    assert.equal(await count(`until=${moment + 2}`), 60)
    const middle = (await call('GET', '/v5/domains?limit=20')).body.pagination.next
    assert.equal((await count(`until=${middle}`)) + (await count(`since=${middle}`)), 59)
    assertRefused(await call.try('GET', '/v5/domains?limit=101'), 400, 'bad_request')
  },
)

onBothEngines('a project domain is found by its name alone, as the CLI requests it', async (world) => {
  const { call } = world
  const web = await seedDomains(world, ['www.one.com'])
  const found = await call('GET', '/project-domains/WWW.one.com')
  assert.deepEqual(found.body, (await call('GET', `/v9/projects/${web.id}/domains/www.one.com`)).body)
  assertRefused(await call.try('GET', '/v1/project-domains/one.com'), 404, 'not_found')
  assertRefused(await call.try('GET', '/project-domains/localhost'), 404, 'not_found')
  const config = (await call('GET', '/v6/domains/www.one.com/config?projectIdOrName=web&strict=true')).body
  // The CLI reads these without asking whether they are there.
  assert.deepEqual([config.nameservers, config.conflicts, config.serviceType], [[], [], 'external'])
})

// biome-ignore lint/suspicious/noExplicitAny: three versions of one client, each with types of its own
type AnySdk = any
const SDKS: Record<string, (options: { serverURL: string; bearerToken: string }) => AnySdk> = {
  '1.1.0': (options) => new Vercel110(options),
  '1.6.3': (options) => new Vercel163(options),
  '1.28.35': (options) => new Vercel12835(options),
}

for (const [version, open] of Object.entries(SDKS)) {
  onBothEngines(
    `SDK ${version} adds, lists, verifies and removes domains of an account`,
    async (world) => {
      const serverURL = await world.listen()
      const { domains } = open({ serverURL, bearerToken: world.credentials.token })
      const apex = freshApex()
      const { teamId } = world.credentials
      const added = await domains.createOrTransferDomain({ teamId, requestBody: { name: apex, method: 'add' } })
      assert.deepEqual([added.domain.name, added.domain.verified, added.domain.teamId], [apex, false, teamId])
      const { domain } = await domains.getDomain({ domain: apex, teamId })
      assert.equal(domain.serviceType, 'external')
      if (domains.claimDomainOwnership) {
        const record = await domains.getDomainVerificationRecord({ domain: apex, teamId })
        publish(dns, record.verificationDomain, record.txtRecord)
        assert.equal((await domains.claimDomainOwnership({ domain: apex, teamId })).domain.verified, true)
      }
      await domains.createOrTransferDomain({ teamId, requestBody: { name: freshApex(), method: 'add' } })
      const listed = await domains.getDomains({ teamId, limit: 1 })
      assert.equal(typeof listed.pagination.next, 'number')
      const rest = await domains.getDomains({ teamId, limit: 1, until: listed.pagination.next })
      assert.deepEqual(named(rest.domains), [apex])
      assert.equal((await domains.getDomainConfig({ domain: apex, teamId })).misconfigured, true)
      assert.equal((await domains.deleteDomain({ domain: apex, teamId })).uid, domain.id)
      await assert.rejects(domains.getDomain({ domain: apex, teamId }), (error: AnySdk) =>
        /has no domain/.test(`${error.message} ${error.body} ${JSON.stringify(error.error)}`),
      )
    },
    REAL,
  )
}
