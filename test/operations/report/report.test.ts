/** The attention report: its items, what it leaves out, and its limits. docs/operations.md: Attention report. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildReport } from '../../../src/operations/report/report.ts'
import type { Kind, Section } from '../../../src/operations/report/schema.ts'
import { scanTable } from '../../../src/operations/report/table-scan.ts'
import { createTally } from '../../../src/operations/report/tally.ts'
import { STAMPS_PER_MS } from '../../../src/platform/base/clock.ts'
import type { Queries } from '../../../src/platform/db/db.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { berth } from '../../support/clients/command.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'

const DAY_MS = 86_400_000
const now = Date.now()
const daysAgo = (days: number) => now - days * DAY_MS
const stampAgo = (days: number) => daysAgo(days) * STAMPS_PER_MS

async function reportOf({ operator }: World): Promise<Map<Kind, Section>> {
  const { status, body, text } = await operator('GET', '/operator/v1/report')
  assert.equal(status, 200, text)
  return new Map(body.sections.map((section: Section) => [section.kind, section]))
}

/** The report in slices of one row is equal; `more` lists the kinds when it ends after the first slice of each table. */
async function partialOf({ deps }: World, report: Map<Kind, Section>): Promise<Kind[]> {
  const ctx = { deps, db: deps.db.read, now: deps.clock.now() }
  const { sections } = await buildReport(ctx, { rows: 1, max: 1000 })
  // The order within a kind is by time alone.
  const counted = (some: Iterable<Section>) =>
    [...some].map(({ kind, count, partial, items }) => [kind, count, partial, items.map(({ what }) => what).sort()])
  assert.deepEqual(counted(sections), counted(report.values()))
  const begun = await buildReport(ctx, { rows: 1, max: 1 })
  return begun.sections.filter(({ partial }) => partial).map(({ kind }) => kind)
}

const change = ({ deps }: World, work: (tx: Queries) => Promise<unknown>) => deps.db.write(work)
const idsOf = (section: Section | undefined) => (section?.items ?? []).map(({ id }) => id).sort()
const namesOf = (section: Section | undefined) => (section?.items ?? []).map(({ what }) => what).sort()

onBothEngines('a token is stale if it is unused, has no expiry, or belongs to a suspended user', async (world) => {
  const [ada, eve] = [await world.user('ada'), await world.user('eve')]
  const make = async (userId: string, name: string, more: object = {}) => {
    const { body } = await world.operator('POST', '/operator/v1/tokens', { userId, name, ...more })
    return body.id as string
  }
  const end = { expiresAt: now + 1000 * DAY_MS }
  const old = await make(ada.id, 'old', end)
  const oldButUsed = await make(ada.id, 'old but used', end)
  const usedLongAgo = await make(ada.id, 'used long ago', end)
  const young = await make(ada.id, 'young', end)
  const over = await make(ada.id, 'over', { expiresAt: now + 2000 * DAY_MS })
  const endless = await make(ada.id, 'endless')
  const shut = await make(eve.id, 'shut', end)
  const app = await seedIntegration(world, { slug: 'helper' })
  const { code } = await consentAndInstall(world, app)
  assert.equal((await exchange(world, app, code)).status, 200)
  const { id: ofInstallation } = await world.deps.db.read
    .selectFrom('token')
    .select('id')
    .where('configuration_id', 'is not', null)
    .executeTakeFirstOrThrow()
  await change(world, async (tx) => {
    const age = (ids: string[], days: number) =>
      tx
        .updateTable('token')
        .set((eb) => ({ created_stamp: eb('created_stamp', '-', days * DAY_MS * STAMPS_PER_MS) }))
        .where('id', 'in', ids)
        .execute()
    await age([old, oldButUsed, over], 91)
    await age([usedLongAgo], 200)
    await age([young], 89)
    await tx
      .updateTable('token')
      .set({ expires_at: daysAgo(1) })
      .where('id', '=', over)
      .execute()
    await tx
      .insertInto('seen')
      .values({ id: oldButUsed, at: daysAgo(89) })
      .execute()
    await tx
      .insertInto('seen')
      .values({ id: usedLongAgo, at: daysAgo(95) })
      .execute()
  })
  assert.equal((await world.operator('PATCH', '/operator/v1/users/eve', { suspended: true })).status, 200)

  const report = await reportOf(world)
  assert.deepEqual(idsOf(report.get('tokens-unused')), [old, usedLongAgo].sort())
  const [first, second] = report.get('tokens-unused')!.items
  assert.deepEqual([first!.since, first!.where, first!.advice], [daysAgo(95), 'ada', `berth token rm ${usedLongAgo}`])
  assert.equal(second!.id, old, 'what is unused for longer comes first')
  const shutIds = idsOf(report.get('tokens-of-suspended'))
  assert.ok(shutIds.includes(shut) && shutIds.length === 2, 'the one that the world made for eve too')
  const endlessIds = idsOf(report.get('tokens-without-end'))
  assert.ok(endlessIds.includes(endless))
  for (const id of [old, young, over, shut, ofInstallation]) assert.equal(endlessIds.includes(id), false)
  const partial = await partialOf(world, report)
  for (const kind of ['tokens-of-suspended', 'tokens-unused', 'tokens-without-end'] as const)
    assert.ok(partial.includes(kind), kind)
})

