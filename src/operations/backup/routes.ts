/** Backups by the API. docs/backup.md: From the console. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { operatorRoute } from '../../platform/http/route.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { destinationName } from './destination.ts'
import {
  findRecordedBackup,
  listRecordedBackups,
  readBackupStatus,
  recordBackup,
  recordVerification,
} from './records.ts'
import { nextOfSchedule } from './runs.ts'

const tag = 'operator'
const Backup = Type.Object({
  name: Type.String({ description: 'of the file in the folder `backups` of the data folder' }),
  begunAt: Timestamp,
  bytes: Type.Integer(),
  sha256: Type.String(),
  engine: OneOf('sqlite', 'postgres'),
  version: Type.String({ description: 'of Berth' }),
  rows: Type.Integer({ description: 'of all tables' }),
  keyIds: Type.Array(Type.String(), { description: 'the root keys without which its sealed values stay shut' }),
})
const Known = Type.Object({
  place: Type.String({ description: 'a folder, or `s3://bucket/prefix`' }),
  name: Type.String(),
  madeBy: OneOf('schedule', 'operator', 'command'),
  begunAt: Timestamp,
  bytes: Type.Integer(),
  verifiedAt: Nullable(Type.Integer({ description: 'when a check last found it whole' })),
  fault: Nullable(Type.String({ description: 'what the last check found wrong' })),
  isHere: Type.Boolean({ description: 'it lies where this instance can check it' }),
})
export const BackupList = Type.Object({
  backups: Type.Array(Backup, { description: 'the newest 100 of this instance' }),
  runningSince: Nullable(Timestamp),
  failed: Nullable(Type.Object({ at: Timestamp, message: Type.String() })),
})
export const RecordedBackups = Type.Object({
  known: Type.Array(Known, { description: 'the newest 100 that were made or checked, wherever they lie' }),
  scheduled: Type.Object({
    schedule: Nullable(Type.String({ description: 'BERTH_BACKUP_SCHEDULE' })),
    to: Type.String({ description: 'BERTH_BACKUP_TO' }),
    keep: Type.String({ description: 'BERTH_BACKUP_KEEP' }),
    nextAt: Nullable(Type.Integer({ description: 'the next moment of the schedule' })),
    fault: Nullable(Type.String({ description: 'why the last one could not be made' })),
  }),
  check: Type.Object(
    {
      running: Nullable(Type.Object({ since: Timestamp, place: Type.String(), name: Type.String() })),
      failed: Nullable(
        Type.Object(
          { at: Timestamp, message: Type.String() },
          { description: 'why the last one could not be looked at' },
        ),
      ),
    },
    { description: 'the check that this instance was asked for last' },
  ),
})
const WantedCheck = Type.Object({
  place: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1024, description: 'as the list of known backups says' }),
  ),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'without it the newest' })),
})
const Begun = Type.Object({ since: Timestamp, place: Type.String(), name: Type.String() })

const BackupReport = Type.Object({
  place: Type.String({ minLength: 1, maxLength: 1024, description: 'a folder, or `s3://bucket/prefix`' }),
  name: Type.String({ minLength: 1, maxLength: 255 }),
  begunAt: Type.Optional(Timestamp),
  bytes: Type.Optional(Type.Integer({ minimum: 0 })),
  sha256: Type.Optional(Type.String({ maxLength: 64 })),
  check: Type.Optional(
    Type.Object({
      fault: Nullable(Type.String({ maxLength: 4000, description: 'what is wrong; null: it is whole' })),
    }),
  ),
})
export type BackupReport = Static<typeof BackupReport>

export const backupRoutes = [
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/backups',
    operationId: 'operatorListBackups',
    summary: 'List the backups in the data folder, the one that is being made, and why the last one failed',
    tag,
    run: listBackups,
    list: { rows: 100, rowBytes: 8 * 1024 },
    status: 200,
    reply: BackupList,
  }),
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/backups/known',
    operationId: 'operatorListKnownBackups',
    summary:
      'List the backups of every instance and command, what the last check of each found, and how the schedule fares',
    tag,
    run: listKnown,
    list: { rows: 100, rowBytes: 8 * 1024 },
    status: 200,
    reply: RecordedBackups,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/backups/reports',
    operationId: 'operatorReportBackup',
    summary: 'Say that a backup was made, or what a check of it found, for doctor and the figures',
    tag,
    body: BackupReport,
    run: reportBackup,
    status: 204,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/backups',
    operationId: 'operatorMakeBackup',
    summary: 'Begin a backup into the data folder; the list tells when it is there',
    tag,
    prepare: beginBackup,
    run: (_ctx, _subject, _input, begun) => begun,
    refuses: ['backup_running'],
    status: 202,
    reply: Type.Object({ runningSince: Timestamp }),
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/backups/verify',
    operationId: 'operatorVerifyBackup',
    summary: 'Begin to check a known backup; the list of known ones and the audit log tell what was found',
    tag,
    body: WantedCheck,
    prepare: beginCheck,
    run: (_ctx, _subject, _input, begun) => begun,
    refuses: ['not_found', 'backup_check_running'],
    status: 202,
    reply: Begun,
  }),
]

function listBackups({ deps: { backups } }: OperatorCtx): Static<typeof BackupList> {
  const { running, failed } = backups.state()
  return {
    backups: backups.list().map(({ name, manifest }) => ({
      name,
      begunAt: Date.parse(manifest.begunAt),
      bytes: manifest.bytes,
      sha256: manifest.sha256,
      engine: manifest.engine,
      version: manifest.berth,
      rows: Object.values(manifest.rows).reduce((sum, count) => sum + count, 0),
      keyIds: manifest.keyIds,
    })),
    runningSince: running,
    failed,
  }
}

async function listKnown({ db, now, deps: { config, backups } }: OperatorCtx): Promise<Static<typeof RecordedBackups>> {
  const { schedule = null, to, keep } = config.backups
  const known = await listRecordedBackups(db, 100)
  return {
    known: known.map((row) => ({
      place: row.place,
      name: row.name,
      madeBy: row.made_by,
      begunAt: row.begun_at,
      bytes: row.bytes,
      verifiedAt: row.verified_at,
      fault: row.fault,
      isHere: backups.places.includes(row.place),
    })),
    scheduled: {
      schedule,
      to: destinationName(to),
      keep: `last=${keep.last},daily=${keep.daily},weekly=${keep.weekly}`,
      nextAt: schedule === null ? null : await nextOfSchedule(schedule, now),
      fault: (await readBackupStatus(db, config)).failed,
    },
    check: backups.checkState(),
  }
}

/** A copy takes as long as it takes, so nobody waits for it. Refuses: backup_running 409. */
async function beginBackup({ deps, now }: OperatorCtx): Promise<{ runningSince: number }> {
  const begun = deps.backups.begin(now, (error) => deps.log.warn({ err: error }, 'a backup could not be made'))
  if (!begun) refuse('backup_running')
  return { runningSince: now }
}

