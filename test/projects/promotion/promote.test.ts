/** Promote, rollback and operation 9: every production domain is mapped once, and the progress is visible. docs/deployments.md. */

import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Queries } from '../../../src/platform/db/db.ts'
import { advanceAliasRequests, MAPPING_SLICE } from '../../../src/projects/promotion/mapping.ts'
import { eventually } from '../../support/eventually.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { markDomainsVerified, setInTransfer, tamper } from '../../support/states.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { deploymentEvents, readDomainAssignments, SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'

const labels = (count: number) => Array.from({ length: count }, (_, at) => `l${at}`)

const OTHERS = ['a.com', 'b.com', 'c.com']

/** 97 domains that require no verification and 3 verified ones, and two deployments: the first is live. */
async function openHundred(world: World) {
  const web = await seedWebProject(world, labels(97))
  for (const name of OTHERS) {
    assert.equal((await world.call('POST', '/v10/projects/web/domains', { name })).body.verified, false)
  }
  await markDomainsVerified(world)
  // Neither of these serves production: they are none of a promote's business.
  await world.call('POST', '/v10/projects/web/domains', { name: 'r.apps.example.net', redirect: 'l1.apps.example.net' })
  await world.call('POST', '/v10/projects/web/domains', { name: 'b.apps.example.net', gitBranch: 'dev' })
  const first = await web.deploy()
  await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
  const second = await web.deploy()
  return { ...web, first, second }
}

/** The three lose their verification, as when another account verifies them. */
async function loseProofs(world: World) {
  for (const name of OTHERS) await tamper(world, 'project_domain', { verified_at: null }, { name })
}

type Item = { id: string; alias: unknown; status: string }

async function walk(world: World, id: string, query: string): Promise<Item[]> {
  const seen: Item[] = []
  for (let until = '', last = Infinity; ; ) {
    const { body, text } = await world.call('GET', `/v1/projects/${id}/promote/aliases?${query}${until}`)
    assert.ok(body.aliases, text)
    seen.push(...body.aliases)
    if (body.pagination.next === null) return seen
    assert.ok(body.pagination.next < last, 'the cursor goes down')
    last = body.pagination.next
    until = `&until=${last}`
  }
}

const counted = (items: Item[]) => {
  const counts: Record<string, number> = {}
  for (const { status } of items) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

onBothEngines(
  'promote with 100 aliases, 3 of which become unverified: 97 completed, 3 failed, each once, and pages are right',
  async (world) => {
    const web = await openHundred(world)
    const path = `/v1/projects/${web.id}/promote/aliases` as const
    assert.deepEqual((await world.call('GET', path)).body, {})
    const asked = await web.promote(web.second)
    assert.deepEqual([asked.status, asked.text], [201, ''])
    assert.deepEqual(counted(await walk(world, web.id, 'limit=100')), { pending: 100 })
    const { lastAliasRequest } = (await world.call('GET', '/v9/projects/web?rollbackInfo=true')).body
    assert.deepEqual(
      [
        lastAliasRequest.jobStatus,
        lastAliasRequest.type,
        lastAliasRequest.fromDeploymentId,
        lastAliasRequest.toDeploymentId,
      ],
      ['pending', 'promote', web.first, web.second],
    )
    assert.equal((await web.read()).targets.production.id, web.second)
    await loseProofs(world)
    await web.sweep()
    for (const query of ['limit=100', 'limit=7', '']) {
      const items = await walk(world, web.id, query)
      assert.deepEqual(counted(items), { completed: 97, failed: 3 })
      assert.equal(new Set(items.map(({ alias }) => alias)).size, 100)
      assert.equal(new Set(items.map(({ id }) => id)).size, 100)
      assert.equal(items[0]!.alias, 'c.com', 'newest first')
    }
    for (const query of ['failedOnly=true', 'failedOnly=true&limit=1', 'failedOnly=1&limit=2']) {
      const failed = (await walk(world, web.id, query)).map(({ alias }) => alias)
      assert.deepEqual(failed, ['c.com', 'b.com', 'a.com'])
    }
    assert.equal((await walk(world, web.id, 'failedOnly=false&limit=50')).length, 100)
    assert.deepEqual(await walk(world, web.id, `until=${lastAliasRequest.requestedAt}`), [])
    assert.equal((await walk(world, web.id, `since=${lastAliasRequest.requestedAt - 1}`)).length, 100)
    assert.equal((await web.read()).lastAliasRequest.jobStatus, 'failed')
    const where = Object.entries(await readDomainAssignments(world)).filter(([name]) => !OTHERS.includes(name))
    assert.deepEqual(new Set(where.map(([, id]) => id)), new Set([web.second]))
    assert.equal(where.length, 97)

    const cli = (await world.call('GET', `/v9/projects/${web.id}/promote/aliases?failedOnly=true&limit=20`)).body
    assert.deepEqual(cli.aliases[0].alias, { alias: 'c.com', deploymentId: web.second })
    assert.deepEqual(cli.pagination, { count: 3, next: null, prev: null })
    for (const query of ['limit=101', 'limit=0', 'limit=x', 'failedOnly=maybe', 'since=x', 'until=-1']) {
      assertRefused(await world.call.try('GET', `${path}?${query}`), 400, 'bad_request')
    }
    assertRefused(await world.call.try('GET', '/v1/projects/prj_none/promote/aliases'), 404, 'not_found')
  },
  SETTINGS,
)

onBothEngines(
  'a promote or rollback skips an unverified domain and succeeds',
  async (world) => {
    const web = await seedWebProject(world)
    const [first, second] = [await web.deploy(), await web.deploy()]
    const waiting = (await world.call('POST', '/v10/projects/web/domains', { name: 'waiting.com' })).body
    assert.equal(waiting.verified, false)
    for (const [ask, kind, id] of [
      [web.rollback, 'rollback', first],
      [web.promote, 'promote', second],
    ] as const) {
      assert.equal((await ask(id)).status, 201)
      await web.sweep()
      const { lastAliasRequest } = await web.read()
      assert.deepEqual([lastAliasRequest.type, lastAliasRequest.jobStatus], [kind, 'succeeded'])
      const { body } = await world.call('GET', `/v9/projects/${web.id}/${kind}/aliases`)
      assert.deepEqual(
        body.aliases.map(({ status }) => status),
        ['completed', 'completed'],
      )
      assert.deepEqual(new Set(Object.values(await readDomainAssignments(world))), new Set([id]))
    }
  },
  SETTINGS,
)

onBothEngines(
  'progress is visible, and two concurrent sweeps do everything once',
  async (world) => {
    const web = await openHundred(world)
    await web.promote(web.second)
    await loseProofs(world)
    const updates = await countUpdates(world)
    // One step of the sweep begins a slice: `in-progress` is what the next one maps.
    await world.deps.db.write((db) => step(world, db))
    const between = counted(await walk(world, web.id, 'limit=100'))
    assert.deepEqual(between, { pending: 75, 'in-progress': 25 })
    assert.equal((await web.read()).lastAliasRequest.jobStatus, 'in-progress')
    await Promise.all(Array.from({ length: 4 }, () => web.sweep()))
    assert.deepEqual(counted(await walk(world, web.id, 'limit=100')), { completed: 97, failed: 3 })
    const mapped = await updates()
    assert.deepEqual([mapped.length, new Set(mapped).size], [97, 97])
    assert.equal(await web.sweep(), 0, 'nothing is left to do')
  },
  SETTINGS,
)

onBothEngines(
  'of many concurrent promotes the last one wins completely: every domain points where the project says',
  async (world) => {
    const web = await seedWebProject(world, labels(30))
    const ids = [await web.deploy(), await web.deploy(), await web.deploy()]
    const answers = await Promise.all([...ids, ...ids, ...ids].map((id) => web.promote(id)))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
    await Promise.all([web.sweep(), web.promote(ids[1]!), web.sweep()])
    await web.sweep()
    const project = await web.read()
    assert.equal(project.lastAliasRequest.jobStatus, 'succeeded')
    assert.equal(project.lastAliasRequest.toDeploymentId, project.targets.production.id)
    assert.deepEqual(
      new Set(Object.values(await readDomainAssignments(world))),
      new Set([project.targets.production.id]),
    )
    const requests = await world.deps.db.read.selectFrom('alias_request').selectAll().execute()
    assert.equal(requests.length, 1)
  },
  SETTINGS,
)

onBothEngines(
  'a new production deployment ends an open promote, whose domains do not go back',
  async (world) => {
    const web = await seedWebProject(world, labels(40))
    const first = await web.deploy()
    const second = await web.deploy()
    await web.promote(first)
    await world.deps.db.write((db) => step(world, db))
    const third = await web.deploy()
    await web.sweep()
    assert.deepEqual(new Set(Object.values(await readDomainAssignments(world))), new Set([third]))
    const { lastAliasRequest } = await web.read()
    assert.deepEqual([lastAliasRequest.jobStatus, lastAliasRequest.fromDeploymentId], ['skipped', second])
    assert.deepEqual(counted(await walk(world, web.id, 'limit=100')), { failed: 40 })
  },
  SETTINGS,
)

onBothEngines(
  'a rollback goes to a former production deployment and holds new ones back until a promote',
  async (world) => {
    const web = await seedWebProject(world)
    const first = await web.deploy()
    const second = await web.deploy()
    const path = `/v9/projects/${web.id}/rollback/aliases` as const
    assert.deepEqual((await world.call('GET', path)).body, {})
    assert.deepEqual([(await web.rollback(first)).status, await web.sweep()], [201, 50])
    const rolledBack = await web.read()
    assert.equal(rolledBack.autoAssignCustomDomains, false)
    assert.equal(rolledBack.lastRollbackTarget.deploymentId, first)
    assert.deepEqual(
      [rolledBack.lastAliasRequest.type, rolledBack.lastAliasRequest.jobStatus],
      ['rollback', 'succeeded'],
    )
    assert.deepEqual(new Set(Object.values(await readDomainAssignments(world))), new Set([first]))
    assert.equal((await world.call('GET', `${path}?limit=20`)).body.aliases.length, 2)
    assert.deepEqual((await world.call('GET', `/v1/projects/${web.id}/promote/aliases`)).body, {})
    const third = await web.deploy()
    assert.deepEqual(new Set(Object.values(await readDomainAssignments(world))), new Set([first]))
    assertRefused(await web.rollback(third), 409, 'deployment_never_live')
    await web.promote(third)
    await web.sweep()
    const promoted = await web.read()
    assert.equal(promoted.autoAssignCustomDomains, true)
    assert.equal(promoted.lastRollbackTarget, null)
    assert.deepEqual(new Set(Object.values(await readDomainAssignments(world))), new Set([third]))
    assert.deepEqual((await deploymentEvents(world)).filter(({ type }) => type === 'deployment.promoted').length, 1)
    assert.notEqual(second, third)

    // Who had it off, or said so since, keeps it off.
    await web.rollback(first)
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    await web.promote(third)
    assert.equal((await web.read()).autoAssignCustomDomains, false)
    await web.rollback(first)
    await web.promote(third)
    assert.equal((await web.read()).autoAssignCustomDomains, false)
  },
  SETTINGS,
)

onBothEngines(
  'promote refuses deployments that cannot serve, paused projects and unknown ids, and changes nothing',
  async (world) => {
    const web = await seedWebProject(world)
    const live = await web.deploy()
    const building = await web.deploy({ readyState: 'BUILDING' })
    const otherId = await seedProject(world, 'other')
    const other = await seedDeployment(world, otherId, { url: 'other.host.test' })
    const rival = await world.user('eve')
    const shop = await rival.call('POST', '/v10/projects', { name: 'shop' })
    const foreign = await seedDeployment(world, shop.body.id, { url: 'shop.host.test' })
    for (const ask of [web.promote, web.rollback]) {
      assertRefused(await ask(building), 409, 'deployment_not_ready')
      for (const id of [other, foreign, 'dpl_none']) assertRefused(await ask(id), 404, 'not_found')
    }
    assertRefused(await rival.call.try('POST', `/v10/projects/${web.id}/promote/${live}`), 404, 'not_found')
    const viewer = await world.token({ scopes: ['read-write:project'] })
    assertRefused(await viewer.try('POST', `/v10/projects/${web.id}/promote/${live}`), 403, 'forbidden')
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    for (const ask of [web.promote, web.rollback]) assertRefused(await ask(live), 409, 'project_paused')
    await world.call('POST', `/v1/projects/${web.id}/unpause`)
    await setInTransfer(world, web.id, 1)
    for (const ask of [web.promote, web.rollback]) assertRefused(await ask(live), 409, 'conflict')
    assert.equal((await web.read()).lastAliasRequest, null)
  },
  SETTINGS,
)

onBothEngines(
  'a promote is carried out at once, not only in the next period of the sweep (a bound on time)',
  async (world) => {
    const web = await seedWebProject(world, labels(60))
    const first = await web.deploy()
    await web.deploy()
    // The sweep has just had its turn, and the next one is 2 s away: waiting for it each time, no round would be shorter.
    let fastestMs = Number.POSITIVE_INFINITY
    const status = async () => (await web.read()).lastAliasRequest.jobStatus
    for (let round = 0; round < 6; round++) {
      const asked = performance.now()
      await web.promote(first)
      await eventually(async () => (await status()) === 'succeeded')
      fastestMs = Math.min(fastestMs, performance.now() - asked)
    }
    assertWithin(fastestMs, 1500)
  },
  { ...SETTINGS, BERTH_TIMERS: 'on' },
)

/** One slice of the sweep. */
async function step(world: World, db: Queries): Promise<number> {
  const { deps } = world
  const actor = { kind: 'timer', id: 'test', tokenId: null } as const
  const stamp = deps.clock.stamp()
  return advanceAliasRequests({ actor, db, now: deps.clock.now(), stamp, deps, emit: () => {} }, MAPPING_SLICE)
}

/** From now on every write of an alias is counted by the database itself. Gives the names that were written. */
async function countUpdates({ deps, engine }: World): Promise<() => Promise<string[]>> {
  const run = (text: string) => deps.db.write((tx) => sql.raw(text).execute(tx))
  await run('create table mapped (name text)')
  if (engine === 'sqlite') {
    await run('create trigger count_mapped after update on alias begin insert into mapped values (new.name); end')
  } else {
    await run(
      "create function count_mapped() returns trigger language plpgsql as 'begin insert into mapped values (new.name); return new; end'",
    )
    await run('create trigger count_mapped after update on alias for each row execute function count_mapped()')
  }
  return async () => {
    const { rows } = await sql<{ name: string }>`select name from mapped`.execute(deps.db.read)
    return rows.map(({ name }) => name)
  }
}

onBothEngines(
  'a promote leaves the domains of custom environments alone, and succeeds',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const environment = await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
    assert.equal(environment.status, 201, environment.text)
    const staged = { name: 'stage.apps.example.net', customEnvironmentId: 'staging' }
    const added = await world.call('POST', '/v10/projects/web/domains', staged)
    assert.equal(added.status, 200, added.text)
    const first = await web.deploy()
    const ofStaging = await web.deploy({ target: 'preview', customEnvironmentId: 'staging' })
    const off = await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    assert.equal(off.status, 200, off.text)
    const second = await web.deploy()
    assert.deepEqual(await readDomainAssignments(world), {
      'one.apps.example.net': first,
      'stage.apps.example.net': ofStaging,
    })
    const asked = await web.promote(second)
    assert.equal(asked.status, 201, asked.text)
    for (let at = 0; at < 4; at++) await web.sweep()
    const items = await walk(world, web.id, 'limit=20')
    assert.deepEqual(
      items.map(({ alias, status }) => [alias, status]),
      [['one.apps.example.net', 'completed']],
    )
    const request = world.deps.db.read.selectFrom('alias_request').select('status')
    assert.equal((await request.executeTakeFirstOrThrow()).status, 'succeeded')
    assert.deepEqual(await readDomainAssignments(world), {
      'one.apps.example.net': second,
      'stage.apps.example.net': ofStaging,
    })
  },
  SETTINGS,
)

onBothEngines(
  'a domain that stops serving production before its turn fails, for whatever reason, and is not assigned',
  async (world) => {
    const web = await openHundred(world)
    assert.equal((await web.promote(web.second)).status, 201)
    const [a, b, c] = OTHERS
    await tamper(world, 'project_domain', { redirect: 'l1.apps.example.net' }, { name: a! })
    await tamper(world, 'project_domain', { git_branch: 'dev' }, { name: b! })
    await tamper(world, 'project_domain', { project_id: await seedProject(world, 'other') }, { name: c! })
    await web.sweep()
    assert.deepEqual(counted(await walk(world, web.id, 'limit=100')), { completed: 97, failed: 3 })
    const assigned = await readDomainAssignments(world)
    for (const name of OTHERS) assert.notEqual(assigned[name], web.second, name)
  },
  SETTINGS,
)
