/** Every read that gives clear values leaves one line in the audit log, and none waits for it. docs/operations.md: Audit log. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { AUDIT_MESSAGES } from '../../../src/console/names/audit-messages.ts'
import { createMetrics } from '../../../src/metrics.ts'
import { createClock } from '../../../src/platform/base/clock.ts'
import type { AuditEntry } from '../../../src/platform/outbox/audit-chain.ts'
import { createSecretReads } from '../../../src/platform/outbox/secret-reads.ts'
import { ROUTES } from '../../../src/routes.ts'
import { withQuery } from '../../support/call.ts'
import { eventually } from '../../support/eventually.ts'
import { MIGRATED } from '../../support/postgres.ts'
import { seedProject } from '../../support/projects.ts'
import { root } from '../../support/root.ts'
import { callerOf, sampleRequest, seedSamples, teamQuery } from '../../support/sample-requests.ts'
import { newDatabase, onBothEngines, openWorld, type World } from '../../support/world.ts'

const CANARY = 'canary-in-clear'
/** TABLE the reads that give clear values. Another one must leave a line too, and is added here. */
const GIVING = [
  'exportProjectEnv',
  'filterProjectEnvs',
  'getProjectEnv',
  'getSharedEnvVar',
  'pullProjectEnv',
  'pullProjectEnvOfBranch',
  'pullProjectEnvOfDevelopment',
]
/** TABLE what opens values, and why it needs no line of its own. */
const OPENING: Record<string, string> = {
  'src/projects/env/access.ts': 'says `reveal` where an answer gets the value',
  'src/projects/env/env.ts': 'looks at a value that is edited',
  'src/projects/env-files/variables.ts': 'says `reveal` in a pull; a build has a line of its own (`leaseBuild`)',
  'src/delivery/builds/frozen-variables.ts':
    'gives them to a runner: the lease leaves a line; to functions; and seals shared ones again',
  'src/projects/shared-env/shared-env.ts': 'says `reveal`',
  'src/projects/env/history.ts': 'restores, and answers without the value',
  'src/projects/env/upsert.ts': 'compares',
  'src/projects/env-files/import.ts': 'compares',
  'src/projects/environments/variables.ts': 'copies',
  'src/operations/backup/integrity.ts': 'looks whether it opens',
  'src/platform/secrets/data-keys.ts': 'is how values are opened',
}

async function linesOf(world: World, types?: readonly string[]) {
  const rows = await world.deps.db.read.selectFrom('audit').selectAll().orderBy('stamp').execute()
  return rows.filter(({ type }) => (types ?? GIVING).includes(type))
}

/** Waits until this many lines are written. */
async function linesOnce(world: World, count: number): Promise<Awaited<ReturnType<typeof linesOf>>> {
  await eventually(async () => (await linesOf(world)).length >= count)
  return linesOf(world)
}

async function setCanaries(world: World, { envId, sharedId }: { envId: string; sharedId: string }): Promise<void> {
  const target = ['production', 'preview', 'development']
  const edited = await world.call('PATCH', `/v9/projects/web/env/${envId}`, { value: CANARY, target })
  assert.equal(edited.status, 200, edited.text)
  const shared = await world.call('PATCH', '/v1/env', { updates: { [sharedId]: { value: CANARY, target } } })
  assert.equal(shared.status, 200, shared.text)
}

test('the console has a sentence for every read that leaves a line', () => {
  for (const type of GIVING)
    assert.ok(Object.hasOwn(AUDIT_MESSAGES, type), `${type} has no sentence in src/console/names/audit-messages.ts`)
})

