/** Eviction policy of the cache. docs/deploying-sites.md: File cache. */

/** `uses`: visitors who have it open. */
type Evictable = { bytes: number; uses: number }

/** Bytes on disk, and a number of files, since the index is in memory. */
export type Space = { bytes: number; files: number }

/** `never_fits`: larger than an empty cache. `full`: open files leave too little room; evicts nothing. */
export type EvictionPlan<T> = { outcome: 'granted'; evict: T[] } | { outcome: 'never_fits' | 'full' }

/** Plans evictions for a new file. `entries` are least recently used first; open ones are skipped. `used` includes reserved space. */
export function planEviction<T extends Evictable>(
  entries: Iterable<T>,
  { used, incoming, budget }: { used: Space; incoming: Space; budget: Space },
): EvictionPlan<T> {
  if (incoming.bytes > budget.bytes || incoming.files > budget.files) return { outcome: 'never_fits' }
  let bytes = used.bytes + incoming.bytes - budget.bytes
  let files = used.files + incoming.files - budget.files
  const evict: T[] = []
  for (const entry of entries) {
    if (bytes <= 0 && files <= 0) break
    if (entry.uses > 0) continue
    evict.push(entry)
    bytes -= entry.bytes
    files--
  }
  return bytes <= 0 && files <= 0 ? { outcome: 'granted', evict } : { outcome: 'full' }
}
