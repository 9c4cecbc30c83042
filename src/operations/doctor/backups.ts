/** Backups in `berth doctor`. docs/backup.md: Monitoring. */

import type { Config } from '../../config.ts'
import { pluralize } from '../../platform/base/text.ts'
import { hasTable } from '../../platform/db/tables.ts'
import { type BackupStatus, readBackupStatus } from '../backup/records.ts'
import { parseSchedule } from '../backup/runs.ts'
import { type Finding, findingsAbout } from './finding.ts'
import { withStore } from './store.ts'

const HOUR_MS = 3_600_000
/** A day, plus the duration of a daily backup. */
const OLD_MS = 26 * HOUR_MS
const { well, worry } = findingsAbout('backups')

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
  if (failed !== null) findings.push(worry(`the last scheduled one failed: ${failed}`))
  if (damaged > 0) {
    const found = `${pluralize(damaged, 'backup')} ${damaged === 1 ? 'is' : 'are'} damaged`
    findings.push(worry(found, 'the page Backups shows which: make another, and check the disk'))
  }
  if (lastGood === null) return [...findings, worry('no backup exists', MAKE)]
  const found = `the last good one was begun at ${new Date(lastGood).toISOString()}`
  if (now - lastGood > OLD_MS) findings.push(worry(found, MAKE))
  else if (lastVerified === null) findings.push(worry('none was checked', 'run berth backup verify --newest'))
  return findings.length > 0 ? findings : [well(found)]
}

const MAKE = 'set BERTH_BACKUP_SCHEDULE, or run berth backup each day (docs/backup.md)'
