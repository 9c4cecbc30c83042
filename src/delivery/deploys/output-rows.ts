/** Output rows: equal outputs of an account share one row, which references its files; deployments reference the row. docs/deploying-sites.md: Outputs. */
import { sql } from 'kysely'
import type { Ctx, OperatorCtx } from '../../context.ts'
import { randomText } from '../../platform/base/ids.ts'
import { insertRows, isOneOf } from '../../platform/db/bulk.ts'
import { createYielder } from '../../platform/db/chunks.ts'
import type { Db, Queries } from '../../platform/db/db.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { CronDefinition } from '../crons/jobs.ts'
import { nameFiles, nameStrays, type StoredFile, slicesOf } from '../uploads/blobs.ts'
import { beingWritten } from '../uploads/plan.ts'

/** An output to insert. `digest` identifies equal outputs. `files`: SHA-256 of each, with the manifest. `put`: files stored by this request. */
export type NewOutput = {
  digest: string
  manifest: StoredFile
  files: readonly string[]
  put: readonly StoredFile[]
  crons?: readonly CronDefinition[]
}

/** Up to this number of files, an output is inserted in the transaction of its deployment. A larger one would block other writers for long. */
const MAX_AT_ONCE = 500

/**
 * Inserts a large output before the transaction of its deployment, in several transactions. Returns its id for `holdOutput`;
 * undefined for a small output or if an equal one exists. Refuses: budget_used_up 409, bad_request 400 (a file was removed
 * meanwhile).
 */
export async function writeAhead(
  ctx: Pick<Ctx, 'deps' | 'account' | 'now'>,
  output: NewOutput,
): Promise<number | undefined> {
  const { deps, account } = ctx
  if (isSmall(output)) return undefined
  await nameStrays(ctx, output.put)
  if (await findOutput(deps.db.read, account.id, output.digest)) return undefined
  const name = `${beingWritten(ctx.now)} ${randomText(20)}`
  const id = await deps.db.write((db) => insertOutput(db, account.id, { ...output, digest: name }, 0), account.id)
  const held = await holdFiles((work) => deps.db.write(work, account.id), account.id, id, output)
  if (held < output.files.length) await refuseRemoved(deps.db, id)
  return id
}

function isSmall({ files, put }: NewOutput): boolean {
  return files.length + put.length <= MAX_AT_ONCE
}

async function refuseRemoved(db: Db, id: number): Promise<never> {
  await abandonOutput(db, id)
  return refuse('bad_request', REMOVED)
}

const REMOVED = 'Files of this deployment were removed while they were read. Deploy again.'

/** Releases an output that was written ahead. The next collection removes it. */
export async function abandonOutput(db: Db, id: number): Promise<void> {
  await db.write((tx) =>
    tx
      .updateTable('output')
      .set({ sha256: `abandoned ${id}` })
      .where('id', '=', id)
      .where('refs', '=', 0)
      .execute(),
  )
}

/**
 * Adds a reference to an output in the transaction of the new deployment: an equal existing one, `ahead`, or a new one. Returns
 * its id. Refuses: budget_used_up 409, bad_request 400 (a file was removed meanwhile).
 */
export async function holdOutput(
  ctx: Pick<OperatorCtx, 'db' | 'deps'>,
  accountId: string,
  output: NewOutput,
  ahead?: number,
): Promise<number> {
  const { db } = ctx
  // Files of a large output have rows already.
  if (isSmall(output)) await nameFiles(ctx, accountId, output.put)
  const there = await db
    .updateTable('output')
    // One of an earlier version has no cron jobs yet.
    .set({ refs: sql<number>`refs + 1`, crons_json: cronsOf(output) })
    .where('account_id', '=', accountId)
    .where('sha256', '=', output.digest)
    .returning('id')
    .executeTakeFirst()
  if (ahead !== undefined) {
    // Another request was first, so release the output that was written ahead.
    const change = there === undefined ? { refs: 1, sha256: output.digest } : { sha256: `abandoned ${ahead}` }
    const { numUpdatedRows } = await db
      .updateTable('output')
      .set(change)
      .where('id', '=', ahead)
      // A collection may have taken it, where this process was stopped for long.
      .where('sha256', 'like', `${beingWritten(undefined)}%`)
      .executeTakeFirst()
    if (there === undefined && numUpdatedRows === 0n) refuse('bad_request', REMOVED)
  }
  if (there !== undefined || ahead !== undefined) return Number(there?.id ?? ahead)
  if (!isSmall(output)) await nameFiles(ctx, accountId, output.put)
  const id = await insertOutput(db, accountId, output, 1)
  const held = await holdFiles((work) => work(db), accountId, id, output)
  if (held < output.files.length) refuse('bad_request', REMOVED)
  return id
}

function cronsOf({ crons = [] }: Pick<NewOutput, 'crons'>): string | null {
  return crons.length === 0 ? null : JSON.stringify(crons)
}

async function findOutput(db: Queries, accountId: string, digest: string): Promise<boolean> {
  const row = await db
    .selectFrom('output')
    .select('id')
    .where('account_id', '=', accountId)
    .where('sha256', '=', digest)
    .executeTakeFirst()
  return row !== undefined
}

async function insertOutput(db: Queries, accountId: string, output: NewOutput, refs: number): Promise<number> {
  const { digest, manifest } = output
  const { id: manifest_id } = await db
    .selectFrom('blob')
    .select('id')
    .where('account_id', '=', accountId)
    .where('sha256', '=', manifest.sha256)
    .executeTakeFirstOrThrow()
  const { id } = await db
    .insertInto('output')
    .values({ account_id: accountId, sha256: digest, manifest_id, refs, crons_json: cronsOf(output) })
    .returning('id')
    .executeTakeFirstOrThrow()
  return Number(id)
}

type InTransaction = <T>(work: (db: Queries) => Promise<T>) => Promise<T>

/** References files from an output in batches. Returns their number without files marked for removal, unless this request stored them. */
async function holdFiles(
  inTransaction: InTransaction,
  accountId: string,
  id: number,
  { files, put }: NewOutput,
): Promise<number> {
  const fresh = new Set(put.map(({ sha256 }) => sha256))
  const pace = createYielder()
  let held = 0
  for (const isFresh of [true, false])
    for (const names of slicesOf(files.filter((sha256) => fresh.has(sha256) === isFresh))) {
      held += await inTransaction((db) => holdSlice(db, accountId, id, names, isFresh))
      await pace()
    }
  return held
}

async function holdSlice(db: Queries, accountId: string, id: number, names: string, isFresh: boolean): Promise<number> {
  let update = db
    .updateTable('blob')
    .set({ refs: sql<number>`refs + 1`, condemned_at: null })
    .where('account_id', '=', accountId)
    .where(isOneOf(db, 'sha256', names))
  if (!isFresh) update = update.where('condemned_at', 'is', null)
  const blobs = await update.returning('id').execute()
  await insertRows(
    db,
    'output_blob',
    blobs.map((blob) => ({ output_id: id, blob_id: Number(blob.id) })),
  )
  return blobs.length
}
