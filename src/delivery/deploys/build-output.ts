/** Stores the output of a request before the transaction. docs/deploying-sites.md: Upload processing. */

import type { Ctx } from '../../context.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import type { Db } from '../../platform/db/db.ts'
import { createSemaphore, type Semaphore } from '../../platform/fairness/semaphore.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { makesPictures, runsFunctions } from '../../platform/settings/functions.ts'
import { ArchiveError } from '../archive/fault.ts'
import type { Notice } from '../outputs/notices.ts'
import { isPrebuilt, type Output, readOutput } from '../outputs/output.ts'
import type { UploadEntry } from '../outputs/tree.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import type { RoutingManifest } from '../protocol/routing-manifest.ts'
import { countStrays, refusalOfDisk } from '../uploads/blobs.ts'
import { type Intake, openIntake } from '../uploads/intake.ts'
import { missingFiles } from '../uploads/missing.ts'
import type { FileEntries } from './file-entries.ts'
import { type FileList, readFileList } from './file-list.ts'
import { type NewOutput, writeAhead } from './output-rows.ts'
import { storeSource, writeArray } from './source.ts'
import { contentOf, uploadedEntries } from './uploaded-entries.ts'

/** An output, or a source to build, whose files are all stored. `ahead`: id of its row, if it is large. */
export type BuiltOutput = NewOutput & { isSource: boolean; notices: Notice[]; ahead: number | undefined }

/** What reading files needs of a request, or of a runner. */
export type ReadCtx = Pick<Ctx, 'db' | 'deps' | 'account' | 'now'>

/** The file list, whether the client marks it as prebuilt, and the user agent. */
export type Sent = { files: FileEntries; isPrebuilt: boolean; agent: string | undefined }

/**
 * Reads a client's upload. Keeps only files, which are counted. Refuses: not_built_here 400 (a source where builds are off),
 * output_refused 400 (one sentence per error), missing_files 400, budget_used_up 409, storage_full 507.
 */
export async function buildOutput(ctx: Ctx, sent: Sent): Promise<BuiltOutput> {
  const list = await readFileList(sent.files)
  if ('faults' in list) return refuseFaults(list.faults)
  if (ctx.deps.config.builds.mode === 'off' && isSource(list, sent)) refuse('not_built_here')
  await mustBeUploaded(ctx, list.wanted)
  const intake = await openIntake(ctx)
  try {
    const work = () => readUploaded(ctx, list, intake, sent.isPrebuilt)
    const read = await (list.form === 'archive' ? inArchiveTurn(ctx, work) : work())
    return { ...read, ahead: await writeAhead(ctx, read) }
  } catch (error) {
    await countStrays(ctx, intake.files())
    if (error instanceof ArchiveError) refuseFaults([error.message])
    throw refusalOfDisk(error)
  }
}

/** From this major version the command line marks prebuilt outputs. */
const SAYS_PREBUILT = 50

/** Returns whether a list contains sources, as far as that is known before the upload. */
function isSource({ form }: FileList, { isPrebuilt: isSaid, agent = '' }: Sent): boolean {
  if (form === 'archive') return !isSaid && (commandLineVersion(agent) ?? 0) >= SAYS_PREBUILT
  return form === 'source'
}

/** Returns the major version of the command line that asks; undefined for other clients. */
export function commandLineVersion(agent: string): number | undefined {
  const version = /^(?:vercel|now) (\d{1,4})\./.exec(agent)?.[1]
  return version === undefined ? undefined : Number(version)
}

async function mustBeUploaded({ deps, account, now }: Ctx, sha1s: readonly string[]): Promise<void> {
  if (sha1s.length === 0) return
  const missing = await deps.db.write((db) => missingFiles({ db, now }, account.id, sha1s), account.id)
  if (missing.length > 0) refuse('missing_files', undefined, { missing })
}

type Read = Omit<BuiltOutput, 'ahead'>

