/** Plans a collection from survey results as a pure function. docs/deploying-sites.md: Collection. */

const HOUR_MS = 3_600_000

/** TABLE retention times. */
export const KEPT = {
  /** An unreferenced file, after its last upload or check: clients upload before they create the deployment. */
  unusedMs: 24 * HOUR_MS,
  /** A file marked for removal: backups of the last week must find its bytes after a restore. */
  condemnedMs: 7 * 24 * HOUR_MS,
  /** A file without a row: an upload writes the file first. */
  strayMs: 24 * HOUR_MS,
  /** A partial upload: none takes this long. */
  cutShortMs: 24 * HOUR_MS,
  /** An output without a deployment, since its first write. */
  unfinishedMs: HOUR_MS,
} as const

/** Returns the digest prefix of an output in progress since this time (ms). It sorts by time, since timestamps keep their number of digits until 2286. */
export function beingWritten(since: number | undefined): string {
  return ['being written', since].join(' ')
}

/** Above this share of missing files, the directory is wrong or not mounted. */
const MAX_MISSING = 0.01

/** A file row. `touchedAt`: undefined without an upload. Times in ms. */
export type StoredBlob = {
  id: number
  accountId: string
  sha256: string
  refs: number
  condemnedAt: number | null
  touchedAt: number | undefined
}

/** An output row. `isShown`: a deployment references it, even if `refs` disagrees. */
export type StoredOutput = { id: number; accountId: string; refs: number; isShown: boolean }

export type Stray = { accountId: string; sha256: string; writtenAt: number }

export type Found = {
  now: number
  /** Start of the oldest scheduled backup in retention; undefined: none exists. */
  oldestBackup: number | undefined
  outputs: readonly StoredOutput[]
  blobs: readonly StoredBlob[]
  strays: readonly Stray[]
  /** Files that rows reference, and how many of them are missing. */
  promised: number
  missing: number
}

/** `outputs`: removed outputs, which no longer reference files. `fault`: why nothing may be removed; the lists are empty then. */
export type Plan = {
  outputs: readonly StoredOutput[]
  condemn: readonly StoredBlob[]
  remove: readonly StoredBlob[]
  strays: readonly Stray[]
  fault: string | undefined
}

/** Returns the time before which a file must have been condemned to be removed. */
export function removableBefore({ now, oldestBackup }: Pick<Found, 'now' | 'oldestBackup'>): number {
  return Math.min(now - KEPT.condemnedMs, oldestBackup ?? Number.POSITIVE_INFINITY)
}

/** Plans a collection. After an inconsistency it plans nothing, since removal is final. */
export function planCollection(found: Found): Plan {
  const fault = faultOf(found)
  if (fault !== undefined) return { outputs: [], condemn: [], remove: [], strays: [], fault }
  const { now, outputs, blobs, strays } = found
  const before = removableBefore(found)
  return {
    outputs: outputs.filter(({ refs }) => refs === 0),
    condemn: blobs.filter(
      ({ refs, condemnedAt, touchedAt = 0 }) => refs === 0 && condemnedAt === null && touchedAt <= now - KEPT.unusedMs,
    ),
    remove: blobs.filter(({ condemnedAt }) => condemnedAt !== null && condemnedAt < before),
    strays: strays.filter(({ writtenAt }) => writtenAt < now - KEPT.strayMs),
    fault,
  }
}

function faultOf({ outputs, blobs, promised, missing }: Found): string | undefined {
  if (missing > promised * MAX_MISSING)
    return `${missing} of ${promised} files are not in the folder of BERTH_FILES_TO: is it the right one, and mounted?`
  const used = blobs.find(({ refs, condemnedAt }) => condemnedAt !== null && refs > 0)
  if (used !== undefined)
    return `the file ${used.sha256} of ${used.accountId} is to be removed, and ${used.refs} deployments have it`
  const shown = outputs.find(({ refs, isShown }) => refs === 0 && isShown)
  if (shown !== undefined)
    return `the output ${shown.id} of ${shown.accountId} counts no deployment, and there is one that shows it`
  return undefined
}
