/** Database checks of `berth doctor`, which are read-only. */
import { existsSync, statSync } from 'node:fs'
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { type Queries, schemaOf } from '../../platform/db/db.ts'
import { explainStoreError } from '../../platform/db/sqlite/store-errors.ts'
import { isSqlite, tablesOf } from '../../platform/db/tables.ts'
import { type Finding, findingsAbout } from './finding.ts'

/** Connection and statement together stay below 5 s. */
const TIMEOUT_MS = 2000
/** Above this difference, timestamps and expiries are wrong. */
const CLOCK_APART_MS = 5000

/** Runs `work` on the database, read-only. Throws when it does not exist or cannot be reached. */
export async function withStore<T>({ database }: Config, work: (db: Queries) => Promise<T>): Promise<T> {
  const db =
    database.engine === 'sqlite'
      ? (await import('../../platform/db/sqlite/open.ts')).openSqliteFile(database.file, true)
      : (await import('../../platform/db/postgres/open.ts')).openPostgresConnection(database.url, TIMEOUT_MS)
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}

/** Checks that the database responds and has the schema of this version. `stop`: reads no more pages, which a slow disk takes long for. */
export async function checkDatabase(config: Config, stop = AbortSignal.timeout(MAX_READ_MS)): Promise<Finding[]> {
  const { well, worry, wrong } = findingsAbout('database')
  const { database } = config
  if (database.engine === 'sqlite' && !existsSync(database.file))
    return [well(`${database.file} does not exist yet; the first start creates it`)]
  const name = database.engine === 'sqlite' ? database.file : 'PostgreSQL'
  try {
    const { applied, pending, unknown } = await withStore(config, schemaOf)
    if (unknown.length > 0)
      return [wrong(`${name} was written by a newer version of Berth (${unknown.join(', ')})`, 'run that version')]
    if (applied.length === 0) return [well(`${name} is empty; the first start fills it`)]
    if (pending.length > 0) {
      const advice = 'make a backup, then run berth migrate, or let the next start do it'
      return [worry(`${name} is missing ${pending.join(', ')}`, advice)]
    }
    const found = `${name} has the schema of this version`
    if (database.engine === 'postgres') return [well(found)]
    const damage = await corruptionOf(database.file, stop)
    if (damage === 'not read') return [well(`${found}. ${NOT_READ}`)]
    if (damage !== undefined) return [wrong(`${name} is damaged: ${damage}`, RESTORE)]
    return [well(found)]
  } catch (error) {
    const unusable = `${name} cannot be used: ${describeError(error)}`
    if (database.engine === 'postgres')
      return [wrong(unusable, 'check DATABASE_URL, and that the server runs and accepts this user')]
    const fault = explainStoreError(error, database.file)
    if (fault === error) return [wrong(unusable, 'fix the permissions of the file and its directory')]
    const found = (fault as Error).message
    return [wrong(found, / is damaged/.test(found) ? RESTORE : undefined)]
  }
}

/** Reading all pages of a larger file, or for longer, may exceed the time of a check. */
const MAX_READ_BYTES = 1024 ** 3
const MAX_READ_MS = 3000
const NOT_READ =
  'Its pages were not read: it is too large, or the machine too slow. berth backup verify reads every page of a copy'
const RESTORE = 'stop the service, keep the file, and restore a backup (docs/backup.md)'

/** `not read`: the file is too large, or its disk too slow. */
async function corruptionOf(file: string, stop: AbortSignal): Promise<string | undefined> {
  if (statSync(file).size > MAX_READ_BYTES) return 'not read'
  const { findCorruption } = await import('../../platform/db/sqlite/vacuum.ts')
  return findCorruption(file, stop).catch((error) => {
    if (!stop.aborted) throw error
    return 'not read'
  })
}

/** Checks this machine's clock against the database's newest timestamp and its server. */
export async function checkClock(config: Config, now = Date.now()): Promise<Finding[]> {
  const { well, worry, wrong } = findingsAbout('clock')
  const moments = await withStore(config, readMoments).catch(() => undefined)
  const at = new Date(now).toISOString()
  if (moments?.latest !== undefined && moments.latest > now + CLOCK_APART_MS) {
    const found = `${at}, and the database was last written at ${new Date(moments.latest).toISOString()}`
    return [wrong(found, 'one of the two clocks is wrong: synchronize this one by NTP')]
  }
  if (moments?.server !== undefined && Math.abs(moments.server - now) > CLOCK_APART_MS)
    return [worry(`${at}, and at the database server ${new Date(moments.server).toISOString()}`, 'set both by NTP')]
  return [well(at)]
}

async function readMoments(db: Queries): Promise<{ latest: number | undefined; server: number | undefined }> {
  const has = (await tablesOf(db)).has('event')
  const row = has
    ? await db
        .selectFrom('event')
        .select((eb) => eb.fn.max('stamp').as('stamp'))
        .executeTakeFirst()
    : undefined
  const stamp = row?.stamp ?? undefined
  if (isSqlite(db)) return { latest: stamp && stampToMs(stamp), server: undefined }
  const { rows } = await sql<{
    at: number
  }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as at`.execute(db)
  return { latest: stamp && stampToMs(stamp), server: Number(rows[0]!.at) }
}