async function readUploaded(ctx: Ctx, list: FileList, intake: Intake, saysPrebuilt: boolean): Promise<Read> {
  const entries = await uploadedEntries(ctx, list, intake)
  if ('faults' in entries) return refuseFaults(entries.faults)
  if (isPrebuilt(entries)) {
    const read = await readEntries(ctx, entries, intake)
    return 'faults' in read ? refuseFaults(read.faults) : read
  }
  if (ctx.deps.config.builds.mode === 'off') refuse('not_built_here')
  if (saysPrebuilt) return refuseFaults([NO_CONFIG])
  const source = await storeSource(ctx.account.id, entries, intake)
  return 'faults' in source ? refuseFaults(source.faults) : { ...source, isSource: true, notices: [] }
}

const NO_CONFIG =
  'The files are marked as prebuilt, and .vercel/output/config.json is missing. Run `vercel build`, or leave --prebuilt out.'

/** Reads entries whose files are stored as an output, or returns error sentences. Stores the manifest. Refuses: bad_request 400 (a file was removed meanwhile). */
export async function readEntries(
  ctx: ReadCtx,
  entries: readonly UploadEntry[],
  intake: Intake,
): Promise<Read | { faults: string[] }> {
  const digests = await digestsOf(entries)
  const read = async (path: string) => {
    const content = await contentOf(intake, ctx.account.id, digests.get(path) ?? '')
    return content ?? refuse('bad_request', `${path} was removed meanwhile. Deploy again.`)
  }
  const { functions } = ctx.deps.config
  const runs = { functions: runsFunctions(functions), pictures: makesPictures(functions) }
  const output = await readOutput({ entries, read, runs })
  if ('faults' in output) return output
  const announced = { sha1: undefined, size: undefined, max: 2 * OUTPUT_LIMITS.manifestBytes }
  const { sha256, size } = await intake.put(ctx.account.id, writeManifest(output.manifest), announced)
  for (const { text } of output.functionLists) await intake.put(ctx.account.id, [Buffer.from(text)], announced)
  return {
    digest: sha256,
    manifest: { sha256, size },
    files: await filesOf(sha256, output),
    put: intake.files(),
    isSource: false,
    notices: output.notices,
    crons: output.manifest.crons,
  }
}

async function digestsOf(entries: readonly UploadEntry[]): Promise<Map<string, string>> {
  const digests = new Map<string, string>()
  await mapInSlices(entries, ({ path, digest }) => void digests.set(path, digest))
  return digests
}

async function* writeManifest({ files, ...rest }: RoutingManifest): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"files":`)
  yield* writeArray(files)
  yield Buffer.from('}')
}

async function filesOf(manifest: string, output: Output): Promise<string[]> {
  const files = new Set([manifest])
  await mapInSlices(output.manifest.files, ({ digest }) => void files.add(digest))
  await mapInSlices(output.functionLists, ({ digest, files: own }) => {
    files.add(digest)
    for (const file of own) files.add(file)
  })
  for (const { prerender } of output.manifest.functionPaths)
    if (prerender?.fallback !== undefined) files.add(prerender.fallback.digest)
  return [...files]
}

/** Each takes the disk and a processor for long: one of an account, and three of all. */
const ARCHIVES = { slots: 3, canAcquire: (_: string, inUse: number) => inUse === 0 }
const turns = new WeakMap<Db, Semaphore>()

async function inArchiveTurn<T>({ deps, account }: Ctx, work: () => Promise<T>): Promise<T> {
  const semaphore = turns.getOrInsertComputed(deps.db, () => createSemaphore(ARCHIVES))
  await semaphore.acquire(account.id)
  try {
    return await work()
  } finally {
    semaphore.release(account.id)
  }
}

function refuseFaults(faults: readonly string[]): never {
  refuse('output_refused', ['This cannot be deployed.', ...faults].join('\n'))
}
