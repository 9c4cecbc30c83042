/** The tables of backups and of copies of the keyring. docs/backup.md. Conventions: `schema.ts`. */

export type BackupTables = {
  /** A backup that was made, or that somebody checked, as far as this store knows. */
  backup: {
    /** A folder, or `s3://bucket/prefix`. */
    place: string
    name: string
    /** `command`: `berth backup`, or a backup that was known to nobody when `berth backup verify` checked it. */
    made_by: 'schedule' | 'operator' | 'command'
    begun_at: number
    bytes: number
    sha256: string
    /** When a check last found it whole and its values open. */
    verified_at: number | null
    /** What the last check found wrong. Null: nothing, or there was none. */
    fault: string | null
  }
  /** A moment of BERTH_BACKUP_SCHEDULE at which a backup was due. */
  backup_run: {
    due_at: number
    /** Until then the run belongs to the instance that took it. */
    held_until: number
    tries: number
    began_at: number
    ended_at: number | null
    /** Why the last try made no backup, or one that does not hold. */
    fault: string | null
  }
  /** A root key that an encrypted copy of the keyring at another place was seen to hold. docs/variables.md: An encrypted copy. */
  keyring_copy: { root_key_id: string; verified_at: number; place: string }
}
