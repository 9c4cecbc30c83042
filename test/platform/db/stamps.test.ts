/**
 * Every write raises the versions of the topics whose rows it changes, from any program: on the instance that writes, and on PostgreSQL on
 * the others too, also where notifications come late or are cut. docs/architecture.md: Caching.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import type { ChangedTopics } from '../../../src/platform/db/change-feed.ts'
import type { Queries } from '../../../src/platform/db/db.ts'
import { TOPIC_RULES } from '../../../src/platform/db/topics.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { setUpCodes } from '../../support/clients/second-factor.ts'
import { eventually } from '../../support/eventually.ts'
import { runEverySweep, runEveryWrite } from '../../support/every-write.ts'
import { seedSamples } from '../../support/sample-requests.ts'
import { LATE_MS, openLateProxy } from '../../support/servers/late-proxy.ts'
import { waitForListener } from '../../support/stores/change-listener.ts'
import { migratedDatabase, onBothEngines, openWorld, type World } from '../../support/world.ts'

type Rows = Record<string, Record<string, unknown>[]>

const ofProject = ({ project_id }: Record<string, unknown>, { project = [] }: Rows) => [
  `project ${project_id}`,
  ...project.filter(({ id }) => id === project_id).map(({ account_id }) => `projects ${account_id}`),
]
const ofAccount =
  (kind: string, column = 'account_id') =>
  (row: Record<string, unknown>) => [`${kind} ${row[column]}`]
const ofInstallations =
  (column: string, key: string) =>
  (row: Record<string, unknown>, { configuration = [] }: Rows) =>
    configuration.filter((one) => one[column] === row[key]).map(({ account_id }) => `account ${account_id}`)

/** TABLE which subjects a row is of. It says the same as `src/platform/db/topics.ts`, in another way. */
const SUBJECTS_OF: Record<string, (row: Record<string, unknown>, rows: Rows) => string[]> = {
  project: ({ id, account_id }) => [`project ${id}`, `projects ${account_id}`],
  env_var: ofProject,
  project_domain: ofProject,
  deployment: ofProject,
  alias: ofProject,
  alias_request: ofProject,
  transfer_request: ofProject,
  account: ofAccount('account', 'id'),
  member: ofAccount('account', 'team_id'),
  totp: (row) => [`account ${row.user_id}`],
  passkey: (row) => [`account ${row.user_id}`],
  token: ({ team_id, user_id }) => [`account ${team_id ?? user_id}`],
  configuration: ofAccount('account'),
  configuration_project: ofInstallations('id', 'configuration_id'),
  integration: ofInstallations('integration_id', 'id'),
  webhook: ofAccount('endpoints'),
  log_drain: ofAccount('endpoints'),
  invitation: ofAccount('invitations', 'team_id'),
  account_domain: ofAccount('domains'),
  shared_env_var: ofAccount('variables'),
  shared_env_link: ofAccount('variables'),
  session: ofAccount('sessions', 'user_id'),
  edge_change: ofAccount('edge', 'key'),
}

async function readRows(db: Queries): Promise<Rows> {
  const rows: Rows = {}
  for (const table of Object.keys(SUBJECTS_OF))
    rows[table] = (await sql.raw<Record<string, unknown>>(`select * from ${table}`).execute(db)).rows
  return rows
}

/** The subjects of the rows that differ. */
function subjectsBetween(before: Rows, after: Rows): Set<string> {
  const changed = new Set<string>()
  for (const [table, subjectsOf] of Object.entries(SUBJECTS_OF)) {
    const textsOf = (rows: Rows) => new Set(rows[table]!.map((row) => JSON.stringify(row)))
    const [previous, latter] = [textsOf(before), textsOf(after)]
    // Notes that all instances have read are swept without a notification.
    const gone = table === 'edge_change' ? [] : before[table]!.filter((row) => !latter.has(JSON.stringify(row)))
    const come = after[table]!.filter((row) => !previous.has(JSON.stringify(row)))
    for (const row of gone) for (const one of subjectsOf(row, before)) changed.add(one)
    for (const row of come) for (const one of subjectsOf(row, after)) changed.add(one)
  }
  return changed
}

type Raised = { at: number; changed: ChangedTopics }

/** Records the topics that an instance invalidates from now on. */
function listen({ deps }: World): Raised[] {
  const heard: Raised[] = []
  deps.db.changes.onInvalidate((changed) => heard.push({ at: performance.now(), changed }))
  return heard
}

/** What of these subjects was not raised since then. */
function lacking(subjects: Iterable<string>, heard: readonly Raised[], since: number): string[] {
  const later = heard.filter(({ at }) => at >= since)
  if (later.some(({ changed }) => changed === 'all')) return []
  const raised = new Set<string>(later.flatMap(({ changed }) => changed))
  return [...subjects].filter((subject) => !raised.has(subject))
}

