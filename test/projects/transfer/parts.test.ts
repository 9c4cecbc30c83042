/** What moves with a project and what stays behind: domains and their verification, variables of integrations, lists of projects. docs/transfer.md: Domains move, What stays behind. */

import assert from 'node:assert/strict'
import { after } from 'node:test'
import { seedDeployment } from '../../support/projects.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { deliver, LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { addRows, markDomainsVerified, setStamp } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { freshApex, verifyAllClaims } from '../../support/worlds/domain-world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'
import { readEvents, seedTransferAccounts, type TransferAccounts } from '../../support/worlds/transfer-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
const settings = { BERTH_DNS_SERVERS: dns.address }

const row = async ({ deps }: World, name: string) =>
  deps.db.read.selectFrom('project_domain').selectAll().where('name', '=', name).execute()

onBothEngines(
  'a verified domain stays verified, a claim gets a new challenge, and branch and redirect come along',
  async (world) => {
    const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    const apex = freshApex()
    const mine = await verifyAllClaims(dns, giver.call, 'web')
    await mine.prove(apex)
    await mine.add(`www.${apex}`, { redirect: apex, redirectStatusCode: 308 })
    await mine.add(`dev.${apex}`, { gitBranch: 'dev' })
    const claim = freshApex()
    const before = (await mine.add(claim)).body.verification[0].value
    await take(await offer())
    await sweep()

    assert.equal((await giver.call.try('GET', `/v9/projects/web/domains/${apex}`)).status, 404)
    const read = async (name: string) => (await taker.call('GET', `/v9/projects/web/domains/${name}`)).body
    assert.deepEqual([(await read(apex)).verified, (await read(apex)).projectId], [true, projectId])
    const www = await read(`www.${apex}`)
    assert.deepEqual([www.verified, www.redirect, www.redirectStatusCode], [true, apex, 308])
    assert.equal((await read(`dev.${apex}`)).gitBranch, 'dev')
    const moved = (await read(claim)).verification[0]
    assert.notEqual(moved.value, before)
    dns.zones.set(moved.domain, { txt: [[before]] })
    const old = await taker.call.try('POST', `/v9/projects/web/domains/${claim}/verify`)
    assert.equal(old.status, 400, 'the record of the giver no longer verifies')
  },
  settings,
)

onBothEngines(
  'the verification of another name counts neither for the account that received a name, nor for an earlier owner',
  async (world) => {
    const { giver, taker, offer, take, sweep } = await seedTransferAccounts(world)
    const apex = freshApex()
    const earlier = await verifyAllClaims(dns, (await world.user('earlier')).call, 'old')
    await earlier.prove(`kept.${apex}`)
    const mine = await verifyAllClaims(dns, giver.call, 'web')
    await mine.prove(apex)
    await giver.call('POST', '/v10/projects', { name: 'other' })
    await take(await offer())
    await sweep()
    const added = await taker.call('POST', '/v10/projects/web/domains', { name: `login.${apex}` })
    assert.equal(added.body.verified, false, 'a site that was given is not the apex')
    assert.equal((await earlier.add(`mail.${apex}`)).body.verified, false)
    const ofGiver = await giver.call('POST', '/v10/projects/other/domains', { name: `api.${apex}` })
    assert.equal(ofGiver.body.verified, false, 'an account without a name under the apex has no verification')
    // A new verification covers the apex again.
    const theirs = await verifyAllClaims(dns, taker.call, 'web')
    await theirs.proveAdded(`login.${apex}`)
    assert.equal((await theirs.add(`next.${apex}`)).body.verified, true)
  },
  settings,
)

onBothEngines(
  'a giver that keeps a name under the apex keeps its verification',
  async (world) => {
    const { giver, taker, offer, take, sweep } = await seedTransferAccounts(world)
    const apex = freshApex()
    await giver.call('POST', '/v10/projects', { name: 'other' })
    await (await verifyAllClaims(dns, giver.call, 'other')).prove(apex)
    await giver.call('POST', '/v10/projects/web/domains', { name: `shop.${apex}` })
    await take(await offer())
    await sweep()
    assert.equal((await taker.call('GET', `/v9/projects/web/domains/shop.${apex}`)).body.verified, true)
    const more = await giver.call('POST', '/v10/projects/other/domains', { name: `more.${apex}` })
    assert.equal(more.body.verified, true)
    const theirs = await taker.call('POST', '/v10/projects/web/domains', { name: `theirs.${apex}` })
    assert.equal(theirs.body.verified, false)
  },
  settings,
)

