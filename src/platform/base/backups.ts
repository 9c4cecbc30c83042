/** Types of the running service's backups. docs/backup.md: Console and API. */
import type { Actor } from './actor.ts'

export type BackupManifest = {
  format: 1
  berth: string
  /** Source engine; a backup can be restored to either. */
  engine: 'sqlite' | 'postgres'
  /** When the copy began, in ISO 8601. It contains all changes confirmed before. */
  begunAt: string
  migrations: string[]
  bytes: number
  sha256: string
  rows: Record<string, number>
  /** Root keys needed to decrypt its values. */
  keyIds: string[]
}

/** A backup recorded in the database. `begun_at`: in ms. */
export type KeptBackup = { place: string; name: string; begun_at: number; bytes: number; sha256: string }

/** A check in progress. `since`: in ms. */
export type CheckInProgress = { since: number; place: string; name: string }

export type Backups = {
  /** Starts a backup; false while another runs. `failed` receives its error. */
  begin(now: number, failed: (error: unknown) => void): boolean
  /** Start of the running backup, and the last error. */
  state(): { running: number | null; failed: { at: number; message: string } | null }
  /** The destinations that this instance reads: the data directory and that of the schedule. */
  places: readonly string[]
  /** Starts to check a backup for `actor`; false while another check runs. `failed` receives the error of one that could not be read. */
  check(check: { since: number; backup: KeptBackup; actor: Actor }, failed: (error: unknown) => void): boolean
  checkState(): { running: CheckInProgress | null; failed: { at: number; message: string } | null }
  /** Backups in the data directory, newest first. */
  list(): { name: string; manifest: BackupManifest }[]
  end(): Promise<void>
}