onBothEngines(
  'a team without an OWNER who can sign in is reported, with its integrations and its users that were never seen',
  async (world) => {
    const [ada, bob, cleo] = [await world.user('ada'), await world.user('bob'), await world.user('cleo')]
    await world.user('young')
    for (const [slug, ownerId] of [
      ['owned', ada.id],
      ['shut', bob.id],
      ['left', ada.id],
    ])
      await world.operator('POST', '/operator/v1/teams', { slug, name: slug, ownerId })
    const app = { name: 'App', redirectUrl: 'https://app.example.com/back', scopes: ['read:project'] }
    for (const slug of ['owned', 'shut'])
      assert.equal(
        (await world.operator('POST', '/operator/v1/integrations', { ...app, slug: `app-${slug}`, teamId: slug }))
          .status,
        201,
      )
    await world.operator('PATCH', '/operator/v1/users/bob', { suspended: true })
    await change(world, async (tx) => {
      const { id } = await tx.selectFrom('account').select('id').where('slug', '=', 'left').executeTakeFirstOrThrow()
      await tx.updateTable('member').set({ role: 'MEMBER' }).where('team_id', '=', id).execute()
      for (const [at, slug] of ['ada', 'bob', 'cleo'].entries())
        await tx
          .updateTable('account')
          .set({ created_stamp: stampAgo(8) + at })
          .where('slug', '=', slug)
          .execute()
      await tx
        .insertInto('seen')
        .values({ id: ada.id, at: daysAgo(300) })
        .execute()
    })
    const report = await reportOf(world)
    assert.deepEqual(namesOf(report.get('teams-without-owner')), ['left', 'shut'])
    assert.match(report.get('teams-without-owner')!.items[0]!.advice, /^berth team member add \w+ USER --role OWNER$/)
    assert.deepEqual(namesOf(report.get('integrations-without-owner')), ['app-shut'])
    assert.deepEqual(idsOf(report.get('people-never-seen')), [cleo.id])
    const partial = await partialOf(world, report)
    for (const kind of ['teams-without-owner', 'integrations-without-owner', 'people-never-seen'] as const)
      assert.ok(partial.includes(kind), kind)
  },
)

