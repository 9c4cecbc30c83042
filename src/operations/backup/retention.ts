/** Retention of backups. docs/backup.md: Scheduled backups. */
import type { BackupRetention } from '../../platform/settings/backups.ts'

/** `whole`: the last check found it intact. `begunAt` in ms. */
export type StoredBackup = { name: string; begunAt: number; whole: boolean }

const DAY_MS = 86_400_000
/** January 1, 1970 was a Thursday; weeks begin on Mondays. */
const FIRST_MONDAY_MS = 4 * DAY_MS
/** Backups without a successful check are kept while no newer intact one exists, at most this many. */
const MAX_DOUBTFUL = 5

/**
 * Returns the names to delete. Counts intact backups only: the newest `last`, and the newest of each of the last `daily` days and `weekly` weeks, in
 * UTC. The newest intact one always stays.
 */
export function backupsToPrune(backups: readonly StoredBackup[], { last, daily, weekly }: BackupRetention): string[] {
  const newestFirst = backups.toSorted((a, b) => b.begunAt - a.begunAt)
  const whole = newestFirst.filter((backup) => backup.whole)
  const newest = whole[0]?.begunAt ?? 0
  const doubtful = newestFirst.filter((backup) => !backup.whole && backup.begunAt > newest).slice(0, MAX_DOUBTFUL)
  const stays = new Set([
    ...doubtful,
    ...whole.slice(0, Math.max(1, last)),
    ...newestOfEach(whole, daily, ({ begunAt }) => Math.floor(begunAt / DAY_MS)),
    ...newestOfEach(whole, weekly, ({ begunAt }) => Math.floor((begunAt - FIRST_MONDAY_MS) / (7 * DAY_MS))),
  ])
  return newestFirst.filter((backup) => !stays.has(backup)).map(({ name }) => name)
}

function newestOfEach(
  newestFirst: readonly StoredBackup[],
  max: number,
  spanOf: (backup: StoredBackup) => number,
): StoredBackup[] {
  const first = new Map<number, StoredBackup>()
  for (const backup of newestFirst) if (!first.has(spanOf(backup))) first.set(spanOf(backup), backup)
  return [...first.values()].slice(0, max)
}
