/** How statements are sent to PostgreSQL: ahead of answers, over connections that reads share, and under names that connections keep. docs/scaling.md. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { type Db, preparedQuery, type Queries } from '../../../src/platform/db/db.ts'
import { openPostgres } from '../../../src/platform/db/postgres/open.ts'
import { eventually } from '../../support/eventually.ts'
import { newDatabase, PATIENCE } from '../../support/world.ts'

const readFact = preparedQuery<{ name: string }, { name: string; value: string }>((db, value) =>
  db.selectFrom('fact').selectAll().where('name', '=', value.name),
)
const writeFact = preparedQuery<{ name: string }, unknown>(
  (db, value) => db.insertInto('fact').values({ name: value.name, value: 'x' }),
  { discardResult: true },
)
const sleep = preparedQuery<{ seconds: number }, unknown>((_, value) => ({
  // No plain SELECT, which is sent once more when its connection was cut.
  compile: () => sql`with slept as (select pg_sleep(${value.seconds})) select * from slept`.compile(_),
}))

async function openStore(t: TestContext, preparedStatements = true, timeout = 1): Promise<{ db: Db; url: string }> {
  const url = await newDatabase()
  const db = await openPostgres(url, () => {}, undefined, { preparedStatements, patience: timeout })
  t.after(() => db.close())
  return { db, url }
}

async function countFacts(db: Db): Promise<number> {
  return (await db.read.selectFrom('fact').select('name').where('name', 'like', 'f%').execute()).length
}

function keptStatements(db: Queries): Promise<number> {
  return sql<{ count: number }>`select count(*) from pg_prepared_statements where name <> ''`
    .execute(db)
    .then(({ rows }) => rows[0]!.count)
}

for (const kept of [true, false]) {
  test(`a connection ${kept ? 'keeps a hot statement under its name' : 'that may keep nothing keeps no statement'} [postgres]`, async (t) => {
    const { db } = await openStore(t, kept)
    const count = await db.write(async (tx) => {
      for (let at = 0; at < 3; at++) await readFact(tx, { name: 'none' })
      return keptStatements(tx)
    })
    assert.equal(count, kept ? 1 : 0)
  })
}

test('reads and writes go on while another instance gives a table more columns [postgres]', async (t) => {
  const { db } = await openStore(t, true, Number(PATIENCE))
  await db.write((tx) => writeFact(tx, { name: 'f' }))
  const readBoth = () => Promise.all([readFact(db.read, { name: 'f' }), db.write((tx) => readFact(tx, { name: 'f' }))])
  for (let at = 0; at < 10; at++) await readBoth()
  await sql`alter table fact add column more text`.execute(db.read)
  const answers = await Promise.all(Array.from({ length: 20 }, readBoth))
  for (const [row] of answers.flat()) assert.deepEqual(row, { name: 'f', value: 'x', more: null })
})

test('a statement without an await fails its transaction, and the caller gets its error [postgres]', async (t) => {
  const { db } = await openStore(t)
  const write = (last: (tx: Queries) => Promise<unknown>) =>
    db.write(async (tx) => {
      await writeFact(tx, { name: 'f1' })
      await writeFact(tx, { name: 'f1' })
      return last(tx)
    })
  for (const last of [
    async () => {},
    (tx: Queries) => readFact(tx, { name: 'f' }),
    (tx: Queries) => countFactsOf(tx),
  ]) {
    await assert.rejects(write(last), { code: '23505' })
    assert.equal(await countFacts(db), 0)
  }
  await db.write(async (tx) => {
    await writeFact(tx, { name: 'f1' })
    await writeFact(tx, { name: 'f2' })
  })
  assert.equal(await countFacts(db), 2)
})

function countFactsOf(tx: Queries) {
  return tx.selectFrom('fact').select('name').execute()
}

test('a transaction whose error was caught is not taken for committed [postgres]', async (t) => {
  const { db } = await openStore(t)
  const swallow = db.write(async (tx) => {
    await writeFact(tx, { name: 'f' })
    await sql`select 1 / 0`.execute(tx).catch(() => {})
  })
  await assert.rejects(swallow, /not committed/)
  assert.equal(await countFacts(db), 0)
})

test('nothing is written where the transaction could not begin [postgres]', async (t) => {
  const { db } = await openStore(t)
  const { query } = pg.Client.prototype
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...given: unknown[]) {
    const begins = typeof given[0] === 'string' && given[0].startsWith('start transaction')
    return (query as (...given: unknown[]) => unknown).apply(this, begins ? ['start nothing'] : given)
  })
  const insert = (tx: Queries) => tx.insertInto('fact').values({ name: 'f', value: 'x' }).execute()
  for (const work of [
    insert,
    (tx: Queries) => writeFact(tx, { name: 'f' }),
    (tx: Queries) => readFact(tx, { name: 'f' }),
  ]) {
    await assert.rejects(
      db.write(async (tx) => {
        await work(tx)
        await insert(tx)
      }),
      { code: '42601' },
    )
    assert.equal(await countFacts(db), 0)
  }
})

test('reads share connections: many at once need few, and each is answered with its own [postgres]', async (t) => {
  const { db } = await openStore(t)
  await db.write(async (tx) => {
    for (let at = 0; at < 50; at++) await writeFact(tx, { name: `f${at}` })
  })
  const answers = await Promise.all(Array.from({ length: 2000 }, (_, at) => readFact(db.read, { name: `f${at % 60}` })))
  for (const [at, rows] of answers.entries()) {
    assert.deepEqual(
      rows.map(({ name }) => name),
      at % 60 < 50 ? [`f${at % 60}`] : [],
    )
  }
  assert.ok(db.connections!().open! <= 6, `${db.connections!().open} connections`)
})

test('one read that fails does not fail those that share its connection [postgres]', async (t) => {
  const { db } = await openStore(t)
  const wrong = preparedQuery<{ name: string }, unknown>((queries, value) => ({
    compile: () => sql`select 1 / (length(${value.name}) - 4)`.compile(queries),
  }))
  await db.write((tx) => writeFact(tx, { name: 'f' }))
  const all = await Promise.allSettled(
    Array.from({ length: 300 }, (_, at) =>
      at % 3 === 0 ? wrong(db.read, { name: 'four' }) : readFact(db.read, { name: 'f' }),
    ),
  )
  for (const [at, one] of all.entries()) {
    if (at % 3 === 0) assert.equal(one.status === 'rejected' && one.reason.code, '22012')
    else assert.equal(one.status === 'fulfilled' && one.value.length, 1)
  }
})

test('reads go on over a new connection when the server ended those that were shared [postgres]', async (t) => {
  const { db } = await openStore(t)
  const waiting = Array.from({ length: 8 }, () => sleep(db.read, { seconds: 30 }).catch((error) => error))
  await eventually(async () => db.connections!().open === 4)
  const end = sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()`
  await end.execute(db.read).catch(() => {})
  const errors = await Promise.all(waiting)
  for (const error of errors) assert.equal(db.refusalOf(error), 'unavailable', String(error))
  await eventually(async () => db.connections!().open === 0)
  assert.deepEqual(await readFact(db.read, { name: 'none' }), [])
})

const LIMITS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
const readLimit = preparedQuery<{ name: string }, { ms: number }>((db, { name }) => ({
  compile: () => sql<{ ms: number }>`select setting::int as ms from pg_settings where name = ${name}`.compile(db),
}))

/** The limits of a connection on the server, in milliseconds. */
async function limitsOf(db: Queries): Promise<Record<string, number>> {
  const limits: Record<string, number> = {}
  for (const name of LIMITS) limits[name] = (await readLimit(db, { name }))[0]!.ms
  return limits
}

test('a statement that a transaction may wait for ends before those of the transaction, and patience lengthens all [postgres]', async (t) => {
  const patience = Number(PATIENCE)
  const [{ db }, patient] = [await openStore(t, true, patience), await openStore(t, true, 3 * patience)]
  const of = async (one: Db) => ({
    apart: await limitsOf(one.autocommit!),
    shared: await limitsOf(one.read),
    transaction: await one.write(limitsOf),
  })
  const limits = await of(db)
  assert.deepEqual(limits.shared, limits.transaction)
  for (const [name, ms] of Object.entries(limits.transaction)) {
    const apart = limits.apart[name]!
    assert.ok(apart > 0 && (name.startsWith('idle') ? apart === ms : apart < ms), `${name}: ${apart} of ${ms} ms`)
  }
  for (const one of [limits.apart, limits.transaction]) assert.ok(one.lock_timeout! < one.statement_timeout!)
  const longer = await of(patient.db)
  for (const kind of ['apart', 'shared', 'transaction'] as const)
    assert.deepEqual(
      longer[kind],
      Object.fromEntries(Object.entries(limits[kind]).map(([name, ms]) => [name, ms * 3])),
      kind,
    )
})