onBothEngines(
  'resources that are unused, unverified, long paused or disabled are reported; no secret is',
  async (world) => {
    const { credentials } = world
    const ada = await world.user('ada')
    await world.join(ada, 'OWNER')
    const query = `?teamId=${credentials.teamId}`
    for (const name of ['web', 'short']) await seedProject(world, name, query)
    const hook = { url: 'https://user:hunter2@hooks.example.com/x?key=hunter2', events: ['project.created'] }
    const ids: string[] = []
    for (const url of ['fails', 'works', 'off', 'held']) {
      const made = await world.call('POST', `/v1/webhooks${query}`, {
        ...hook,
        url: `https://${url}.example.com/x?key=hunter2`,
      })
      assert.equal(made.status, 200, made.text)
      ids.push(made.body.id)
    }
    for (const name of ['old.example.com', 'new.example.com', 'proven.example.com'])
      assert.equal((await world.call('POST', `/v10/projects/web/domains${query}`, { name })).status, 200)
    await world.call('POST', `/v7/domains${query}`, { name: 'whole.org' })
    await world.call('POST', `/v7/domains${query}`, { name: 'young.org' })
    await world.call('POST', `/v7/domains${query}`, { name: 'proven.org' })
    const app = await seedIntegration(world, { slug: 'helper' })
    const { installationId } = await consentAndInstall(world, app, { userId: ada.id, teamId: credentials.teamId })
    const goneApp = await seedIntegration(world, { slug: 'gone' })
    const gone = (await consentAndInstall(world, goneApp)).installationId
    const drain = { url: 'https://logs.example.com', sources: ['edge'], deliveryFormat: 'json' }
    const drainId = (await world.call('POST', `/v1/log-drains${query}`, drain)).body.id
    await world.operator('PATCH', '/operator/v1/users/ada', { suspended: true })
    await change(world, async (tx) => {
      await tx
        .updateTable('webhook')
        .set({ failing_since: daysAgo(3) })
        .where('id', '=', ids[0]!)
        .execute()
      const off = { failing_since: daysAgo(9), disabled_at: daysAgo(2), disabled_reason: 'failing' as const }
      await tx.updateTable('webhook').set(off).where('id', '=', ids[2]!).execute()
      const held = { held_at: daysAgo(1), held_reason: 'original-owner-left-the-team' as const }
      await tx.updateTable('webhook').set(held).where('id', '=', ids[3]!).execute()
      const onPurpose = { disabled_at: daysAgo(1), disabled_reason: 'owner' as const }
      await tx.updateTable('log_drain').set(onPurpose).where('id', '=', drainId).execute()
      const removed = { disabled_at: daysAgo(1), deleted_at: now }
      await tx.updateTable('configuration').set(removed).where('id', '=', gone).execute()
      await tx
        .updateTable('project_domain')
        .set({ verified_at: now })
        .where('name', '=', 'proven.example.com')
        .execute()
      for (const [at, name] of ['old.example.com', 'proven.example.com'].entries())
        await tx
          .updateTable('project_domain')
          .set({ created_stamp: stampAgo(8) + at })
          .where('name', '=', name)
          .execute()
      await tx
        .updateTable('account_domain')
        .set((eb) => ({ created_stamp: eb('created_stamp', '-', 8 * DAY_MS * STAMPS_PER_MS) }))
        .where('name', 'in', ['whole.org', 'proven.org'])
        .execute()
      await tx.updateTable('account_domain').set({ proven_at: now }).where('name', '=', 'proven.org').execute()
      await tx
        .updateTable('project')
        .set({ paused_at: daysAgo(91) })
        .where('name', '=', 'web')
        .execute()
      await tx
        .updateTable('project')
        .set({ paused_at: daysAgo(89) })
        .where('name', '=', 'short')
        .execute()
    })
    const report = await reportOf(world)
    const endpoints = report.get('endpoints-failing')!
    assert.deepEqual(
      endpoints.items.map(({ what, since }) => [what, since]),
      [
        ['webhook to off.example.com is disabled (failing)', daysAgo(9)],
        ['webhook to fails.example.com fails', daysAgo(3)],
        ['webhook to held.example.com is held', daysAgo(1)],
      ],
    )
    assert.deepEqual(namesOf(report.get('domains-pending')), ['old.example.com', 'whole.org'])
    assert.deepEqual(namesOf(report.get('projects-paused')), ['web'])
    assert.match(report.get('projects-paused')!.items[0]!.advice, /\/console\/t\/team\/projects\/web$/)
    const [shut] = report.get('installations-disabled')!.items
    assert.deepEqual([report.get('installations-disabled')!.count, shut!.id], [1, installationId])
    assert.match(shut!.advice, /^its owner is suspended: berth user resume/)
    const partial = await partialOf(world, report)
    for (const kind of ['installations-disabled', 'endpoints-failing', 'domains-pending', 'projects-paused'] as const)
      assert.ok(partial.includes(kind), kind)
    assert.match(report.get('backups')!.items[0]!.what, /no backup exists/)
    assert.equal(report.get('keyring-copy')!.count, 1)
    assert.doesNotMatch((await world.operator('GET', '/operator/v1/report')).text, /hunter2/)
  },
)