/** A check reads all of a backup, so nobody waits for it. `id`: for the audit log. Refuses: not_found 404, backup_check_running 409. */
async function beginCheck(
  { deps, now, actor }: OperatorCtx,
  _: undefined,
  { body }: Input<unknown, Static<typeof WantedCheck>>,
): Promise<Static<typeof Begun> & { id: string }> {
  const { backups, db, log } = deps
  const known = await findRecordedBackup(db.read, { places: backups.places, ...body })
  if (known === undefined)
    refuse('not_found', 'No such backup lies where this instance can read it. Elsewhere berth backup verify checks it.')
  const { place, name, begun_at, bytes, sha256 } = known
  const backup = { place, name, begun_at, bytes, sha256 }
  const begun = backups.check({ since: now, backup, actor }, (error) =>
    log.warn({ err: error, backup: `${place}/${name}` }, 'a backup could not be checked'),
  )
  if (!begun) refuse('backup_check_running')
  return { id: name, since: now, place, name }
}

/** Commands copy and check by themselves, so they say afterwards what came of it. */
async function reportBackup(
  { db, now }: OperatorCtx,
  _: undefined,
  { body }: Input<unknown, BackupReport>,
): Promise<void> {
  const { place, name, begunAt = 0, bytes = 0, sha256 = '', check } = body
  const backup = { place, name, begun_at: begunAt, bytes, sha256 }
  if (check === undefined) return recordBackup(db, { ...backup, made_by: 'command' })
  // Without a manifest nothing says that the file ever was a backup: damaged is only one that is known.
  const isBackup = body.begunAt !== undefined || (await findRecordedBackup(db, { places: [place], name })) !== undefined
  if (isBackup) await recordVerification(db, backup, { at: now, fault: check.fault })
}
