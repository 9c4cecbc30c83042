/** Stores files of one request before a row names them: archive content, inline content and the manifest. */
import type { Ctx } from '../../context.ts'
import type { FileStore } from '../../platform/files/file-store.ts'
import { namedFiles, type StoredFile } from './blobs.ts'
import { refuseFull, roomFor, roomLeft } from './usage.ts'

/** A store that records puts. `files`: each stored file once. */
export type Intake = FileStore & { files(): StoredFile[] }

/**
 * Opens the store of an account for one request. `put` refuses: budget_used_up 409, as soon as new files exceed the budget. An
 * archive of one megabyte may contain a gigabyte, so files count before their rows exist.
 */
export async function openIntake(ctx: Pick<Ctx, 'db' | 'deps' | 'account'>): Promise<Intake> {
  const { files } = ctx.deps
  const put = new Map<string, number>()
  const left = await roomLeft(ctx, ctx.account.id)
  /** Files without a known row, which count against the budget. */
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
    async put(accountId, pieces, announced) {
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
