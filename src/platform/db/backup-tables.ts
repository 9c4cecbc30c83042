/** The tables of backups and of copies of the keyring. docs/backup.md. Conventions: `schema.ts`. */

export type BackupTables = {
  /** A backup that this database recorded: created or verified. */
  backup: {
    /** A directory, or `s3://bucket/prefix`. */
    place: string
    name: string
    /** `command`: `berth backup`, or a backup that was not recorded before `berth backup verify` checked it. */
    made_by: 'schedule' | 'operator' | 'command'
    begun_at: number
    bytes: number
    sha256: string
    /** When a check last found it complete and decryptable. */
    verified_at: number | null
    /** The problem that the last check found. Null: none, or no check ran. */
    fault: string | null
  }
  /** A time of BERTH_BACKUP_SCHEDULE at which a backup was due. */
  backup_run: {
    due_at: number
    /** Until then the instance that acquired the run owns it. */
    held_until: number
    tries: number
    began_at: number
    ended_at: number | null
    /** Why the last attempt created no valid backup. */
    fault: string | null
  }
  /** A root key that a verified encrypted keyring copy contains. docs/variables.md: Encrypted keyring copy. */
  keyring_copy: { root_key_id: string; verified_at: number; place: string }
}
