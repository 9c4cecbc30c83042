/** The keyring copy in `berth doctor`. docs/variables.md: Encrypted keyring copy. */
import type { Config } from '../../config.ts'
import { hasTable } from '../../platform/db/tables.ts'
import { readKeyringCopyStatus } from '../../platform/secrets/keyring-copy.ts'
import { type Finding, findingsAbout } from './finding.ts'
import { withStore } from './store.ts'

const { well, worry } = findingsAbout('keyring copy')

/** Checks that every root key is in a recorded off-site copy. Empty without a database. */
export async function checkKeyringCopy(config: Config): Promise<Finding[]> {
  const state = await withStore(config, async (db) =>
    (await hasTable(db, 'keyring_copy')) ? readKeyringCopyStatus(db) : undefined,
  ).catch(() => undefined)
  if (state === undefined) return []
  const { missing, verifiedAt, place } = state
  if (missing.length > 0) {
    const found = `no verified off-site copy has ${missing.join(', ')}: if the keyring is lost, every value is lost`
    return [worry(found, 'run berth keys export, then berth keys verify (docs/variables.md)')]
  }
  if (verifiedAt === null) return []
  return [well(`${place}, verified at ${new Date(verifiedAt).toISOString()}`)]
}
