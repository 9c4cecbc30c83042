/** The chain of the audit log: entries that were changed, taken out, put in or cut off are found. docs/operations.md. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import pg from 'pg'
import { STAMPS_PER_MS } from '../../../src/platform/base/clock.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** Creates projects at the same time, some of them refused, and links the entries that are not linked at once. */
async function fill(world: World, names: string, count: number): Promise<void> {
  const create = (at: number) => world.call.try('POST', '/v10/projects', { name: `${names}-${at % (count - 5)}` })
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => create(at)))
  assert.equal(answers.filter(({ status }) => status === 409).length, 5)
  await link(world)
}

async function link(world: World): Promise<number> {
  return (await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})).body.swept
}

/** Runs a statement on a connection of its own, so that the service does not notice it. */
async function elsewhere({ deps }: World, statement: string): Promise<void> {
  const { database } = deps.config
  if (database.engine === 'sqlite') {
    const file = new DatabaseSync(database.file)
    file.exec(statement)
    return file.close()
  }
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

async function verify(world: World, head?: string) {
  const query = head === undefined ? '' : `?head=${head}`
  const answer = await world.operator('GET', `/operator/v1/audit/verify${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

function entryAt({ deps }: World, position: number) {
  return deps.db.read.selectFrom('audit').selectAll().where('position', '=', position).executeTakeFirstOrThrow()
}

onBothEngines('every committed write is one entry of the chain, and a refused one is none', async (world) => {
  await fill(world, 'web', 65)
  const entries = await world.deps.db.read.selectFrom('audit').selectAll().orderBy('position').execute()
  // On PostgreSQL the call that linked them is an entry itself, and not linked yet.
  const linked = entries.filter(({ position }) => position !== null)
  assert.equal(linked.filter(({ type }) => type === 'createProject').length, 60)
  assert.deepEqual(
    linked.map(({ position }) => position),
    linked.map((_, at) => at + 1),
  )
  assert.equal(new Set(linked.map(({ hash }) => hash)).size, linked.length)
  const seen = await verify(world)
  const last = linked.at(-1)!
  assert.deepEqual(seen, {
    verified: true,
    entries: linked.length,
    head: `${last.position}.${last.hash}`,
    unlinked: entries.length - linked.length,
    late: 0,
    firstBroken: null,
  })
})

onBothEngines('on SQLite an entry is linked by the write itself; on PostgreSQL by the sweep', async (world) => {
  await world.call('POST', '/v10/projects', { name: 'web' })
  const unlinked = (await verify(world)).unlinked
  assert.equal(unlinked, world.engine === 'sqlite' ? 0 : 1)
  assert.equal(await link(world), unlinked)
})

onBothEngines('sweeps that run at the same time link every entry once', async (world) => {
  for (let round = 0; round < 3; round++) {
    await world.deps.db.write((tx) => tx.updateTable('audit').set({ position: null, hash: null }).execute())
    const create = (at: number) => world.call.try('POST', '/v10/projects', { name: `web-${round}-${at}` })
    await Promise.all([...Array.from({ length: 20 }, (_, at) => create(at)), link(world), link(world), link(world)])
    await link(world)
    const { verified, entries } = await verify(world)
    const { count } = await world.deps.db.read
      .selectFrom('audit')
      .select(sql<number>`count(position)`.as('count'))
      .executeTakeFirstOrThrow()
    assert.deepEqual([verified, entries], [true, count])
  }
})

const CHANGES = {
  // A second before: a time at which nothing happened, where the next stamp may be another entry's.
  stamp: (value: number) => value - 1000 * STAMPS_PER_MS,
  account_id: () => 'team_other',
  actor_kind: () => 'operator',
  actor_id: () => 'usr_other',
  token_id: () => null,
  type: () => 'getProject',
  subject_id: () => null,
  fields_json: () => '[]',
  hash: (value: string) => value.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
} as const

onBothEngines('an entry with one changed column is named', async (world) => {
  await fill(world, 'web', 25)
  for (const [column, change] of Object.entries(CHANGES)) {
    const before = await entryAt(world, 9)
    const value = (change as (value: unknown) => unknown)(before[column as keyof typeof CHANGES])
    await world.deps.db.write((tx) =>
      tx
        .updateTable('audit')
        .set({ [column]: value })
        .where('position', '=', 9)
        .execute(),
    )
    const { verified, firstBroken } = await verify(world)
    const stamp = column === 'stamp' ? (value as number) : before.stamp
    assert.deepEqual([verified, firstBroken], [false, { position: 9, stamp, why: 'changed' }], column)
    await world.deps.db.write((tx) => tx.updateTable('audit').set(before).where('position', '=', 9).execute())
  }
  assert.equal((await verify(world)).verified, true)
})

onBothEngines('a change by another process is found at once', async (world) => {
  await fill(world, 'web', 25)
  assert.equal((await verify(world)).verified, true)
  await elsewhere(world, "update audit set type = 'nothing' where position = 9")
  const { verified, firstBroken } = await verify(world)
  assert.deepEqual([verified, firstBroken?.position], [false, 9])
})

onBothEngines('an entry that was taken out, exchanged or put in between is found', async (world) => {
  await fill(world, 'web', 25)
  const [eighth, ninth] = [await entryAt(world, 8), await entryAt(world, 9)]
  const missing = { position: 9, stamp: null, why: 'missing' }
  await world.deps.db.write((tx) => tx.deleteFrom('audit').where('position', '=', 9).execute())
  assert.deepEqual((await verify(world)).firstBroken, missing)
  // The next one in its place, with a hash that fits: what follows does not fit any more.
  await world.deps.db.write((tx) =>
    tx
      .insertInto('audit')
      .values({ ...ninth, subject_id: 'prj_other' })
      .execute(),
  )
  assert.equal((await verify(world)).firstBroken.why, 'changed')
  await world.deps.db.write(async (tx) => {
    await tx.deleteFrom('audit').where('position', '=', 9).execute()
    await tx.insertInto('audit').values(ninth).execute()
  })
  assert.equal((await verify(world)).verified, true)
  await world.deps.db.write(async (tx) => {
    for (const [stamp, position] of [
      [eighth.stamp, 1_000_000],
      [ninth.stamp, 8],
      [eighth.stamp, 9],
    ]) {
      await tx.updateTable('audit').set({ position: position! }).where('stamp', '=', stamp!).execute()
    }
  })
  assert.deepEqual((await verify(world)).firstBroken.position, 8)
})

onBothEngines('an entry that was put in before the first position is found', async (world) => {
  await fill(world, 'web', 8)
  const third = await entryAt(world, 3)
  for (const position of [0, -7]) {
    const forged = { ...third, stamp: third.stamp + 1, type: 'deleteProject', position }
    await world.deps.db.write((tx) => tx.insertInto('audit').values(forged).execute())
    const { verified, firstBroken } = await verify(world)
    assert.deepEqual([verified, firstBroken], [false, { position, stamp: forged.stamp, why: 'changed' }])
    await world.deps.db.write((tx) => tx.deleteFrom('audit').where('position', '=', position).execute())
  }
  assert.equal((await verify(world)).verified, true)
})

onBothEngines(
  'an end that was cut off, and a chain that was rebuilt, are found by a head that was kept',
  async (world) => {
    await fill(world, 'web', 25)
    const { head, entries } = await verify(world)
    await world.call('POST', '/v10/projects', { name: 'later' })
    await link(world)
    assert.equal((await verify(world, head)).verified, true, 'the chain went on from there')
    await world.deps.db.write((tx) =>
      tx
        .deleteFrom('audit')
        .where('position', '>', entries - 3)
        .execute(),
    )
    assert.equal((await verify(world)).verified, true, 'the store alone does not show that there was more')
    const cut = await verify(world, head)
    assert.deepEqual([cut.verified, cut.firstBroken], [false, { position: entries - 2, stamp: null, why: 'missing' }])

    const { head: kept, entries: left } = await verify(world)
    await world.deps.db.write((tx) =>
      tx.updateTable('audit').set({ position: null, hash: null, actor_id: 'usr_other' }).execute(),
    )
    while ((await link(world)) > 1);
    assert.equal((await verify(world)).verified, true)
    const anew = await verify(world, kept)
    assert.deepEqual([anew.verified, anew.firstBroken.position, anew.firstBroken.why], [false, left, 'replaced'])
    for (const wrong of ['1', 'x.y', `1.${'a'.repeat(42)}`, `-1.${'a'.repeat(43)}`]) {
      assert.equal((await world.operator.try('GET', `/operator/v1/audit/verify?head=${wrong}`)).status, 400, wrong)
    }
  },
)

onBothEngines('an entry that was put in with an old date is counted as late', async (world) => {
  await fill(world, 'web', 25)
  const tenth = await entryAt(world, 10)
  await world.deps.db.write((tx) =>
    tx.updateTable('fact').set({ value: '0' }).where('name', '=', 'audit_chain_began').execute(),
  )
  const stamp = tenth.stamp - 120_000 * STAMPS_PER_MS
  await world.deps.db.write((tx) =>
    tx
      .insertInto('audit')
      .values({ ...tenth, stamp, position: null, hash: null })
      .execute(),
  )
  await link(world)
  const { verified, late } = await verify(world)
  assert.deepEqual([verified, late], [true, 1])
})

onBothEngines(
  'a long chain is verified and linked in slices, and other requests are answered meanwhile',
  async (world) => {
    const rows = Array.from({ length: 500 }, (_, at) => at)
    const entry = { account_id: null, actor_kind: 'operator', actor_id: 'operator', token_id: null, subject_id: null }
    for (let slice = 0; slice < 5; slice++) {
      const values = rows.map((at) => ({
        ...entry,
        stamp: (slice * 500 + at + 1) * STAMPS_PER_MS,
        type: 'x',
        fields_json: '[]',
        position: null,
        hash: null,
      }))
      await world.deps.db.write((tx) => tx.insertInto('audit').values(values).execute())
    }
    assert.equal(await link(world), 2500)
    const turns = turnsBetweenSlices(world)
    const { verified, entries, late } = await verify(world)
    assert.ok(verified && entries >= 2500)
    assert.equal(late, 0, 'entries from before the chain are not late')
    assert.deepEqual(turns, [true, true, true])
  },
)

/** For each slice of the chain that is read from now on: whether the event loop had a turn, in which requests are answered, since the one before. */
function turnsBetweenSlices({ deps }: World): boolean[] {
  const turns: boolean[] = []
  let hadTurn = true
  const executor = deps.db.read.getExecutor() as { executeQuery(query: { sql: string }): Promise<unknown> }
  const execute = executor.executeQuery.bind(executor)
  executor.executeQuery = async (query) => {
    if (!/from "audit" where "position" > /.test(query.sql)) return execute(query)
    turns.push(hadTurn)
    const rows = await execute(query)
    hadTurn = false
    setImmediate(() => {
      hadTurn = true
    })
    return rows
  }
  return turns
}