onBothEngines(
  'the command and the page show the same items, each with what to do; a fresh service shows no others',
  async (world) => {
    const { operatorToken } = world.credentials
    const env = {
      BERTH_PUBLIC_URL: await world.listen(),
      BERTH_OPERATOR_TOKEN: operatorToken,
      BERTH_DATA: world.folder,
    }
    await change(world, (tx) => tx.updateTable('token').set({ name: 'first\u001b[2J\nbad' }).execute())
    const told = await berth(['report'], env)
    assert.equal(told.code, 0, told.err)
    assert.match(told.out, /^Backups: 1\n {2}no backup exists: set BERTH_BACKUP_SCHEDULE/)
    assert.match(
      told.out,
      /\n\nTokens without an expiry: 1\n {2}.*, of admin, since \d{4}-\d\d-\d\d: berth token rm tok_\w+/,
    )
    assert.ok(told.out.includes('first?[2J?bad'), 'no name moves the cursor')
    const data = JSON.parse((await berth(['report', '--json'], env)).out)
    assert.deepEqual(
      data.sections.map(({ kind }: Section) => kind),
      ['backups', 'keyring-copy', 'tokens-without-end'],
    )
    const page = await (await openSignedInClient(world)).get('/console/operator/attention')
    assert.equal(page.status, 200)
    for (const { title, items } of data.sections as Section[]) {
      assert.ok(page.text.includes(title), title)
      for (const { id } of items) if (id !== null) assert.ok(page.text.includes(id), id)
    }
    assert.match(page.text, /href="\/console\/operator\/tokens\?search=admin"/)
  },
)

onBothEngines(
  'a scan visits each row once, also when many share a value, and reports where it stopped',
  async (world) => {
    const rows = Array.from({ length: 2500 }, (_, at) => ({
      id: `hash-${at}`,
      name: 'x',
      // 1,200 rows share the end of the first slice.
      at: at < 900 ? at + 1 : at < 2100 ? 901 : at,
    }))
    await change(world, async (tx) => {
      for (let from = 0; from < rows.length; from += 100)
        await tx
          .insertInto('seen')
          .values(rows.slice(from, from + 100).map(({ id, at }) => ({ id, at })))
          .execute()
    })
    const { read } = world.deps.db
    const SEEN = { table: 'seen', by: 'at', first: 0 } as const
    const seen: string[] = []
    let looks = 0
    const look = async (slice: Parameters<Parameters<typeof scanTable>[2]>[0]) => {
      looks++
      seen.push(...(await read.selectFrom('seen').select('id').where(slice).execute()).map(({ id }) => id))
    }
    assert.equal(await scanTable(read, SEEN, look), false)
    assert.deepEqual([seen.length, looks], [2500, 2])
    assert.equal(new Set(seen).size, 2500)
    let slices = 0
    const count = async () => void slices++
    assert.equal(await scanTable(read, SEEN, count, { rows: 1000, max: 1 }), true)
    assert.equal(slices, 1)
    assert.equal(await scanTable(read, SEEN, count, { rows: 2500, max: 1 }), false, 'nothing is behind the last row')
  },
)

test('all items of a kind are counted, and the oldest are listed', () => {
  const tally = createTally()
  for (let at = 1000; at > 0; at--)
    tally.add('people-never-seen', { id: `${at}`, what: 'x', where: null, since: at, advice: 'x' })
  tally.isPartial('domains-pending')
  const [domains, people] = tally.sections()
  assert.deepEqual([domains!.kind, domains!.count, domains!.partial], ['domains-pending', 0, true])
  assert.deepEqual([people!.count, people!.items.length, people!.partial], [1000, 50, false])
  assert.deepEqual(
    people!.items.map(({ since }) => since),
    Array.from({ length: 50 }, (_, at) => at + 1),
  )
})
