/** Aliases by the routes of the CLI and the SDKs: assigned by hand, listed, found, taken away, and followed by the edge. docs/deployments.md: Assigning by hand. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { seedDeployment } from '../../support/projects.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { setInTransfer } from '../../support/states.ts'
import { digest } from '../../support/stores/digest.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'
import { readDomainAssignments, SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused, events, seedDomains, verifyAllClaims } from '../../support/worlds/domain-world.ts'
import { openEdgeOf } from '../../support/worlds/edge-world.ts'

const dns = await startDnsServer()
after(() => dns.close())

const ONE = 'one.apps.example.net'
const TWO = 'two.apps.example.net'
const assignBy =
  (call: Call) =>
  (id: string, alias: string, more: object = {}) =>
    call.try('POST', `/v2/deployments/${id}/aliases`, { alias, ...more })

onBothEngines(
  'an alias leads a domain of the project to a deployment, the edge follows, and the next production deployment undoes it',
  async (world) => {
    const web = await seedWebProject(world)
    const assign = assignBy(world.call)
    const older = await web.deploy({ upstream: 'http://10.0.0.1:3000' })
    const newer = await web.deploy({ upstream: 'http://10.0.0.2:3000' })
    const edge = await openEdgeOf(world)
    const upstream = async (host: string) => {
      await edge.settle()
      return (await edge.ask('/edge/v1/check', { host })).headers['x-edge-upstream']
    }
    assert.equal(await upstream(ONE), 'http://10.0.0.2:3000')
    const assigned = await assign(older, ONE)
    assert.equal(assigned.status, 200, assigned.text)
    const { created, ...said } = assigned.body
    assert.ok(Math.abs(Date.parse(created) - Date.now()) < 60_000)
    assert.deepEqual(said, { uid: `als_${Buffer.from(ONE).toString('base64url')}`, alias: ONE, oldDeploymentId: newer })
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: older, [TWO]: newer })
    assert.deepEqual([await upstream(ONE), await upstream(TWO)], ['http://10.0.0.1:3000', 'http://10.0.0.2:3000'])
    assert.equal((await assign(older, ONE)).body.oldDeploymentId, older, 'saying it again changes nothing')
    const { body } = await world.call('GET', `/v2/deployments/${older}/aliases`)
    assert.deepEqual(
      body.aliases.map((row: { alias: string }) => row.alias),
      [ONE],
    )
    const project = await web.read()
    assert.deepEqual(project.targets.production.alias, [TWO])
    const shown = project.latestDeployments.find((row: { id: string }) => row.id === older)!
    assert.deepEqual(shown.alias, [ONE])
    assert.equal((await web.promote(newer)).status, 201)
    while (await web.sweep());
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: newer, [TWO]: newer })
    await assign(older, ONE)
    const latest = await web.deploy()
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: latest, [TWO]: latest })
  },
  SETTINGS,
)

onBothEngines(
  'an unassigned name is added to the project of the deployment if it requires no verification',
  async (world) => {
    const web = await seedWebProject(world, [])
    const assign = assignBy(world.call)
    const site = await verifyAllClaims(dns, world.call, 'web')
    await site.prove('www.proven-here.com')
    const production = await web.deploy()
    const preview = await web.deploy({ target: 'preview', gitBranch: 'dev' })
    for (const [id, alias, name, gitBranch] of [
      [production, 'label', 'label.apps.example.net', null],
      [production, 'Dotted.apps.example.net', 'dotted.apps.example.net', null],
      [production, 'new.proven-here.com', 'new.proven-here.com', null],
      [preview, 'dev.proven-here.com', 'dev.proven-here.com', 'dev'],
    ] as const) {
      const assigned = await assign(id, alias)
      assert.deepEqual([assigned.status, assigned.body.alias, assigned.body.oldDeploymentId], [200, name, null], alias)
      const domain = (await world.call('GET', `/v9/projects/web/domains/${name}`)).body
      assert.deepEqual([domain.verified, domain.gitBranch], [true, gitBranch])
      assert.equal((await readDomainAssignments(world))[name], id)
    }
    const told = (await events(world)).filter(({ type }) => type === 'project.domain.created')
    assert.equal(told.at(-1)!.payload.domain.name, 'dev.proven-here.com')
    assert.equal(told.length, 5)
    const later = await web.deploy({ target: 'preview', gitBranch: 'dev' })
    assert.equal(
      (await readDomainAssignments(world))['dev.proven-here.com'],
      later,
      'a name of a branch follows the branch',
    )
  },
  { ...SETTINGS, BERTH_DNS_SERVERS: dns.address },
)

onBothEngines(
  'an alias that cannot be assigned is refused, but not with the 409 that the CLI takes for success, and nothing changes',
  async (world) => {
    const { call, user, deps, operator } = world
    const web = await seedWebProject(world)
    const id = await web.deploy()
    const building = await web.deploy({ readyState: 'BUILDING' })
    const second = await seedDomains(world, ['other.apps.example.net'], 'second')
    const narrow = await world.token({ projectIds: [second.id] })
    await web.deploy({ url: 'own.apps.example.net', target: 'preview' })
    const eve = await user('eve')
    await eve.call('POST', '/v10/projects', { name: 'shop' })
    const taken = await eve.call('POST', '/v10/projects/shop/domains', { name: 'taken.apps.example.net' })
    assert.equal(taken.body.verified, true)
    await call('POST', '/v10/projects/web/domains', { name: 'claimed.com' })
    await operator('PATCH', `/operator/v1/accounts/${eve.id}`, { plan: 'pro' })
    const before = await digest(world)
    const assign = assignBy(call)
    assertRefused(await assign(id, 'claimed.com'), 403, 'alias_not_verified')
    assertRefused(await assign(id, 'not-mine.com'), 403, 'alias_not_verified')
    assertRefused(await assign(id, 'taken.apps.example.net'), 403, 'forbidden')
    assertRefused(await assign(id, 'own'), 403, 'alias_not_allowed')
    assertRefused(await assign(id, 'apps.example.net'), 403, 'alias_not_allowed')
    assertRefused(await assign(id, 'a.b.apps.example.net'), 403, 'alias_not_allowed')
    assertRefused(await assign(id, 'other.apps.example.net'), 403, 'alias_in_use')
    assertRefused(await assign(building, ONE), 400, 'deployment_not_ready')
    assertRefused(await assign('dpl_unknown', ONE), 404, 'not_found')
    assertRefused(await assign(id, '10.0.0.1'), 400, 'invalid_domain')
    assertRefused(await assign(id, ''), 400, 'bad_request')
    assertRefused(await assign(id, ONE, { redirect: 'elsewhere.com' }), 400, 'invalid_redirect')
    assertRefused(await assign(id, ONE, { redirect: ONE }), 400, 'redirect_to_itself')
    assertRefused(await assignBy(eve.call)(id, 'eves.apps.example.net'), 404, 'not_found')
    assertRefused(await assignBy(narrow)(id, ONE), 404, 'not_found')
    assert.equal(await digest(world), before)

    const moment = (at: number | null) => setInTransfer(world, web.id, at)
    await moment(deps.clock.now())
    const locked = await digest(world)
    assertRefused(await assign(id, ONE), 400, 'bad_request')
    assertRefused(await call.try('DELETE', `/v2/aliases/${ONE}`), 409, 'conflict')
    assert.equal(await digest(world), locked)
    await moment(null)
    await operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { paymentMissing: true })
    assertRefused(await assign(id, 'late'), 402, 'payment_method_missing')
  },
  SETTINGS,
)

onBothEngines(
  'after a failed production deployment no new name is put before visitors, and those there can be put back',
  async (world) => {
    const web = await seedWebProject(world)
    const good = await web.deploy()
    await web.deploy({ readyState: 'ERROR' })
    assertRefused(await assignBy(world.call)(good, 'new'), 400, 'production_deployment_failed')
    assert.equal((await assignBy(world.call)(good, ONE)).status, 200)
  },
  SETTINGS,
)

onBothEngines(
  'an alias can be sent to another domain of the project, and be brought back',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy({ upstream: 'http://10.0.0.1:3000' })
    const edge = await openEdgeOf(world)
    const check = async () => {
      await edge.settle()
      return edge.ask('/edge/v1/check', { host: ONE })
    }
    const assign = assignBy(world.call)
    assert.equal((await assign(id, ONE, { redirect: TWO })).body.oldDeploymentId, id)
    const sent = await check()
    assert.deepEqual([sent.status, sent.headers.location], [307, `https://${TWO}/`])
    assert.deepEqual(await readDomainAssignments(world), { [TWO]: id })
    assert.equal((await assign(id, ONE, { redirect: null })).body.oldDeploymentId, null)
    assert.equal((await check()).status, 200)
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: id, [TWO]: id })
    const told = (await events(world)).filter(({ type }) => type === 'project.domain.updated')
    assert.deepEqual(
      told.map(({ payload }) => payload.domain.redirect),
      [TWO, null],
    )
  },
  SETTINGS,
)

onBothEngines(
  'the paths of the CLI return the same as the others',
  async (world) => {
    const { call } = world
    const web = await seedWebProject(world)
    const [first, second] = [await web.deploy(), await web.deploy()]
    const { body } = await call('GET', '/v3/now/aliases?limit=20')
    assert.deepEqual(body, (await call('GET', '/v2/aliases?limit=20')).body)
    assert.equal(body.aliases[0].deployment.url, 'd2.host.test')
    const one = (await call('GET', `/now/aliases/${ONE}`)).body
    assert.deepEqual(one, (await call('GET', `/v4/aliases/${one.uid}`)).body)
    assertRefused(await call.try('GET', '/now/aliases/nosuch.com'), 404, 'not_found')
    // CLI 39 says the deployment by its id, CLI 64 as it was typed.
    for (const said of [first, 'd1.host.test', encodeURIComponent('https://d1.host.test')]) {
      await assignBy(call)(second, ONE)
      const assigned = await call('POST', `/now/deployments/${said}/aliases`, { alias: ONE })
      assert.deepEqual([assigned.status, assigned.body.oldDeploymentId], [200, second], said)
      assert.equal((await call('GET', `/now/deployments/${said}/aliases`)).body.aliases[0].alias, ONE)
    }
    assert.equal((await call('DELETE', `/now/aliases/${one.uid}`)).body.status, 'SUCCESS')
    assert.deepEqual(await readDomainAssignments(world), { [TWO]: second })
    assertRefused(await call.try('DELETE', `/now/aliases/${one.uid}`), 404, 'not_found')
  },
  SETTINGS,
)

onBothEngines(
  'the list is filtered by project, name and time',
  async (world) => {
    const { call } = world
    const web = await seedWebProject(world)
    await web.deploy()
    const other = await seedDomains(world, ['three.apps.example.net'], 'second')
    await seedDeployment(world, other.id, { url: 'other-1.host.test' })
    const names = async (query: string) =>
      (await call('GET', `/v4/aliases?${query}`)).body.aliases.map((row: { alias: string }) => row.alias)
    assert.deepEqual(await names(''), ['three.apps.example.net', TWO, ONE])
    assert.deepEqual(await names(`projectId=${web.id}`), [TWO, ONE])
    assert.deepEqual(await names(`domain=${ONE}`), [ONE])
    const { next } = (await call('GET', '/v4/aliases?limit=2')).body.pagination
    assert.deepEqual(await names(`until=${next}`), [ONE])
    assert.deepEqual(await names(`from=${next}`), ['three.apps.example.net'])
    assert.deepEqual(await names(`from=${Date.now() + 60_000}`), [])
    const narrow = await world.token({ projectIds: [other.id] })
    const seen = (await narrow('GET', '/v3/now/aliases')).body.aliases
    assert.deepEqual(
      seen.map((row: { alias: string }) => row.alias),
      ['three.apps.example.net'],
    )
    assertRefused(await narrow.try('GET', `/now/aliases/${ONE}`), 404, 'not_found')
    assertRefused(await narrow.try('DELETE', `/now/aliases/${ONE}`), 404, 'not_found')
  },
  SETTINGS,
)

onBothEngines(
  'of two accounts that assign one free label at the same time one has it',
  async (world) => {
    const { call, user } = world
    const web = await seedWebProject(world, [])
    const eve = await user('eve')
    const shop = (await eve.call('POST', '/v10/projects', { name: 'shop' })).body.id
    const sides = [
      { call, id: await web.deploy() },
      { call: eve.call, id: await seedDeployment(world, shop, { url: 'shop-1.host.test' }) },
    ]
    for (let round = 0; round < 5; round++) {
      const asked = sides.flatMap((side) =>
        Array.from({ length: 5 }, () => assignBy(side.call)(side.id, `free${round}`)),
      )
      const statuses = (await Promise.all(asked)).map(({ status }) => status)
      const [mine, hers] = [new Set(statuses.slice(0, 5)), new Set(statuses.slice(5))]
      assert.deepEqual([[...mine], [...hers]].flat().sort(), [200, 403], String(statuses))
      const winner = mine.has(200) ? sides[0]! : sides[1]!
      assert.equal(await whereLeads(world, `free${round}.apps.example.net`), winner.id)
    }
  },
  SETTINGS,
)

async function whereLeads({ deps }: World, name: string) {
  const row = await deps.db.read.selectFrom('alias').selectAll().where('name', '=', name).executeTakeFirst()
  return row?.deployment_id
}

const SDKS = {
  '1.1.0': () => import('sdk-1.1.0'),
  '1.6.3': () => import('sdk-1.6.3'),
  '1.28.35': () => import('sdk-1.28.35'),
}

for (const [version, open] of Object.entries(SDKS)) {
  onBothEngines(
    `SDK ${version} assigns, lists, gets and deletes an alias`,
    async (world) => {
      const web = await seedWebProject(world)
      const [first, second] = [await web.deploy(), await web.deploy()]
      const { Vercel } = await open()
      const { token: bearerToken } = world.credentials
      // biome-ignore lint/suspicious/noExplicitAny: three versions of one client, whose types differ; the answers are checked here
      const { aliases } = new Vercel({ bearerToken, serverURL: await world.listen() }) as any
      const assigned = await aliases.assignAlias({ id: first, requestBody: { alias: ONE } })
      assert.deepEqual([assigned.alias, assigned.oldDeploymentId], [ONE, second])
      assert.ok(assigned.created instanceof Date)
      const listed = await aliases.listAliases({ projectId: web.id, limit: 1, from: 1540095775941 })
      assert.deepEqual([listed.aliases[0].alias, typeof listed.pagination.next], [TWO, 'number'])
      const rest = await aliases.listAliases({ until: listed.pagination.next })
      assert.deepEqual([rest.aliases[0].uid, rest.aliases[0].deployment.url], [assigned.uid, 'd1.host.test'])
      const one = await aliases.getAlias({ idOrAlias: assigned.uid })
      assert.deepEqual([one.alias, one.deploymentId], [ONE, first])
      assert.equal((await aliases.listDeploymentAliases({ id: first })).aliases[0].alias, ONE)
      const sent = await aliases.assignAlias({ id: first, requestBody: { alias: ONE, redirect: TWO } })
      assert.equal(sent.oldDeploymentId, first)
      await aliases.assignAlias({ id: first, requestBody: { alias: ONE } })
      assert.equal((await aliases.deleteAlias({ aliasId: assigned.uid })).status, 'SUCCESS')
      await assert.rejects(aliases.getAlias({ idOrAlias: ONE }))
    },
    SETTINGS,
  )
}
