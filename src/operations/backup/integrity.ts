/** Verification of a copy: it is intact, and the keyring decrypts its values. */
import type { Logger } from 'pino'
import type { Config } from '../../config.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import type { Queries } from '../../platform/db/db.ts'
import { inspectFile } from '../../platform/db/sqlite/vacuum.ts'
import { tablesOf } from '../../platform/db/tables.ts'
import { openSecretBox } from '../../platform/secrets/data-keys.ts'
import { type Keyring, openKeyring } from '../../platform/secrets/keyring.ts'
import { matchesStoredKey } from '../../platform/secrets/root-keys.ts'
import type { Manifest } from './manifest.ts'

/** Reads the complete file of a copy and returns the row count per table. Throws when it is damaged. */
export async function checkIntegrity(file: string): Promise<Record<string, number>> {
  const { faults, strays, rows } = await inspectFile(file).catch((error: Error) => {
    throw new Error(`${file} is damaged: ${error.message}`, { cause: error })
  })
  if (faults.length > 0) throw new Error(`${file} is damaged: ${faults.join('; ')}`)
  if (strays) throw new Error(`${file} is damaged: rows refer to rows that are not there`)
  return rows
}

/** Throws when the row counts of a backup differ from its manifest. */
export function checkRowCounts(file: string, there: Record<string, number>, { rows }: Pick<Manifest, 'rows'>): void {
  const odd = Object.keys({ ...rows, ...there }).find((table) => rows[table] !== there[table])
  if (odd !== undefined)
    throw new Error(`${file} has ${there[odd] ?? 0} rows in ${odd}, and its manifest says ${rows[odd] ?? 0}`)
}

export type KeyCheck = {
  /** The root keys used by the database. */
  ids: string[]
  /** Keys that the keyring does not have. */
  missing: string[]
  /** Keys whose id has another key in the keyring. */
  wrong: string[]
  /** Values decrypted, one per root key in use. */
  opened: number
  /** Correct root keys for which a value failed to decrypt. */
  shut: string[]
  /** Why the keyring could not be read. */
  trouble?: string
}

/** Checks every root key of a database, and one value of each, against the keyring. Never creates a keyring. */
export async function checkKeys(db: Queries, config: Config): Promise<KeyCheck> {
  const proof: KeyCheck = { ids: [], missing: [], wrong: [], opened: 0, shut: [] }
  if (!(await tablesOf(db)).has('root_key')) return proof
  const rootKeys = await db.selectFrom('root_key').selectAll().orderBy('id').execute()
  proof.ids = rootKeys.map((row) => row.id)
  const keyring = rootKeys.length === 0 ? undefined : openRing(config, proof)
  for (const row of rootKeys) {
    const fits = keyring === undefined ? undefined : matchesStoredKey(keyring, row)
    if (fits === undefined) proof.missing.push(row.id)
    else if (!fits) proof.wrong.push(row.id)
    else await openOne(db, keyring!, row.id, proof)
  }
  return proof
}

function openRing(config: Config, proof: KeyCheck): Keyring | undefined {
  try {
    return openKeyring(config.keys, () => false)
  } catch (error) {
    proof.trouble = describeError(error)
    return undefined
  }
}

async function openOne(db: Queries, keyring: Keyring, rootKeyId: string, proof: KeyCheck): Promise<void> {
  const row = await db
    .selectFrom('env_var')
    .innerJoin('project_key', 'project_key.project_id', 'env_var.project_id')
    .where('project_key.root_key_id', '=', rootKeyId)
    .select(['env_var.project_id', 'env_var.id', 'env_var.value_version', 'env_var.sealed_value'])
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return
  // Failures are reported by the check.
  const log = { error() {} } as Pick<Logger, 'error'>
  const box = await openSecretBox({ db, deps: { keyring, log } }, row.project_id)
  if (box.open(row.id, row.value_version, row.sealed_value) === undefined) proof.shut.push(rootKeyId)
  else proof.opened++
}

/** Describes problems with the keys as messages; empty when none. */
export function describeKeyProblems({ missing, wrong, shut, trouble }: KeyCheck): string[] {
  return [
    ...(trouble === undefined ? [] : [trouble]),
    ...missing.map((id) => `the keyring does not have the key ${id}: restore it from your backup of the keyring`),
    ...wrong.map((id) => `the keyring has another key under the id ${id}: it is the keyring of another installation`),
    ...shut.map((id) => `a value encrypted with the key ${id} cannot be decrypted`),
  ]
}