onBothEngines(
  'every read of the route table whose answer has a clear value leaves one line each time',
  async (world) => {
    const samples = await seedSamples(world)
    await setCanaries(world, samples)
    const gave: string[] = []
    for (const route of ROUTES.filter(({ method }) => method === 'GET')) {
      const { method, url } = sampleRequest(route, samples)
      const sayings = route.query?.properties?.decrypt === undefined ? [''] : ['', 'decrypt=true']
      // Twice: a cached response must leave a line too.
      for (const saying of [...sayings, ...sayings]) {
        const asked = withQuery(withQuery(url, teamQuery(route, samples)), saying)
        const answer = await callerOf(route, world).try(method, asked)
        assert.ok(answer.status < 400, `${asked}: ${answer.text}`)
        if (answer.text.includes(CANARY)) gave.push(route.operationId)
      }
    }
    const lines = await linesOnce(world, gave.length)
    assert.deepEqual(lines.map(({ type }) => type).sort(), gave.toSorted())
    assert.deepEqual([...new Set(gave)].sort(), GIVING)
    const [line] = lines.filter(({ type }) => type === 'getProjectEnv')
    assert.deepEqual(
      [line!.actor_kind, line!.actor_id, line!.account_id, line!.subject_id, line!.fields_json],
      ['user', samples.userId, samples.userId, samples.envId, '["development","preview","production"]'],
    )
    assert.ok(line!.token_id)
    assert.equal(lines.find(({ type }) => type === 'exportProjectEnv')?.subject_id, samples.projectId)
    assert.ok(!JSON.stringify(lines).includes(CANARY))
    await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})
    const { body } = await world.operator('GET', '/operator/v1/audit/verify')
    assert.deepEqual([body.verified, body.late, body.firstBroken], [true, 0, null])
  },
)

test('what opens values is known: an answer that has one says `reveal`', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) =>
    /[Bb]ox\.open\(/.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(files.sort(), Object.keys(OPENING).sort())
})

onBothEngines('a value that is not returned leaves no line', async (world) => {
  await seedProject(world, 'web')
  const made = await world.call('POST', '/v10/projects/web/env', [
    { key: 'A', value: CANARY, type: 'encrypted', target: ['preview'] },
    { key: 'B', value: CANARY, type: 'sensitive', target: ['preview'] },
    { key: 'C', value: CANARY, type: 'plain', target: ['preview'] },
  ])
  const ids: string[] = made.body.created.map(({ id }: { id: string }) => id)
  const narrow = await world.token({ scopes: ['read:project'] })
  for (const url of ['/v9/projects/web/env', '/v9/projects/web']) await world.call('GET', url)
  await world.call('GET', `/v1/projects/web/env/${ids[1]}`)
  assert.equal((await world.call.try('GET', '/v1/projects/web/env/none')).status, 404)
  assert.equal((await narrow.try('GET', `/v1/projects/web/env/${ids[0]}`)).status, 403)
  await world.call('GET', `/v1/projects/web/env/${ids[0]}`)
  const lines = await linesOnce(world, 1)
  // Long enough for another one to be written, if there is one.
  await sleep(600)
  assert.equal((await linesOf(world)).length, lines.length)
  assert.deepEqual(
    lines.map(({ type, subject_id }) => [type, subject_id]),
    [['getProjectEnv', ids[0]]],
  )
})

onBothEngines('many reads at once leave as many lines, in one chain, also while others write', async (world) => {
  await seedProject(world, 'web')
  const made = await world.call('POST', '/v10/projects/web/env', { key: 'A', value: CANARY, target: ['preview'] })
  const url = `/v1/projects/web/env/${made.body.created.id}`
  const read = async () => assert.equal((await world.call('GET', url)).status, 200)
  const write = (at: number) => world.call.try('POST', '/v10/projects', { name: `other-${at}` })
  for (let round = 0; round < 4; round++)
    await Promise.all(Array.from({ length: 175 }, (_, at) => (at % 25 === 0 ? write(round * 175 + at) : read())))
  assert.equal((await linesOnce(world, 672)).length, 672)
  await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})
  const { body } = await world.operator('GET', '/operator/v1/audit/verify')
  assert.deepEqual([body.verified, body.firstBroken], [true, null])
})

onBothEngines(
  'a store that takes no writes stops no read, and the lines are written when it takes some',
  async (world) => {
    await seedProject(world, 'web')
    const made = await world.call('POST', '/v10/projects/web/env', { key: 'A', value: CANARY, target: ['preview'] })
    const url = `/v1/projects/web/env/${made.body.created.id}`
    const { write } = world.deps.db
    world.deps.db.write = async () => {
      throw Object.assign(new Error('database or disk is full'), { code: '53100', errcode: 13 })
    }
    for (let at = 0; at < 30; at++) assert.equal((await world.call('GET', url)).status, 200)
    // Long enough for a write to be tried.
    await sleep(700)
    assert.equal((await linesOf(world)).length, 0)
    world.deps.db.write = write
    assert.equal((await linesOnce(world, 30)).length, 30)
  },
)

