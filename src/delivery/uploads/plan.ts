/** What a collection of files would do, decided from what was found and without touching anything. docs/deploying-sites.md: Collection. */

const HOUR_MS = 3_600_000

/** TABLE for how long what stays. */
export const KEPT = {
  /** A file that nothing refers to, after it was last uploaded or asked for: a client uploads first and creates the deployment then. */
  unusedMs: 24 * HOUR_MS,
  /** A file that will be removed: a restore of a backup of the last week finds its bytes. */
  condemnedMs: 7 * 24 * HOUR_MS,
  /** A file that no row names: an upload writes the file first. */
  strayMs: 24 * HOUR_MS,
  /** What is left of an upload that did not end: none takes so long. */
  cutShortMs: 24 * HOUR_MS,
  /** An output that no deployment has yet, after it was begun to be written. */
  unfinishedMs: HOUR_MS,
} as const

/** The name of an output that is being written since a moment (in ms), before a deployment has it. Later ones sort behind: moments have as many digits until 2286. */
export function beingWritten(since: number | undefined): string {
  return ['being written', since].join(' ')
}

/** More files than this part are missing: the folder is another one, or is not mounted. */
const MAX_MISSING = 0.01

/** A file as its row has it. `touchedAt`: undefined where no upload names it. Moments in ms. */
export type StoredBlob = {
  id: number
  accountId: string
  sha256: string
  refs: number
  condemnedAt: number | null
  touchedAt: number | undefined
}

/** An output as its row has it. `isShown`: a deployment names it, whatever `refs` counts. */
export type StoredOutput = { id: number; accountId: string; refs: number; isShown: boolean }

/** A file that no row names. */
export type Stray = { accountId: string; sha256: string; writtenAt: number }

export type Found = {
  now: number
  /** When the oldest backup was begun that the schedule keeps; undefined: there is none. */
  oldestBackup: number | undefined
  outputs: readonly StoredOutput[]
  blobs: readonly StoredBlob[]
  strays: readonly Stray[]
  /** How many files the rows promise, and how many of these are not there. */
  promised: number
  missing: number
}

/** `outputs`: those that are removed, so that they hold no files any more. `fault`: why nothing is to be done; the lists are empty then. */
export type Plan = {
  outputs: readonly StoredOutput[]
  condemn: readonly StoredBlob[]
  remove: readonly StoredBlob[]
  strays: readonly Stray[]
  fault: string | undefined
}

/** The moment before which a file must have been condemned to be removed. */
export function removableBefore({ now, oldestBackup }: Pick<Found, 'now' | 'oldestBackup'>): number {
  return Math.min(now - KEPT.condemnedMs, oldestBackup ?? Number.POSITIVE_INFINITY)
}

/** Plans a collection. One that finds something wrong does nothing, since what is removed does not come back. */
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
