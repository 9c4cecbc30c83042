/** Stores directly: what a transaction keeps, undoes and retries, and its errors when the disk or the server is unavailable. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { groupCommit, type Writer } from '../../../src/platform/db/sqlite/group-commit.ts'
import { eventually } from '../../support/eventually.ts'
import { terminateConnections } from '../../support/stores/terminate-connections.ts'
import { ENGINES, type Engine, onBothEngines, openWorld, type World } from '../../support/world.ts'

const fact = (name: string) => ({ name, value: 'x' })

onBothEngines('of jobs that commit together, one that throws is undone alone', async ({ deps, engine }) => {
  // PostgreSQL commits them apart. With more of them than there are connections, one that waits two seconds for its own is refused.
  const jobs = Array.from({ length: engine === 'sqlite' ? 60 : 12 }, (_, at) =>
    deps.db.write(async (tx) => {
      await tx
        .insertInto('fact')
        .values(fact(`job-${at}`))
        .execute()
      if (at % 3 === 0) throw new Error(`no ${at}`)
      if (at % 3 === 1)
        await tx
          .insertInto('fact')
          .values(fact(`more-${at}`))
          .execute()
      return at
    }),
  )
  const ends = await Promise.allSettled(jobs)
  for (const [at, end] of ends.entries()) assert.equal(end.status, at % 3 === 0 ? 'rejected' : 'fulfilled')
  const rows = await deps.db.read.selectFrom('fact').select('name').where('name', 'like', '%-%').execute()
  const wanted = ends.flatMap((_, at) =>
    at % 3 === 0 ? [] : at % 3 === 1 ? [`job-${at}`, `more-${at}`] : [`job-${at}`],
  )
  assert.deepEqual(rows.map((row) => row.name).sort(), wanted.sort())
})

test('when the commit of a group fails, every write in it fails, and the next group is committed', async () => {
  const said: string[] = []
  let open = false
  let fails = true
  const writer: Writer = {
    beforeCommit() {},
    afterCommit() {},
    exec(sql) {
      said.push(sql)
      if (sql === 'COMMIT' && fails) throw new Error('the disk is full')
      if (sql === 'BEGIN IMMEDIATE') open = true
      if (sql === 'COMMIT' || sql === 'ROLLBACK') open = false
    },
    inTransaction: () => open,
  }
  const failures: unknown[] = []
  const write = groupCommit(writer, 10, { onDone() {}, onFailed: (error) => failures.push(error) })
  const group = await Promise.allSettled([1, 2, 3].map((value) => write(async () => value)))
  for (const end of group) assert.match(String(end.status === 'rejected' && end.reason), /the disk is full/)
  assert.deepEqual([failures.length, said.at(-1)], [1, 'ROLLBACK'])
  fails = false
  assert.equal(await write(async () => 4), 4)
})

onBothEngines('a statement that fails undoes its job whole, and a reader never sees half of one', async ({ deps }) => {
  const failed = deps.db.write(async (tx) => {
    await tx.insertInto('fact').values(fact('half')).execute()
    const seen = await deps.db.read.selectFrom('fact').select('name').where('name', '=', 'half').execute()
    assert.deepEqual(seen, [], 'what is not committed is not read')
    await tx.insertInto('fact').values(fact('half')).execute()
  })
  await assert.rejects(failed)
  assert.deepEqual(await deps.db.read.selectFrom('fact').selectAll().where('name', '=', 'half').execute(), [])
})

test('two writes that lock two rows in opposite order are both committed: the one that PostgreSQL aborts is retried', async () => {
  const world = await openWorld('postgres')
  try {
    const { db } = world.deps
    await db.write((tx) =>
      tx
        .insertInto('fact')
        .values([fact('one'), fact('two')])
        .execute(),
    )
    let attempts = 0
    let meet = () => {}
    const met = new Promise<void>((resolve) => {
      meet = resolve
    })
    const add = (order: string[], letter: string) =>
      db.write(async (tx) => {
        const first = ++attempts <= 2
        for (const name of order) {
          const value = sql<string>`value || ${letter}`
          await tx.updateTable('fact').set({ value }).where('name', '=', name).execute()
          // Both have their first row before either asks for its second.
          if (attempts === 2) meet()
          if (first) await met
        }
      })
    await Promise.all([add(['one', 'two'], 'a'), add(['two', 'one'], 'b')])
    assert.ok(attempts > 2, 'one lost and was run again')
    const rows = await db.read.selectFrom('fact').select('value').where('name', 'in', ['one', 'two']).execute()
    for (const { value } of rows) assert.match(value, /^x(ab|ba)$/)
  } finally {
    await world.close()
  }
})

onBothEngines('40 writers that read and add to one number all count', async ({ deps }) => {
  await deps.db.write((tx) => tx.insertInto('fact').values({ name: 'sum', value: '0' }).execute())
  const add = () =>
    deps.db.write(async (tx) => {
      const { value } = await tx.selectFrom('fact').select('value').where('name', '=', 'sum').executeTakeFirstOrThrow()
      await tx
        .updateTable('fact')
        .set({ value: `${Number(value) + 1}` })
        .where('name', '=', 'sum')
        .execute()
    })
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 4 }, add))
  const { value } = await deps.db.read
    .selectFrom('fact')
    .select('value')
    .where('name', '=', 'sum')
    .executeTakeFirstOrThrow()
  assert.equal(value, '40')
})

test('a full disk refuses writes with 507, serves reads, keeps what it acknowledged, and heals [sqlite]', async () => {
  await inWorld('sqlite', async (world) => {
    const { call, deps } = world
    const pages = (most: number) => deps.db.write((tx) => sql.raw(`pragma max_page_count = ${most}`).execute(tx))
    // SQLite's own limit, set on the connection that writes: below the current size, it means "no page more".
    await pages(1)
    const made: string[] = []
    const create = async (at: number) => {
      const answer = await call.try('POST', '/v10/projects', {
        name: `p${at}`,
        trustedSources: { pad: 'x'.repeat(16_000) },
      })
      if (answer.status === 200) made.push(`p${at}`)
      else assert.deepEqual([answer.status, answer.body.error.code], [507, 'storage_full'], answer.text)
      return answer.status
    }
    const statuses = await Promise.all(Array.from({ length: 30 }, (_, at) => create(at)))
    assert.ok(statuses.includes(507), 'the disk was never full')
    const listed = async () =>
      (await call('GET', '/v9/projects?limit=100')).body.projects.map((one: { name: string }) => one.name)
    assert.deepEqual((await listed()).sort(), made.toSorted())
    await pages(1_000_000)
    assert.equal(await create(100), 200)
    assert.deepEqual((await listed()).sort(), made.toSorted())
    const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(deps.db.read)
    assert.deepEqual(
      rows.map((row) => row.integrity_check),
      ['ok'],
    )
  })
})

test('requests whose PostgreSQL connection is cut answer 200 or 503, never 500, and the service goes on [postgres]', async (t) => {
  await inWorld('postgres', async (world) => {
    const { call } = world
    assert.equal((await call('POST', '/v10/projects', { name: 'web' })).status, 200)
    const url = databaseOf(world)
    const cutter = new pg.Client({ connectionString: url })
    const holder = new pg.Client({ connectionString: url })
    for (const client of [cutter, holder]) {
      await client.connect()
      t.after(() => client.end())
    }
    // In the first round all writes wait, so that some are cut.
    await holder.query('begin; lock table project in exclusive mode')
    const waits = "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    const acknowledged: string[] = []
    let cut = 0
    for (let round = 0; round < 6; round++) {
      const load = Array.from({ length: 40 }, async (_, at) => {
        const name = `r${round}-${at}`
        const answer =
          at % 2 ? await call.try('GET', '/v9/projects/web') : await call.try('POST', '/v10/projects', { name })
        if (answer.status === 200 && at % 2 === 0) acknowledged.push(name)
        assert.ok([200, 503].includes(answer.status), `${at % 2 ? 'GET' : 'POST'}: ${answer.text}`)
        if (answer.status === 503) {
          assert.equal(answer.headers['retry-after'], '1')
          cut++
        }
      })
      // The cut of each round meets the load at another time. The first meets writes that wait.
      if (round > 0) await sleep(5 + round * 4)
      else await eventually(async () => (await cutter.query(waits)).rows.length > 0)
      await terminateConnections(cutter, new URL(url).pathname.slice(1), 'berth')
      if (round === 0) await holder.query('rollback')
      await Promise.all(load)
    }
    assert.ok(cut > 0, 'nothing was cut')
    assert.equal((await call('POST', '/v10/projects', { name: 'after' })).status, 200)
    const rows = await world.deps.db.read.selectFrom('project').select('name').execute()
    const there = new Set(rows.map((row) => row.name))
    for (const name of acknowledged) assert.ok(there.has(name), `${name} was acknowledged and is lost`)
  })
})

function databaseOf({ deps }: World): string {
  const { database } = deps.config
  return database.engine === 'postgres' ? database.url : assert.fail('not PostgreSQL')
}

/** A world for one engine; it must not have logged an error. */
async function inWorld(engine: Engine, run: (world: World) => Promise<void>): Promise<void> {
  assert.ok(ENGINES.includes(engine))
  const world = await openWorld(engine)
  try {
    await run(world)
  } finally {
    await world.close()
  }
  assert.equal(/"level":(50|60)/.test(world.logged()), false, world.logged().slice(-2000))
}
