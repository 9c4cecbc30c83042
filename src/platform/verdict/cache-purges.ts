/**
 * What was purged of the cached pages and data of a project. Each has the number that counted when it was made. docs/prerendering.md: Purge.
 */
import { createHash } from 'node:crypto'

/** `stale`: made again behind the visitor. `gone`: the visitor waits. */
export type PurgeKind = 'stale' | 'gone'

/**
 * What has a smaller number than `gone` or `stale` is that, whatever its tags. `tags`: digest of a tag → number and kind of its last purge.
 */
type Purged = { gone: number; stale: number; tags: Record<string, [number, PurgeKind]> }

/** `last`: the number of the last purge. `environments`: purges by functions, which count for their own environment. */
export type CachePurges = Purged & { last: number; environments?: Record<string, Purged> }

/** The line of a project in the snapshot is short. */
const MAX_TAGS = 128
/** Of an environment that is not production: a project has up to 12 custom ones. */
const MAX_TAGS_OF_OTHERS = 24
const MAX_ENVIRONMENTS = 14
const DIGEST = 11
const NONE: Purged = { gone: 0, stale: 0, tags: {} }

/** Returns the purges of a project; undefined: there was none. */
export function cachePurgesOf(json: string | null): CachePurges | undefined {
  return json === null ? undefined : (JSON.parse(json) as CachePurges)
}

/** Adds a purge of all, or of what has one of these tags, in one environment or in all. Where tags become too many, the oldest count for all. */
export function addPurge(
  before: CachePurges | undefined,
  kind: PurgeKind,
  tags?: readonly string[],
  environment?: string,
): CachePurges {
  const { last, environments, ...all } = before ?? { last: 0, ...NONE }
  const number = last + 1
  const own = environments && { environments }
  if (environment === undefined) return { last: number, ...withPurge(all, number, { kind, tags }, MAX_TAGS), ...own }
  const max = environment === 'production' ? MAX_TAGS : MAX_TAGS_OF_OTHERS
  const changed = withPurge(environments?.[environment] ?? NONE, number, { kind, tags }, max)
  return withFew({ last: number, ...all, environments: { ...environments, [environment]: changed } }, environment)
}

/**
 * Returns the purges after a restore of the store. Sites servers keep what was made at later numbers, so the next ones are greater than these: time in
 * ms, which no count of purges reaches. A purge since the backup is lost, so what is older is stale.
 */
export function purgesAfterRestore(before: CachePurges | undefined, now: number): CachePurges {
  const { last, ...purges } = before ?? { last: 0, ...NONE }
  const number = Math.max(now, last + 1)
  return { last: number, ...purges, stale: number }
}

function withPurge(
  { gone, stale, tags: listed }: Purged,
  number: number,
  { kind, tags }: { kind: PurgeKind; tags: readonly string[] | undefined },
  max: number,
): Purged {
  if (tags === undefined) {
    const floors = kind === 'gone' ? { gone: number, stale } : { gone, stale: number }
    return { ...floors, tags: kind === 'gone' ? {} : listed }
  }
  const added = tags.map((tag): [string, [number, PurgeKind]] => [digestOf(tag), [number, kindOf(listed, tag, kind)]])
  const all = Object.entries({ ...listed, ...Object.fromEntries(added) }).sort(([, [a]], [, [b]]) => b - a)
  const dropped = all.slice(max)
  const floorOf = (kind: PurgeKind, floor: number) =>
    dropped.reduce((highest, [, [sequence, its]]) => (its === kind ? Math.max(highest, sequence) : highest), floor)
  return {
    ...{ gone: floorOf('gone', gone), stale: floorOf('stale', stale) },
    tags: Object.fromEntries(all.slice(0, max)),
  }
}

/** An environment that was removed gives way. What is left of it counts as purged, with all that is as old. */
function withFew({ environments = {}, ...purges }: CachePurges, environment: string): CachePurges {
  const names = Object.keys(environments)
  if (names.length <= MAX_ENVIRONMENTS) return { ...purges, environments }
  const others = names.filter((name) => name !== environment && name !== 'production' && name !== 'preview')
  const oldest = others.reduce((a, b) => (newestOf(environments[b]!) < newestOf(environments[a]!) ? b : a))
  const { [oldest]: dropped, ...rest } = environments
  return { ...purges, gone: Math.max(purges.gone, newestOf(dropped!)), environments: rest }
}

/** Returns the number of the last purge that counts in an environment. */
export function lastPurgeOf(purges: CachePurges | undefined, environment: string): number {
  if (purges === undefined) return 0
  const own = purges.environments?.[environment]
  return Math.max(newestOf(purges), own === undefined ? 0 : newestOf(own))
}

const NEWEST = new WeakMap<Purged, number>()

function newestOf(purged: Purged): number {
  const before = NEWEST.get(purged)
  if (before !== undefined) return before
  const { gone, stale, tags } = purged
  const newest = Object.values(tags).reduce((most, [number]) => Math.max(most, number), Math.max(gone, stale))
  NEWEST.set(purged, newest)
  return newest
}

/** What is gone does not come back because it became stale too. */
function kindOf(listed: Purged['tags'], tag: string, kind: PurgeKind): PurgeKind {
  return listed[digestOf(tag)]?.[1] === 'gone' ? 'gone' : kind
}

/** Returns what became of what was made at this number. Its tags are read and hashed once, and not where every purge is older. */
export function purgeOf(
  purges: CachePurges,
  made: { readonly number: number; readonly tags: readonly string[] },
  environment?: string,
): PurgeKind | undefined {
  const { number } = made
  const own = environment === undefined ? undefined : purges.environments?.[environment]
  const newer = [purges, own].filter((purged) => purged !== undefined && number < newestOf(purged)) as Purged[]
  if (newer.some(({ gone }) => number < gone)) return 'gone'
  const listed = newer.filter(({ tags }) => !isEmpty(tags))
  const digests = listed.length === 0 ? [] : made.tags.map(digestOf)
  const kinds = listed.flatMap(({ tags }) => kindsOf(tags, digests, number))
  if (kinds.includes('gone')) return 'gone'
  return kinds.length > 0 || newer.some(({ stale }) => number < stale) ? 'stale' : undefined
}

/** The last purges of these tags, where they are newer than this number. */
function kindsOf(tags: Purged['tags'], digests: readonly string[], number: number): PurgeKind[] {
  return digests.flatMap((digest) => {
    const [at, kind] = tags[digest] ?? [0, 'stale']
    return number < at ? [kind] : []
  })
}

function isEmpty(tags: Purged['tags']): boolean {
  for (const _ in tags) return false
  return true
}

function digestOf(tag: string): string {
  return createHash('sha256').update(tag).digest('base64url').slice(0, DIGEST)
}
