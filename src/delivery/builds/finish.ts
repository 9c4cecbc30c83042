/** The end of a build that succeeded: its output is read as an upload is. docs/building.md: Output. */
import type { Account, Deps } from '../../context.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { isOneOf } from '../../platform/db/bulk.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { type BuiltOutput, type ReadCtx, readEntries } from '../deploys/build-output.ts'
import { abandonOutput, holdOutput, writeAhead } from '../deploys/output-rows.ts'
import { addError, createReport, sentencesOf } from '../outputs/faults.ts'
import type { Notice } from '../outputs/notices.ts'
import { isPrebuilt } from '../outputs/output.ts'
import { shown } from '../outputs/paths.ts'
import type { UploadEntry } from '../outputs/tree.ts'
import type { SourceEntry } from '../protocol/runner-protocol.ts'
import { countStrays, slicesOf } from '../uploads/blobs.ts'
import { openIntake } from '../uploads/intake.ts'
import { failBuild, succeedBuild, transactQueue } from './end.ts'
import { appendOwnLines } from './log.ts'
import { findLease, type Holder, type Outcome } from './queue.ts'

/**
 * Reads the output of a build and ends it: READY, or ERROR with BUILD_OUTPUT_REFUSED and what is wrong. The files of the output are in
 * the store already.
 */
export async function finishWithOutput(deps: Deps, holder: Holder, entries: readonly SourceEntry[]): Promise<Outcome> {
  const build = await findLease(deps.db.read, holder)
  if (build === undefined) return 'lease_lost'
  const ctx = contextOf(deps, build.account_id)
  const refuseOutput = (sentences: readonly string[]) =>
    transactQueue(deps, (tx) => failBuild(tx, holder, { code: 'BUILD_OUTPUT_REFUSED', message: sentences.join('\n') }))
  try {
    const read = await readOutputOf(ctx, entries)
    if ('faults' in read) return await refuseOutput(['The output of the build cannot be deployed.', ...read.faults])
    await logNotices(deps, holder, read.notices)
    return await hold(deps, ctx, holder, read)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return refuseOutput([error.message])
  }
}

/** Clients of a create have ended its request, so what has no effect is at the end of the log. */
async function logNotices(deps: Deps, holder: Holder, notices: readonly Notice[]): Promise<void> {
  // The runner has sent lines since the lease was found.
  const build = notices.length === 0 ? undefined : await findLease(deps.db.read, holder)
  const texts = notices.map(({ message }) => `Warning: ${message}`)
  if (build !== undefined) await appendOwnLines(deps, build, holder, texts)
}

function contextOf(deps: Deps, accountId: string): ReadCtx {
  return { db: deps.db.read, deps, account: { id: accountId } as Account, now: deps.clock.now() }
}

async function readOutputOf(
  ctx: ReadCtx,
  entries: readonly SourceEntry[],
): Promise<BuiltOutput | { faults: string[] }> {
  if (!isPrebuilt(entries)) return { faults: ['.vercel/output/config.json is missing: the build wrote no output.'] }
  const files = await storedFiles(ctx, entries)
  if ('faults' in files) return files
  const intake = await openIntake(ctx)
  try {
    const read = await readEntries(ctx, files.entries, intake)
    if ('faults' in read) {
      await countStrays(ctx, intake.files())
      return read
    }
    // Files of the runner are strays until an output has them.
    const built = { ...read, put: [...read.put, ...files.strays] }
    return { ...built, ahead: await writeAhead(ctx, built) }
  } catch (error) {
    await countStrays(ctx, intake.files())
    throw error
  }
}

async function hold(deps: Deps, ctx: ReadCtx, holder: Holder, output: BuiltOutput): Promise<Outcome> {
  const { account } = ctx
  const release = async () => {
    if (output.ahead !== undefined) await abandonOutput(deps.db, output.ahead)
    await countStrays(ctx, output.put)
  }
  try {
    const outcome = await transactQueue(deps, (tx) =>
      succeedBuild(tx, holder, () => holdOutput(tx, account.id, output, output.ahead)),
    )
    if (outcome !== 'ok') await release()
    return outcome
  } catch (error) {
    await release()
    throw error
  }
}

type Stored = { entries: UploadEntry[]; strays: { sha256: string; size: number }[] }

/** A runner says what there is; sizes come from the store. Returns error sentences for files that were not sent. */
async function storedFiles(ctx: ReadCtx, entries: readonly SourceEntry[]): Promise<Stored | { faults: string[] }> {
  const names = new Set<string>()
  await mapInSlices(entries, ({ digest }) => void (digest !== undefined && names.add(digest)))
  const report = createReport()
  const stored = new Map<string, { size: number; isStray: boolean }>()
  for (const slice of slicesOf([...names])) {
    const rows = await ctx.db
      .selectFrom('blob')
      .select(['sha256', 'size', 'condemned_at'])
      .where('account_id', '=', ctx.account.id)
      .where(isOneOf(ctx.db, 'sha256', slice))
      .execute()
    for (const { sha256, size, condemned_at } of rows)
      stored.set(sha256, { size: Number(size), isStray: condemned_at !== null })
  }
  for (const [sha256, { isStray }] of stored)
    if (isStray && (await ctx.deps.files.sizeOf(ctx.account.id, sha256)) === undefined) stored.delete(sha256)
  const read: UploadEntry[] = []
  await mapInSlices(entries, ({ path, kind, mode, size, digest = '', target }) => {
    const file = stored.get(digest)
    if (kind === 'folder') read.push({ path, kind, mode, size: 0, digest: '' })
    else if (kind === 'link') read.push({ path, kind, mode, size: 0, digest: '', target: target ?? '' })
    else if (file === undefined) addError(report, shown(path), '', 'was not sent by the runner.')
    else if (file.size !== size) addError(report, shown(path), '', `has ${file.size} bytes, not ${size}.`)
    else read.push({ path, kind, mode, size, digest })
  })
  if (report.faults.length > 0) return { faults: sentencesOf(report) }
  const strays = [...stored].filter(([, { isStray }]) => isStray).map(([sha256, { size }]) => ({ sha256, size }))
  return { entries: read, strays }
}
