/** Which files make room for another. docs/deploying-sites.md: Cache of files. */

/** `uses`: how many visitors it is open for. */
type Evictable = { bytes: number; uses: number }

/** Bytes on the disk, and a number of files: the index of the files is in memory. */
export type Space = { bytes: number; files: number }

/** `never_fits`: it would not fit into an empty cache. `full`: it does not fit because of files that are open. Nothing is evicted then. */
export type EvictionPlan<T> = { outcome: 'granted'; evict: T[] } | { outcome: 'never_fits' | 'full' }

/**
 * Plans room for what is to come. `entries` are in the order of their last use, and the plan takes the first ones that nobody has open.
 * `used` is what the entries and everything that is on its way take.
 */
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