onBothEngines(
  'a name that both accounts claimed is left once: where it is verified, else where the receiver had it',
  async (world) => {
    const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    const [given, held, neither] = [freshApex(), freshApex(), freshApex()]
    const mine = await verifyAllClaims(dns, giver.call, 'web')
    const theirs = await verifyAllClaims(dns, taker.call, 'own')
    await mine.add(held)
    await mine.add(`to.${held}`, { redirect: held })
    await theirs.prove(held)
    await theirs.add(given)
    await theirs.add(`www.${given}`, { redirect: given })
    await mine.prove(given)
    await mine.add(neither)
    await theirs.add(neither)
    await take(await offer())
    await sweep()

    const ownId = (await taker.call('GET', '/v9/projects/own')).body.id
    const at = async (name: string) => (await row(world, name)).map((one) => [one.account_id, one.project_id])
    assert.deepEqual(await at(given), [[taker.id, projectId]])
    assert.deepEqual(await at(held), [[taker.id, ownId]])
    assert.deepEqual(await at(neither), [[taker.id, ownId]])
    for (const name of [`to.${held}`, `www.${given}`]) assert.equal((await row(world, name))[0]!.redirect, null, name)
    const told = await readEvents(world, /^project\.domain\.(deleted|updated)/)
    assert.deepEqual(
      told.map(({ type, to, payload }) => `${type} ${to === taker.id} ${payload.domain.name}`).sort(),
      [
        ...[given, held, neither].map((name) => `project.domain.deleted true ${name}`),
        ...[`to.${held}`, `www.${given}`].map((name) => `project.domain.updated true ${name}`),
      ].sort(),
    )
  },
  settings,
)

onBothEngines('domains with equal stamps from two instances are both there after the move', async (world) => {
  const { giver, taker, offer, take, sweep } = await seedTransferAccounts(world)
  await taker.call('POST', '/v10/projects', { name: 'own' })
  for (const at of [0, 1, 2]) {
    await giver.call('POST', '/v10/projects/web/domains', { name: `a${at}.example.com` })
    await taker.call('POST', '/v10/projects/own/domains', { name: `b${at}.example.com` })
  }
  const base = 1_700_000_000_000 * 1024
  for (const at of [0, 1, 2]) {
    await setStamp(world, 'project_domain', base + at, { name: `a${at}.example.com` })
    await setStamp(world, 'project_domain', base + at + 1, { name: `b${at}.example.com` })
  }
  await take(await offer())
  assert.equal(await sweep(), 1)
  const list = (await taker.call('GET', '/v9/projects/web/domains')).body.domains
  assert.deepEqual(
    list.map((domain: { name: string }) => domain.name).sort(),
    [0, 1, 2].map((at) => `a${at}.example.com`),
  )
})

/** An installation on the giver's account, on all projects or on `web` alone, that may read projects and write its own variables. */
function install(world: World, { projectId }: TransferAccounts, projects: 'all' | 'selected') {
  const wanted = { slug: projects, scopes: ['read-write:project-env-vars', 'read:project'] }
  return seedInstallation(world, wanted, {
    ...{ teamId: undefined, projects: projects === 'all' ? 'all' : [projectId] },
  })
}

onBothEngines('variables of integrations stay behind with their history, and their selections end', async (world) => {
  const sides = await seedTransferAccounts(world)
  const { giver, taker, projectId, offer, take, sweep } = sides
  const apps = [await install(world, sides, 'all'), await install(world, sides, 'selected')]
  for (const [at, app] of apps.entries()) {
    const body = { key: `APP_${at}`, value: 'secret', type: 'encrypted', target: ['production'] }
    assert.equal((await app.call('POST', '/v10/projects/web/env', body)).status, 201)
  }
  const own = { key: 'OWN', value: 'mine', type: 'sensitive', target: ['production'] }
  const { id: ownId } = (await giver.call('POST', '/v10/projects/web/env', own)).body.created
  await giver.call('PATCH', `/v9/projects/web/env/${ownId}`, { value: 'newer' })
  await take(await offer())
  await sweep()

  for (const app of apps) assert.equal((await app.call.try('GET', '/v9/projects/web')).status, 404)
  const { envs } = (await taker.call('GET', '/v9/projects/web/env')).body
  assert.deepEqual(
    envs.map((env: { key: string }) => env.key),
    ['OWN'],
  )
  assert.equal((await taker.call('GET', `/v1/projects/web/env/${ownId}/history`)).body.history.length, 2)
  const left = await world.deps.db.read
    .selectFrom('env_history')
    .selectAll()
    .where('project_id', '=', projectId)
    .execute()
  assert.deepEqual([...new Set(left.map((version) => version.key))], ['OWN'])
  assert.deepEqual(await world.deps.db.read.selectFrom('configuration_project').selectAll().execute(), [])

  const told = await readEvents(world, /env-variable\.deleted|permission-upgraded/)
  assert.deepEqual(
    told.map(({ type, to, payload }) => `${type} ${to} ${payload.envVar?.key ?? payload.projects.removed[0]}`).sort(),
    [
      `integration-configuration.permission-upgraded ${giver.id} ${projectId}`,
      `project.env-variable.deleted ${giver.id} APP_0`,
      `project.env-variable.deleted ${giver.id} APP_1`,
    ],
  )
  assert.equal(told.at(-1)!.about, apps[1]!.installationId)
  // The counts of what is there are right: the receiver may fill the place again.
  const again = { key: 'APP_0', value: 'v', type: 'plain', target: ['production'] }
  assert.equal((await taker.call('POST', '/v10/projects/web/env', again)).status, 201)
  const usage = await world.deps.db.read.selectFrom('env_usage').selectAll().execute()
  assert.deepEqual(
    usage.map(({ target, variables }) => [target, Number(variables)]),
    [['production', 2]],
  )
})

