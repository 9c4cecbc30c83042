/** Files that one request puts into the store before a row names them: what an archive or the request itself holds, and the manifest. */
import type { Ctx } from '../../context.ts'
import type { Announced, Digest, FileStore } from '../../platform/files/file-store.ts'
import { namedFiles, type StoredFile } from './blobs.ts'
import { refuseFull, roomFor, roomLeft } from './usage.ts'

/** A store that notes what is put. `files`: what was put so far, each once. */
export type Intake = FileStore & { files(): StoredFile[] }

/**
 * Opens the store of an account for one request. `put` refuses: budget_used_up 409, as soon as what is new has no room. An archive of one megabyte may
 * hold a gigabyte, so nobody fills the disk before the rows are counted.
 */
export async function openIntake(ctx: Pick<Ctx, 'db' | 'deps' | 'account'>): Promise<Intake> {
  const { files } = ctx.deps
  const put = new Map<string, number>()
  const left = await roomLeft(ctx, ctx.account.id)
  /** Files that count, because no row names them as far as is known. */
  let counted = new Map<string, number>()
  let room = 0
  const mustHaveRoom = async () => {
    if (room <= left) return
    const named = await namedFiles(ctx.db, ctx.account.id, [...counted.keys()])
    counted = new Map([...counted].filter(([sha256]) => !named.has(sha256)))
    room = counted.values().reduce((sum, size) => sum + roomFor(size), 0)
    if (room > left) refuseFull(ctx.deps)
  }
  return {
    ...files,
    async put(accountId: string, pieces: AsyncIterable<Buffer>, announced: Announced): Promise<Digest> {
      const digest = await files.put(accountId, pieces, announced)
      if (put.has(digest.sha256)) return digest
      put.set(digest.sha256, digest.size)
      counted.set(digest.sha256, digest.size)
      room += roomFor(digest.size)
      await mustHaveRoom()
      return digest
    },
    files: () => [...put].map(([sha256, size]) => ({ sha256, size })),
  }
}
