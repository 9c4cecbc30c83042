/** What a running service knows of its backups. Types alone; operations/backup/instance-backups.ts makes them. docs/backup.md: From the console. */
import type { Actor } from './actor.ts'

/** What lies beside a backup and says what it must be. */
export type BackupManifest = {
  format: 1
  /** The version of Berth that wrote it. */
  berth: string
  /** The engine that it was taken from; it can be restored to either. */
  engine: 'sqlite' | 'postgres'
  /** When the copy began, in ISO 8601: what was acknowledged before is in it. */
  begunAt: string
  /** The migrations that its tables have. */
  migrations: string[]
  bytes: number
  sha256: string
  /** How many rows each table has. */
  rows: Record<string, number>
  /** The root keys without which its sealed values stay shut. */
  keyIds: string[]
}

/** A backup as the store notes it. `begun_at`: in ms. */
export type KeptBackup = { place: string; name: string; begun_at: number; bytes: number; sha256: string }

/** A check that is under way. `since`: in ms. */
export type CheckInProgress = { since: number; place: string; name: string }

export type Backups = {
  /** Begins one; false while another is being made. `failed`: hears of one that could not be made. */
  begin(now: number, failed: (error: unknown) => void): boolean
  /** When the one that is being made began, and why the last one could not be. */
  state(): { running: number | null; failed: { at: number; message: string } | null }
  /** The places whose backups this instance reads: the folder, and that of the schedule. */
  places: readonly string[]
  /** Begins to check a backup of one of the places, for `actor` as the audit log names them; false while another is being checked. `failed`: hears of one that could not be looked at. */
  check(check: { since: number; backup: KeptBackup; actor: Actor }, failed: (error: unknown) => void): boolean
  /** Which one is being checked since when, and why the last one could not be looked at. */
  checkState(): { running: CheckInProgress | null; failed: { at: number; message: string } | null }
  /** What is in the folder, newest first: each file with its manifest. */
  list(): { name: string; manifest: BackupManifest }[]
  /** Waits for the one that is being made or checked. */
  end(): Promise<void>
}
