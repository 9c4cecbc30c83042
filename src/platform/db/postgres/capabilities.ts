/**
 * Probes a PostgreSQL server by using each capability: some engines that speak its protocol accept statements without effect. docs/scaling.md:
 * Distributed SQL.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const TIMEOUT_MS = 2000
const NOTICE_MS = 1000
const LOCK_HELD = '55P03'
const RACE_LOST = '40001'
/** A server reports a held lock within this time. */
const SHORT_WAIT = "set local lock_timeout = '200ms'"

type MissingCapability = {
  /** The missing capability. */
  need: string
  why: string
  /** Whether Berth cannot run without it. */
  fatal: boolean
}

export type ServerCapabilities = { version: string; major: number; lacks: MissingCapability[] }

/** Two connections to the server, and a table that both see. */
type Place = { a: pg.Client; b: pg.Client; table: string }
type Capability = {
  name: string
  fatal: boolean
  /** Returns the problem, or undefined. Throws the error of the server. */
  ask(place: Place): Promise<string | undefined>
}

/** TABLE Probed capabilities, in this order. */
const CAPABILITIES: readonly Capability[] = [
  { name: 'SERIALIZABLE', fatal: true, ask: losesRace },
  { name: 'advisory locks', fatal: true, ask: locksByNumber },
  { name: 'LOCK TABLE', fatal: true, ask: locksTable },
  { name: 'triggers in PL/pgSQL', fatal: true, ask: runsTrigger },
  { name: 'LISTEN and NOTIFY', fatal: false, ask: notifies },
]

/**
 * Probes a server for each required capability, with a temporary table and function `berth_doctor_…`. `timeout`: a factor for its time limits
 * (`BERTH_TEST_PATIENCE`). Throws when the server cannot be reached, is a standby, or this user cannot create a table.
 */
export async function probeServer(url: string, timeout = 1): Promise<ServerCapabilities> {
  const [a, b] = [newClient(url, timeout), newClient(url, timeout)]
  const table = `berth_doctor_${randomBytes(4).toString('hex')}`
  const place = { a, b, table }
  try {
    await Promise.all([a.connect(), b.connect()])
    const { rows } = await a.query("select version(), current_setting('server_version_num') as number")
    await a.query(`create table ${table} (id integer primary key, value integer not null)`)
    await a.query(`insert into ${table} values (1, 0), (2, 0)`)
    const lacks: MissingCapability[] = []
    for (const { name: need, fatal, ask } of CAPABILITIES) {
      const why = await ask(place).catch((error: Error) => error.message)
      if (why !== undefined) lacks.push({ need, why, fatal })
      await Promise.all([a.query('rollback'), b.query('rollback')])
    }
    return {
      version: String(rows[0].version).split(' (')[0]!,
      major: Math.floor(Number(rows[0].number) / 10_000),
      lacks,
    }
  } finally {
    await a.query(`drop table if exists ${table}`).catch(() => {})
    await a.query(`drop function if exists ${table}()`).catch(() => {})
    await Promise.all([a.end(), b.end()].map((end) => end.catch(() => {})))
  }
}

function newClient(connectionString: string, timeout: number): pg.Client {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: TIMEOUT_MS * timeout,
    query_timeout: TIMEOUT_MS * timeout,
    application_name: 'berth doctor',
  })
  client.on('error', () => {})
  return client
}

/** Each of two transactions reads what the other writes: one of them must fail. */
async function losesRace({ a, b, table }: Place): Promise<string | undefined> {
  for (const client of [a, b]) {
    await client.query('start transaction isolation level serializable')
    await client.query(`select sum(value) from ${table}`)
  }
  await a.query(`update ${table} set value = 1 where id = 1`)
  const lost = await codeOf(async () => {
    await b.query(`update ${table} set value = 1 where id = 2`)
    await a.query('commit')
    await b.query('commit')
  })
  if (lost === undefined) return 'two transactions that each read what the other wrote were both committed'
  return lost === RACE_LOST ? undefined : `the failed transaction got ${lost}, not ${RACE_LOST}`
}

/** A shared lock blocks exclusive ones until the transaction ends. */
async function locksByNumber({ a, b }: Place): Promise<string | undefined> {
  const number = randomBytes(4).readInt32BE()
  await a.query('begin')
  await a.query(`select pg_advisory_xact_lock_shared(${number})`)
  await b.query('begin')
  await b.query(SHORT_WAIT)
  const refused = await codeOf(() => b.query(`select pg_advisory_xact_lock(${number})`))
  if (refused === undefined) return 'two connections hold the same lock'
  if (refused !== LOCK_HELD) return `a connection that waits for a lock gets ${refused}, not ${LOCK_HELD}`
  await Promise.all([a.query('commit'), b.query('rollback')])
  await b.query('begin')
  await b.query(SHORT_WAIT)
  const code = await codeOf(() => b.query(`select pg_advisory_xact_lock(${number})`))
  return code === undefined ? undefined : `one is held after its transaction has ended (${code})`
}

async function locksTable({ a, b, table }: Place): Promise<string | undefined> {
  await a.query('begin')
  await a.query(`lock table ${table} in share row exclusive mode`)
  await b.query('begin')
  await b.query(SHORT_WAIT)
  const refused = await codeOf(() => b.query(`insert into ${table} values (3, 0)`))
  if (refused === undefined) return 'another connection writes to a table that is locked'
  return refused === LOCK_HELD ? undefined : `a connection that waits for the lock gets ${refused}, not ${LOCK_HELD}`
}

async function runsTrigger({ a, table }: Place): Promise<string | undefined> {
  await a.query(`create function ${table}() returns trigger language plpgsql as
    $$ begin new.value := new.value + 1; return new; end $$`)
  await a.query(`create trigger ${table} before insert on ${table} for each row execute function ${table}()`)
  const { rows } = await a.query(`insert into ${table} values (4, 1) returning value`)
  return rows[0]?.value === 2 ? undefined : 'one that is there does not run'
}

async function notifies({ a, b, table }: Place): Promise<string | undefined> {
  const notified = new Promise<void>((resolve) => a.once('notification', () => resolve()))
  await a.query(`listen ${table}`)
  await b.query(`select pg_notify('${table}', '')`)
  const late = Symbol('late')
  const first = await Promise.race([notified, sleep(NOTICE_MS, late, { ref: false })])
  return first === late ? `no notification within ${NOTICE_MS / 1000} s` : undefined
}

/** Returns the error code, or undefined on success. */
async function codeOf(ask: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await ask()
    return undefined
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return code ?? message
  }
}
