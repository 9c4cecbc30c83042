/** Files of a deployment that the client must still upload. docs/deploying-sites.md: Files. */
import type { OperatorCtx } from '../../context.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'

const SLICE = 1000

/**
 * Returns names (SHA-1, hexadecimal) of files that the account lacks, each once, in order. Touches the others in the same
 * transaction, so that no sweep removes them before the client's only retry (docs/spec/wire.md). Files marked for removal count
 * as missing: after a restore their bytes may be gone.
 */
export async function missingFiles(
  { db, now }: Pick<OperatorCtx, 'db' | 'now'>,
  accountId: string,
  sha1s: readonly string[],
): Promise<string[]> {
  const names = [...new Set(sha1s)]
  const missing: string[] = []
  for (let at = 0; at < names.length; at += SLICE) {
    const slice = names.slice(at, at + SLICE)
    const there = await db
      .updateTable('upload')
      .set({ touched_at: now })
      .where('account_id', '=', accountId)
      .where('sha1', 'in', jsonArrayValues(db, JSON.stringify(slice)))
      .where((eb) =>
        eb.exists(
          eb
            .selectFrom('blob')
            .select('id')
            .whereRef('blob.id', '=', 'upload.blob_id')
            .where('condemned_at', 'is', null),
        ),
      )
      .returning('sha1')
      .execute()
    const found = new Set(there.map(({ sha1 }) => sha1))
    missing.push(...slice.filter((name) => !found.has(name)))
  }
  return missing
}
