/** `berth backup`, `berth backup verify` and `berth restore`. */
import { basename, dirname, resolve } from 'node:path'
import type { Config } from '../../config.ts'
import type { BackupDestination } from '../../operations/backup/destination.ts'
import type { KeyCheck } from '../../operations/backup/integrity.ts'
import type { Manifest } from '../../operations/backup/manifest.ts'
import type { Progress } from '../../operations/backup/progress.ts'
import type { BackupReport } from '../../operations/backup/routes.ts'
import { pluralize } from '../../platform/base/text.ts'
import { VERSION } from '../../platform/base/version.ts'
import { type BackupDestinationSetting, bucketDestination } from '../../platform/settings/backups.ts'
import { BadUsage, type CommandResult, type Invocation, type ProgressBar } from '../command-line/command.ts'
import { type FileLocation, parseFileLocation } from '../command-line/location.ts'
import { callService, ServiceError } from './service-client.ts'

/** EX_DATAERR: the backup is corrupt. */
const BAD_DATA = 65
/** The user stops a command by a signal. */
const NEVER = new AbortController().signal
/** The service stores this much of an error. */
const MAX_FAULT = 2000

/** `berth backup`: creates a backup and reports it to the service. Throws BadSetting, and Error when the backup fails. */
export async function backupCommand({ settings, value, has, progress }: Invocation): Promise<CommandResult> {
  const to = parseFileLocation(value('file-or-folder')!, 'object or folder')
  const withKeys = has('with-keys')
  if ('bucket' in to && withKeys)
    throw new BadUsage('--with-keys writes the keyring in plaintext, and not into a bucket: use berth keys export')
  const config = settings()
  const { file, manifest, keys, keysFile, leftOut, at } = await createAt(config, to, withKeys, barOf(progress))
  const unnoted = await report(config, { ...at, ...factsOf(manifest) })
  const rows = Object.values(manifest.rows).reduce((sum, count) => sum + count, 0)
  const lines = [
    `${file}: ${pluralize(rows, 'row')} of ${pluralize(Object.keys(manifest.rows).length, 'table')}, ${pluralize(manifest.bytes, 'byte')}`,
    `${file}.json: its SHA-256, ${manifest.sha256}`,
    ...(keysFile === undefined
      ? []
      : [`${keysFile}: the keyring. Keep it elsewhere: with both, everything can be read`]),
  ]
  return {
    data: { file, ...(keysFile && { keysFile }), manifest, keys },
    text: lines.join('\n'),
    warnings: [
      ...(await troubles(keys)),
      ...leftOut.map((table) => `${table} is left out: it is not a table of Berth`),
      ...(unnoted instanceof ServiceError ? [notNoted(unnoted)] : []),
    ],
  }
}

/** Creates a backup at a location. `file`: the argument for `berth restore`. */
async function createAt(config: Config, to: FileLocation, withKeys: boolean, progress: Progress) {
  const { createBackup } = await import('../../operations/backup/backup.ts')
  const options = { version: VERSION, withKeys }
  if ('file' in to) {
    const made = await createBackup(config, { to: to.file, ...options }, progress)
    return { ...made, at: placeOf(made.file) }
  }
  const { openBackupDestination } = await import('../../operations/backup/destination.ts')
  const { bucket, key } = to
  // As in BERTH_BACKUP_TO, a key without the ending of a file is a directory.
  const isFile = key.endsWith('.db')
  const place = await openBackupDestination(config, isFile ? folderOf(to) : bucketDestination({ bucket, key }))
  const name = isFile ? basename(key) : ''
  const make = (directory: string) => createBackup(config, { to: `${directory}/${name}`, ...options }, progress)
  const made = await place.storeManual(make, NEVER)
  const at = { place: place.name, name: basename(made.file) }
  return { ...made, file: `${at.place}/${at.name}`, at }
}

