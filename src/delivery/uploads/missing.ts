/** Which files of a deployment are still to be uploaded. docs/deploying-sites.md: Files. */
import type { OperatorCtx } from '../../context.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'

/** How many names one statement looks for. */
const SLICE = 1000

/**
 * Gives those of the names (SHA-1, in hexadecimal) whose file the account does not have, each once, in their order. The others are touched, so that no
 * sweep takes them before the client asks again: it does so once (docs/spec/wire.md). Call it within the transaction of the request. A file that is to be
 * removed counts as missing: after a restore its bytes may be gone.
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
