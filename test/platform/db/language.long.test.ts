/** Berth over a PostgreSQL that really speaks German, and over its standby. docs/scaling.md: Server language. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { preparedQuery } from '../../../src/platform/db/db.ts'
import { refusalOf } from '../../../src/platform/db/postgres/conditions.ts'
import { openPostgres } from '../../../src/platform/db/postgres/open.ts'
import { eventually } from '../../support/eventually.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { PATIENCE } from '../../support/world.ts'

const BIN = '/usr/lib/postgresql/15/bin'
const LANGUAGE = 'de_DE.UTF-8'
const NEEDED = [
  [canRun(`${BIN}/postgres`, '--version'), 'postgresql-15'],
  [existsSync('/usr/share/locale/de/LC_MESSAGES/postgres-15.mo'), 'postgresql-15'],
  [existsSync('/usr/share/i18n/locales/de_DE') && canRun('localedef', '--version'), 'locales'],
] as const
const missing = NEEDED.find(([isThere]) => !isThere)
const skip =
  missing === undefined ? false : skipReason('a PostgreSQL 15 in German', missing[1], 'servers with other messages')

const readFact = preparedQuery<{ name: string }, { name: string; value: string }>((db, value) =>
  db.selectFrom('fact').selectAll().where('name', '=', value.name),
)

/** A server of Debian that speaks German. `stop` ends it well; `start` starts it over the same folder. */
async function germanServer(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-german-'))
  chmodSync(folder, 0o777)
  const locales = join(folder, 'locales')
  mkdirSync(locales)
  execFileSync('localedef', ['-i', 'de_DE', '-f', 'UTF-8', join(locales, LANGUAGE)], { stdio: 'ignore' })
  const user =
    process.getuid?.() === 0 ? ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups'] : []
  const env = { PATH: process.env.PATH, LOCPATH: locales }
  const data = join(folder, 'data')
  const initdb = [...user, `${BIN}/initdb`, '-D', data, '-U', 'berth', '--auth=trust', '--no-sync', '--locale=C']
  execFileSync(initdb[0]!, [...initdb.slice(1), '--encoding=UTF8', `--lc-messages=${LANGUAGE}`], {
    stdio: 'ignore',
    env,
  })
  const port = await freePort()
  const url = `postgres://berth@127.0.0.1:${port}/postgres`
  let child: ChildProcess | undefined
  const stop = async (signal: NodeJS.Signals) => {
    const running = child
    child = undefined
    if (running === undefined) return
    const ended = once(running, 'exit')
    running.kill(signal)
    await ended
  }
  const start = async () => {
    const words = [...user, `${BIN}/postgres`, '-D', data, '-p', String(port), '-k', folder, '-c', 'fsync=off']
    child = spawn(words[0]!, words.slice(1), { stdio: 'ignore', env })
    await eventually(() => answers(url))
  }
  t.after(async () => {
    await stop('SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  return { url, data, start, stop }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

test('a server in German is migrated next to a service, and its standby is recognized', { skip }, async (t) => {
  const { url, data, start, stop } = await germanServer(t)
  const db = await openPostgres(url, () => {}, undefined, { preparedStatements: true, patience: Number(PATIENCE) })
  t.after(() => db.close().catch(() => {}))
  await assert.rejects(sql`select 1 / 0`.execute(db.read), /Division durch Null/, 'the server speaks German')
  await db.write((tx) => tx.insertInto('fact').values({ name: 'f', value: 'x' }).execute())
  const readBoth = () => Promise.all([readFact(db.read, { name: 'f' }), db.write((tx) => readFact(tx, { name: 'f' }))])
  for (let at = 0; at < 10; at++) await readBoth()
  await sql`alter table fact add column more text`.execute(db.read)
  for (const [row] of (await Promise.all(Array.from({ length: 20 }, readBoth))).flat())
    assert.deepEqual(row, { name: 'f', value: 'x', more: null })
  await db.close()
  await stop('SIGINT')
  writeFileSync(join(data, 'standby.signal'), '')
  await start()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const error = await client.query('start transaction isolation level serializable').catch((told: unknown) => told)
  await client.end()
  assert.match(String(error), /Standby/)
  assert.doesNotMatch(String(error), /cannot/, 'the sentence is German')
  assert.equal(refusalOf(error), 'unavailable')
})