/** Verifies one backup and reports the result to the running service. Exits with 65 when the backup is corrupt. */
export async function verifyCommand({ settings, value, has, progress }: Invocation): Promise<CommandResult> {
  const { BadBackup, NoBackup, verifyBackup } = await import('../../operations/backup/verify.ts')
  if ((value('backup') === undefined) !== has('newest')) throw new BadUsage('name a backup, or say --newest')
  const config = settings()
  const { place, name } = has('newest') ? await newestBackup(config) : await backupAt(config, value('backup')!)
  const file = `${place.name}/${name}`
  const note = async (manifest: Manifest | undefined, fault: string | null) => {
    const body = { place: place.name, name, ...(manifest && factsOf(manifest)), check: { fault } }
    const unnoted = await report(config, body)
    return unnoted === undefined ? [] : [notNoted(unnoted)]
  }
  try {
    const verify = (path: string) => verifyBackup(config, path, barOf(progress))
    const { manifest, entries, keys } = await place.read(name, verify, NEVER)
    const rows = Object.values(manifest.rows).reduce((sum, count) => sum + count, 0)
    const text = `${file} is whole: ${pluralize(rows, 'row')}, an audit log of ${pluralize(entries, 'line')}, and its keys are here (${pluralize(keys.opened, 'value')} opened)`
    return { data: { file, verified: true, manifest, entries, keys }, text, warnings: await note(manifest, null) }
  } catch (error) {
    // It is damaged no more, and no later check would find that.
    if (error instanceof NoBackup) await report(config, { place: place.name, name, gone: true })
    if (!(error instanceof BadBackup)) throw error
    const warnings = await note(error.manifest, error.message.slice(0, MAX_FAULT))
    return { data: { file, verified: false, fault: error.message }, text: error.message, warnings, code: BAD_DATA }
  }
}

type Named = { place: BackupDestination; name: string }

/** As `berth backup <folder>` and the schedule name them. */
const NAMED_BY_TIME = /^berth-\d{4}-\d\d-\d\dT/

/** The newest backup, by its name. */
async function newestBackup(config: Config): Promise<Named> {
  const { openBackupDestination } = await import('../../operations/backup/destination.ts')
  const place = await openBackupDestination(config)
  const names = (await place.list(NEVER)).sort()
  // A name that a user chose says nothing of the time.
  const name = names.filter((name) => NAMED_BY_TIME.test(name)).at(-1) ?? names.at(-1)
  if (name === undefined) throw new Error(`there is no backup in ${place.name}`)
  return { place, name }
}

/** A file, or `s3://bucket/key`. */
async function backupAt(config: Config, text: string): Promise<Named> {
  const { openBackupDestination } = await import('../../operations/backup/destination.ts')
  const at = parseFileLocation(text, 'object')
  if ('bucket' in at) return { place: await openBackupDestination(config, folderOf(at)), name: basename(at.key) }
  const { place: directory, name } = placeOf(resolve(at.file))
  return { place: await openBackupDestination(config, { folder: directory }), name }
}

/** The destination that contains an object of a bucket. */
function folderOf({ bucket, key }: { bucket: string; key: string }): BackupDestinationSetting {
  return { bucket, prefix: key.slice(0, key.lastIndexOf('/') + 1) }
}

function placeOf(file: string): Pick<BackupReport, 'place' | 'name'> {
  return { place: dirname(file), name: basename(file) }
}

function factsOf({ begunAt, bytes, sha256 }: Manifest) {
  return { begunAt: Date.parse(begunAt), bytes, sha256 }
}

/** Reports to the running service, for doctor and metrics. Returns the error, if any. */
async function report(config: Config, body: BackupReport): Promise<Error | undefined> {
  try {
    await callService(config, { method: 'POST', path: '/operator/v1/backups/reports', body, as: 'operator' })
    return undefined
  } catch (error) {
    return error as Error
  }
}

function notNoted({ message }: Error): string {
  return `the service did not note it, so doctor and the figures do not know: ${message}`
}

/** `berth restore`: replaces the database with a backup. Throws BadSetting, and Error where the backup is corrupt or a process has the database. */
export async function restoreCommand({ settings, value, has, progress }: Invocation): Promise<CommandResult> {
  const { restoreBackup } = await import('../../operations/backup/restore.ts')
  const config = settings()
  const backup = value('backup')!
  const { place, name } = await backupAt(config, backup)
  const restore = (from: string) => restoreBackup(config, { from, force: has('force') }, barOf(progress))
  const { manifest, migrated, keys, putAside } = await place.read(name, restore, NEVER)
  const warnings = await troubles(keys)
  const lines = [
    `restored ${backup}, begun at ${manifest.begunAt} from ${manifest.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`,
    ...migrated.map((name) => `applied ${name}`),
    ...(putAside === undefined ? [] : [`what was there before is now ${putAside}`]),
    ...(warnings.length === 0
      ? [`the keyring fits (${pluralize(keys.ids.length, 'root key')}, ${pluralize(keys.opened, 'value')} opened)`]
      : []),
  ]
  const data = { backup, manifest, migrated, keys, ...(putAside && { putAside }) }
  return { data, text: lines.join('\n'), warnings, code: warnings.length === 0 ? 0 : 1 }
}

async function troubles(keys: KeyCheck): Promise<string[]> {
  return (await import('../../operations/backup/integrity.ts')).describeKeyProblems(keys)
}

function barOf(bar: ProgressBar): Progress {
  const parts = { copy: 'copying', check: 'checking' }
  return (part, done, total) => bar.show(parts[part], done, total)
}
