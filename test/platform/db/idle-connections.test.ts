/** A network that forgets connections which are idle for minutes. docs/scaling.md: Dropped idle connections. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { type Db, preparedQuery } from '../../../src/platform/db/db.ts'
import { listenOnPostgres } from '../../../src/platform/db/postgres/listener.ts'
import { openConnections, openPostgres } from '../../../src/platform/db/postgres/open.ts'
import { eventually } from '../../support/eventually.ts'
import { iterations } from '../../support/iterations.ts'
import { openForgetfulRelay } from '../../support/stores/forgetful-relay.ts'
import { migratedDatabase, PATIENCE } from '../../support/world.ts'

const readFact = preparedQuery<{ name: string }, { name: string }>((db, value) =>
  db.selectFrom('fact').select('name').where('name', '=', value.name),
)
const BELIEVED_MS = 50

async function openBehind(t: TestContext, believedMs: number) {
  const relay = await openForgetfulRelay(new URL(await migratedDatabase()))
  const idle = { probeMs: 600_000, believedMs }
  const options = { preparedStatements: true, patience: Number(PATIENCE), idle }
  const [pooled, clients] = [new Set<pg.Client>(), recordClients(t)]
  const db = await openPostgres(
    relay.url,
    () => {},
    undefined,
    options,
    (...given) => {
      const connections = openConnections(...given)
      ;(connections.pool as pg.Pool).on('connect', (client) => pooled.add(client as pg.Client))
      return connections
    },
  )
  t.after(async () => {
    await db.close()
    relay.close()
  })
  /** How many connections this side closed: of the pool, and of the others. */
  const closed = () => {
    const gone = [...clients].filter(({ connection }) => connection.stream.destroyed)
    return {
      pooled: gone.filter((client) => pooled.has(client)).length,
      shared: gone.filter((client) => !pooled.has(client)).length,
    }
  }
  return { relay, db, closed }
}

/** Records the clients that connect while a test runs. */
function recordClients(t: TestContext): ReadonlySet<pg.Client> {
  const clients = new Set<pg.Client>()
  const { connect } = pg.Client.prototype
  pg.Client.prototype.connect = function (this: pg.Client, ...given: unknown[]) {
    clients.add(this)
    return (connect as (...given: unknown[]) => unknown).apply(this, given)
  } as typeof connect
  t.after(() => {
    pg.Client.prototype.connect = connect
  })
  return clients
}

/** Reads in each way that there is: over shared connections, and over one of the pool. */
function readBoth(db: Db): Promise<unknown>[] {
  return [readFact(db.read, { name: 'f' }), db.read.selectFrom('fact').select('name').where('name', '=', 'f').execute()]
}

const manyReads = (db: Db) => Array.from({ length: 20 }, () => readBoth(db)).flat()

let written = 0
function write(db: Db): Promise<unknown> {
  const name = `w${written++}`
  return db.write((tx) => tx.insertInto('fact').values({ name, value: 'x' }).execute())
}

async function countWritten(db: Db): Promise<number> {
  return (await db.read.selectFrom('fact').select('name').where('name', 'like', 'w%').execute()).length
}

test('after a quiet while nothing is refused, though the network forgot every connection in silence [postgres]', async (t) => {
  const { relay, db, closed } = await openBehind(t, BELIEVED_MS)
  await Promise.all([...manyReads(db), write(db)])
  const times = iterations(6, 24)
  for (let round = 0; round < times; round++) {
    relay.forget('silence')
    // Nothing happens meanwhile: that is what makes the connections old.
    await sleep(BELIEVED_MS + 20)
    const [before, closedBefore] = [relay.opened(), closed()]
    await Promise.all(round % 2 === 0 ? readBoth(db) : [...manyReads(db), write(db)])
    assert.ok(relay.opened() > before, 'by new connections')
    for (const kind of ['pooled', 'shared'] as const)
      assert.ok(closed()[kind] > closedBefore[kind], `an old one is closed, though its peer does not end it: ${kind}`)
  }
  // As often as it was written, and each once.
  assert.equal(await countWritten(db), 1 + times / 2)
})

test('reads go on when the network cuts every connection, and no write is sent twice [postgres]', async (t) => {
  const { relay, db } = await openBehind(t, 600_000)
  written = 0
  let done = 0
  for (let round = 0; round < 6; round++) {
    await Promise.all(manyReads(db))
    relay.forget('reset')
    if (round % 2 === 0) {
      await readFact(db.read, { name: 'f' })
      relay.forget('reset')
      await Promise.all(Array.from({ length: 40 }, () => readFact(db.read, { name: 'f' })))
    } else {
      const writes = await Promise.allSettled([write(db), write(db)])
      for (const one of writes) {
        if (one.status === 'rejected') assert.equal(db.refusalOf(one.reason), 'unavailable', String(one.reason))
        else done++
      }
    }
  }
  await Promise.all(manyReads(db))
  assert.equal(await countWritten(db), done)
})

test('a read of the pool whose connection was cut is sent once more [postgres]', async (t) => {
  const { relay, db } = await openBehind(t, 600_000)
  const read = () => db.read.selectFrom('fact').select('name').where('name', '=', 'f').execute()
  await read()
  relay.forget('reset')
  assert.deepEqual(await read(), [])
  relay.forget('reset')
  await assert.rejects(sql`create table never (id int)`.execute(db.read), 'only a read is sent again')
})

test('the connection that receives notifications is checked, and replaced when it fails [postgres]', async (t) => {
  const direct = await migratedDatabase()
  const relay = await openForgetfulRelay(new URL(direct))
  const heard: unknown[] = []
  const lost: Error[] = []
  const stop = listenOnPostgres(
    relay.url,
    'of_tests',
    (payload) => heard.push(payload),
    (error) => lost.push(error),
    50,
  )
  t.after(async () => {
    await stop()
    relay.close()
  })
  await eventually(() => heard.length === 1)
  relay.forget('silence')
  await eventually(
    () => heard.length === 2,
    () => String(lost),
  )
  // It says that something may have been missed.
  assert.deepEqual(heard, [undefined, undefined])
  const db = await openPostgres(direct, () => {})
  t.after(() => db.close())
  await sql`select pg_notify('of_tests', 'hello')`.execute(db.read)
  await eventually(() => heard.some((payload) => payload === 'hello'))
})
