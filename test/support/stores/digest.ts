/** A digest of all that is stored: a refused request must not change it. */
import { createHash } from 'node:crypto'
import { TABLES } from '../../../src/platform/db/topics.ts'
import { ROUTES } from '../../../src/routes.ts'
import type { World } from '../world.ts'

/** Refused requests are written here too: the last use by a user, and how often a client called. */
const NOTES: readonly string[] = ['seen', 'rate_limit']

/** Reads: a secret read leaves an audit entry a little later. */
const READS = new Set(
  ROUTES.filter(({ method, reads }) => method === 'GET' || reads).map(({ operationId }) => operationId),
)

/** One hash over every row of every table but the notes, and the audit lines of reads: equal digests, nothing written. */
export async function digest({ deps }: World): Promise<string> {
  const hash = createHash('sha256')
  for (const table of TABLES.filter((name) => !NOTES.includes(name))) {
    const rows = await deps.db.read.selectFrom(table).selectAll().execute()
    hash.update(
      rows
        .filter((row) => table !== 'audit' || !READS.has((row as { type: string }).type))
        .map((row) => JSON.stringify(row))
        .sort()
        .join('\n'),
    )
  }
  return hash.digest('hex')
}
