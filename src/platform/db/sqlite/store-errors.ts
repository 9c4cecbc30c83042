/** Explains why a database cannot be opened, with the file and what to do. SQLite's own message has neither. */
import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { CANNOT_OPEN, CORRUPT, FULL, NO_DATABASE, primaryResultCode } from './result-codes.ts'

/** SQLite needs this much free space, because its log and shared memory are files too. */
const MIN_BYTES = 512 * 1024

const SEE = 'see BERTH_DATA and DATABASE_URL'

/** Returns the error to report. A full disk has many symptoms, such as a failed lock or log. */
export function explainStoreError(error: unknown, file: string): unknown {
  if (!isOfSystem(error)) return error
  const directory = dirname(file)
  if (isFolder(directory) === false) return new Error(`${directory} must be a folder, and is a file: ${SEE}`)
  if (isFolder(file)) return new Error(`${file} must be the file of a store, and is a folder: ${SEE}`)
  const free = freeBytes(directory)
  const isFull = chainOf(error).some(
    (cause) => primaryResultCode(cause) === FULL || ('code' in cause && cause.code === 'ENOSPC'),
  )
  if (isFull || (free !== undefined && free < MIN_BYTES))
    return new Error(
      `the disk of ${directory} is full (${Math.floor((free ?? 0) / 1024)} KiB free): make room, then start again`,
    )
  if (chainOf(error).some((cause) => [CORRUPT, NO_DATABASE].includes(primaryResultCode(cause))))
    return new Error(
      `${file} is damaged, or no store of Berth: berth doctor says more; restore a backup (docs/backup.md), and keep this file until then`,
    )
  if (chainOf(error).some((cause) => primaryResultCode(cause) === CANNOT_OPEN))
    return new Error(`permission denied: ${file}. Check the permissions of the file and its directory`)
  return error
}

/** Undefined where nothing exists. */
function isFolder(path: string): boolean | undefined {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory()
}

/** Whether SQLite, the system or Kysely raised the error; Berth's own errors have none of these as a cause. */
function isOfSystem(error: unknown): boolean {
  return chainOf(error).some((cause) => 'code' in cause || /transaction/.test(cause.message))
}

function chainOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : []
}

function freeBytes(directory: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch {
    return undefined
  }
}
