/** Whether a backup could be restored now: it is read whole, and its values open with the keys at hand. docs/backup.md: Verify. */
import { statSync } from 'node:fs'
import type { Config } from '../../config.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { type Queries, schemaOf } from '../../platform/db/db.ts'
import { openSqliteFile } from '../../platform/db/sqlite/open.ts'
import { tablesOf } from '../../platform/db/tables.ts'
import { readChainHead } from '../../platform/outbox/audit-chain.ts'
import { verifyChain } from '../../platform/outbox/audit-verification.ts'
import { checkIntegrity, checkKeys, checkRowCounts, describeKeyProblems, type KeyCheck } from './integrity.ts'
import { type Manifest, readManifest, verifyChecksum } from './manifest.ts'
import type { Progress } from './progress.ts'

/** The backup itself is bad, or its keys are not at hand. Any other error says that it could not be looked at. */
export class BadBackup extends Error {
  readonly manifest: Manifest | undefined

  constructor(message: string, manifest: Manifest | undefined, cause?: unknown) {
    super(message, { cause })
    this.manifest = manifest
  }
}

/** `entries`: how many entries its audit log has in the chain. */
export type VerifiedBackup = { manifest: Manifest; entries: number; keys: KeyCheck }

/**
 * Checks a backup: size and SHA-256 against its manifest, every page, references, the rows of each table, the chain of the audit log, and that
 * the keyring of the settings opens a value of every root key. Throws BadBackup with what is wrong first, and the system's error where the
 * file cannot be read.
 */
export async function verifyBackup(config: Config, file: string, progress: Progress): Promise<VerifiedBackup> {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) throw new Error(`${file} is not there: name a file that berth backup wrote`)
  if (stats.isDirectory()) throw new Error(`${file} is a folder: name the file in it that berth backup wrote`)
  let manifest: Manifest | undefined
  try {
    manifest = readManifest(file)
    await verifyChecksum(file, manifest, progress)
    checkRowCounts(file, await checkIntegrity(file), manifest)
    return { manifest, ...(await readInside(config, file)) }
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException
    // The disk or the rights failed, which says nothing of the backup.
    if (syscall !== undefined && code !== 'ENOENT') throw error
    throw new BadBackup(describeError(error), manifest, error)
  }
}

async function readInside(config: Config, file: string): Promise<Omit<VerifiedBackup, 'manifest'>> {
  const db = openSqliteFile(file, true)
  try {
    const { applied, unknown } = await schemaOf(db)
    if (unknown.length > 0)
      throw new Error(`${file} is from a newer version of Berth (it has ${unknown.join(', ')}): check it with that one`)
    if (applied.length === 0) throw new Error(`${file} holds no store of Berth`)
    const entries = await chainOf(db, file)
    const keys = await checkKeys(db, config)
    const [trouble] = describeKeyProblems(keys)
    if (trouble !== undefined) throw new Error(`the values of ${file} cannot be opened: ${trouble}`)
    return { entries, keys }
  } finally {
    await db.destroy()
  }
}

/** Walks the chain of the audit log. A store from before the chain has none. */
async function chainOf(db: Queries, file: string): Promise<number> {
  if (!(await tablesOf(db)).get('audit')?.includes('position')) return 0
  const head = await readChainHead(db)
  const { firstBroken } = await verifyChain(db, head, undefined)
  if (firstBroken !== null)
    throw new Error(`the audit log in ${file} is broken at its entry ${firstBroken.position}: it is ${firstBroken.why}`)
  return head.position
}
