/** What was purged of the cached pages of a project. A page has the number that counted when it was rendered. docs/prerendering.md: Purge. */
import { createHash } from 'node:crypto'

/** `stale`: rendered again behind the visitor. `gone`: the visitor waits for the page. */
export type PurgeKind = 'stale' | 'gone'

/**
 * `last`: the number of the last purge. Pages with a smaller number than `gone` or `stale` are that, whatever their tags. `tags`: digest of a tag →
 * number and kind of its last purge.
 */
export type CachePurges = { last: number; gone: number; stale: number; tags: Record<string, [number, PurgeKind]> }

/** The line of a project in the snapshot is short. */
const MAX_TAGS = 128
const DIGEST = 11

/** Returns the purges of a project; undefined: there was none. */
export function cachePurgesOf(json: string | null): CachePurges | undefined {
  return json === null ? undefined : (JSON.parse(json) as CachePurges)
}

/** Adds a purge of all pages, or of those with one of these tags. Where tags become too many, the oldest count for all pages. */
export function addPurge(before: CachePurges | undefined, kind: PurgeKind, tags?: readonly string[]): CachePurges {
  const { last, gone, stale, tags: listed } = before ?? { last: 0, gone: 0, stale: 0, tags: {} }
  const number = last + 1
  if (tags === undefined) {
    const floors = kind === 'gone' ? { gone: number, stale } : { gone, stale: number }
    return { last: number, ...floors, tags: kind === 'gone' ? {} : listed }
  }
  const added = tags.map((tag): [string, [number, PurgeKind]] => [digestOf(tag), [number, kindOf(listed, tag, kind)]])
  const all = Object.entries({ ...listed, ...Object.fromEntries(added) }).sort(([, [one]], [, [other]]) => other - one)
  const dropped = all.slice(MAX_TAGS)
  const floorOf = (wanted: PurgeKind, floor: number) =>
    dropped.reduce((most, [, [one, its]]) => (its === wanted ? Math.max(most, one) : most), floor)
  return {
    ...{ last: number, gone: floorOf('gone', gone), stale: floorOf('stale', stale) },
    tags: Object.fromEntries(all.slice(0, MAX_TAGS)),
  }
}

/** A page that is gone does not come back because it became stale too. */
function kindOf(listed: CachePurges['tags'], tag: string, kind: PurgeKind): PurgeKind {
  return listed[digestOf(tag)]?.[1] === 'gone' ? 'gone' : kind
}

/** Returns what became of a page that was rendered at this number. */
export function purgeOf(
  { gone, stale, tags: purged }: CachePurges,
  { number, tags }: { number: number; tags: readonly string[] },
): PurgeKind | undefined {
  if (number < gone) return 'gone'
  const kinds = tags.flatMap((tag) => {
    const [at, kind] = purged[digestOf(tag)] ?? [0, 'stale']
    return number < at ? [kind] : []
  })
  if (kinds.includes('gone')) return 'gone'
  return kinds.length > 0 || number < stale ? 'stale' : undefined
}

function digestOf(tag: string): string {
  return createHash('sha256').update(tag).digest('base64url').slice(0, DIGEST)
}
