/** File uploads: the bytes first, then the rows. docs/deploying-sites.md: Files. */
import type { Static } from 'typebox'
import type { Ctx, IncomingFile, Input } from '../../context.ts'
import type { Digest } from '../../platform/files/file-store.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { BadFile } from '../files/file-store.ts'
import { countStrays, refusalOfDisk } from './blobs.ts'
import { addRoom, describeSize, refuseFull, roomFor, roomLeft } from './usage.ts'

/** Clients split larger files into parts, or send an archive. */
export const MAX_FILE_BYTES = 100 * 1024 * 1024

/** TABLE upload headers. */
export const UPLOAD_HEADERS = {
  'x-now-digest': 'the SHA-1 of the file in hexadecimal; a file that differs is refused',
  'x-vercel-digest': 'the same, as newer SDKs say it',
  'x-now-size': 'the size of the file in bytes; a file that differs is refused',
}

export const Uploaded = Type.Object({ urls: Type.Array(Type.String(), { description: 'always empty' }) })

/** A request from a page has no file: an empty one. */
const NOTHING: IncomingFile = {
  pieces: { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }) },
  header: () => undefined,
  gone: new AbortController().signal,
}

/**
 * Streams a file to disk and returns its digest. Keeps nothing on failure. Refuses: bad_request 400 (another digest or size than
 * announced, aborted), payload_too_large 413, budget_used_up 409, request_timeout 408, storage_full 507. docs/spec/wire.md.
 */
export async function readUpload(ctx: Ctx, _: undefined, { file = NOTHING }: Input): Promise<Digest> {
  const announced = readAnnounced(file)
  const max = await maxFor(ctx, announced)
  try {
    return await ctx.deps.files.put(ctx.account.id, file.pieces, { ...announced, max })
  } catch (error) {
    if (error instanceof BadFile) refuseBad(ctx, error, max)
    throw refusalOfDisk(error)
  }
}

/** Inserts the row of a file on disk. A known file is only touched, and is no longer marked for removal. Refuses: budget_used_up 409. */
export async function uploadFile(
  ctx: Ctx,
  _: undefined,
  _input: Input,
  { sha256, sha1, size }: Digest,
): Promise<Static<typeof Uploaded>> {
  const accountId = ctx.account.id
  const row = { account_id: accountId, sha1, blob_id: await blobFor(ctx, sha256, size), touched_at: ctx.now }
  await ctx.db
    .insertInto('upload')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'sha1']).doUpdateSet(row))
    .execute()
  return { urls: [] }
}

/** Counts a file whose request failed late, until a collection removes it: another request may be uploading it. */
export async function countRefused(ctx: Ctx, file: Digest): Promise<void> {
  await countStrays(ctx, [file])
}

async function blobFor(ctx: Ctx, sha256: string, size: number): Promise<number> {
  const accountId = ctx.account.id
  const there = await ctx.db
    .selectFrom('blob')
    .select(['id', 'condemned_at'])
    .where('account_id', '=', accountId)
    .where('sha256', '=', sha256)
    .executeTakeFirst()
  if (there === undefined) {
    const { id } = await ctx.db
      .insertInto('blob')
      .values({ account_id: accountId, sha256, size, condemned_at: null })
      .returning('id')
      .executeTakeFirstOrThrow()
    await addRoom(ctx, accountId, roomFor(size))
    return id
  }
  if (there.condemned_at !== null)
    await ctx.db.updateTable('blob').set({ condemned_at: null }).where('id', '=', there.id).execute()
  return there.id
}

/** Refuses: bad_request 400, payload_too_large 413. */
function readAnnounced({ header }: IncomingFile): { sha1: string | undefined; size: number | undefined } {
  const [digest, newer] = [header('x-now-digest'), header('x-vercel-digest')]
  if (digest !== undefined && newer !== undefined && digest !== newer)
    refuse('bad_request', 'Invalid request: the headers x-now-digest and x-vercel-digest should be the same. Send one.')
  const sha1 = (digest ?? newer)?.toLowerCase()
  if (sha1 !== undefined && !/^[0-9a-f]{40}$/.test(sha1))
    refuse('bad_request', 'Invalid request: the header x-now-digest should be a SHA-1, as 40 hexadecimal digits.')
  const sized = header('x-now-size')
  if (sized !== undefined && !/^\d{1,15}$/.test(sized))
    refuse('bad_request', 'Invalid request: the header x-now-size should be the number of bytes.')
  const length = header('content-length')
  const size = sized === undefined ? undefined : Number(sized)
  if (Math.max(size ?? 0, Number(length ?? 0)) > MAX_FILE_BYTES) refuseLarge()
  if (size !== undefined && length !== undefined && size !== Number(length))
    refuse('bad_request', `The file has ${length} bytes, and the header x-now-size announces ${size}.`)
  return { sha1, size: size ?? (length === undefined ? undefined : Number(length)) }
}

/** Returns the size limit from the account's budget, to refuse larger files before reading them. Refuses: budget_used_up 409. */
async function maxFor(ctx: Ctx, { sha1, size }: ReturnType<typeof readAnnounced>): Promise<number> {
  if (sha1 !== undefined && (await isNamed(ctx, sha1))) return MAX_FILE_BYTES
  const left = await roomLeft(ctx, ctx.account.id)
  if (left < roomFor(size ?? 0)) refuseFull(ctx.deps)
  return Math.min(MAX_FILE_BYTES, left)
}

async function isNamed({ db, account }: Ctx, sha1: string): Promise<boolean> {
  const row = await db
    .selectFrom('upload')
    .select('blob_id')
    .where('account_id', '=', account.id)
    .where('sha1', '=', sha1)
    .executeTakeFirst()
  return row !== undefined
}

function refuseBad({ deps }: Ctx, { why, message }: BadFile, max: number): never {
  if (why !== 'too_large') refuse('bad_request', message)
  if (max < MAX_FILE_BYTES) refuseFull(deps)
  refuseLarge()
}

function refuseLarge(): never {
  const max = describeSize(MAX_FILE_BYTES)
  refuse('payload_too_large', `A file has at most ${max}. Send a larger one in parts: vercel deploy --archive=tgz.`)
}
