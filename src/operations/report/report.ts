/** The attention report of `berth report` and the console. docs/operations.md: Attention report. */

import { readKeyringCopyStatus } from '../../platform/secrets/keyring-copy.ts'
import { readBackupStatus } from '../backup/records.ts'
import { backupFindings } from '../doctor/backups.ts'
import { ACCOUNTS, INTEGRATIONS, TOKENS } from './accounts.ts'
import { ACCOUNT_DOMAINS, ENDPOINTS, INSTALLATIONS, PAUSED, PROJECT_DOMAINS } from './projects.ts'
import type { Report } from './schema.ts'
import { type ReportCtx, type Slices, scanTable } from './table-scan.ts'
import { createTally, type Tally } from './tally.ts'

const PARTS = [TOKENS, ACCOUNTS, INTEGRATIONS, INSTALLATIONS, ...ENDPOINTS, PROJECT_DOMAINS, ACCOUNT_DOMAINS, PAUSED]

/**
 * Scans the database for open items, read-only and without secrets. Parts run one at a time, so at most one statement waits. `slices`: rows per
 * table, and rows at once.
 */
export async function buildReport(ctx: ReportCtx, slices?: Slices): Promise<Report> {
  const tally = createTally()
  await findSafekeeping(ctx, tally)
  for (const scan of PARTS) {
    const partial = await scanTable(ctx.db, scan, (within) => scan.find(ctx, tally, within), slices)
    if (partial) tally.isPartial(...scan.kinds)
  }
  return { sections: tally.sections(), at: ctx.now }
}

/** Backups and keyring copies, by the rules of `berth doctor`. */
async function findSafekeeping({ db, now, deps }: ReportCtx, tally: Tally): Promise<void> {
  const state = await readBackupStatus(db, deps.config)
  for (const { is, found, advice = 'see the page Backups' } of backupFindings(state, now)) {
    if (is !== 'well') tally.add('backups', { id: null, what: found, where: null, since: state.lastGood, advice })
  }
  for (const id of (await readKeyringCopyStatus(db)).missing) {
    const advice = 'berth keys export, then berth keys verify'
    tally.add('keyring-copy', { id, what: `the root key ${id}`, where: null, since: null, advice })
  }
}
