/** Backups in the data directory, made by the running instance, and checks of backups. docs/backup.md: Console and API. */
import { basename, dirname, join } from 'node:path'
import type { Config } from '../../config.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import type { Actor } from '../../platform/base/actor.ts'
import type { BackupManifest, Backups, CheckInProgress, KeptBackup } from '../../platform/base/backups.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { VERSION } from '../../platform/base/version.ts'
import type { Db } from '../../platform/db/db.ts'
import { appendAuditEntries } from '../../platform/outbox/audit-chain.ts'
import { createBackup } from './backup.ts'
import { destinationName, namesIn, openBackupDestination } from './destination.ts'
import { readManifest } from './manifest.ts'
import { recordBackup, recordVerification } from './records.ts'
import { BadBackup, verifyBackup } from './verify.ts'

const MAX_LISTED = 100
const NEVER = new AbortController().signal

type Opened = { config: Config; db: Db; clock: Clock }

/** Opens the backups in the directory `backups` of the data directory. Each is verified once made, and recorded in the database. */
export function createBackups(opened: Opened): Backups {
  const directory = join(opened.config.dataDirectory, 'backups')
  let ending: Promise<unknown> = Promise.resolve()
  let running: number | null = null
  let failed: { at: number; message: string } | null = null
  const checks = openChecks(opened, directory)
  return {
    ...checks,
    begin(now, onFailure) {
      if (running !== null) return false
      running = now
      const fail = (error: unknown) => {
        failed = { at: now, message: describeError(error) }
        onFailure(error)
      }
      const made = createKept(opened, directory).finally(() => {
        running = null
      })
      const checked = made.then((backup) => {
        failed = null
        return checkKept(opened, backup)
      })
      ending = Promise.all([ending, checked.catch(fail)])
      return true
    },
    state: () => ({ running, failed }),
    list: () => listFolder(directory),
    end: async () => void (await Promise.all([ending, checks.end()])),
  }
}

async function createKept({ config, db }: Opened, directory: string): Promise<KeptBackup> {
  const destination = await openBackupDestination(config, { folder: directory })
  const make = (to: string) => createBackup(config, { to: `${to}/`, version: VERSION, withKeys: false }, () => {})
  const made = await destination.store(make, NEVER)
  const { begunAt, bytes, sha256 } = made.manifest
  const place = dirname(made.file)
  const backup = { place, name: basename(made.file), begun_at: Date.parse(begunAt), bytes, sha256 }
  await db.write((tx) => recordBackup(tx, { ...backup, made_by: 'operator' }))
  return backup
}

async function checkKept({ config, db, clock }: Opened, backup: KeptBackup): Promise<void> {
  const checked = await verifyBackup(config, join(backup.place, backup.name), () => {}).catch((error: Error) => error)
  // What cannot be read, or was moved elsewhere, is not damaged.
  if (checked instanceof Error && !(checked instanceof BadBackup)) throw checked
  const fault = checked instanceof Error ? checked.message : null
  await db.write((tx) => recordVerification(tx, backup, { at: clock.now(), fault }))
  if (checked instanceof Error) throw checked
}

function listFolder(directory: string): { name: string; manifest: BackupManifest }[] {
  const names = namesIn(directory).filter((name) => name.endsWith('.db'))
  return names
    .sort()
    .reverse()
    .slice(0, MAX_LISTED)
    .flatMap((name) => {
      try {
        return [{ name, manifest: readManifest(join(directory, name)) }]
      } catch {
        // No backup, or one without a manifest, which cannot be restored.
        return []
      }
    })
}

/** Checks requested by operators, one at a time. */
function openChecks(opened: Opened, directory: string): Pick<Backups, 'places' | 'check' | 'checkState' | 'end'> {
  const stop = new AbortController()
  let ending: Promise<unknown> = Promise.resolve()
  let checking: CheckInProgress | null = null
  let failed: { at: number; message: string } | null = null
  return {
    places: [...new Set([directory, destinationName(opened.config.backups.to)])],
    check({ since, backup, actor }, onFailure) {
      if (checking !== null) return false
      checking = { since, place: backup.place, name: backup.name }
      failed = null
      ending = checkPlaced(opened, { folder: directory, backup, actor, stop: stop.signal })
        .catch((error: Error) => {
          failed = { at: since, message: describeError(error) }
          onFailure(error)
        })
        .finally(() => {
          checking = null
        })
      return true
    },
    checkState: () => ({ running: checking, failed }),
    async end() {
      // Aborts a download from a bucket.
      stop.abort()
      await ending
    },
  }
}

type Placed = { folder: string; backup: KeptBackup; actor: Actor; stop: AbortSignal }

/** Verifies a backup and writes the result to the database and the audit log. Throws when it cannot be read. */
async function checkPlaced({ config, db, clock }: Opened, { folder, backup, actor, stop }: Placed): Promise<void> {
  const place = await openBackupDestination(config, backup.place === folder ? { folder } : config.backups.to)
  const verify = (file: string) => verifyBackup(config, file, () => {})
  const checked = await place.read(backup.name, verify, stop).catch((error: Error) => error)
  if (checked instanceof Error && !(checked instanceof BadBackup)) throw checked
  const fault = checked instanceof Error ? checked.message : null
  const entry = {
    stamp: clock.stamp(),
    account_id: null,
    actor_kind: actor.kind,
    actor_id: actor.id,
    token_id: actor.tokenId,
    type: 'operatorVerifyBackup',
    subject_id: backup.name,
    fields_json: JSON.stringify([fault === null ? 'whole' : 'damaged']),
  }
  await db.write(async (tx) => {
    await recordVerification(tx, backup, { at: clock.now(), fault })
    await appendAuditEntries({ db: tx, deps: { db, clock } }, [entry])
  })
}
