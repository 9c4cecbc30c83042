/** Cache of routing manifests, loaded on first request and bounded. docs/deploying-sites.md: Sites server. */
import { OUTPUT_LIMITS } from '../../delivery/protocol/output-limits.ts'
import type { OutputFacts } from '../../platform/verdict/facts.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import { readWhole } from '../content/opened-file.ts'

/** A site for the routing pool. `account`: the owner of its files. `manifest`: JSON. */
export type OpenSite = { site: string; account: string; manifest: string }

export type OpenSites = {
  /** Returns the site of an output. Concurrent callers share one load. Throws ContentUnavailable. */
  get(output: OutputFacts): Promise<OpenSite>
  size(): number
}

/** Limits by number and by manifest characters. The least recently used site is evicted. */
const MAX_SITES = 500
const MAX_CHARACTERS = 64 * 1024 ** 2

/** Creates a cache of sites. `most`: other limits, for tests. */
export function createSites(
  cache: Pick<ContentCache, 'open'>,
  { sites = MAX_SITES, characters = MAX_CHARACTERS }: { sites?: number; characters?: number } = {},
): OpenSites {
  const open = new Map<string, OpenSite>()
  const arriving = new Map<string, Promise<OpenSite>>()
  let held = 0
  const keep = (site: OpenSite) => {
    open.set(site.site, site)
    held += site.manifest.length
    for (const oldest of open.values()) {
      if (open.size === 1 || (open.size <= sites && held <= characters)) return
      open.delete(oldest.site)
      held -= oldest.manifest.length
    }
  }
  const arrive = async (name: string, output: OutputFacts) => {
    const site = { site: name, account: output.accountId, manifest: await readManifest(cache, output) }
    keep(site)
    return site
  }
  return {
    size: () => open.size,
    get(output) {
      const name = `${output.accountId}/${output.digest}`
      const there = open.get(name)
      if (there !== undefined) {
        open.delete(name)
        open.set(name, there)
        return Promise.resolve(there)
      }
      return arriving.getOrInsertComputed(name, () =>
        Promise.resolve()
          .then(() => arrive(name, output))
          .finally(() => arriving.delete(name)),
      )
    },
  }
}

async function readManifest(
  cache: Pick<ContentCache, 'open'>,
  { accountId, digest, size }: OutputFacts,
): Promise<string> {
  if (size > OUTPUT_LIMITS.manifestBytes) throw new ContentUnavailable('too_large', `${accountId}/${digest}`)
  const file = await cache.open(accountId, { sha256: digest, size })
  try {
    return (await readWhole(file)).toString()
  } finally {
    file.close()
  }
}
