/** Destinations of scheduled backups: a directory or a bucket. A backup is complete once its manifest exists. docs/backup.md: Scheduled backups. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { BadSetting, type Config } from '../../config.ts'
import {
  removeStaleTemporaryFiles,
  writeFileAtomically,
  writeStreamAtomically,
} from '../../platform/adapters/atomic-file.ts'
import { createDirectory, createLastDirectory } from '../../platform/adapters/directory.ts'
import { type Bucket, openBucket } from '../../platform/adapters/s3.ts'
import type { BackupDestinationSetting } from '../../platform/settings/backups.ts'
import { type Manifest, manifestFile, parseManifest } from './manifest.ts'
import { BadBackup, NoBackup } from './verify.ts'

export type BackupDestination = {
  /** Name for users and the database. */
  name: string
  /** An unmounted disk leaves an empty directory. A bucket that responds is always mounted. */
  isMounted: boolean
  /** Lets `make` write a backup into a directory and stores it here. Returns the result of `make`. */
  store<T extends { file: string }>(make: (directory: string) => Promise<T>, stop: AbortSignal): Promise<T>
  /** As `store`, next to a scheduled backup that may be in progress. Throws when the name exists. */
  storeManual<T extends { file: string }>(make: (directory: string) => Promise<T>, stop: AbortSignal): Promise<T>
  /** Names of the complete backups, in no order. */
  list(stop: AbortSignal): Promise<string[]>
  /** Calls `work` with a backup as a file next to its manifest. */
  read<T>(name: string, work: (file: string) => Promise<T>, stop: AbortSignal): Promise<T>
  remove(name: string, stop: AbortSignal): Promise<void>
}

/** An interrupted write has not changed for this long. */
const DEAD_MS = 3_600_000
/** A copy does not change while it is being verified. */
const DEAD_CHECK_MS = 24 * DEAD_MS
const CHECK = 'backup-check-'

/** Opens a destination, by default that of BERTH_BACKUP_TO. Throws BadSetting for a bucket without a key. */
export async function openBackupDestination(
  { backups, s3, dataDirectory }: Config,
  at: BackupDestinationSetting = backups.to,
): Promise<BackupDestination> {
  if ('folder' in at) return folderPlace(at.folder)
  if (s3 === undefined)
    throw new BadSetting('BERTH_S3_ACCESS_KEY_ID and BERTH_S3_SECRET_ACCESS_KEY must be set for a bucket')
  return bucketPlace(await openBucket(s3, at.bucket), destinationName(at), at.prefix, dataDirectory)
}

/** Returns the name for users and the database. */
export function destinationName(at: BackupDestinationSetting): string {
  return 'folder' in at ? at.folder : `s3://${at.bucket}/${at.prefix}`.replace(/\/$/, '')
}

function folderPlace(directory: string): BackupDestination {
  const keep: BackupDestination['store'] = async (make) => {
    createLastDirectory(directory)
    removeStaleTemporaryFiles(directory, 'berth-', DEAD_MS)
    return make(directory)
  }
  return {
    name: directory,
    isMounted: true,
    store: keep,
    storeManual: keep,
    list: async () => wholeOnes(namesIn(directory)),
    read: (name, work) => work(join(directory, name)),
    async remove(name) {
      // The manifest goes first, so a partly deleted backup never counts as complete.
      for (const file of [manifestFile(join(directory, name)), join(directory, name)]) rmSync(file, { force: true })
    },
  }
}

function bucketPlace(bucket: Bucket, name: string, prefix: string, dataFolder: string): BackupDestination {
  return {
    name,
    isMounted: false,
    ...bucketKeeps(bucket, name, prefix, dataFolder),
    async list(stop) {
      const keys = await bucket.list(prefix, stop)
      return wholeOnes(keys.map((key) => key.slice(prefix.length)).filter((key) => !key.includes('/')))
    },
    async read(backup, work, stop) {
      createDirectory(dataFolder)
      const directory = mkdtempSync(join(dataFolder, CHECK))
      try {
        const file = join(directory, backup)
        const text = await bucket.get(manifestFile(`${prefix}${backup}`), stop)
        if (text === undefined) throw new NoBackup(`${name}/${manifestFile(backup)} is not there`)
        writeFileAtomically(manifestFile(file), text.toString())
        const { bytes } = manifestOf(`${name}/${backup}`, text.toString())
        await writeStreamAtomically(file, bucket.read(`${prefix}${backup}`, bytes, stop)).catch((error) => {
          // As in a folder, also where the manifest was left.
          throw error.code === 'NoSuchKey' ? new NoBackup(`${name}/${backup} is not there`, { cause: error }) : error
        })
        return await work(file)
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    },
    async remove(backup, stop) {
      for (const key of [manifestFile(`${prefix}${backup}`), `${prefix}${backup}`]) await bucket.remove(key, stop)
    },
  }
}

/** As `parseManifest`: a manifest that cannot be read is damage, in a bucket too. */
function manifestOf(backup: string, text: string): Manifest {
  try {
    return parseManifest(manifestFile(backup), text)
  } catch (error) {
    throw new BadBackup((error as Error).message, undefined, error)
  }
}

/** Bucket: the backup is written to a local directory and then uploaded. */
function bucketKeeps(
  bucket: Bucket,
  name: string,
  prefix: string,
  dataFolder: string,
): Pick<BackupDestination, 'store' | 'storeManual'> {
  const upload = async (file: string, stop: AbortSignal) => {
    const key = `${prefix}${basename(file)}`
    await bucket.upload(key, file, stop)
    // The manifest comes last, because a backup without it is incomplete.
    await bucket.upload(manifestFile(key), manifestFile(file), stop)
  }
  return {
    async store(make, stop) {
      // Only one instance makes a scheduled backup, so leftovers are from an interrupted one.
      const directory = join(dataFolder, 'backup-on-its-way')
      rmSync(directory, { recursive: true, force: true })
      removeOldChecks(dataFolder)
      createDirectory(directory)
      try {
        const made = await make(directory)
        await upload(made.file, stop)
        return made
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    },
    async storeManual(make, stop) {
      createDirectory(dataFolder)
      removeOldChecks(dataFolder)
      // A separate directory, which a scheduled backup does not empty. Leftovers of a killed process are removed like old checks.
      const directory = mkdtempSync(join(dataFolder, CHECK))
      try {
        const made = await make(directory)
        const key = `${prefix}${basename(made.file)}`
        const existing = (await bucket.list(key, stop)).find((name) => name === key || name === manifestFile(key))
        if (existing !== undefined)
          throw new Error(`${name}/${existing.slice(prefix.length)} exists already: name another file, or a directory`)
        await upload(made.file, stop)
        return made
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    },
  }
}

function wholeOnes(names: readonly string[]): string[] {
  const all = new Set(names)
  return names.filter((name) => name.endsWith('.db') && all.has(manifestFile(name)))
}

/** Lists the names in a directory; empty when it does not exist. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}

/** A killed check leaves its copy. */
function removeOldChecks(dataFolder: string): void {
  for (const name of namesIn(dataFolder).filter((file) => file.startsWith(CHECK))) {
    const stats = statSync(join(dataFolder, name), { throwIfNoEntry: false })
    if (stats !== undefined && stats.mtimeMs < Date.now() - DEAD_CHECK_MS)
      rmSync(join(dataFolder, name), { recursive: true, force: true })
  }
}
