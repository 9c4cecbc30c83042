import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { operatorRoute } from '../../platform/http/route.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { ChosenTime, Nullable, OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { destinationName } from './destination.ts'
import {
  deleteMissingRecord,
  findRecordedBackup,
  listRecordedBackups,
  readBackupStatus,
  recordBackup,
  recordVerification,
} from './records.ts'
import { nextOfSchedule } from './runs.ts'

const tag = 'operator'
const Backup = Type.Object({
  name: Type.String({ description: 'of the file in `backups` of the data directory' }),
  begunAt: Timestamp,
  bytes: Type.Integer(),
  sha256: Type.String(),
  engine: OneOf('sqlite', 'postgres'),
  version: Type.String({ description: 'of Berth' }),
  rows: Type.Integer({ description: 'of all tables' }),
  keyIds: Type.Array(Type.String(), { description: 'the root keys required to decrypt its values' }),
})
const Known = Type.Object({
  place: Type.String({ description: 'a directory, or `s3://bucket/prefix`' }),
  name: Type.String(),
  madeBy: OneOf('schedule', 'operator', 'command'),
  begunAt: Timestamp,
  bytes: Type.Integer(),
  verifiedAt: Nullable(Type.Integer({ description: 'when a check last found it intact' })),
  fault: Nullable(Type.String({ description: 'the error that the last check found' })),
  isHere: Type.Boolean({ description: 'it lies where this instance can check it' }),
})
export const BackupList = Type.Object({
  backups: Type.Array(Backup, { description: 'the newest 100 of this instance' }),
  runningSince: Nullable(Timestamp),
  failed: Nullable(Type.Object({ at: Timestamp, message: Type.String() })),
})
export const RecordedBackups = Type.Object({
  known: Type.Array(Known, { description: 'the newest 100 that were made or checked, at any destination' }),
  scheduled: Type.Object({
    schedule: Nullable(Type.String({ description: 'BERTH_BACKUP_SCHEDULE' })),
    to: Type.String({ description: 'BERTH_BACKUP_TO' }),
    keep: Type.String({ description: 'BERTH_BACKUP_KEEP' }),
    nextAt: Nullable(Type.Integer({ description: 'the next scheduled time' })),
    fault: Nullable(Type.String({ description: 'the error of the last one' })),
  }),
  check: Type.Object(
    {
      running: Nullable(Type.Object({ since: Timestamp, place: Type.String(), name: Type.String() })),
      failed: Nullable(
        Type.Object({ at: Timestamp, message: Type.String() }, { description: 'why the last one could not be read' }),
      ),
    },
    { description: 'the last check requested from this instance' },
  ),
})
const WantedCheck = Type.Object({
  place: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, description: 'as in the list of known backups' })),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'without it the newest' })),
})
const Begun = Type.Object({ since: Timestamp, place: Type.String(), name: Type.String() })

const BackupReport = Type.Object({
  place: Type.String({ minLength: 1, maxLength: 1024, description: 'a directory, or `s3://bucket/prefix`' }),
  name: Type.String({ minLength: 1, maxLength: 255 }),
  begunAt: Type.Optional(ChosenTime),
  bytes: Type.Optional(Type.Integer({ minimum: 0 })),
  sha256: Type.Optional(Type.String({ maxLength: 64 })),
  gone: Type.Optional(Type.Boolean({ description: 'it is not there any more: a record of it is deleted' })),
  check: Type.Optional(
    Type.Object({
      fault: Nullable(Type.String({ maxLength: 4000, description: 'the error; null: it is intact' })),
    }),
  ),
})
export type BackupReport = Static<typeof BackupReport>

export const backupRoutes = [
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/backups',
    operationId: 'operatorListBackups',
    summary: 'List the backups in the data directory, the one in progress, and the error of the last one',
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
    summary: 'List the backups of every instance and command, the last check of each, and the state of the schedule',
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
    summary: 'Report a backup, or the result of a check, for doctor and the metrics',
    tag,
    body: BackupReport,
    run: reportBackup,
    status: 204,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/backups',
    operationId: 'operatorMakeBackup',
    summary: 'Start a backup into the data directory; the list shows when it is complete',
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
    summary: 'Start a check of a known backup; the list of known ones and the audit log show the result',
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
  const recorded = await listRecordedBackups(db, 100)
  return {
    known: recorded.map((row) => ({
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

/** Runs in the background, because a copy takes long. Refuses: backup_running 409. */
async function beginBackup({ deps, now }: OperatorCtx): Promise<{ runningSince: number }> {
  const begun = deps.backups.begin(now, (error) => deps.log.warn({ err: error }, 'a backup could not be made'))
  if (!begun) refuse('backup_running')
  return { runningSince: now }
}

/** Runs in the background, because a check reads the complete backup. `id`: for the audit log. Refuses: not_found 404, backup_check_running 409. */
async function beginCheck(
  { deps, now, actor }: OperatorCtx,
  _: undefined,
  { body }: Input<unknown, Static<typeof WantedCheck>>,
): Promise<Static<typeof Begun> & { id: string }> {
  const { backups, db, log } = deps
  const recorded = await findRecordedBackup(db.read, { places: backups.places, ...body })
  if (recorded === undefined)
    refuse('not_found', 'No such backup lies where this instance can read it. Elsewhere berth backup verify checks it.')
  const { place, name, begun_at, bytes, sha256 } = recorded
  const backup = { place, name, begun_at, bytes, sha256 }
  const begun = backups.check({ since: now, backup, actor }, (error) =>
    log.warn({ err: error, backup: `${place}/${name}` }, 'a backup could not be checked'),
  )
  if (!begun) refuse('backup_check_running')
  return { id: name, since: now, place, name }
}

/** Commands copy and check in their own process and report the result here. */
async function reportBackup(
  { db, now }: OperatorCtx,
  _: undefined,
  { body }: Input<unknown, BackupReport>,
): Promise<void> {
  const { place, name, begunAt = 0, bytes = 0, sha256 = '', gone, check } = body
  if (gone === true) return deleteMissingRecord(db, body)
  const backup = { place, name, begun_at: begunAt, bytes, sha256 }
  if (check === undefined) return recordBackup(db, { ...backup, made_by: 'command' })
  // Without a manifest or a record, the file may never have been a backup, so it does not count as damaged.
  const isBackup = body.begunAt !== undefined || (await findRecordedBackup(db, { places: [place], name })) !== undefined
  if (isBackup) await recordVerification(db, backup, { at: now, fault: check.fault })
}
