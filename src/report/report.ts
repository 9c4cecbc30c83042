/** What waits for somebody, over the whole service: what `berth report` and the page Needs attention tell. docs/operations.md: What needs attention. */
import { backupState } from '../backup/records.ts'
import type { OperatorCtx } from '../context.ts'
import { adviseOnBackups } from '../doctor/backups.ts'
import { copyState } from '../secrets/keyring-copy.ts'
import { findAccounts, findIntegrations, findTokens } from './people.ts'
import { findDomains, findEndpoints, findInstallations, findPaused } from './projects.ts'
import type { Report } from './schema.ts'
import { openTally, type Tally } from './tally.ts'

const PARTS = [
  findSafekeeping,
  findTokens,
  findAccounts,
  findIntegrations,
  findInstallations,
  findEndpoints,
  findDomains,
  findPaused,
]

/** Looks through the store for what needs attention. It changes nothing, and no secret is in it. One part after the other, so that no more than one statement waits. */
export async function makeReport(ctx: OperatorCtx): Promise<Report> {
  const tally = openTally()
  for (const find of PARTS) await find(ctx, tally)
  return { sections: tally.sections(), at: ctx.now }
}

/** Backups and copies of the keyring, as `berth doctor` judges them. */
async function findSafekeeping({ db, now }: OperatorCtx, tally: Tally): Promise<void> {
  const state = await backupState(db)
  for (const { is, found, advice = 'see the page Backups' } of adviseOnBackups(state, now)) {
    if (is !== 'well') tally.add('backups', { id: null, what: found, where: null, since: state.lastGood, advice })
  }
  for (const id of (await copyState(db)).missing) {
    const advice = 'berth keys export, then berth keys verify'
    tally.add('keyring-copy', { id, what: `the root key ${id}`, where: null, since: null, advice })
  }
}
