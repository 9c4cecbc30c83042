/** Rows of files that Berth stores itself: archive content, inline content and manifests. docs/deploying-sites.md: Files. */
import type { Ctx } from '../../context.ts'
import { insertMissingRows, isOneOf } from '../../platform/db/bulk.ts'
import { createYielder } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { KEPT } from './plan.ts'
import { addRoom, countRoom, roomFor } from './usage.ts'

export type StoredFile = { sha256: string; size: number }

const SLICE = 250

/** Splits names into batches. Returns JSON for `jsonArrayValues`. */
export function slicesOf(names: readonly string[]): string[] {
  const slices: string[] = []
  for (let at = 0; at < names.length; at += SLICE) slices.push(JSON.stringify(names.slice(at, at + SLICE)))
  return slices
}

/** Inserts rows for stored files of an account, in the caller's transaction. Keeps files that were marked for removal. Refuses: budget_used_up 409. */
export async function nameFiles(
  ctx: Pick<Ctx, 'db' | 'deps'>,
  accountId: string,
  files: readonly StoredFile[],
): Promise<void> {
  if (files.length === 0) return
  const rows = files.map(({ sha256, size }) => ({ account_id: accountId, sha256, size, condemned_at: null }))
  const added = await insertMissingRows(ctx.db, 'blob', rows)
  const pace = createYielder()
  for (const names of slicesOf(files.map(({ sha256 }) => sha256))) {
    await ctx.db
      .updateTable('blob')
      .set({ condemned_at: null })
      .where('account_id', '=', accountId)
      .where(isOneOf(ctx.db, 'sha256', names))
      .where('condemned_at', 'is not', null)
      .execute()
    await pace()
  }
  if (added.length > 0) await addRoom(ctx, accountId, roomOf(added))
}

function roomOf(files: readonly Pick<StoredFile, 'size'>[]): number {
  return files.reduce((sum, { size }) => sum + roomFor(size), 0)
}

type StrayCtx = Pick<Ctx, 'deps' | 'account' | 'now'>

/** Counts stored files of a refused request until a collection removes them as strays (KEPT). Uses its own transactions. */
export async function countStrays(ctx: StrayCtx, files: readonly StoredFile[]): Promise<void> {
  await addStrays(ctx, files, (db, bytes) => countRoom(db, ctx.account.id, bytes))
}

/** Counts many files of a request in progress, like `countStrays`, and also when it refuses. Refuses: budget_used_up 409. */
export async function nameStrays(ctx: StrayCtx, files: readonly StoredFile[]): Promise<void> {
  try {
    await addStrays(ctx, files, (db, bytes) => addRoom({ db, deps: ctx.deps }, ctx.account.id, bytes))
  } catch (error) {
    await countStrays(ctx, files)
    throw error
  }
}

type Count = (db: Queries, bytes: number) => Promise<unknown>

async function addStrays({ deps, account, now }: StrayCtx, files: readonly StoredFile[], count: Count): Promise<void> {
  const condemned_at = now - KEPT.condemnedMs + KEPT.strayMs
  for (let at = 0; at < files.length; at += SLICE) {
    const slice = files.slice(at, at + SLICE)
    const rows = slice.map(({ sha256, size }) => ({ account_id: account.id, sha256, size, condemned_at }))
    await deps.db.write(async (db) => {
      const added = await insertMissingRows(db, 'blob', rows)
      if (added.length > 0) await count(db, roomOf(added))
      if (added.length < slice.length) await keepStrays(db, account.id, slice, condemned_at)
    }, account.id)
  }
}

/** A stray that is stored again stays as long as a new one does. */
async function keepStrays(db: Queries, accountId: string, files: readonly StoredFile[], from: number): Promise<void> {
  await db
    .updateTable('blob')
    .set({ condemned_at: from })
    .where('account_id', '=', accountId)
    .where(isOneOf(db, 'sha256', JSON.stringify(files.map(({ sha256 }) => sha256))))
    .where('condemned_at', '<', from)
    .execute()
}

/** Returns which of these files of an account have a row. */
export async function namedFiles(db: Queries, accountId: string, sha256s: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>()
  for (const names of slicesOf(sha256s)) {
    const rows = await db
      .selectFrom('blob')
      .select('sha256')
      .where('account_id', '=', accountId)
      .where(isOneOf(db, 'sha256', names))
      .execute()
    for (const { sha256 } of rows) found.add(sha256)
  }
  return found
}

/** Returns storage_full 507 for a full disk. Other errors stay unchanged. */
export function refusalOfDisk(error: unknown): unknown {
  const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')
  return isFull ? new Refusal('storage_full', 'The disk is full; nothing was stored. Reads go on.', {}) : error
}
