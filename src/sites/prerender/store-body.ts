import { createHash } from 'node:crypto'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import type { Page, Pages } from './pages.ts'

/** Stores the body of a page, picture or cached value of an index. Returns undefined if the file cache cannot take it now. */
export async function storeBody(
  cache: Pick<ContentCache, 'put'>,
  index: Pick<Pages, 'ownsBody'>,
  account: string,
  bytes: Buffer,
): Promise<Page['body'] | undefined> {
  const digest = createHash('sha256').update(bytes).digest('hex')
  try {
    const isNew = await cache.put(account, { sha256: digest, size: bytes.length }, bytes)
    return { digest, size: bytes.length, isOwned: isNew || index.ownsBody(account, digest) }
  } catch (error) {
    if (!(error instanceof ContentUnavailable)) throw error
    return undefined
  }
}