onBothEngines(
  'lines whose commit was not answered are written once, and a stamp that another has is given up',
  async (world) => {
    await seedProject(world, 'web')
    const made = await world.call('POST', '/v10/projects/web/env', { key: 'A', value: CANARY, target: ['preview'] })
    const url = `/v1/projects/web/env/${made.body.created.id}`
    const { write } = world.deps.db
    let lost = 0
    world.deps.db.write = async (work, owner) => {
      const value = await write(work, owner)
      if (lost++ === 0) throw Object.assign(new Error('Connection terminated'), {})
      return value
    }
    const before = await world.deps.db.read
      .selectFrom('audit')
      .selectAll()
      .where('type', '=', 'createProject')
      .executeTakeFirstOrThrow()
    const { stamp } = world.deps.clock
    let taken = 0
    world.deps.clock.stamp = () => (taken++ === 0 ? before.stamp : stamp())
    for (let at = 0; at < 5; at++) assert.equal((await world.call('GET', url)).status, 200)
    await linesOnce(world, 5)
    // Long enough for them to be written once more, if they might.
    await sleep(1500)
    const lines = await linesOf(world)
    assert.ok(lost >= 2)
    assert.equal(lines.length, 5)
    const again = await world.deps.db.read
      .selectFrom('audit')
      .selectAll()
      .where('stamp', '=', before.stamp)
      .executeTakeFirstOrThrow()
    assert.equal(again.type, 'createProject')
  },
)

onBothEngines('a stop writes what waits', async ({ engine, folder }) => {
  const url = engine === 'postgres' ? await newDatabase(MIGRATED) : `sqlite:${join(folder, 'stopped.db')}`
  const settings = { DATABASE_URL: url, BERTH_KEYS: join(folder, 'keys-of-it.json') }
  const world = await openWorld(engine, settings)
  await seedProject(world, 'web')
  const made = await world.call('POST', '/v10/projects/web/env', { key: 'A', value: CANARY, target: ['preview'] })
  for (let at = 0; at < 40; at++) await world.call('GET', `/v1/projects/web/env/${made.body.created.id}`)
  await world.close()
  const next = await openWorld(engine, settings)
  try {
    assert.equal((await linesOf(next)).length, 40)
  } finally {
    await next.close()
  }
})

onBothEngines('a flush that begins before another has ended writes every line once', async ({ deps }) => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const write: typeof deps.db.write = async (work) => {
    await opened
    return deps.db.write(work)
  }
  const reveals = createSecretReads({ ...deps, db: { ...deps.db, write } })
  const ids = Array.from({ length: 1201 }, (_, at) => `env_${at}`)
  for (const id of ids.slice(0, 700)) reveals.add({ ...entryOf('one'), stamp: deps.clock.stamp(), subject_id: id })
  const first = reveals.write()
  for (const id of ids.slice(700)) reveals.add({ ...entryOf('one'), stamp: deps.clock.stamp(), subject_id: id })
  const second = reveals.write()
  open()
  await Promise.all([first, second])
  const written = await deps.db.read.selectFrom('audit').select('subject_id').where('account_id', '=', 'one').execute()
  assert.deepEqual(written.map(({ subject_id }) => subject_id).sort(), ids.toSorted())
})

function entryOf(account_id: string): AuditEntry {
  return {
    stamp: 1,
    account_id,
    actor_kind: 'user',
    actor_id: 'usr',
    token_id: null,
    type: 'getProjectEnv',
    subject_id: 'env',
    fields_json: '[]',
  }
}

test('pending reads are bounded, also for each account; dropped ones are counted and logged', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const metrics = createMetrics()
  const db = { write: async () => assert.fail('the disk is full') } as never
  const reveals = createSecretReads({ db, clock: createClock(), log, metrics })
  const dropped = metrics.counter('berth_audit_lines_dropped_total')
  for (let at = 0; at < 5001; at++) reveals.add(entryOf('one'))
  assert.equal(dropped.value, 1)
  for (let at = 0; at < 15_000; at++) reveals.add(entryOf(`team${at}`))
  assert.equal(dropped.value, 1, 'others have room')
  reveals.add(entryOf('more'))
  assert.equal(dropped.value, 2)
  assert.equal(lines.length, 1)
  await assert.rejects(reveals.write())
  reveals.end()
  assert.equal(dropped.value, 20_002)
  assert.deepEqual(
    lines.slice(1).map((line) => JSON.parse(line).lines),
    [20_000],
  )
})
