import { createHash } from 'node:crypto'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import type { Page, Pages } from './pages.ts'

type Index = Pick<Pages, 'ownsBody'>

/** Bodies of an index on their way into it, until its caller has kept them. */
const STORING = new WeakMap<Index, Map<string, Promise<void>>>()

/**
 * Stores the body of a page, picture or cached value of an index, which its caller keeps at once. Equal bodies are stored one after another, so that the
 * second finds the first one kept. Returns undefined if the file cache cannot take it now.
 */
export async function storeBody(
  cache: Pick<ContentCache, 'put'>,
  index: Index,
  account: string,
  bytes: Buffer,
): Promise<Page['body'] | undefined> {
  const digest = createHash('sha256').update(bytes).digest('hex')
  const leave = await enter(index, `${account}/${digest}`)
  try {
    const isNew = await cache.put(account, { sha256: digest, size: bytes.length }, bytes)
    return { digest, size: bytes.length, isOwned: isNew || index.ownsBody(account, digest) }
  } catch (error) {
    if (!(error instanceof ContentUnavailable)) throw error
    return undefined
  } finally {
    // Its caller has kept it by then: nothing but promises is in between.
    setImmediate(leave)
  }
}

async function enter(index: Index, name: string): Promise<() => void> {
  const storing = STORING.get(index) ?? new Map<string, Promise<void>>()
  STORING.set(index, storing)
  while (storing.has(name)) await storing.get(name)
  const { promise, resolve } = Promise.withResolvers<void>()
  storing.set(name, promise)
  return () => {
    storing.delete(name)
    resolve()
  }
}
