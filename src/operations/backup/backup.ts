/** A backup: one portable file with every table, consistent, taken while the service writes. docs/backup.md. */
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import { createTemporaryFile, writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { makeLastFolder } from '../../platform/adapters/directory.ts'
import { migrate, schemaOf } from '../../platform/db/db.ts'
import { mustBeStore, openSqliteFile } from '../../platform/db/sqlite/open.ts'
import { copyRows } from './copy.ts'
import { checkIntegrity, checkKeys, type KeyCheck } from './integrity.ts'
import { fingerprintFile, type Manifest, manifestFile, renameDurably, syncPath } from './manifest.ts'
import type { Progress } from './progress.ts'

/** `leftOut`: tables beside those of Berth, which are another program's. */
export type Backup = { file: string; manifest: Manifest; keys: KeyCheck; keysFile?: string; leftOut: string[] }

/** How often the growing copy is looked at, for those who wait for it. */
const LOOK_MS = 200

/**
 * Copies the store of the settings to a file (or to a file named by the moment, in a folder), proves the copy, and writes its
 * manifest beside it. What was acknowledged before it began is in it, and no half of a transaction. The keyring is not;
 * `withKeys` copies it to a file of its own. Throws when the file is there already, and leaves nothing behind then.
 */
export async function createBackup(
  config: Config,
  { to, version, withKeys }: { to: string; version: string; withKeys: boolean },
  progress: Progress,
): Promise<Backup> {
  process.umask(0o077)
  const begunAt = new Date().toISOString()
  const file = placeFor(to, begunAt)
  const half = createTemporaryFile(file)
  const temporary = [half, `${half}-journal`]
  try {
    const copy = config.database.engine === 'sqlite' ? copySqlite : copyPostgres
    const leftOut = await copy(config, half, progress)
    syncPath(half)
    const { keys, ...proven } = await prove(half, config)
    const { bytes, sha256 } = await fingerprintFile(half, statSync(half).size, progress)
    const { engine } = config.database
    const manifest = { format: 1, berth: version, engine, begunAt, ...proven, bytes, sha256, keyIds: keys.ids } as const
    const keysFile = withKeys ? keysPlace(file) : undefined
    if (keysFile !== undefined) temporary.push(keysFile)
    if (keysFile !== undefined) copyKeys(config, keysFile)
    temporary.push(manifestFile(file))
    writeFileAtomically(manifestFile(file), `${JSON.stringify(manifest, null, 2)}\n`)
    renameDurably(half, file)
    return { file, manifest, keys, ...(keysFile && { keysFile }), leftOut }
  } catch (error) {
    for (const path of temporary) rmSync(path, { force: true })
    throw error
  }
}

function placeFor(to: string, begunAt: string): string {
  const path = resolve(to)
  const isFolder = /[/\\]$/.test(to) || (existsSync(path) && statSync(path).isDirectory())
  const file = isFolder ? join(path, `berth-${begunAt.replaceAll(':', '-')}.db`) : path
  makeLastFolder(dirname(file))
  for (const path of [file, manifestFile(file)])
    if (existsSync(path)) throw new Error(`${path} is there already: name another file, or a folder`)
  return file
}

/** The file is copied as it is, with all that is in it. */
async function copySqlite({ database }: Config, half: string, progress: Progress): Promise<string[]> {
  if (database.engine !== 'sqlite') return []
  if (!existsSync(database.file))
    throw new Error(`there is no store at ${database.file}; see BERTH_DATA and DATABASE_URL`)
  await mustBeStore(database.file)
  const { vacuumInto } = await import('../../platform/db/sqlite/vacuum.ts')
  const total = statSync(database.file).size
  const size = () => (existsSync(half) ? statSync(half).size : 0)
  let copying = true
  const copied = vacuumInto(database.file, half).finally(() => {
    copying = false
  })
  copied.catch(() => {})
  while (copying) {
    progress('copy', Math.min(size(), total), total)
    await Promise.race([copied.catch(() => {}), sleep(LOOK_MS)])
  }
  await copied
  return []
}

/** One snapshot of all tables of Berth, written into a file with the same tables. Gives the tables that are left out. */
async function copyPostgres({ database }: Config, half: string, progress: Progress): Promise<string[]> {
  if (database.engine !== 'postgres') return []
  const { openPostgresConnection } = await import('../../platform/db/postgres/open.ts')
  const source = openPostgresConnection(database.url)
  const file = openSqliteFile(half, false)
  try {
    return await source
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(async (from) => {
        const { applied, unknown } = await schemaOf(from)
        if (applied.length === 0) throw new Error('the database holds no store; see DATABASE_URL')
        if (unknown.length > 0)
          throw new Error(`a newer version of Berth wrote this store (${unknown}): back it up with that one`)
        await migrate(file, applied.at(-1))
        // The file is new, and nobody believes it before it is synced as a whole.
        await sql`pragma synchronous = off`.execute(file)
        return file.transaction().execute((to) => copyRows(from, to, progress))
      })
  } finally {
    await Promise.all([source.destroy(), file.destroy()])
  }
}

async function prove(half: string, config: Config) {
  const rows = await checkIntegrity(half)
  const copy = openSqliteFile(half, true)
  try {
    const { applied, unknown } = await schemaOf(copy)
    const migrations = [...applied, ...unknown].sort()
    return { migrations, rows, keys: await checkKeys(copy, config) }
  } finally {
    await copy.destroy()
  }
}

/** The keyring, for those who keep it as carefully as what it opens. */
function keysPlace(backup: string): string {
  const file = `${backup}.keys.json`
  if (existsSync(file)) throw new Error(`${file} is there already: name another file`)
  return file
}

function copyKeys({ keys }: Config, file: string): void {
  writeFileAtomically(file, 'file' in keys ? readFileSync(keys.file, 'utf8') : `${keys.text}\n`)
}