onBothEngines(
  'webhooks and log drains that name the project name it no more, and an empty list is not every project',
  async (world) => {
    const { giver, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    const { clock, db } = world.deps
    const lists = { both: [projectId, 'prj_other'], one: [projectId], all: null }
    for (const [id, ids] of Object.entries(lists)) {
      const project_ids_json = ids && JSON.stringify(ids)
      const shared = { id, account_id: giver.id, url: 'https://x.example', project_ids_json, updated_at: 1 }
      await addRows(world, 'webhook', [{ ...shared, created_stamp: clock.stamp() }])
      const drain = { name: id, delivery_format: 'json', sealed_secret: '', environments_json: '[]' } as const
      await addRows(world, 'log_drain', [{ ...shared, ...drain, created_stamp: clock.stamp() }])
    }
    await take(await offer())
    await sweep()
    for (const table of ['webhook', 'log_drain'] as const) {
      const rows = await db.read.selectFrom(table).select(['id', 'project_ids_json']).execute()
      const left = Object.fromEntries(rows.map(({ id, project_ids_json }) => [id, project_ids_json]))
      assert.deepEqual(left, { both: '["prj_other"]', one: '[]', all: null }, table)
    }
  },
)

onBothEngines(
  'deployments move with the project, their domains lead where they led, and stamps that clash are spread',
  async (world) => {
    const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    const ownId = (await taker.call('POST', '/v10/projects', { name: 'own' })).body.id
    await giver.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
    await markDomainsVerified(world)
    const live = await seedDeployment(world, projectId, { url: 'web-1.apps.example.net' })
    const other = await seedDeployment(world, ownId, { url: 'own-1.apps.example.net' })
    await setStamp(world, 'deployment', 1_700_000_000_000 * 1024)
    const before = (await giver.call('GET', '/v9/projects/web')).body
    assert.deepEqual(before.targets.production.alias, ['www.example.com'])
    await take(await offer())
    await sweep()

    assert.equal((await giver.call.try('GET', `/v13/deployments/${live}`)).status, 404)
    assert.equal((await taker.call('GET', `/v13/deployments/${live}`)).status, 200)
    const listed = (await taker.call('GET', '/v6/deployments')).body.deployments
    assert.deepEqual(listed.map(({ uid }: { uid: string }) => uid).sort(), [live, other].sort())
    const after = (await taker.call('GET', '/v9/projects/web')).body
    assert.deepEqual([after.live, after.targets.production.alias], [true, ['www.example.com']])
    assert.equal(after.targets.production.userId, taker.id)
    const aliases = (await taker.call('GET', '/v4/aliases')).body.aliases
    assert.deepEqual(
      aliases.map(({ alias }: { alias: string }) => alias),
      ['www.example.com'],
    )
    assert.deepEqual((await giver.call('GET', '/v4/aliases')).body.aliases, [])
  },
)

onBothEngines(
  'a webhook limited to the project receives the transfer event, and then no more events of it',
  async (world, t) => {
    const { giver, taker, projectId, offer, take, sweep } = await seedTransferAccounts(world)
    const target = await receiver(t)
    const events = ['project.transfer.started', 'project.transfer.completed', 'project.renamed']
    const { id } = await register(world, target.url, events, { projectIds: [projectId] })
    await take(await offer())
    await sweep()
    await taker.call('PATCH', '/v9/projects/web', { name: 'mine' })
    const told = await world.deps.db.read.selectFrom('delivery').selectAll().orderBy('created_stamp').execute()
    assert.deepEqual(
      told.map(({ type }) => type),
      events.slice(0, 2),
    )
    assert.deepEqual((await giver.call('GET', `/v1/webhooks/${id}`)).body.projectIds, [])
    await deliver(world)
    assert.deepEqual(target.got.map(({ body }) => body.type).sort(), events.slice(0, 2).sort())
    assert.ok(target.got.every(({ body }) => body.payload.project.id === projectId))
  },
  LOCAL,
)

onBothEngines(
  'events of a project that left go to no webhook that was changed since',
  async (world, t) => {
    const { giver, offer, take, sweep } = await seedTransferAccounts(world)
    const kept = (await giver.call('POST', '/v10/projects', { name: 'kept' })).body.id
    const target = await receiver(t)
    const { id } = await register(world, target.url, ['project.renamed', 'project.transfer.completed'])
    await giver.call('PATCH', '/v9/projects/kept', { name: 'still' })
    await take(await offer())
    await sweep()
    await giver.call('PATCH', `/v1/webhooks/${id}`, { projectIds: [kept] })
    await deliver(world)
    assert.deepEqual(
      target.got.map(({ body }) => body.type),
      ['project.renamed'],
    )
  },
  LOCAL,
)
