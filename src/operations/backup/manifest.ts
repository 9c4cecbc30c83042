/** What lies beside a backup and says what it must be: `<backup>.json`. Without it, or against it, nothing is restored. */
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, fsyncSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { readText } from '../../platform/adapters/file-errors.ts'
import type { BackupManifest } from '../../platform/base/backups.ts'
import type { Progress } from './progress.ts'

export type Manifest = BackupManifest

/** The path of the manifest that lies beside a backup. */
export function manifestFile(backup: string): string {
  return `${backup}.json`
}

/** Throws, saying what to do, when there is none or it is not one of ours. */
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

/** As `readManifest`, of a text. `file`: what it is called. */
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
  if (format === undefined || !well || typeof rows !== 'object') throw new Error(`${file} is no manifest of a backup`)
  return manifest as Manifest
}

/** Reads the backup whole. Throws when a bit of it is not as it was written. */
export async function verifyChecksum(backup: string, manifest: Manifest, progress: Progress): Promise<void> {
  const { bytes, sha256 } = await fingerprintFile(backup, manifest.bytes, progress)
  if (bytes !== manifest.bytes || sha256 !== manifest.sha256) {
    throw new Error(
      `${backup} is not as it was written (${bytes} of ${manifest.bytes} bytes, SHA-256 ${sha256}): take another copy of it`,
    )
  }
}

/** Size and SHA-256 of a file, read in pieces. `total` is what the progress is told against. */
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

/** A rename is on disk once its folder is. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to)
  syncPath(dirname(to))
}

/** Puts a file, or the names of a folder, on disk. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
