/** Backups by the API. docs/backup.md: From the console. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../context.ts'
import { operatorRoute } from '../http/route.ts'
import { refuse } from '../refusal.ts'
import { Type } from '../schema/builder.ts'
import { Moment, Nullable, OneOf } from '../schema/fields.ts'
import { nameOfPlace } from './place.ts'
import { backupState, knownBackups, noteCheck, noteMade } from './records.ts'

const tag = 'operator'
const Backup = Type.Object({
  name: Type.String({ description: 'of the file in the folder `backups` of the data folder' }),
  begunAt: Moment,
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
  begunAt: Moment,
  bytes: Type.Integer(),
  verifiedAt: Nullable(Type.Integer({ description: 'when a check last found it whole' })),
  fault: Nullable(Type.String({ description: 'what the last check found wrong' })),
})
export const BackupList = Type.Object({
  backups: Type.Array(Backup, { description: 'the newest 100 of this instance' }),
  runningSince: Nullable(Moment),
  failed: Nullable(Type.Object({ at: Moment, message: Type.String() })),
})
export const KnownBackups = Type.Object({
  known: Type.Array(Known, { description: 'the newest 100 that were made or checked, wherever they lie' }),
  scheduled: Type.Object({
    schedule: Nullable(Type.String({ description: 'BERTH_BACKUP_SCHEDULE' })),
    to: Type.String({ description: 'BERTH_BACKUP_TO' }),
    fault: Nullable(Type.String({ description: 'why the last one could not be made' })),
  }),
})

const Report = Type.Object({
  place: Type.String({ minLength: 1, maxLength: 1024, description: 'a folder, or `s3://bucket/prefix`' }),
  name: Type.String({ minLength: 1, maxLength: 255 }),
  begunAt: Type.Optional(Moment),
  bytes: Type.Optional(Type.Integer({ minimum: 0 })),
  sha256: Type.Optional(Type.String({ maxLength: 64 })),
  check: Type.Optional(
    Type.Object({
      fault: Nullable(Type.String({ maxLength: 4000, description: 'what is wrong; null: it is whole' })),
    }),
  ),
})
export type Report = Static<typeof Report>

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
    reply: KnownBackups,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/backups/reports',
    operationId: 'operatorReportBackup',
    summary: 'Say that a backup was made, or what a check of it found, for doctor and the figures',
    tag,
    body: Report,
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
    reply: Type.Object({ runningSince: Moment }),
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

async function listKnown({ db, deps: { config } }: OperatorCtx): Promise<Static<typeof KnownBackups>> {
  const { schedule = null, to } = config.backups
  const known = await knownBackups(db, 100)
  return {
    known: known.map((row) => ({
      place: row.place,
      name: row.name,
      madeBy: row.made_by,
      begunAt: row.begun_at,
      bytes: row.bytes,
      verifiedAt: row.verified_at,
      fault: row.fault,
    })),
    scheduled: { schedule, to: nameOfPlace(to), fault: (await backupState(db)).failed },
  }
}

/** A copy takes as long as it takes, so nobody waits for it. Refuses: backup_running 409. */
async function beginBackup({ deps, now }: OperatorCtx): Promise<{ runningSince: number }> {
  const begun = deps.backups.begin(now, (error) => deps.log.warn({ err: error }, 'a backup could not be made'))
  if (!begun) refuse('backup_running')
  return { runningSince: now }
}

/** Commands copy and check by themselves, so they say afterwards what came of it. */
async function reportBackup({ db, now }: OperatorCtx, _: undefined, { body }: Input<unknown, Report>): Promise<void> {
  const { place, name, begunAt = 0, bytes = 0, sha256 = '', check } = body
  const backup = { place, name, begun_at: begunAt, bytes, sha256 }
  if (check === undefined) await noteMade(db, { ...backup, made_by: 'command' })
  else await noteCheck(db, backup, { at: now, fault: check.fault })
}
