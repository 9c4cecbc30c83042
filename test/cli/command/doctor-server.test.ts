/** `berth doctor` over PostgreSQL: only what a server lacks is reported, and nothing is left behind. docs/scaling.md. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { probeServer } from '../../../src/platform/db/postgres/capabilities.ts'
import { berth } from '../../support/clients/command.ts'
import { eventually } from '../../support/eventually.ts'
import { newHome } from '../../support/process.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { newDatabase } from '../../support/world.ts'

const BIN = '/usr/lib/postgresql/15/bin'

/** A server that lacks one thing: a proxy replaces the question for it with another of the same length. */
const LACKS: Record<string, { asked: string; taken: string; fatal: boolean }> = {
  SERIALIZABLE: {
    asked: 'start transaction isolation level serializable',
    taken: 'begin isolation level read committed',
    fatal: true,
  },
  'advisory locks': { asked: 'select pg_advisory_xact_lock(', taken: 'select abs(', fatal: true },
  'LOCK TABLE': { asked: 'lock table', taken: '--', fatal: true },
  'triggers in PL/pgSQL': { asked: 'before insert on', taken: 'before delete on', fatal: true },
  'LISTEN and NOTIFY': { asked: 'listen ', taken: '--', fatal: false },
}

for (const [need, { asked, taken, fatal }] of Object.entries(LACKS)) {
  test(`a server that lacks ${need} is reported for exactly that [postgres]`, async (t) => {
    const url = await throughProxy(t, await newDatabase(), asked, taken.padEnd(asked.length))
    const home = await newHome(t, 'postgres')
    const { findings, well } = await doctor({ ...home.env, DATABASE_URL: url })
    const told = findings.filter(({ about }) => about === 'database server')
    assert.equal(told.length, 1, JSON.stringify(told))
    assert.equal(told[0]!.is, fatal ? 'wrong' : 'worry')
    assert.match(told[0]!.found, new RegExp(`^PostgreSQL 18\\.\\S+ .*does not support ${need}: `))
    if (fatal) assert.equal(well, false)
  })
}

test('a server that lacks nothing is reported with its version, and the check leaves nothing in the database [postgres]', async (t) => {
  const home = await newHome(t, 'postgres')
  const url = home.env.DATABASE_URL!
  const { findings } = await doctor(home.env)
  const told = findings.filter(({ about }) => about === 'database server')
  assert.deepEqual(
    told.map(({ is, found }) => [is, /^PostgreSQL 18\..* has everything that Berth needs$/.test(found)]),
    [['well', true]],
    JSON.stringify(told),
  )
  assert.equal(await countOwn(url), 0)
})

test('a read-only server is reported [postgres]', async (t) => {
  const url = await newDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  const { pathname } = new URL(url)
  await client.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`)
  const home = await newHome(t, 'postgres')
  const { findings, well } = await doctor({ ...home.env, DATABASE_URL: url })
  const told = findings.find(({ about }) => about === 'database server')!
  assert.equal(well, false)
  assert.match(told.found, /^cannot be queried: .*read-only/)
  assert.match(told.advice!, /points to the primary server/)
})

if (canRun(`${BIN}/postgres`, '--version')) {
  test('PostgreSQL 15 has everything that Berth needs [postgres]', { timeout: 300_000 }, async (t) => {
    const url = await startDebian(t)
    const { version, major, lacks } = await probeServer(url)
    assert.deepEqual([major, lacks], [15, []], version)
    assert.equal(await countOwn(url), 0)
  })
} else test('PostgreSQL 15', { skip: skipReason('postgres', 'postgresql-15', 'PostgreSQL 15') }, () => {})

type Told = { about: string; is: string; found: string; advice?: string }

async function doctor(env: Record<string, string>): Promise<{ well: boolean; findings: Told[] }> {
  return JSON.parse((await berth(['doctor', '--json'], env)).out)
}

/** Tables and functions that the doctor left behind. */
async function countOwn(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(`select (select count(*) from pg_class where relname like 'berth_doctor%')
      + (select count(*) from pg_proc where proname like 'berth_doctor%') as many`)
    return Number(rows[0].many)
  } finally {
    await client.end()
  }
}

/** A server in front of another one, which takes one text for another of the same length. */
async function throughProxy(t: TestContext, url: string, asked: string, taken: string): Promise<string> {
  assert.equal(asked.length, taken.length)
  const behind = new URL(url)
  const port = Number(behind.port)
  const server = createServer((socket) => {
    const on = connect(port, behind.hostname)
    socket.on('data', (chunk) => on.write(chunk.toString('latin1').replaceAll(asked, taken), 'latin1'))
    on.on('data', (chunk) => socket.write(chunk))
    for (const [one, other] of [
      [socket, on],
      [on, socket],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  behind.port = String((server.address() as AddressInfo).port)
  return behind.href
}

/** A PostgreSQL 15 as Debian has it. It runs as another user where this one is root. */
async function startDebian(t: TestContext): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-pg15-'))
  chmodSync(folder, 0o777)
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups'] : []
  const data = join(folder, 'data')
  const initdb = [...user, `${BIN}/initdb`, '-D', data, '-U', 'berth', '--auth=trust', '--no-sync', '--locale=C']
  execFileSync(initdb[0]!, initdb.slice(1), { stdio: 'ignore' })
  const port = await freePort()
  const words = [...user, `${BIN}/postgres`, '-D', data, '-p', String(port), '-k', folder, '-c', 'fsync=off']
  const child = spawn(words[0]!, words.slice(1), { stdio: 'ignore' })
  t.after(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGQUIT')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `postgres://berth@127.0.0.1:${port}/postgres`
  await eventually(() =>
    countOwn(url).then(
      () => true,
      () => false,
    ),
  )
  return url
}