type Change = { what: string; began: number; subjects: Set<string> }

/** Does every write and every sweep once. `check` gets each change. Returns all of them. */
async function changeAll(world: World, check: (change: Change) => Promise<void>): Promise<Change[]> {
  const samples = await seedSamples(world)
  const changes: Change[] = []
  let before = await readRows(world.deps.db.read)
  let began = performance.now()
  const after = async (what: string) => {
    const now = await readRows(world.deps.db.read)
    const change = { what, began, subjects: subjectsBetween(before, now) }
    before = now
    changes.push(change)
    await check(change)
    began = performance.now()
  }
  const client = await openSignedInClient(world)
  await after('a sign-in')
  await setUpCodes(world, client)
  await after('a second factor')
  await runEveryWrite(world, samples, after)
  await runEverySweep(world, after)
  const all = new Set(changes.flatMap(({ subjects }) => [...subjects].map((subject) => subject.split(' ', 1)[0])))
  assert.equal(all.size, 9, `every kind of subject was changed: ${[...all]}`)
  return changes
}

onBothEngines('every write of the table and every sweep raises the stamps of what it changes', async (world) => {
  assert.deepEqual(Object.keys(SUBJECTS_OF).sort(), TOPIC_RULES.map(([table]) => table).sort())
  const heard = listen(world)
  await changeAll(world, async ({ what, began, subjects }) => {
    const left = () => lacking(subjects, heard, began)
    if (world.engine === 'postgres') await eventually(() => left().length === 0).catch(() => {})
    assert.deepEqual(left(), [], `after ${what}`)
  })
})

for (const [what, cuts] of [
  [`${LATE_MS / 1000} s late`, false],
  ['cut', true],
] as const) {
  test(`another instance is notified of every change where notifications are ${what} [postgres]`, {
    timeout: 300_000,
  }, async (t) => {
    const url = await migratedDatabase()
    const proxy = await openLateProxy(t, new URL(url), cuts)
    const one = await openWorld('postgres', { DATABASE_URL: url })
    const BERTH_KEYS = join(one.folder, 'keys.json')
    const other = await openWorld('postgres', { DATABASE_URL: proxy.url, BERTH_KEYS })
    try {
      const heard = listen(other)
      const changes = await changeAll(one, async () => {})
      const left = () => changes.flatMap(({ subjects, began }) => lacking(subjects, heard, began))
      await eventually(() => left().length === 0).catch(() => {})
      assert.deepEqual(left(), [])
      assert.ok(proxy.held() > 0)
      assert.equal(
        heard.some(({ changed }) => changed !== 'all'),
        !cuts,
      )
    } finally {
      await other.close()
      await one.close()
    }
  })
}

test('writes of another program are notified, and very many of them as one change of everything [postgres]', async (t) => {
  const url = await migratedDatabase()
  const world = await openWorld('postgres', { DATABASE_URL: url })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { id } = (await world.call('POST', '/v10/projects', { name: 'web' })).body
    const { userId } = world.credentials
    await waitForListener(world)
    const heard = listen(world)
    const since = performance.now()
    await client.query('update project set paused_at = 1 where id = $1', [id])
    await eventually(async () => lacking([`project ${id}`, `projects ${userId}`], heard, since).length === 0)
    assert.ok(!heard.some(({ changed }) => changed === 'all'))
    const many = `insert into member (team_id, user_id, role, created_stamp) select 'team_' || n, $1, 'VIEWER', n from generate_series(1, 1500) n`
    await client.query(many, [userId])
    await eventually(async () => heard.some(({ changed }) => changed === 'all'))
    t.diagnostic(`${heard.length} times`)
  } finally {
    await client.end()
    await world.close()
  }
})

test('a transaction that changes very much raises everything, and one that is undone nothing [postgres]', async () => {
  const world = await openWorld('postgres')
  try {
    const { userId } = world.credentials
    await waitForListener(world)
    const heard = listen(world)
    // The writes of the start are notified first, and lists last.
    await world.call('POST', '/v10/projects', { name: 'web' })
    await eventually(async () => heard.some(({ changed }) => changed.toString().startsWith('projects ')))
    heard.length = 0
    const many = (tx: Queries) =>
      sql`insert into member (team_id, user_id, role, created_stamp) select 'team_' || n, ${userId}, 'VIEWER', n from generate_series(1, 1500) n`.execute(
        tx,
      )
    const undone = world.deps.db.write(async (tx) => {
      await many(tx)
      throw new Error('undone')
    })
    await assert.rejects(undone, /undone/)
    await world.deps.db.write(many)
    await eventually(async () => heard.length > 0)
    assert.deepEqual(
      heard.map(({ changed }) => changed),
      ['all'],
    )
  } finally {
    await world.close()
  }
})
