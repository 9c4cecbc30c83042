/** `berth backup`, `berth backup verify` and `berth restore`. */
import { basename, dirname, resolve } from 'node:path'
import type { Manifest } from '../backup/manifest.ts'
import type { Place } from '../backup/place.ts'
import type { Progress } from '../backup/progress.ts'
import type { KeyProof } from '../backup/proof.ts'
import type { Report } from '../backup/routes.ts'
import { BadUsage, type Bar, type Invocation, type Outcome } from '../command-line/command.ts'
import type { Config } from '../config.ts'
import { VERSION } from '../version.ts'
import { counted } from '../words.ts'
import { askService, Refused } from './ask.ts'

/** EX_DATAERR: the backup itself is bad. */
const BAD_DATA = 65
/** Whoever types a command ends it by a signal. */
const NEVER = new AbortController().signal
/** As much of a fault as the service keeps. */
const LONGEST_FAULT = 2000

/** `berth backup`: makes a backup, and has the service note it. Throws BadSetting, and Error when the backup cannot be made. */
export async function backupCommand({ settings, value, has, progress }: Invocation): Promise<Outcome> {
  const { makeBackup } = await import('../backup/backup.ts')
  const options = { to: value('file-or-folder')!, version: VERSION, withKeys: has('with-keys') }
  const config = settings()
  const { file, manifest, keys, keysFile } = await makeBackup(config, options, barOf(progress))
  const unnoted = await report(config, { ...placeOf(file), ...factsOf(manifest) })
  const rows = Object.values(manifest.rows).reduce((sum, count) => sum + count, 0)
  const lines = [
    `${file}: ${counted(rows, 'row')} of ${counted(Object.keys(manifest.rows).length, 'table')}, ${counted(manifest.bytes, 'byte')}`,
    `${file}.json: its SHA-256, ${manifest.sha256}`,
    ...(keysFile === undefined
      ? []
      : [`${keysFile}: the keyring. Keep it elsewhere: with both, everything can be read`]),
  ]
  return {
    data: { file, ...(keysFile && { keysFile }), manifest, keys },
    text: lines.join('\n'),
    warnings: [...(await troubles(keys)), ...(unnoted instanceof Refused ? [notNoted(unnoted)] : [])],
  }
}

/** Checks one backup, and has the running service note what came of it. Ends with 65 when the backup is bad. */
export async function verifyCommand({ settings, value, has, progress }: Invocation): Promise<Outcome> {
  const { BadBackup, verifyBackup } = await import('../backup/verify.ts')
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
    const look = (path: string) => verifyBackup(config, path, barOf(progress))
    const { manifest, entries, keys } = await place.look(name, look, NEVER)
    const rows = Object.values(manifest.rows).reduce((sum, count) => sum + count, 0)
    const text = `${file} is whole: ${counted(rows, 'row')}, an audit log of ${counted(entries, 'line')}, and its keys are here (${counted(keys.opened, 'value')} opened)`
    return { data: { file, verified: true, manifest, entries, keys }, text, warnings: await note(manifest, null) }
  } catch (error) {
    if (!(error instanceof BadBackup)) throw error
    const warnings = await note(error.manifest, error.message.slice(0, LONGEST_FAULT))
    return { data: { file, verified: false, fault: error.message }, text: error.message, warnings, code: BAD_DATA }
  }
}

type Named = { place: Place; name: string }

/** The newest backup of the place of scheduled ones. */
async function newestBackup(config: Config): Promise<Named> {
  const { openPlace } = await import('../backup/place.ts')
  const place = await openPlace(config)
  // Their names are moments.
  const name = (await place.names(NEVER)).sort().at(-1)
  if (name === undefined) throw new Error(`there is no backup in ${place.name}`)
  return { place, name }
}

/** A file, or `s3://bucket/key`. */
async function backupAt(config: Config, text: string): Promise<Named> {
  const { openPlace } = await import('../backup/place.ts')
  const { readBucket } = await import('../settings/backups.ts')
  if (!text.startsWith('s3:')) {
    const { place: folder, name } = placeOf(resolve(text))
    return { place: await openPlace(config, { folder }), name }
  }
  const at = readBucket(text)
  if (at === undefined || at.key === '' || at.key.endsWith('/'))
    throw new BadUsage(`${text} is no backup in a bucket: write s3://bucket/prefix/berth-….db`)
  const prefix = at.key.slice(0, at.key.lastIndexOf('/') + 1)
  return { place: await openPlace(config, { bucket: at.bucket, prefix }), name: at.key.slice(prefix.length) }
}

function placeOf(file: string): Pick<Report, 'place' | 'name'> {
  return { place: dirname(file), name: basename(file) }
}

function factsOf({ begunAt, bytes, sha256 }: Manifest) {
  return { begunAt: Date.parse(begunAt), bytes, sha256 }
}

/** Has the running service note it, for doctor and the figures. Gives why it did not. */
async function report(config: Config, body: Report): Promise<Error | undefined> {
  try {
    await askService(config, { method: 'POST', path: '/operator/v1/backups/reports', body, as: 'operator' })
    return undefined
  } catch (error) {
    return error as Error
  }
}

function notNoted({ message }: Error): string {
  return `the service did not note it, so doctor and the figures do not know: ${message}`
}

/** `berth restore`: puts a backup in the place of the store. Throws BadSetting, and Error where the backup does not hold or somebody has the store. */
export async function restoreCommand({ settings, value, has, progress }: Invocation): Promise<Outcome> {
  const { restoreBackup } = await import('../backup/restore.ts')
  const config = settings()
  const backup = value('backup')!
  const { place, name } = await backupAt(config, backup)
  const restore = (from: string) => restoreBackup(config, { from, force: has('force') }, barOf(progress))
  const { manifest, migrated, keys, putAside } = await place.look(name, restore, NEVER)
  const warnings = await troubles(keys)
  const lines = [
    `restored ${backup}, begun at ${manifest.begunAt} from ${manifest.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`,
    ...migrated.map((name) => `applied ${name}`),
    ...(putAside === undefined ? [] : [`what was there before is now ${putAside}`]),
    ...(warnings.length === 0
      ? [`the keyring fits (${counted(keys.ids.length, 'root key')}, ${counted(keys.opened, 'value')} opened)`]
      : []),
  ]
  const data = { backup, manifest, migrated, keys, ...(putAside && { putAside }) }
  return { data, text: lines.join('\n'), warnings, code: warnings.length === 0 ? 0 : 1 }
}

async function troubles(keys: KeyProof): Promise<string[]> {
  return (await import('../backup/proof.ts')).keyTroubles(keys)
}

function barOf(bar: Bar): Progress {
  const parts = { copy: 'copying', check: 'checking' }
  return (part, done, total) => bar.show(parts[part], done, total)
}
