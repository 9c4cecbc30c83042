/** What `berth doctor` says of the copy of the keyring. docs/variables.md: An encrypted copy. */
import type { Config } from '../../config.ts'
import { hasTable } from '../../platform/db/tables.ts'
import { readKeyringCopyStatus } from '../../platform/secrets/keyring-copy.ts'
import type { Finding } from './finding.ts'
import { withStore } from './store.ts'

const about = 'keyring copy'

/** Whether every root key was seen in an encrypted copy at another place. Nothing where there is no store. */
export async function checkKeyringCopy(config: Config): Promise<Finding[]> {
  const state = await withStore(config, async (db) =>
    (await hasTable(db, 'keyring_copy')) ? readKeyringCopyStatus(db) : undefined,
  ).catch(() => undefined)
  if (state === undefined) return []
  const { missing, verifiedAt, place } = state
  if (missing.length > 0) {
    const found = `no copy at another place was verified that holds ${missing.join(', ')}: if the keyring is lost, so is every value`
    return [{ about, is: 'worry', found, advice: 'run berth keys export, then berth keys verify (docs/variables.md)' }]
  }
  if (verifiedAt === null) return []
  return [{ about, is: 'well', found: `${place}, verified at ${new Date(verifiedAt).toISOString()}` }]
}
