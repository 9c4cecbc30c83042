/** The manifest of a backup, `<backup>.json`. A backup that does not match it is not restored. */
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, fsyncSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { readText } from '../../platform/adapters/file-errors.ts'
import type { BackupManifest } from '../../platform/base/backups.ts'
import type { Progress } from './progress.ts'

export type Manifest = BackupManifest

/** Returns the path of a backup's manifest. */
export function manifestFile(backup: string): string {
  return `${backup}.json`
}

/** Throws with advice when it is missing or not a manifest of Berth. */
export function readManifest(backup: string): Manifest {
  const file = manifestFile(backup)
  let text: string
  try {
    text = readText(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Error(`${file} is missing: it belongs to the backup ${backup}; copy both`, { cause: error })
  }
  return parseManifest(file, text)
}

/** As `readManifest`, from a text. `file`: its name for messages. */
export function parseManifest(file: string, text: string): Manifest {
  let manifest: Partial<Manifest> | null
  try {
    manifest = JSON.parse(text)
  } catch (error) {
    throw new Error(`${file} is not JSON: take another copy of it`, { cause: error })
  }
  const { format, bytes, sha256, rows, migrations } = manifest ?? {}
  if (format !== undefined && format !== 1)
    throw new Error(`${file} has the format ${format}, which this version of Berth does not know: use a newer one`)
  const well = typeof bytes === 'number' && typeof sha256 === 'string' && Array.isArray(migrations)
  if (format === undefined || !well || typeof rows !== 'object')
    throw new Error(`${file} is not the manifest of a backup`)
  return manifest as Manifest
}

/** Throws when size or SHA-256 of a backup differ from its manifest. */
export async function verifyChecksum(backup: string, manifest: Manifest, progress: Progress): Promise<void> {
  const { bytes, sha256 } = await fingerprintFile(backup, manifest.bytes, progress)
  if (bytes !== manifest.bytes || sha256 !== manifest.sha256) {
    throw new Error(
      `${backup} is not as it was written (${bytes} of ${manifest.bytes} bytes, SHA-256 ${sha256}): take another copy of it`,
    )
  }
}

/** Returns size and SHA-256 of a file, read in chunks. `total`: the total for the progress. */
export async function fingerprintFile(file: string, total: number, progress: Progress) {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) {
    hash.update(piece as Buffer)
    bytes += (piece as Buffer).length
    progress('check', bytes, total)
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** Renames a file and syncs its directory, which makes the rename durable. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to)
  syncPath(dirname(to))
}

/** Syncs a file or a directory to disk. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
