/** Cache of decisions that depend only on the path, so that most requests for files need no worker. */
import type { Decision } from '../router/decision.ts'

export type DecisionCache = {
  get(site: string, path: string): Decision | undefined
  set(site: string, path: string, decision: Decision): void
}

/** Characters of all entries, and of one site: visitors who request unknown paths cannot evict the entries of other sites. */
const MAX_CHARACTERS = 16 * 1024 ** 2
const MAX_OF_A_SITE = 1024 ** 2
const LARGEST = 4096
/** The cost of an entry in addition to its texts. */
const ENTRY = 256
/** The same for what it says of a function, or of a picture. */
const FUNCTION = 1024

type Entry = { decision: Decision; characters: number }
/** Both maps are in least-recently-used order. */
type Kept = { entries: Map<string, Entry>; characters: number }

/** Creates a cache of decisions. */
export function createDecisionCache(): DecisionCache {
  const sites = new Map<string, Kept>()
  let total = 0

  function evict(cached: Kept, max: number): void {
    for (const [path, { characters }] of cached.entries) {
      if (cached.characters <= max) return
      cached.entries.delete(path)
      cached.characters -= characters
      total -= characters
    }
  }

  return {
    get(site, path) {
      const cached = sites.get(site)
      const entry = cached?.entries.get(path)
      if (cached === undefined || entry === undefined) return undefined
      renew(sites, site, cached)
      renew(cached.entries, path, entry)
      return entry.decision
    },
    set(site, path, decision) {
      const characters = decision.reusable ? sizeOf(path, decision) : Number.POSITIVE_INFINITY
      if (characters > LARGEST) return
      const cached = sites.get(site) ?? { entries: new Map(), characters: 0 }
      const before = cached.entries.get(path)?.characters ?? 0
      renew(sites, site, cached)
      renew(cached.entries, path, { decision, characters })
      cached.characters += characters - before
      total += characters - before
      evict(cached, MAX_OF_A_SITE)
      for (const [oldest, others] of sites) {
        if (total <= MAX_CHARACTERS) return
        evict(others, 0)
        sites.delete(oldest)
      }
    },
  }
}

function renew<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
}

function sizeOf(path: string, { headers, rules, ...decision }: Decision): number {
  const own = decision.kind === 'function' || decision.kind === 'image' ? FUNCTION + 4 * path.length : 0
  return headers.reduce(
    (sum, { name, value }) => sum + name.length + value.length,
    ENTRY + own + path.length + 8 * rules.length,
  )
}
