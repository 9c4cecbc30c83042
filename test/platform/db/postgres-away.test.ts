/** A PostgreSQL that responds, but is of no use: after a failover, or to a login that it no longer accepts. docs/spec/reliability.md F11. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
import { terminateConnections } from '../../support/stores/terminate-connections.ts'
import { migratedDatabase, newDatabase, openWorld } from '../../support/world.ts'

type Names = { database: string; login: string }
const LACKS = {
  'a server that only reads (the one that a failover left behind)': {
    begin: ({ database }: Names) => `alter database ${database} set default_transaction_read_only = on`,
    end: ({ database }: Names) => `alter database ${database} reset default_transaction_read_only`,
    reads: true,
  },
  'a database that takes no connections': {
    begin: ({ database }: Names) => `alter database ${database} with allow_connections false`,
    end: ({ database }: Names) => `alter database ${database} with allow_connections true`,
    reads: false,
  },
  'a login that is no longer accepted': {
    begin: ({ login }: Names) => `alter role ${login} with password 'another'`,
    end: ({ login }: Names) => `alter role ${login} with password 'its own'`,
    reads: false,
  },
}

for (const [what, { begin, end, reads }] of Object.entries(LACKS)) {
  test(`${what} is a 503 until it is over [postgres]`, { timeout: 300_000 }, async (t) => {
    const { names, url, say } = await openDatabase(t)
    const world = await openWorld('postgres', { DATABASE_URL: url })
    try {
      const create = (name: string) => world.call.try('POST', '/v10/projects', { name })
      assert.equal((await create('one')).status, 200)
      await say(begin(names))
      const refused = await create('two')
      assert.deepEqual([refused.status, refused.body.error?.code], [503, 'unavailable'], refused.text)
      const read = await world.call.try('GET', '/v9/projects/one')
      assert.equal(read.status, reads ? 200 : 503, read.text)
      await say(end(names))
      const again = await create('two')
      assert.equal(again.status, 200, again.text)
    } finally {
      await world.close()
    }
    assert.equal(/"level":(50|60)/.test(world.logged()), false, world.logged())
  })
}

test('a standby is not read from: what was acknowledged may not have reached it [postgres]', async (t) => {
  const url = await migratedDatabase()
  const database = new URL(url).pathname.slice(1)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  const seen = (answer: { status: number; body: { error?: { code: string } } }) => [
    answer.status,
    answer.body.error?.code,
  ]
  const world = await openWorld('postgres', { DATABASE_URL: url })
  try {
    assert.equal((await world.call('POST', '/v10/projects', { name: 'one' })).status, 200)
    // From now on the server says of itself what a standby says.
    await client.query('create function pg_is_in_recovery() returns boolean language sql as $$ select true $$')
    await client.query(`alter database ${database} set search_path = public, pg_catalog`)
    await terminateConnections(client, database)
    const read = async () => seen(await world.call.try('GET', '/v9/projects/one'))
    const write = async () => seen(await world.call.try('POST', '/v10/projects', { name: 'two' }))
    assert.deepEqual(await read(), [503, 'unavailable'])
    assert.deepEqual(await write(), [503, 'unavailable'])
    await assert.rejects(
      world.deps.db.write((tx) => tx.selectFrom('project').selectAll().execute()),
      { code: '25006' },
    )
    // What PostgreSQL 15 says where pgbouncer has connected to a standby.
    const said = { code: '0A000', routine: 'call_enum_check_hook' }
    for (const text of ['cannot use serializable mode in a hot standby', 'kann serialisierbaren Modus nicht verwenden'])
      assert.equal(world.deps.db.refusalOf(Object.assign(new Error(text), said)), 'unavailable')
    await client.query(`alter database ${database} reset search_path`)
    assert.deepEqual(await read(), [200, undefined])
    assert.deepEqual(await write(), [200, undefined])
  } finally {
    await world.close()
  }
})

test('a connection whose check takes longer than a request waits for it is released [postgres]', async (t) => {
  const url = await migratedDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  // What the product waits, and not what tests do.
  const world = await openWorld('postgres', { DATABASE_URL: url, BERTH_TEST_PATIENCE: '1' })
  const ask = () => world.deps.db.write((tx) => tx.selectFrom('project').select('id').execute())
  await ask()
  // What a server says that is very busy, to connections that are made from now on.
  await client.query(`create function pg_is_in_recovery() returns boolean language plpgsql as
    $$ begin perform pg_sleep(2.5); return false; end $$`)
  await client.query(`alter database ${new URL(url).pathname.slice(1)} set search_path = public, pg_catalog`)
  const ends = await Promise.allSettled([ask(), ask(), ask()])
  assert.deepEqual(
    ends.filter(({ status }) => status === 'rejected').map((end) => (end as PromiseRejectedResult).reason.message),
    Array(2).fill('timeout exceeded when trying to connect'),
  )
  let isClosed = false
  const closing = world.close().then(() => {
    isClosed = true
  })
  await eventually(
    () => isClosed,
    () => 'the service waits for connections that are not in use',
  )
  await closing
})

/** A database with a login of its own, and a way to speak to the server past the service, whose connections then end. */
async function openDatabase(t: TestContext) {
  const url = new URL(await newDatabase())
  const database = url.pathname.slice(1)
  const login = `login_${database}`
  const client = new pg.Client({ connectionString: new URL('/postgres', url).href })
  await client.connect()
  t.after(() => client.end())
  await client.query(`create role ${login} login password 'its own'`)
  await client.query(`alter database ${database} owner to ${login}`)
  url.username = login
  url.password = encodeURIComponent('its own')
  /** Runs it on a connection of its own. What the service sees next comes from connections that it opens from then on. */
  const say = async (statement: string) => {
    await client.query(statement)
    await terminateConnections(client, database)
  }
  return { names: { database, login }, url: url.href, say }
}
