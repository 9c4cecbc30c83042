/** Verifies that a backup can be restored: it is intact and the keys decrypt its values. docs/backup.md: Verify. */
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

/** The backup is damaged or its keys are missing. Any other error means that it could not be read. */
export class BadBackup extends Error {
  readonly manifest: Manifest | undefined

  constructor(message: string, manifest: Manifest | undefined, cause?: unknown) {
    super(message, { cause })
    this.manifest = manifest
  }
}

/** No such file is there: it was deleted, moved, or its disk is not mounted. */
export class NoBackup extends Error {}

/** `entries`: audit entries in its chain. */
export type VerifiedBackup = { manifest: Manifest; entries: number; keys: KeyCheck }

/**
 * Verifies a backup: size and SHA-256, every page, references, row counts, the audit chain, and one value of every root key. Throws BadBackup with
 * the first problem, NoBackup without the file, or the system's error when it cannot be read.
 */
export async function verifyBackup(config: Config, file: string, progress: Progress): Promise<VerifiedBackup> {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) throw new NoBackup(`${file} is not there: name a file that berth backup wrote`)
  if (stats.isDirectory()) throw new Error(`${file} is a directory: name the file in it that berth backup wrote`)
  let manifest: Manifest | undefined
  try {
    manifest = readManifest(file)
    await verifyChecksum(file, manifest, progress)
    checkRowCounts(file, await checkIntegrity(file), manifest)
    return { manifest, ...(await readInside(config, file)) }
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException
    // A disk or permission error does not mean that the backup is damaged.
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

/** Verifies the audit chain. A database from before the chain has none. */
async function chainOf(db: Queries, file: string): Promise<number> {
  if (!(await tablesOf(db)).get('audit')?.includes('position')) return 0
  const head = await readChainHead(db)
  const { firstBroken } = await verifyChain(db, head, undefined)
  if (firstBroken !== null)
    throw new Error(`the audit log in ${file} is broken at its entry ${firstBroken.position}: it is ${firstBroken.why}`)
  return head.position
}
