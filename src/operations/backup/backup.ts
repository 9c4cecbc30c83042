/** A backup: one portable file with all tables, from a consistent snapshot. docs/backup.md. */
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import { createTemporaryFile, writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { createLastDirectory } from '../../platform/adapters/directory.ts'
import { migrate, schemaOf } from '../../platform/db/db.ts'
import { mustBeStore, openSqliteFile } from '../../platform/db/sqlite/open.ts'
import { copyRows } from './copy.ts'
import { checkIntegrity, checkKeys, type KeyCheck } from './integrity.ts'
import { fingerprintFile, type Manifest, manifestFile, renameDurably, syncPath } from './manifest.ts'
import type { Progress } from './progress.ts'

/** `leftOut`: tables of other programs. */
export type Backup = { file: string; manifest: Manifest; keys: KeyCheck; keysFile?: string; leftOut: string[] }

/** How often the size of the growing copy is read, for the progress. */
const LOOK_MS = 200

/**
 * Copies the database to a file, or to a file named by the time in a directory, verifies the copy and writes its manifest next to it. The keyring is
 * not included; `withKeys` copies it to a separate file. Throws when the file exists, and then leaves nothing behind.
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
  createLastDirectory(dirname(file))
  for (const path of [file, manifestFile(file)])
    if (existsSync(path)) throw new Error(`${path} exists already: name another file, or a directory`)
  return file
}

/** Copies the complete file. */
async function copySqlite({ database }: Config, half: string, progress: Progress): Promise<string[]> {
  if (database.engine !== 'sqlite') return []
  if (!existsSync(database.file)) throw new Error(`no database at ${database.file}; see BERTH_DATA and DATABASE_URL`)
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

/** Writes one snapshot of Berth's tables into a SQLite file. Returns the tables that were left out. */
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
        // The file is new and counts as complete only after a sync of the whole file.
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

/** The keyring copy must be stored as safely as the values that it decrypts. */
function keysPlace(backup: string): string {
  const file = `${backup}.keys.json`
  if (existsSync(file)) throw new Error(`${file} is there already: name another file`)
  return file
}

function copyKeys({ keys }: Config, file: string): void {
  writeFileAtomically(file, 'file' in keys ? readFileSync(keys.file, 'utf8') : `${keys.text}\n`)
}
