/** Surveys storage for a collection: files without a row, rows without a file, and unused files. docs/deploying-sites.md: Collection. */
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'
import type { Queries } from '../../platform/db/db.ts'
import { beingWritten, type Found, KEPT, type StoredBlob, type StoredOutput, type Stray } from './plan.ts'

const SLICE = 1000
/** Further strays wait for the next collection. */
const MAX_STRAYS = 10_000
const SHA256 = /^[0-9a-f]{64}$/

/** Compares all files with their rows in slices. Ignores files that are uploaded meanwhile. Undefined where a stop came meanwhile. */
export async function lookAtFiles({
  db,
  files,
  shutdownSignal,
}: Deps): Promise<Pick<Found, 'strays' | 'promised' | 'missing'> | undefined> {
  const last = await db.read.selectFrom('blob').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst()
  const newest = last?.id ?? 0
  const promised = await countPromised(db.read, newest, shutdownSignal)
  const strays: Stray[] = []
  let processed = 0
  let slice: Stray[] = []
  const poll = async () => {
    const rows = await rowsOf(db.read, slice)
    processed += slice.filter(({ sha256 }) => isPromised(rows.get(sha256), newest)).length
    const unnamed = slice.filter(({ sha256 }) => !rows.has(sha256)).slice(0, MAX_STRAYS - strays.length)
    if (unnamed.length > 0 && (await isOurs(db.read, unnamed[0]!.accountId))) strays.push(...unnamed)
    slice = []
  }
  for await (const { accountId, sha256, writtenAt } of files.all()) {
    if (shutdownSignal.aborted) return undefined
    if (!SHA256.test(sha256)) continue
    if (slice.length === SLICE || (slice.length > 0 && slice[0]!.accountId !== accountId)) await poll()
    slice.push({ accountId, sha256, writtenAt })
  }
  if (slice.length > 0) await poll()
  if (shutdownSignal.aborted) return undefined
  return { strays, promised, missing: Math.max(0, promised - processed) }
}

/** Returns whether a row mentions an account. Other files belong to another Berth in this directory, or to a database before its restore. */
async function isOurs(db: Queries, accountId: string): Promise<boolean> {
  const account = db.selectFrom('account').select('id').where('id', '=', accountId)
  const files = db.selectFrom('blob').select('account_id as id').where('account_id', '=', accountId).limit(1)
  return (await account.executeTakeFirst()) !== undefined || (await files.executeTakeFirst()) !== undefined
}

type Known = { id: number; condemned_at: number | null }

/** After a restore, the bytes of condemned files may be gone. */
function isPromised(row: Known | undefined, newest: number): boolean {
  return row !== undefined && row.condemned_at === null && row.id <= newest
}

async function rowsOf(db: Queries, slice: readonly Stray[]): Promise<Map<string, Known>> {
  const names = JSON.stringify(slice.map(({ sha256 }) => sha256))
  const rows = await db
    .selectFrom('blob')
    .select(['id', 'sha256', 'condemned_at'])
    .where('account_id', '=', slice[0]!.accountId)
    .where('sha256', 'in', jsonArrayValues(db, names))
    .execute()
  return new Map(rows.map((row) => [row.sha256, row]))
}

/** Counts referenced files in slices: one count of all would block the process on SQLite. */
async function countPromised(db: Queries, newest: number, stop: AbortSignal): Promise<number> {
  let promised = 0
  for (let after = 0; ; ) {
    const slice = db.selectFrom('blob').select(['id', 'condemned_at']).where('id', '>', after).where('id', '<=', newest)
    const row = await db
      .selectFrom(slice.orderBy('id').limit(SLICE).as('slice'))
      .select(({ fn }) => [
        fn.max<number | null>('id').as('last'),
        sql<number>`count(*) - count(condemned_at)`.as('live'),
      ])
      .executeTakeFirstOrThrow()
    promised += Number(row.live)
    if (row.last === null || stop.aborted) return promised
    after = row.last
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Returns a batch of outputs that no deployment references, except those in progress. `last`: where to continue; undefined at the end. */
export async function lookAtOutputs(
  db: Queries,
  after: number,
  now: number,
): Promise<{ outputs: StoredOutput[]; last: number | undefined }> {
  const rows = await db
    .selectFrom('output')
    .select((eb) => [
      'id',
      'account_id',
      'refs',
      eb
        .or([
          eb.exists(eb.selectFrom('deployment').select('id').whereRef('output_id', '=', 'output.id')),
          eb.exists(eb.selectFrom('deployment').select('id').whereRef('source_id', '=', 'output.id')),
        ])
        .as('shown'),
    ])
    .where(sql<boolean>`refs = 0`)
    .where('id', '>', after)
    .where((eb) =>
      eb.or([
        eb('sha256', 'not like', `${beingWritten(undefined)}%`),
        eb('sha256', '<', beingWritten(now - KEPT.unfinishedMs)),
      ]),
    )
    .orderBy('id')
    .limit(SLICE)
    .execute()
  const outputs = rows.map(({ id, account_id: accountId, refs, shown }) => ({
    id,
    accountId,
    refs,
    isShown: Boolean(shown),
  }))
  return { outputs, last: rows.length < SLICE ? undefined : rows.at(-1)!.id }
}

/** Returns a batch of files that are unreferenced, or were condemned before this time. `last`: where to continue; undefined at the end. */
export async function lookAtBlobs(
  db: Queries,
  after: number,
  condemnedBefore: number,
): Promise<{ blobs: StoredBlob[]; last: number | undefined }> {
  const columns = ['blob.id', 'blob.account_id', 'blob.sha256', 'blob.refs', 'blob.condemned_at'] as const
  const slice = (state: 'idle' | 'condemned') =>
    db
      .selectFrom('blob')
      .select(columns)
      .select((eb) =>
        eb
          .selectFrom('upload')
          .select(({ fn }) => fn.max<number | null>('touched_at').as('touched'))
          .whereRef('upload.blob_id', '=', 'blob.id')
          .as('touched'),
      )
      .$if(state === 'idle', (of) =>
        of.where(sql<boolean>`refs = 0 and condemned_at is null`).where('id', '>', after).orderBy('id'),
      )
      .$if(state === 'condemned', (of) => of.where('condemned_at', '<', condemnedBefore).orderBy('condemned_at'))
      .limit(SLICE)
      .execute()
  const [idle, condemned] = [await slice('idle'), await slice('condemned')]
  const blobs = [...idle, ...condemned].map((row) => ({
    id: row.id,
    accountId: row.account_id,
    sha256: row.sha256,
    refs: row.refs,
    condemnedAt: row.condemned_at,
    touchedAt: row.touched ?? undefined,
  }))
  if (idle.length < SLICE && condemned.length < SLICE) return { blobs, last: undefined }
  return { blobs, last: idle.at(-1)?.id ?? after }
}

/** Returns the start of the oldest scheduled backup in retention; undefined without a schedule or backup. */
export async function oldestBackup({ db, config }: Deps): Promise<number | undefined> {
  if (config.backups.schedule === undefined) return undefined
  const row = await db.read
    .selectFrom('backup')
    .select(({ fn }) => fn.min<number | null>('begun_at').as('oldest'))
    .where('made_by', '=', 'schedule')
    .executeTakeFirstOrThrow()
  return row.oldest ?? undefined
}
