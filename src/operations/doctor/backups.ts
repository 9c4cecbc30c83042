/** Backups in `berth doctor`. docs/backup.md: Monitoring. */

import type { Config } from '../../config.ts'
import { pluralize } from '../../platform/base/text.ts'
import { hasTable } from '../../platform/db/tables.ts'
import { type BackupStatus, readBackupStatus } from '../backup/records.ts'
import { parseSchedule } from '../backup/runs.ts'
import type { Finding } from './finding.ts'
import { withStore } from './store.ts'

const HOUR_MS = 3_600_000
/** A day, plus the duration of a daily backup. */
const OLD_MS = 26 * HOUR_MS
const about = 'backups'

/** Checks the age of the last good backup, and damaged ones. Empty without a database, which another check reports. */
export async function checkBackups(config: Config): Promise<Finding[]> {
  if (config.backups.schedule !== undefined) await parseSchedule(config.backups.schedule)
  const state = await withStore(config, async (db) =>
    (await hasTable(db, 'backup')) ? readBackupStatus(db, config) : undefined,
  ).catch(() => undefined)
  return state === undefined ? [] : backupFindings(state, Date.now())
}

/** Returns the findings for the recorded backups; `now` in ms. */
export function backupFindings({ lastGood, lastVerified, damaged, failed }: BackupStatus, now: number): Finding[] {
  const findings: Finding[] = []
  if (failed !== null) findings.push({ about, is: 'worry', found: `the last scheduled one failed: ${failed}` })
  if (damaged > 0) {
    const found = `${pluralize(damaged, 'backup')} ${damaged === 1 ? 'is' : 'are'} damaged`
    findings.push({
      about,
      is: 'worry',
      found,
      advice: 'the page Backups shows which: make another, and check the disk',
    })
  }
  if (lastGood === null) findings.push({ about, is: 'worry', found: 'no backup exists', advice: MAKE })
  else if (now - lastGood > OLD_MS) {
    const found = `the last good one was begun at ${new Date(lastGood).toISOString()}`
    findings.push({ about, is: 'worry', found, advice: MAKE })
  } else if (lastVerified === null)
    findings.push({ about, is: 'worry', found: 'none was checked', advice: 'run berth backup verify --newest' })
  if (findings.length > 0) return findings
  return [{ about, is: 'well', found: `the last good one was begun at ${new Date(lastGood!).toISOString()}` }]
}

const MAKE = 'set BERTH_BACKUP_SCHEDULE, or run berth backup each day (docs/backup.md)'
