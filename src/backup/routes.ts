/** Backups by the API. docs/backup.md: From the console. */
import type { Static } from 'typebox'
import type { OperatorCtx } from '../context.ts'
import { operatorRoute } from '../http/route.ts'
import { refuse } from '../refusal.ts'
import { Type } from '../schema/builder.ts'
import { Moment, Nullable, OneOf } from '../schema/fields.ts'

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
export const BackupList = Type.Object({
  backups: Type.Array(Backup, { description: 'the newest 100 of this instance' }),
  runningSince: Nullable(Moment),
  failed: Nullable(Type.Object({ at: Moment, message: Type.String() })),
})

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

/** A copy takes as long as it takes, so nobody waits for it. Refuses: backup_running 409. */
async function beginBackup({ deps, now }: OperatorCtx): Promise<{ runningSince: number }> {
  const begun = deps.backups.begin(now, (error) => deps.log.warn({ err: error }, 'a backup could not be made'))
  if (!begun) refuse('backup_running')
  return { runningSince: now }
}
